"""Which rows are asked about: those of all files, with the columns of patterns and key, without those left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers import otree, qualtrics, sliders
from spa.importers.annotators import with_whole_numbers
from spa.importers.keys import parts_of, with_key, with_parts
from spa.importers.mapping import FILE, Wide
from spa.importers.roles import columns_of_several, name_columns, named_columns
from spa.importers.sheets import SheetRow, Sheets, check_stems, files_of, open_sheet, read_sheets
from spa.tables.options import TableOptions

OPTIONAL = (qualtrics.STATUS, qualtrics.FINISHED, sliders.START)
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
    files = files_of(paths, apart=beside)
    if mapping.annotator is not None and FILE in mapping.annotator:
        check_stems(files)
    sheets = read_sheets(
        files,
        [*(column for column in named if column not in made), *([otree.PERSON] if mapping.page_times else [])],
        replace(options, each=mapping.each),
        optional=(*OPTIONAL, *([otree.APP_ROUND] if mapping.page_times else []), *joined, *(key.on if key else ())),
        whole=[column for column in columns_of_several(mapping) if column not in made],
    )
    sheets, is_qualtrics = qualtrics.without_headers(sheets)
    skipped: Counter[str] = Counter()
    chosen = _Chosen(mapping.keep, mapping.drop, skipped)
    sheets = chosen.of(sheets)
    if is_qualtrics:
        qualtrics.check_statuses(sheets.rows, {**mapping.keep, **mapping.drop})
    sheets = chosen.of(with_parts(sheets, mapping.split))
    if key is not None:
        sheets = chosen.of(with_key(sheets, key, folder, options, named))
    return with_whole_numbers(sheets, name_columns(mapping)), skipped, is_qualtrics


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
