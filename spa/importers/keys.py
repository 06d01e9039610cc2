"""Columns that are made of others: by a pattern, or from a key that is joined to the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers.annotators import with_whole_numbers
from spa.importers.mapping import Key
from spa.importers.sheets import Cell, SheetRow, Sheets, open_sheet, read_sheets
from spa.tables.options import TableOptions


def parts_of(split: Mapping[str, str]) -> list[str]:
    """Return the columns that patterns make."""
    return [name for column, text in split.items() for name in _pattern(column, text).groupindex]


def with_parts(sheets: Sheets, split: Mapping[str, str]) -> Sheets:
    """Return the rows with a column for each named group of the patterns; an empty cell has empty parts.

    Raise ResponseError where a pattern is none, has no named group, or does not fit a cell.
    """
    rows, columns = sheets.rows, sheets.columns
    for column, text in split.items():
        pattern = _pattern(column, text)
        doubled = next((name for name in pattern.groupindex if name in columns), None)
        if doubled is not None:
            raise ResponseError(f"split of {column!r}: a column {doubled!r} stands in the file; rename the group")
        columns = (*columns, *pattern.groupindex)
        rows = [_split(row, column, pattern) for row in rows]
    return replace(sheets, rows=rows, columns=columns)


def _pattern(column: str, text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ResponseError(f"split of {column!r}: expected a regular expression, got {text!r}: {error}") from error
    if not pattern.groupindex:
        raise ResponseError(
            f"split of {column!r}: expected groups with names, such as '(?P<form>.+)-(?P<number>[0-9]+)', got {text!r}"
        )
    return pattern


def _split(row: SheetRow, column: str, pattern: re.Pattern[str]) -> SheetRow:
    text = row.text(column)
    found = pattern.fullmatch(text) if text is not None else None
    if text is not None and found is None:
        raise ResponseError(
            f"{row.place}, {column}: expected {shortened(repr(pattern.pattern), 120)}, got {shortened(repr(text))}; "
            "mend `split`, or leave the row out with `keep` or `drop`"
        )
    parts = found.groupdict() if found else dict.fromkeys(pattern.groupindex)
    return replace(row, cells={**row.cells, **parts})


def with_key(sheets: Sheets, key: Key, folder: Path, options: TableOptions, wanted: Sequence[str]) -> Sheets:
    """Return the rows with the columns of the key, one row of which belongs to each.

    Parameters
    ----------
    sheets : Sheets
        Rows, with the columns that the key is joined on.
    key : Key
        Its file, relative to ``folder``, and what is joined on.
    folder : Path
        Where the mapping lies.
    options : TableOptions
        How files are read.
    wanted : sequence of str
        Columns that the mapping names.

    Raises
    ------
    ResponseError
        When a row of the answers has none in the key, the key has two, or a wanted column stands in both.
    """
    path = folder / key.file
    columns = tuple(open_sheet(path, (), options).schema)
    on = key.on or {name: name for name in columns if name in sheets.columns}
    if not on:
        raise ResponseError(
            f"{path}: expected a column of the rows' to join on, got {shortened(', '.join(columns), 160)}; say which "
            'by key = { file = ..., on = { COLUMN = "COLUMN OF THE KEY" } }'
        )
    absent = next((column for column in on if column not in sheets.columns), None)
    if absent is not None:
        found = shortened(", ".join(sheets.columns), 160)
        raise ResponseError(f"{path}: expected to join on a column {absent!r} of the rows, got {found}")
    taken = [name for name in wanted if name in columns and name not in on.values()]
    both = next((name for name in taken if name in sheets.columns), None)
    if both is not None:
        raise ResponseError(f"{path}: column {both!r} stands in the answers and in the key; rename one")
    sheets = with_whole_numbers(sheets, on)
    read = with_whole_numbers(read_sheets([path], [*on.values(), *taken], options), on.values())
    known = _by_key(read, tuple(on.values()))
    used: Counter[tuple[Cell, ...]] = Counter()
    rows = []
    for row in sheets.rows:
        place = tuple(row.text(column) for column in on)
        found_row = known.get(place)
        if found_row is None:
            named = ", ".join(f"{column} {value!r}" for column, value in zip(on, place, strict=True))
            other = "" if key.on else ", say by key = { file = ..., on = ... } what is joined"
            raise ResponseError(
                f"{row.place}: expected a row of {path} with {shortened(named, 160)}, got none; mend the key{other}, "
                "or leave the row out with `keep` or `drop`"
            )
        used[place] += 1
        rows.append(replace(row, cells={**{name: found_row.cells[name] for name in taken}, **row.cells}))
    unused = len(known) - len(used)
    note = f"{path}: {len(known)} rows joined on {', '.join(on)}" + (f", {unused} of them unused" if unused else "")
    return replace(sheets, rows=rows, columns=(*sheets.columns, *taken), notes=(*sheets.notes, *read.notes, note))


def _by_key(read: Sheets, columns: Sequence[str]) -> dict[tuple[str | None, ...], SheetRow]:
    known: dict[tuple[str | None, ...], SheetRow] = {}
    for row in read.rows:
        place = tuple(row.text(column) for column in columns)
        if place in known:
            named = ", ".join(f"{column} {value!r}" for column, value in zip(columns, place, strict=True))
            raise ResponseError(f"{row.place}: expected one row with {shortened(named, 160)}, got a second; remove one")
        known[place] = row
    return known
