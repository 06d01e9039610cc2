"""Reads output files into rows of text, each with its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spa.errors import NoRows, StudyError, TableError, called, shortened
from spa.tables.addresses import address_of, at_hand
from spa.tables.options import TableOptions
from spa.tables.paths import json_text, path_to_text
from spa.tables.reading import open_table, reading, table_suffix
from spa.tables.source import RowsChosen, Source, Wanted

LINES = (".jsonl", ".ndjson")  # what a row is called in files of these
NO_ROWS = "expected rows of outputs, got none; write the systems' outputs there"


Value = str | None


@dataclass(frozen=True, slots=True)
class OutputFileRow:
    """One row of an output file: the columns asked for, and where it stands."""

    file: Path
    number: int  # what a reader calls it: 2 below the header of a CSV file, else its line or row from 1
    values: dict[str, Value]

    @property
    def place(self) -> str:
        """Return "outputs.jsonl line 3" or "outputs.csv row 3"."""
        unit = "line" if (table_suffix(self.file.name) or "").startswith(LINES) else "row"
        return f"{display_path(self.file)} {unit} {self.number}"


def display_path(path: Path) -> str:
    """Return a path as a reader knows it: from the working directory where it lies below; or an address."""
    if (address := address_of(path)) is not None:
        return address
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def display_files(paths: Iterable[Path]) -> str:
    """Return paths as a reader knows them, the first few of many."""
    listed = [display_path(path) for path in paths]
    return ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")


def decoded(place: str, content: bytes) -> str:
    """Return UTF-8 text, with or without a byte order mark.

    Raise StudyError where it is no UTF-8, with the line; or if it looks like UTF-16.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]:
        raise StudyError(
            f"{place}: expected UTF-8, got UTF-16; save the file as UTF-8, or run `iconv -f UTF-16 -t UTF-8 OLD > NEW`"
        )
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"{place} line {line}: expected UTF-8, got the byte 0x{content[error.start]:02x}; save the file as UTF-8"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFileRows:
    """The rows of one output file, what ``keep`` and ``drop`` did, and what is to be said of how it was read."""

    rows: list[OutputFileRow]
    chosen: tuple[RowsChosen, ...]
    notes: tuple[str, ...]


def read_rows(
    path: Path, columns: Sequence[str], options: TableOptions, nested: Collection[str] = ()
) -> OutputFileRows:
    """Read the named columns of one output file, some of which may be paths into its records.

    Other columns are ignored; lists and objects of ``nested`` columns are read as their JSON. Rows are in the order of
    the file; numbers as written, empty values ``None``. Raise StudyError where the file cannot be read, lacks a column,
    or holds other values than texts and numbers.
    """
    place = display_path(path)
    try:
        with at_hand(path) as file, reading(file):  # columns are read on demand
            source = open_table(file, Wanted(columns=frozenset(columns), guarded=False), options)
            found = [column for column in columns if column in source.schema]
            cells = {column: source.values(column) for column in found}
            cells |= {column: [_as_json(cell) for cell in cells[column]] for column in found if column in nested}
    except NoRows as error:
        raise StudyError(f"{place}: {NO_ROWS}") from error
    except TableError as error:
        known = address_of(path) or str(path)
        renamed = (called(called(one, f"{known}, ", f"{place} "), known, place) for one in error.problems)
        raise StudyError(*renamed) from error
    if not source.height and source.chosen:
        left = "; ".join(one.note() for one in source.chosen)
        raise StudyError(f"{place}: expected rows of outputs, got none that stay ({left})")
    if not source.height:
        raise StudyError(f"{place}: {NO_ROWS}")
    absent = [column for column in columns if column not in source.schema]
    problems = [_absent(place, absent, source)] if absent else []
    numbers = source.numbers()
    for column, values in cells.items():
        problems += _not_texts(path, column, zip(numbers, values, strict=True))
    if problems:
        raise StudyError(*problems)
    rows = [
        OutputFileRow(path, number, dict(zip(found, values, strict=True)))
        for number, *values in zip(numbers, *cells.values(), strict=True)
    ]
    said = (f"{place}: {note}" for note in (*source.notes, *(one.note() for one in source.chosen if one.left_out)))
    return OutputFileRows(rows=rows, chosen=source.chosen, notes=tuple(said))


def _as_json(cell: object) -> object:
    return json_text(cell) if isinstance(cell, list | dict) else cell


def _absent(place: str, absent: Sequence[str], source: Source) -> str:
    names = [f'"{name}"' for name in source.schema]
    listed = shortened(", ".join(names[:20]) + ", ..." * (len(names) > 20), 200)
    expected = f"column{'s' * (len(absent) > 1)} " + ", ".join(f'"{name}"' for name in absent)
    rows = f"{source.height} row{'s' * (source.height > 1)}"
    hint = "name the columns in [outputs] (item, system, output, sample, item_text, layout)"
    return f"{place}: expected {expected}, got columns {listed or 'none'} in {rows}; {hint}"


def _not_texts(path: Path, column: str, cells: Iterable[tuple[int, object]]) -> list[str]:
    """Name the first value of a column that is neither text nor number, and say how many there are."""
    wrong = [(number, value) for number, value in cells if not (value is None or isinstance(value, str))]
    if not wrong:
        return []
    number, value = wrong[0]
    got = {bool: "true or false", list: "a list", dict: "an object"}[type(value)]
    more = f" (as in {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    place = OutputFileRow(path, number, {}).place
    inside = path_to_text(value)
    do = (
        f"name a text in it, such as {column}{inside}"
        if inside
        else "write it as text in quotes (a column held constant: as 1 or 0)"
    )
    return [f'{place}: "{column}": expected text, got {got}{more}; {do}']
