"""Which rows are asked about: those of all files, with the columns of patterns and key, without those left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers.csv import otree, qualtrics, sliders
from spa.importers.csv.annotators import with_whole_numbers
from spa.importers.csv.mapping import FILE, GROUP, WAYS, Key, Wide, lists_of
from spa.importers.csv.roles import columns_of_several, name_columns, named_columns
from spa.importers.csv.sheets import Cell, SheetRow, Sheets, check_stems, files_of, open_sheet, read_sheets
from spa.tables.options import TableOptions
from spa.tables.selection import REJECTED, REVIEWED


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


OPTIONAL = (REVIEWED, qualtrics.STATUS, qualtrics.FINISHED, sliders.START)
SHOWN = 5  # values that a message names
Values = Mapping[str, tuple[str, ...]]


def asked_rows(paths: Sequence[Path], mapping: Wide, folder: Path) -> tuple[Sheets, Counter[str], bool]:
    """Read files and folders.

    Parameters
    ----------
    paths : sequence of Path
        Files of any format of :mod:`spa.tables.reading`; of a folder its tables.
    mapping : Wide
        What the columns mean.
    folder : Path
        Where the mapping lies: the files that it names are relative to it.

    Returns
    -------
    Sheets
        The rows that are asked about.
    Counter of str
        How many were left out, by column and value.
    bool
        Whether a file is an export of Qualtrics.
    """
    options = TableOptions(encoding=mapping.encoding, quotes=mapping.quotes)
    key = mapping.key
    beside = [folder / name for name in (key.file if key else None, mapping.page_times, _file(mapping.people)) if name]
    named = named_columns(mapping)
    joined: list[str] = []
    if key is not None:
        schema = open_sheet(folder / key.file, (), options).schema
        joined = [column for column in schema if column not in key.on.values()]
    made = {*parts_of(mapping.split), *joined}
    lists = lists_of(mapping.each)
    files = files_of(paths, apart=beside)
    if mapping.annotator is not None and FILE in mapping.annotator:
        check_stems(files)
    parts = [
        read_sheets(
            files,
            [
                *(column for column in named if column not in made and not _of_another(column, path, lists)),
                *([otree.PERSON] if mapping.page_times else []),
            ],
            replace(options, each=path),
            optional=(*OPTIONAL, *([otree.APP_ROUND] if mapping.page_times else []), *joined, *(key.on if key else ())),
            whole=[column for column in columns_of_several(mapping) if column not in made],
        )
        for path in lists or (None,)
    ]
    sheets = _below(parts, lists)
    sheets, is_qualtrics = qualtrics.without_headers(sheets)
    skipped: Counter[str] = Counter()
    chosen = _Chosen(mapping.keep, mapping.drop, skipped)
    sheets = chosen.of(sheets)
    rejected = sum(row.cells.get(REVIEWED) == REJECTED for row in sheets.rows)
    if rejected and REVIEWED not in (*mapping.keep, *mapping.drop):
        raise ResponseError(
            f"{files[0]}: expected answers that count, got {rejected:,} rows whose {REVIEWED} is {REJECTED}; say in "
            f'the mapping drop = {{ {REVIEWED} = ["{REJECTED}"] }} or keep, or read the file as mturk (--from mturk)'
        )
    if is_qualtrics:
        qualtrics.check_statuses(sheets.rows, {**mapping.keep, **mapping.drop})
    sheets = chosen.of(with_parts(sheets, mapping.split))
    if key is not None:
        sheets = chosen.of(with_key(sheets, key, folder, options, named))
    return with_whole_numbers(sheets, name_columns(mapping)), skipped, is_qualtrics


def _of_another(column: str, path: str | None, lists: Mapping[str, str]) -> bool:
    """Whether a column is the place or key of another list than the one that is read."""
    return (
        column.endswith(WAYS)
        and column not in WAYS
        and any(column in (f"{one}{mark}" for mark in WAYS) for one in lists if one != path)
    )


def _below(parts: Sequence[Sheets], lists: Mapping[str, str]) -> Sheets:
    """Return the rows of several lists, one list below the other, each row with its group."""
    if len(parts) == 1 and not any(lists.values()):
        return parts[0]
    groups = [*lists.values()]
    rows = [
        replace(row, cells={**row.cells, GROUP: group})
        for part, group in zip(parts, groups, strict=True)
        for row in part.rows
    ]
    columns = dict.fromkeys(column for part in parts for column in part.columns)
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return replace(parts[0], rows=rows, columns=tuple(columns), notes=tuple(notes))


def _file(people: object) -> str | None:
    return people if isinstance(people, str) else None


class _Chosen:
    """Leaves out rows by the columns that are there, each column once."""

    def __init__(self, keep: Values, drop: Values, skipped: Counter[str]) -> None:
        self._keep = dict(keep)
        self._drop = dict(drop)
        self._skipped = skipped

    def of(self, sheets: Sheets) -> Sheets:
        keep = {column: self._keep.pop(column) for column in [*self._keep] if column in sheets.columns}
        drop = {column: self._drop.pop(column) for column in [*self._drop] if column in sheets.columns}
        if not keep and not drop:
            return sheets
        rows: list[SheetRow] = []
        aside: Counter[tuple[str, str]] = Counter()
        for row in sheets.rows:
            column = _left_out_by(row, keep, drop)
            if column is None:
                rows.append(row)
            elif any(row.cells.get(name) is not None for name in row.cells if name != FILE):  # no blank line
                aside[column, row.text(column) or "empty"] += 1
        if aside and not rows:
            found = ", ".join(
                f"{column} {value!r} ({count} rows)" for (column, value), count in aside.most_common(SHOWN)
            )
            more = f" and {len(aside) - SHOWN} other values" if len(aside) > SHOWN else ""
            raise ResponseError(
                f"{'keep' if keep else 'drop'}: expected rows that stay, got none of {sum(aside.values())}; left out "
                f"were {shortened(found, 240)}{more}"
            )
        for option, named in (("keep", keep), ("drop", drop)):
            _check_values(option, named, sheets.rows)
        self._skipped.update({f"{column} {value}": count for (column, value), count in aside.items()})
        return replace(sheets, rows=rows)


def _check_values(option: str, named: Values, rows: Sequence[SheetRow]) -> None:
    """Refuse a value that no row has."""
    for column, values in named.items():
        there = Counter(row.text(column) or "" for row in rows)
        absent = next((value for value in values if value not in there), None)
        if rows and absent is not None:
            found = ", ".join(repr(value) for value, _ in there.most_common(SHOWN))
            more = f" and {len(there) - SHOWN} others" if len(there) > SHOWN else ""
            raise ResponseError(
                f"{option}: expected rows whose {column} is {shortened(repr(absent), 60)}, got none (there are: "
                f"{shortened(found, 200)}{more})"
            )


def _left_out_by(row: SheetRow, keep: Values, drop: Values) -> str | None:
    for column, values in keep.items():
        if (row.text(column) or "") not in values:
            return column
    return next((column for column, values in drop.items() if (row.text(column) or "") in values), None)
