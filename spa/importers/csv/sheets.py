"""Rows of one file or of several, each with its place: what questions are read from."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, time
from difflib import get_close_matches
from math import isnan
from pathlib import Path

from spa.errors import ResponseError, shortened, unreadable
from spa.importers.csv.mapping import FILE
from spa.tables.delimited import open_delimited
from spa.tables.options import TableOptions
from spa.tables.paths import beginnings, follow, is_path
from spa.tables.reading import ENDINGS, open_table, reading, table_suffix
from spa.tables.selection import arranged, needed
from spa.tables.source import Source, Wanted

Cell = str | list[object] | dict[str, object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetRow:
    """A row: where it stands, and the cells of the columns that were asked for; an empty one is ``None``."""

    place: str  # "answers.csv, row 2"
    cells: Mapping[str, Cell]

    @property
    def file(self) -> str:
        """The file in which the row stands."""
        return self.place.rpartition(", row ")[0]

    def text(self, column: str) -> str | None:
        """Return a cell that must be one text or number."""
        cell = self.cells.get(column)
        if isinstance(cell, list | dict):
            found = "a list" if isinstance(cell, list) else "an object"
            raise ResponseError(f"{self.place}, {column}: expected one text or number, got {found}")
        return cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """Rows of files, the columns that any of them has, and how they were read."""

    rows: list[SheetRow]
    columns: tuple[str, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def read_sheets(
    paths: Sequence[Path],
    columns: Collection[str],
    options: TableOptions,
    *,
    optional: Collection[str] = (),
    whole: Collection[str] = (),
) -> Sheets:
    """Read the rows of files, one file below the other.

    Parameters
    ----------
    paths : sequence of Path
        Files of any format of :mod:`spa.tables.reading`.
    columns : collection of str
        Columns, or paths into records, that each of them must have.
    options : TableOptions
        How they are read.
    optional : collection of str
        Columns that are read where there are such.
    whole : collection of str
        Those of ``columns`` whose cells may be lists or objects.

    Raises
    ------
    TableError, ResponseError
        When a file cannot be read, or lacks a column.
    """
    rows: list[SheetRow] = []
    known: dict[str, None] = {}
    notes: dict[str, list[Path]] = {}
    wanted = {*columns, *optional} - {*whole}
    for path in paths:
        with reading(path) if _is_known(path) else nullcontext():  # columns are read on demand
            source = open_sheet(path, wanted | _beginnings(path, whole, options), options)
            known |= dict.fromkeys(source.schema)
            for note in source.notes:
                notes.setdefault(note, []).append(path)
            _check_columns(path, source, [column for column in columns if _begin(source, column, whole) is None])
            rows += _rows_of(path, source, [*(name for name in wanted if name in source.schema), *whole])
    said = (f"{files[0] if len(files) == 1 else f'{len(files)} files'}: {note}" for note, files in notes.items())
    return Sheets(rows=rows, columns=tuple(known), files=tuple(paths), notes=tuple(said))


def open_sheet(path: Path, wanted: Collection[str], options: TableOptions) -> Source:
    """Open a file; one whose name has another ending than those of tables is read as CSV."""
    asked = Wanted(columns=frozenset(wanted))
    if _is_known(path):
        return open_table(path, asked, options)
    return arranged(open_delimited(path, needed(asked, options), options), asked, options)


def _is_known(path: Path) -> bool:
    """Whether a file's name, or that it is none, decides how it is read."""
    return table_suffix(path.name) is not None or not path.is_file()


def _beginnings(path: Path, whole: Collection[str], options: TableOptions) -> set[str]:
    """Return the columns in which lists and objects lie: a path to one is no column of one value."""
    if not any(is_path(column) for column in whole):
        return {*whole}
    schema = open_sheet(path, (), options).schema
    return {name for column in whole if (name := next((one for one in beginnings(column) if one in schema), None))}


def _begin(source: Source, column: str, whole: Collection[str]) -> str | None:
    """Return the column of a file that a column, or a path to a list or object, begins with."""
    names = beginnings(column) if column in whole else (column,)
    return next((name for name in names if name in source.schema), None)


def _values(source: Source, column: str) -> list[object]:
    begin = next(name for name in beginnings(column) if name in source.schema)
    rest = column[len(begin) :].removeprefix(".")
    return [follow(value, rest) for value in source.values(begin)]


def _check_columns(path: Path, source: Source, absent_columns: Collection[str]) -> None:
    for absent in absent_columns:
        close = get_close_matches(absent, source.schema, n=1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        raise ResponseError(
            f"{path}: expected a column {absent!r}, got {shortened(', '.join(source.schema), 200)}; "
            f"{meant}name it as it stands in the file"
        )


def _rows_of(path: Path, source: Source, names: list[str]) -> list[SheetRow]:
    cells = {name: [_cell(value) for value in _values(source, name)] for name in names}
    person = stem(path)
    return [
        SheetRow(place=f"{path}, row {number}", cells={FILE: person, **dict(zip(cells, values, strict=True))})
        for number, *values in zip(source.numbers(), *cells.values(), strict=True)
        if any(value is not None for value in values)  # no blank line
    ]


def _cell(value: object) -> Cell:
    """Return a value as it is written, without spaces around it, its letters composed (NFC)."""
    if isinstance(value, float) and isnan(value):
        return None
    if value is None or isinstance(value, list | dict):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    text = str(value).strip()
    return (text if text.isascii() else unicodedata.normalize("NFC", text)) or None


def stem(path: Path) -> str:
    """Return a file's name without its ending.

    >>> stem(Path("sheets/lisbon.v2.csv.gz"))
    'lisbon.v2'
    """
    return path.name[: len(path.name) - len(table_suffix(path.name) or path.suffix)]


def files_of(paths: Sequence[Path], *, apart: Collection[Path] = ()) -> list[Path]:
    """Return the files that were named, those of a folder in the order of their names; ``apart`` are never of them.

    Raise ResponseError where a folder holds no table, or a file is named twice.
    """
    found: list[Path] = []
    outside = {path.resolve() for path in apart}
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        try:
            inside = sorted(one for one in path.iterdir() if one.is_file() and one.resolve() not in outside)
        except OSError as error:
            raise ResponseError(unreadable(path, error)) from error
        tables = [one for one in inside if not one.name.startswith(".") and table_suffix(one.name)]
        if not tables:
            raise ResponseError(f"{path}: expected a file, got a folder without any ending in {ENDINGS}")
        found += tables
    real = [path.resolve() for path in found]
    twice = next((path for number, path in enumerate(found) if real[number] in real[:number]), None)
    if twice is not None:
        raise ResponseError(f"{twice}: expected each file once, got it twice; name it once")
    return found


def check_stems(files: Sequence[Path]) -> None:
    """Refuse files that are called alike where their names are those of people."""
    stems: dict[str, Path] = {}
    for path in files:
        if (other := stems.setdefault(stem(path), path)) != path:
            raise ResponseError(
                f"{path}: expected another name than {other} has, as each file is one person; rename it"
            )
