"""Qualtrics' CSV: two more rows of headers, and responses that are none: previews, spam, people who left.

Layout by Qualtrics' documentation of its exports: the third row holds ``{"ImportId": ...}``; ``Status`` is 0 of a
response, 1 of a preview, 4 of an imported response, 8 of spam, 16 of one given offline; ``Finished`` is 0 of who left.
-99 is "seen but unanswered".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from spa.errors import ResponseError, shortened
from spa.importers.csv.sheets import SheetRow, Sheets

STATUS, FINISHED = "Status", "Finished"
SEEN = "-99"
MARK = '{"ImportId"'
REAL = {STATUS: ("0", "IP Address"), FINISHED: ("1", "True", "TRUE", "true")}
CALLED = {
    "1": "a preview",
    "Survey Preview": "a preview",
    "2": "a test",
    "Survey Test": "a test",
    "4": "imported",
    "Imported": "imported",
    "8": "spam",
    "Spam": "spam",
    "16": "given offline",
    "Offline": "given offline",
}


def without_headers(sheets: Sheets) -> tuple[Sheets, bool]:
    """Return the rows without the further headers of such an export, and whether it is one."""
    rows: list[SheetRow] = []
    found = 0
    for row in sheets.rows:
        rows.append(row)
        if any(isinstance(cell, str) and cell.startswith(MARK) for cell in row.cells.values()):
            file = row.place.partition(", row ")[0]
            while rows and rows[-1].place.startswith(f"{file}, row "):
                rows.pop()
            found += 1
    if not found:
        return sheets, False
    note = f"an export of Qualtrics: its further headers are left out, {SEEN} (seen but unanswered) is missing"
    return replace(sheets, rows=rows, notes=(*sheets.notes, note)), True


def check_statuses(rows: list[SheetRow], chosen: Mapping[str, object]) -> None:
    """Refuse previews, spam and unfinished responses of which ``keep`` and ``drop`` say nothing."""
    problems = []
    for column, real in REAL.items():
        if column in chosen:
            continue
        others = Counter(str(row.cells[column]) for row in rows if row.cells.get(column) not in (None, *real))
        if others:
            called = CALLED if column == STATUS else dict.fromkeys(others, "not finished")
            counted = ", ".join(
                f"{count} of {value} ({called[value]})" if value in called else f"{count} of {value}"
                for value, count in others.items()
            )
            used = sorted({str(row.cells[column]) for row in rows if row.cells.get(column) in real}) or [real[0]]
            problems.append(
                f"{column}: expected responses alone, got {shortened(counted, 160)}; leave them out by "
                f'keep = {{ {column} = ["{used[0]}"] }}, or name all values there to count them'
            )
    if problems:
        raise ResponseError(*problems)
