"""The decisions of a live study, followed from one answer to the next: what letting people in costs stays the same.

Of each visit that counts the values are taken once, from its answers alone (:mod:`analysis.live.visit_units`), and the
bets go on from where they stood.
The bets are kept in memory alone: a process that starts places them again, by the values that are kept beside the
answers. Everything is computed anew, from the store,

- where the store's mark of recounts was raised (:mod:`spa.responses.recounts`: somebody was forgotten, simulated visits
  were deleted, a claimed visit was taken away or confirmed late, a place without a limit of time was taken again, a
  visit was completed in the last minute of its time, or given up with a time before it was completed), and
- where a platform that hands out forms itself names somebody later than it should who began before others that count.

Of people counted as they complete the last few visits may change places.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field

from sqlalchemy import Connection

from analysis.live.tally import LiveTally
from analysis.live.visit_reader import ReadVisit, VisitReader
from spa.live import LiveDecisions
from spa.records.study import Study
from spa.responses.begun_order import CountedVisits, CountingFacts, counting_facts
from spa.responses.ended_visits import EndedVisits
from spa.responses.leases import Lease
from spa.responses.store import Store
from spa.study.narrowing import CountedUpTo
from spa.study.stopping import counts_as_begun


class AnswerFollower:
    """Follows the decisions on one group of a store, in one process; for one thread at a time."""

    def __init__(self, study: Study, store: Store, group: str) -> None:
        self.tally: LiveTally | None = None  # of what is followed; None: nothing yet
        self._study, self._store, self._group = study, store, group
        self._reader = VisitReader(study, store, group)
        self._as_begun = counts_as_begun(study)
        self._visits = CountedVisits()
        self._completed: CompletedPeople | None = None
        self._recounts = 0
        self._found: LiveDecisions | None = None

    @property
    def now(self) -> float:
        """The time at which it was last looked, in seconds since 1970; 0 where time decides nothing."""
        return self._visits.now

    def decisions(self, now: float) -> LiveDecisions | None:
        """Return what is decided ``now``, the same object while nobody else counts; ``None`` while nobody does."""
        with self._store.reading() as connection:
            facts = counting_facts(connection)
            found = (
                self._follow_begun(connection, facts, now)
                if self._as_begun
                else self._follow_completed(connection, facts)
            )
        self._reader.keep()
        return found

    def _follow_begun(self, connection: Connection, facts: CountingFacts, now: float) -> LiveDecisions | None:
        visits, tally, until = self._visits, self.tally, facts.known_until
        later = visits.later_visits(connection, self._group, until)
        if tally is None or facts.recounts != self._recounts or not visits.are_later(later, until):
            visits, tally = CountedVisits(), LiveTally.start(self._study, self._store.live_rules)
            self._reader.begin(connection, facts.recounts)
            later = visits.later_visits(connection, self._group, until)
        newly = visits.newly_counted(later, now, until)
        for visit in newly.counted:
            read = self._reader.one(connection, visit)
            tally = tally.after(self._study, visit.annotator_id, read.unit, read.dealt)
        visits.note(newly)
        if tally is not self.tally:
            counted = CountedUpTo(group=self._group, recounts=facts.recounts, visits=tally.visits)
            self._found = tally.decisions(self._study, counted)
        self.tally, self._visits, self._recounts = tally, visits, facts.recounts
        return self._found

    def _follow_completed(self, connection: Connection, facts: CountingFacts) -> LiveDecisions | None:
        people = self._completed
        if people is None or facts.recounts != self._recounts:
            people = CompletedPeople(self._study, LiveTally.start(self._study, self._store.live_rules), self._reader)
            self._reader.begin(connection, facts.recounts)
        if people.note_ended(connection, self._group, facts.reseated) or people is not self._completed:
            # of two processes, the one that knows more has read the higher marks, or more visits
            marks = facts.recounts + facts.reseated
            counted = CountedUpTo(group=self._group, recounts=marks, visits=people.ended.n)
            self.tally = people.tally
            self._found = self.tally.decisions(self._study, counted)
        self._completed, self._recounts = people, facts.recounts
        return self._found


KEPT = 64  # tallies, the last ones: as many people may have completed before one who comes in between
Place = tuple[float, int, str]  # when a visit was completed, its number, and whose it is


@dataclass(slots=True, kw_only=True)
class _Person:
    visits: dict[int, Lease] = field(default_factory=dict)
    place: Place | None = None
    read: ReadVisit | None = None


class CompletedPeople:
    """The people of a live study in the order in which they complete, for one process and thread.

    A visit mostly comes after all others. Where one comes before some (two servers, or somebody's earlier visit that
    counts from now on), what was known before is taken up again, and those after it are added anew, without reading the
    store.
    """

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

    def note_ended(self, connection: Connection, kind: str, reseated: int) -> bool:
        """Take note of what has ended since; tell whether anything has. ``reseated`` is as the store notes it."""
        newly = self.ended.newly_ended(connection, kind, reseated)
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
        self.ended.note(newly)
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
