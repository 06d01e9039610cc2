"""JSON files: an array of objects, or an object of columns."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spa.errors import ArgumentProblem, NoRows, TableError, shortened
from spa.tables.bounds import check_depth
from spa.tables.json_lines import json_lines_slices
from spa.tables.options import TableOptions
from spa.tables.paths import follow
from spa.tables.records import Records, gathered
from spa.tables.source import Number, Source, Wanted, json_decoder
from spa.tables.text_files import check_table_file, utf8_lines

BLANK = re.compile(r"[ \t\r\n]*")
ARRAY = "an array of objects, or an object of columns that are arrays"
PLACES = re.compile(r"0|[1-9][0-9]*")  # keys of the rows, as pandas writes them


def open_json(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the wanted keys of the objects."""
    (source,) = json_slices(path, wanted, options, sys.maxsize)
    return source


def json_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the objects some at a time, each time with the keys that stand in these or before; the first is row 1.

    Where the options name ``each``, a file that holds one object is one row.
    """
    document = _Document(path, "".join(line for _, line in utf8_lines(path)), halves=not wanted.guarded)
    if document.holds_lines():  # under another name
        yield from json_lines_slices(path, wanted, options, rows)
        return
    if options.each is not None and (whole := document.whole()) is not None:
        objects: Iterable[tuple[int, Mapping[str, object]]] = [(1, whole)]
        wanted = replace(wanted, columns=wanted.columns | whole.keys())  # a step may begin at its keys
    else:
        objects = enumerate(document.objects(wanted), start=1)
    expected = f"expected {ARRAY}, got none; write the rows there"
    yield from gathered(objects, Records(str(path), "row", wanted.columns), rows=rows, expected=expected)


def read_json(path: Path) -> Any:
    """Return what a JSON file holds, whatever its shape: numbers as they are written, NaN as ``None``.

    Raise TableError where it cannot be read, or is no JSON in UTF-8.
    """
    check_table_file(path)
    return json_value("".join(line for _, line in utf8_lines(path)), str(path))


def json_value(text: str, place: str) -> Any:
    """Return what a text of JSON holds, as :func:`read_json` does; messages name ``place``."""
    return _Document(place, text, halves=True).only()


class _Document:
    """The text of a JSON file, taken apart one object at a time."""

    def __init__(self, path: Path | str, text: str, *, halves: bool) -> None:
        self.path = path
        self.text = text
        self._halves = halves
        self._decode = json_decoder().raw_decode
        self._start = self._after_blank(0)

    def _after_blank(self, place: int) -> int:
        found = BLANK.match(self.text, place)
        return found.end() if found else place

    def holds_lines(self) -> bool:
        """Return whether several objects follow each other, without an array around them."""
        if not self.text.startswith("{", self._start):
            return False
        try:
            _, end = self._decode(self.text, self._start)
        except (ValueError, RecursionError):
            return False
        return self.text.startswith("{", self._after_blank(end))

    def objects(self, wanted: Wanted) -> Iterator[Mapping[str, object]]:
        """Yield the objects of an array, or those that the columns make."""
        found = self.whole()
        yield from self._elements() if found is None else _rows(found, wanted, self.path)

    def whole(self) -> Mapping[str, object] | None:
        """Return the object that the file holds; ``None`` of an array."""
        if self.text.startswith("[", self._start):
            return None
        if self._start == len(self.text):
            raise NoRows(f"{self.path}: expected {ARRAY}, got an empty file")
        value, end = self._value(self._start, str(self.path))
        self._check_end(end)
        if not isinstance(value, dict):
            raise TableError(f"{self.path}: expected {ARRAY}, got {_shown(value)}")
        return value

    def only(self) -> Any:
        """Return the one value that the file holds."""
        if self._start == len(self.text):
            raise NoRows(f"{self.path}: expected JSON, got an empty file")
        value, end = self._value(self._start, str(self.path))
        self._check_end(end)
        return value

    def _elements(self) -> Iterator[Mapping[str, object]]:
        place = self._after_blank(self._start + 1)
        number, begun = 1, False
        while not self.text.startswith("]", place):
            row = f"{self.path}, row {number}"
            if begun:
                if not self.text.startswith(",", place):
                    raise self._mistake(row, place, "no comma or ] before it")
                place = self._after_blank(place + 1)
            value, end = self._value(place, row)
            if not isinstance(value, dict):
                raise TableError(f"{row}: expected an object in the array, got {_shown(value)}")
            yield value
            number, begun, place = number + 1, True, self._after_blank(end)
        self._check_end(place + 1)

    def _check_end(self, end: int) -> None:
        if (behind := self._after_blank(end)) < len(self.text):
            raise self._mistake(str(self.path), behind, "something behind the end")

    def _value(self, start: int, row: str) -> tuple[Any, int]:
        try:
            value, end = self._decode(self.text, start)
            check_depth(text := self.text[start:end])
            if "\\u" in text and not self._halves:
                json.dumps(value, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            raise self._mistake(row, error.pos, error.msg) from error
        except RecursionError as error:
            raise TableError(f"{row}: expected one JSON object, got lists or objects nested too deeply") from error
        except UnicodeEncodeError as error:
            raise TableError(f"{row}: expected UTF-8, got half of a surrogate pair") from error
        except ValueError as error:
            raise TableError(f"{row}: {error}") from error
        return value, end

    def _mistake(self, row: str, place: int, found: str) -> TableError:
        line, column = self.text.count("\n", 0, place) + 1, place - self.text.rfind("\n", 0, place)
        return TableError(f"{row}: expected JSON, got a mistake at line {line}, column {column}: {found}")


def _shown(value: object) -> str:
    return "a list" if isinstance(value, list) else shortened(value if isinstance(value, Number) else repr(value))


def _rows(columns: Mapping[str, object], wanted: Wanted, path: Path | str) -> Iterator[Mapping[str, object]]:
    """Yield the rows of an object of columns: arrays, or objects by row as pandas writes them.

    Rows that are arrays stand under ``data``, the names of their cells under ``columns`` (pandas' ``split``, tables of
    Weights & Biases).
    """
    if (split := _split(columns)) is not None:
        return split
    cells = {name: _cells(column) for name, column in columns.items()}
    found = {name: values for name, values in cells.items() if values is not None}
    tables = [name for name, values in found.items() if values and all(isinstance(value, dict) for value in values)]
    if tables and not wanted.columns & columns.keys():
        raise TableError(_named_tables(path, tables, found))
    if columns and all(isinstance(column, dict) for column in columns.values()) and not found:
        listed = shortened(", ".join(columns), 100)
        raise TableError(
            ArgumentProblem(
                "each",
                before=f"{path}: expected {ARRAY}, got {len(columns)} objects ({listed}); take them apart with ",
                in_python="='{id}'",
                in_command=" '{id}'",
                after=", where id is the column for their keys",
            )
        )
    if not found or len(found) < len(cells):
        others = shortened(", ".join(name for name, values in cells.items() if values is None))
        before = f"{path}: expected {ARRAY}, got an object with single values: {others or 'none'}"
        if (below := next(_arrays_below(columns), None)) is not None:
            problem = ArgumentProblem(
                "each", before=f"{before}; its rows may be named: ", in_python=f"={below!r}", in_command=f" {below}"
            )
            raise TableError(problem)
        raise TableError(before)
    heights = {name: len(values) for name, values in found.items()}
    if len(set(heights.values())) > 1:
        listed = ", ".join(f"{height} in {name}" for name, height in list(heights.items())[:4])
        raise TableError(f"{path}: expected columns of one length, got {shortened(listed, 160)}")
    return (dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True))


def _arrays_below(record: Mapping[str, object], depth: int = 3) -> Iterator[str]:
    """Yield the paths of arrays of objects within a record."""
    for name, value in record.items():
        if _is_rows(value):
            yield name
        elif isinstance(value, dict) and depth:
            yield from (f"{name}.{path}" for path in _arrays_below(value, depth - 1))


def rows_within(record: Mapping[str, object]) -> str | None:
    """Return where the rows of an object lie, as ``each`` names it; ``None`` where several places may hold them.

    That is its longest array of objects. Arrays of objects under several keys are those of systems; of objects of texts
    either keys are, whichever are fewer, as in folders.

    >>> rows_within({"run": {"rows": [{"a": "b"}, {"a": "c"}], "steps": [{"d": 1}]}})
    'run.rows'
    >>> rows_within({"x": [{"a": "b"}], "y": [{"a": "c"}]}), rows_within({"x": {"1": "a"}})
    ('{system}[]', None)
    >>> two = {"1": "a", "2": "b"}
    >>> rows_within({"x": two | {"3": "c"}, "y": two | {"3": "d"}}), rows_within({"x": two, "y": two, "z": two})
    ('{system}{item}', '{id}')
    """
    parts = [*record.values()]
    if len(parts) > 1 and all(isinstance(part, dict) and _holds_texts(part) for part in parts):
        inner = {key for part in parts if isinstance(part, dict) for key in part}
        return None if len(inner) == len(parts) else "{system}{item}" if len(parts) < len(inner) else "{id}"
    if len(parts) > 1 and all(map(_is_rows, parts)):
        return "{system}[]"
    paths = {path: follow(record, path) for path in _arrays_below(record)}
    heights = {path: len(rows) for path, rows in paths.items() if isinstance(rows, list)}
    longest = [path for path, height in heights.items() if height == max(heights.values())]
    return longest[0] if len(longest) == 1 else None


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _holds_texts(record: Mapping[str, object]) -> bool:
    return bool(record) and all(isinstance(one, str) and not isinstance(one, Number) for one in record.values())


def _split(parts: Mapping[str, object]) -> Iterator[Mapping[str, object]] | None:
    """Yield rows that stand apart from the names of their cells; ``None`` where they do not."""
    names, rows = parts.get("columns"), parts.get("data")
    if not isinstance(names, list) or not isinstance(rows, list) or not all(isinstance(name, str) for name in names):
        return None
    if not names or len({*names}) < len(names):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return (dict(zip(names, row, strict=True)) for row in rows)


def _cells(column: object) -> Sequence[object] | None:
    """Return the cells of a column."""
    if isinstance(column, list):
        return column
    if isinstance(column, dict) and all(map(PLACES.fullmatch, column)):
        return [*column.values()]
    return None


def _named_tables(path: Path | str, tables: Sequence[str], found: Mapping[str, Sequence[object]]) -> ArgumentProblem:
    """Say that the rows stand under a key, and how it is named."""
    listed = ", ".join(f"{len(found[name])} in {name}" for name in tables[:4]) + ", ..." * (len(tables) > 4)
    every = "" if len(tables) == 1 else ", or all with {part}[] in its place"
    return ArgumentProblem(
        "each",
        before=f"{path}: expected {ARRAY}, got one with arrays of objects ({shortened(listed, 160)}); name one with ",
        in_python=f"={tables[0]!r}",
        in_command=f" {tables[0]}",
        after=every,
    )
