"""The people of a live study in the order in which they complete, each with what their visits add.

A visit mostly comes after all others. Where one comes before some (two servers, or somebody's earlier visit that counts
from now on), what was known before is taken up again, and those after it are added anew, without reading the store.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field

from sqlalchemy import Connection

from analysis.live.tally import LiveTally
from analysis.live.visit_reader import ReadVisit, VisitReader
from spa.records.study import Study
from spa.responses.ended_visits import EndedVisits
from spa.responses.leases import Lease

KEPT = 64  # tallies, the last ones: as many people may have completed before one who comes in between
Place = tuple[float, int, str]  # when a visit was completed, its number, and whose it is


@dataclass(slots=True, kw_only=True)
class _Person:
    visits: dict[int, Lease] = field(default_factory=dict)
    place: Place | None = None
    read: ReadVisit | None = None


class CompletedPeople:
    """Whose answers count by now, for one process and thread."""

    def __init__(self, study: Study, start: LiveTally, reader: VisitReader) -> None:
        self.ended = EndedVisits()
        self._study, self._start, self._reader = study, start, reader
        self._people: dict[str, _Person] = {}
        self._order: list[Place] = []
        self._tallies: deque[tuple[int, LiveTally]] = deque(maxlen=KEPT)  # and after how many people

    @property
    def tally(self) -> LiveTally:
        """What is known by now."""
        return self._tallies[-1][1] if self._tallies else self._start

    def look(self, connection: Connection, kind: str, reseated: int) -> bool:
        """Take note of what has ended since; tell whether anything has. ``reseated`` is as the store notes it."""
        newly = self.ended.look(connection, kind, reseated)
        concerned: dict[str, dict[int, Lease]] = {}
        for number, visit in newly.visits.items():
            concerned.setdefault(visit.annotator_id, {})[number] = visit
        changed = []
        for who, visits in concerned.items():  # read all first: whoever fails here has changed nothing
            known = self._people.get(who, _Person())
            together = dict(sorted({**known.visits, **visits}.items()))
            read = self._reader.all_of(connection, [*together.values()])
            changed.append((who, _Person(visits=together, place=_place(who, together, read), read=read)))
        for who, person in changed:
            self._put(who, person)
        self.ended.take(newly)
        self._add_up()
        return bool(newly.visits)

    def _put(self, who: str, person: _Person) -> None:
        before = self._people.get(who)
        if before is not None and before.place is not None:
            self._order.pop(self._keep_before(before.place))
        if person.place is not None:
            insort(self._order, person.place)
            self._keep_before(person.place)
        self._people[who] = person

    def _keep_before(self, place: Place) -> int:
        """Forget what was known after the people before a place; return how many these are."""
        known = bisect_left(self._order, place)
        while self._tallies and self._tallies[-1][0] > known:
            self._tallies.pop()
        return known

    def _add_up(self) -> None:
        """Add those after the last tally."""
        first = self._tallies[-1][0] if self._tallies else 0
        for number, (_, _, who) in enumerate(self._order[first:], start=first + 1):
            read = self._people[who].read
            if read is not None:
                self._tallies.append((number, self.tally.after(self._study, who, read.unit, read.dealt)))


def _place(who: str, visits: dict[int, Lease], read: ReadVisit) -> Place | None:
    """Return where a person counts: with the visit that makes a unit, else with the first; None of no answers."""
    if not read.unit.asked:
        return None
    counted = {n: visit for n, visit in visits.items() if read.assignment_id in (None, visit.assignment_id)}
    return min((visit.completed_at or 0.0, number, who) for number, visit in counted.items())
