"""oTree's exports, wide or of an app: cells that the program filled in when a page's time ran out.

A field that was left open is then stored as 0 or empty, and the export carries no mark of it; only the export of page
times tells on which pages of whom the time ran out (``timeout_happened``).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers.csv.mapping import FILE
from spa.importers.csv.sheets import Cell, SheetRow, read_sheets
from spa.importers.csv.words import is_zero
from spa.tables.options import TableOptions

PERSON, PAGE_INDEX = "participant.code", "participant._index_in_pages"
FIELD = re.compile(r"(?P<app>[^.]+)\.(?P<round>[0-9]+)\.player\..+")
APP, ROUND, PAGE_PERSON, TIMEOUT = "app_name", "round_number", "participant_code", "timeout_happened"
WAITING = "is_wait_page"  # on which nothing is asked
TIMED_OUT = "page timed out"
APP_FIELD, APP_ROUND = re.compile(r"player\..+"), "subsession.round_number"  # in the export of one app


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Rounds of an app in which a person's time ran out, and all apps of the session.

    In rounds that are ``mixed`` it did on some pages: which of them asked a question is in no export.
    """

    rounds: frozenset[tuple[str, str, str]]
    apps: frozenset[str]
    mixed: frozenset[tuple[str, str, str]] = frozenset()

    def filled_in(self, row: SheetRow, column: str, cell: Cell) -> bool:
        """Whether a cell holds what oTree writes when the time runs out, on such a page."""
        if not is_field(column) or not is_filled_in(cell):
            return False
        return self._round(row, column) in self.rounds

    def is_mixed(self, row: SheetRow, column: str) -> bool:
        """Whether the person's time ran out on some pages of the round alone."""
        return self._round(row, column) in self.mixed

    def _round(self, row: SheetRow, column: str) -> tuple[str | None, str, str | None]:
        found = FIELD.fullmatch(column)
        app, number = (found["app"], found["round"]) if found else (self._app(row), row.text(APP_ROUND))
        return row.text(PERSON), app, number

    def _app(self, row: SheetRow) -> str:
        """Return the app of a file that holds one: oTree begins the file's name with it."""
        stem = row.text(FILE) or ""
        found = self.apps if len(self.apps) == 1 else {app for app in self.apps if stem.startswith(app)}
        if len(found) != 1:
            raise ResponseError(
                f"{row.place}: expected a file whose name begins with its app's, one of "
                f"{shortened(', '.join(sorted(self.apps)), 120)}, got {shortened(repr(stem))}; rename it"
            )
        return next(iter(found))


def is_filled_in(cell: Cell) -> bool:
    """Whether a cell holds what oTree writes into a field that was left open."""
    return isinstance(cell, str) and (is_zero(cell) or cell == "False")


def is_field(column: str) -> bool:
    """Whether a column is one that people fill in."""
    return FIELD.fullmatch(column) is not None or APP_FIELD.fullmatch(column) is not None


def read_page_times(path: Path, options: TableOptions) -> TimedOut:
    """Read oTree's export of page times."""
    pages = read_sheets([path], (PAGE_PERSON, APP, ROUND, TIMEOUT), options, optional=(WAITING,)).rows
    rounds: set[tuple[str, str, str]] = set()
    in_time: set[tuple[str, str, str]] = set()
    apps: set[str] = set()
    for page in pages:
        happened = page.text(TIMEOUT)
        if happened not in ("0", "1", None):
            raise ResponseError(f"{page.place}, {TIMEOUT}: expected 0 or 1, got {happened!r}")
        person, app, number = page.text(PAGE_PERSON), page.text(APP), page.text(ROUND)
        apps.update([app] if app else [])
        if person and app and number and page.cells.get(WAITING) != "1":
            (rounds if happened == "1" else in_time).add((person, app, number))
    return TimedOut(frozenset(rounds), frozenset(apps), frozenset(rounds & in_time))


def is_wide_export(columns: Collection[str]) -> bool:
    """Whether a table is oTree's wide export."""
    return PERSON in columns and PAGE_INDEX in columns
