"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from spa.errors import NoRows, TableError
from spa.files import json_object, unique_keys
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted
from spa.tables.text_files import check_table_file, utf8_lines


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON lines file with the numbers of their lines.

    Numbers are texts as they are written: ``1.0`` stays "1.0". Raise TableError where a line is no JSON object, has
    a key twice, or is not UTF-8.
    """
    check_table_file(path)
    decoder = json.JSONDecoder(
        object_pairs_hook=unique_keys, parse_int=str, parse_float=str, parse_constant=_refuse_constant
    )
    for number, line in utf8_lines(path):
        if not (text := line.strip(" \t\r\n")):
            continue
        place = f"{path}, line {number}"
        try:
            read = json_object(text, decoder)
            if "\\u" in text:
                json.dumps(read, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise TableError(f"{place}: expected UTF-8, got half of a surrogate pair") from error
        except ValueError as error:
            raise TableError(f"{place}: {error}") from error
        yield number, read


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected JSON, got {name}; write null where there is no number")


def open_json_lines(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the wanted keys; row ``n`` is line ``n``, a blank line a row without values."""
    records = _Records(path)
    for number, record in read_json_lines(path):
        records.add(number, record, wanted.columns)
    if not records.height:
        raise NoRows(f"{path}: expected one JSON object a line, got an empty file")
    return records.source()


def json_lines_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same some lines at a time, each time with the keys that stand in these or before."""
    records = _Records(path)
    for number, record in read_json_lines(path):
        records.add(number, record, wanted.columns)
        if records.height >= rows and records.cells:
            yield records.source()
            records = records.following()
    if not records.done + records.height:
        raise NoRows(f"{path}: expected one JSON object a line, got an empty file")
    if records.height:
        yield records.source()


class _Records:
    """Gathers lines by their keys."""

    def __init__(self, path: Path, done: int = 0, keys: dict[str, None] | None = None) -> None:
        self.path = path
        self.done = done  # lines before these
        self.keys = keys or {}  # of these and those before
        self.cells: dict[str, list[object]] = {}
        self.nested: dict[str, str] = {}  # key -> where the first list or object stands
        self.height = 0

    def following(self) -> _Records:
        """Return what gathers the lines behind these."""
        return _Records(self.path, self.done + self.height, self.keys)

    def add(self, number: int, record: dict[str, Any], wanted: frozenset[str]) -> None:
        """Take in a line."""
        self.height = number - self.done
        for name, value in record.items():
            self.keys[name] = None
            if name in wanted:
                cells = self.cells.setdefault(name, [])
                cells.extend([None] * (self.height - 1 - len(cells)))
                cells.append(value)
                if isinstance(value, list | dict) and name not in self.nested:
                    kind = "a list" if isinstance(value, list) else "an object"
                    self.nested[name] = f"{self.path}, line {number}: {name}: expected one value, got {kind}"

    def source(self) -> Source:
        """Return the lines as rows."""
        height, cells, nested = self.height, self.cells, self.nested

        def values(name: str) -> list[object]:
            own = cells.get(name, [])
            return own + [None] * (height - len(own))

        def column(name: str) -> pl.Series:
            if name in nested:
                raise TableError(nested[name])
            texts = [str(cell).lower() if isinstance(cell, bool) else cell for cell in values(name)]
            return pl.Series(name, texts, dtype=pl.String)

        return Source(
            place=str(self.path),
            schema={name: pl.Object() if name in nested else pl.String() for name in self.keys},
            height=height,
            first_row=self.done + 1,
            column=column,
            values=values,
        )
