"""Rows of the files of other tools: with their places, each cell a text, a number, a list or an object."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import ResponseError, TableError, shortened, unreadable
from spa.importers.foreign_files import beginning, number, shown
from spa.tables.options import TableOptions
from spa.tables.reading import open_table, table_suffix
from spa.tables.source import Wanted

KEY = re.compile(rb'"((?:[^"\\]|\\.){1,200})"\s*:')
SEPARATOR = re.compile(r"[,;\t]")
TEXTS = (".csv", ".tsv")
COLUMNAR = (".parquet", ".arrow", ".feather")
OBJECTS = (".json", ".jsonl", ".ndjson")
MOST_FILES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRow:
    """A row: its place, such as "battles.csv, row 2", and its cells; an empty one is ``None``."""

    place: str
    cells: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """Return a cell that is one text or number, without spaces around it, its letters composed."""
        value = self.cells.get(name)
        if isinstance(value, list | dict):
            raise ResponseError(f"{self.place}, {name}: expected one text or number, got {shown(value)}")
        if value is None:
            return None
        text = str(value).lower() if isinstance(value, bool) else str(value).strip()
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
            if any("\ud800" <= sign <= "\udfff" for sign in text):
                raise ResponseError(f"{self.place}, {name}: expected UTF-8, got half of a surrogate pair")
        return text or None

    def name(self, name: str) -> str:
        """Return a text that must be there."""
        found = self.text(name)
        if found is None:
            raise ResponseError(f"{self.place}: expected {name}, got an empty one; fill it in, or leave the row out")
        return found

    def number(self, name: str) -> float | None:
        """Return a number; nothing of an empty cell, ``null`` or NaN."""
        text = self.text(name)
        return None if text is None or text.lower() == "nan" else number(text, f"{self.place}, {name}")


def names_at_beginning(path: Path) -> frozenset[str]:
    """Return the columns of a table, or the keys in the first bytes of a JSON file; nothing of what is none.

    It looks at the beginning alone, and raises nothing that a broken file causes.
    """
    suffix = "." + (table_suffix(path.name) or ".").split(".")[1]
    if suffix in COLUMNAR:
        try:
            return frozenset(open_table(path, Wanted(columns=frozenset()), TableOptions()).schema)
        except (OSError, TableError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return frozenset()
    if suffix in OBJECTS:
        return frozenset(found.decode(errors="replace") for found in KEY.findall(beginning(path)))
    if suffix in TEXTS:
        header = (beginning(path).decode(errors="replace").splitlines() or [""])[0]
        return frozenset(name.strip(' "') for name in SEPARATOR.split(header))
    return frozenset()


def read_rows(path: Path, needed: Iterable[str] = (), only: Collection[str] | None = None) -> list[ForeignRow]:
    """Return the rows of a table or of a file of JSON objects, with all their columns or those that are named.

    Raise TableError or ResponseError where it cannot be read, or lacks a column that is ``needed``.
    """
    options = TableOptions()
    schema = [*open_table(path, Wanted(columns=frozenset(), guarded=False), options).schema]
    absent = [name for name in needed if name not in schema]
    if absent:
        raise ResponseError(
            f"{path}: expected the columns {shortened(', '.join(absent), 120)}, "
            f"got {shortened(', '.join(schema) or 'none', 200)}"
        )
    schema = [name for name in schema if only is None or name in only]
    source = open_table(path, Wanted(columns=frozenset(schema), guarded=False), options)
    columns = [source.values(name) for name in schema]
    unit = "line" if (table_suffix(path.name) or "").startswith((".jsonl", ".ndjson")) else "row"
    return [
        ForeignRow(place=f"{path}, {unit} {place}", cells=dict(zip(schema, cells, strict=True)))
        for place, *cells in zip(source.numbers(), *columns, strict=True)
        if any(cell is not None and cell != "" for cell in cells)
    ]


def files_below(paths: Sequence[Path], fits: Callable[[Path], bool], expected: str) -> list[Path]:
    """Return the files that were named, and of folders those that ``fits``, each once and in order.

    Raise ResponseError where a folder has none, saying what was ``expected``.
    """
    found: dict[Path, Path] = {}
    for given in paths:
        if not given.is_dir():
            found.setdefault(given.resolve(), given)
            continue
        try:
            inside = sorted(one for one in islice(given.rglob("*"), MOST_FILES) if one.is_file() and fits(one))
        except OSError as error:
            raise ResponseError(unreadable(given, error)) from error
        if not inside:
            raise ResponseError(f"{given}: expected {expected}, got a folder without any; name the files")
        for one in inside:
            found.setdefault(one.resolve(), one)
    return list(found.values())
