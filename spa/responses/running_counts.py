"""What a store holds, counted once and then kept up by what has changed, so that asking often costs little.

Visits that are new, open, or have ended since are read again, by index; what changes a visit that has ended (a person
who gave it back, a reviewer, `spa forget`) is seen when everything is counted again, every ten minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select, true

from spa.records.people import People
from spa.responses.database import CHUNK
from spa.responses.leases import LEASE_COLUMNS, lease_from_row
from spa.responses.status import Status, VisitTally
from spa.responses.store import Store
from spa.responses.store_schema import answers, payloads, submissions, tokens

ANEW = 600.0  # seconds after which everything is counted again, in the background
OPEN = submissions.c.outcome.is_(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTotals:
    """What a store holds at one moment."""

    status: Status
    pages: int  # received
    answers: int  # of visits that have ended, raters' too


class RunningCounts:
    """The counts of one store, for one process; safe to use from several threads."""

    def __init__(self, store: Store, people: People) -> None:
        self._store = store
        self._people = people
        self._lock = threading.Lock()
        self._counted = _Counted(store, people)
        self._anew: threading.Thread | None = None

    def totals(self, now: float) -> RunningTotals:
        """Return the counts, brought up to date; ``now`` in seconds since 1970."""
        with self._lock:
            self._counted.update()
            if time.monotonic() - self._counted.since > ANEW and self._anew is None:
                self._anew = threading.Thread(target=self._count_anew, daemon=True)
                self._anew.start()
            return self._counted.totals(now)

    def _count_anew(self) -> None:
        try:
            counted = _Counted(self._store, self._people)
            with self._lock:
                self._counted = counted
        finally:
            self._anew = None


class _Counted:
    def __init__(self, store: Store, people: People) -> None:
        self.since = time.monotonic()
        self._store = store
        self._tally = VisitTally(assignments=store.assignments.for_people, people=people)
        self._last = self._last_page = self._pages = 0
        self._open: set[int] = set()
        self._at_work: set[int] = set()
        self._answers: dict[int, int] = {}
        with store.reading() as connection:
            given = select(answers.c.submission, func.count()).group_by(answers.c.submission)
            self._answers.update((number, count) for number, count in connection.execute(given))
            self._given = sum(self._answers.values())
            self._note_visits(connection, true())
            self._note_sizes(connection)

    def update(self) -> None:
        """Read what has changed."""
        with self._store.reading() as connection:
            open_now = set(connection.scalars(select(submissions.c.number).where(OPEN)))
            changed = self._open ^ {number for number in open_now if number <= self._last}
            at_work = OPEN & submissions.c.released_at.is_(None)
            changed |= self._at_work - set(connection.scalars(select(submissions.c.number).where(at_work)))
            changed.update(self._note_visits(connection, submissions.c.number > self._last))
            self._note_visits(connection, at_work)
            for some in _chunks(changed):
                given = select(answers.c.submission, func.count()).group_by(answers.c.submission)
                rows = connection.execute(given.where(answers.c.submission.in_(some)))
                found: dict[int, int] = {number: count for number, count in rows}
                self._given += sum(found.get(number, 0) - self._answers.get(number, 0) for number in some)
                self._answers.update({number: found.get(number, 0) for number in some})
                self._note_visits(connection, submissions.c.number.in_(some))
            self._note_sizes(connection)

    def totals(self, now: float) -> RunningTotals:
        """Return what is counted."""
        return RunningTotals(status=self._tally.status(now), pages=self._pages, answers=self._given)

    def _note_visits(self, connection: Connection, which: ColumnElement[bool]) -> list[int]:
        visited = submissions.outerjoin(tokens, tokens.c.submission_id == submissions.c.submission_id)
        query = select(*LEASE_COLUMNS, submissions.c.number).select_from(visited).where(which)
        noted = []
        for row in connection.execute(query):
            visit, number = lease_from_row(row), row.number
            noted.append(number)
            (set.discard if visit.finished else set.add)(self._open, number)
            (set.add if not visit.finished and visit.released_at is None else set.discard)(self._at_work, number)
            self._last = max(self._last, number)
            if visit.annotator_kind != "llm":
                self._tally.put(visit)
        return noted

    def _note_sizes(self, connection: Connection) -> None:
        new = select(func.count(), func.max(payloads.c.number)).where(payloads.c.number > self._last_page)
        count, last = connection.execute(new).one()
        self._pages += count
        self._last_page = last or self._last_page


def _chunks(numbers: Collection[int]) -> Iterator[list[int]]:
    listed = sorted(numbers)
    yield from (listed[start : start + CHUNK] for start in range(0, len(listed), CHUNK))
