"""The decisions of a live study, followed from one answer to the next: what letting people in costs stays the same.

Of each visit that counts the values are taken once, from its answers alone (:mod:`analysis.live.visit_units`), and the
bets go on from where they stood.
That is kept in memory alone: a process that starts reads the store from its beginning. Everything is computed anew,
from the store,

- where the store's mark of recounts was raised (:mod:`spa.responses.recounts`: somebody was forgotten, simulated visits
  were deleted, a claimed visit was taken away or confirmed late, a place without a limit of time was taken again, a
  visit was completed in the last minute of its time, or given up with a time before it was completed), and
- each time that further visits have counted, in studies that platforms hand out forms of: who began when is known late.

Of people counted as they complete (:mod:`analysis.live.completed_people`) the last few visits may change places.
"""

from __future__ import annotations

from sqlalchemy import Connection

from analysis.live.completed_people import CompletedPeople
from analysis.live.tally import LiveTally
from analysis.live.visit_reader import VisitReader
from spa.live import LiveAnalysis, LiveDecisions
from spa.records.study import Study
from spa.responses.begun_order import CountedVisits, CountingFacts, counting_facts
from spa.responses.leases import leases_after
from spa.responses.store import Store
from spa.study.narrowing import CountedUpTo
from spa.study.stopping import counts_as_begun


class AnswerFollower:
    """Follows the decisions on one group of a store, in one process; for one thread at a time."""

    def __init__(self, study: Study, store: Store, group: str, anew: LiveAnalysis) -> None:
        self.tally: LiveTally | None = None  # of what is followed; None: nothing yet, or computed anew
        self._study, self._store, self._group, self._anew = study, store, group, anew
        self._reader = VisitReader(study, store, group)
        self._as_begun = counts_as_begun(study)
        self._visits = CountedVisits()
        self._completed: CompletedPeople | None = None
        self._recounts = 0
        self._counted: tuple[int, int] | None = None  # where all is computed anew
        self._found: LiveDecisions | None = None

    @property
    def now(self) -> float:
        """The time at which it was last looked, in seconds since 1970; 0 where time decides nothing."""
        return self._visits.now

    def decisions(self, now: float) -> LiveDecisions | None:
        """Return what is decided ``now``, the same object while nobody else counts; ``None`` while nobody does."""
        with self._store.reading() as connection:
            facts = counting_facts(connection)
            if not self._as_begun:
                return self._follow_completed(connection, facts)
            if facts.known_until is None:
                return self._follow_begun(connection, facts.recounts, now)
        return self._computed_anew(facts.recounts, now)

    def _follow_begun(self, connection: Connection, mark: int, now: float) -> LiveDecisions | None:
        visits, tally = self._visits, self.tally
        if tally is None or mark != self._recounts:
            visits, tally = CountedVisits(), LiveTally.start(self._study, self._store.live_rules)
        newly = visits.look(leases_after(connection, visits.after, self._group), now)
        for visit in newly.counted:
            read = self._reader.one(connection, visit)
            tally = tally.after(self._study, visit.annotator_id, read.unit, read.dealt)
        visits.take(newly)
        if tally is not self.tally:
            counted = CountedUpTo(group=self._group, recounts=mark, visits=tally.visits)
            self._found = tally.decisions(self._study, counted)
        self.tally, self._visits, self._recounts = tally, visits, mark
        return self._found

    def _follow_completed(self, connection: Connection, facts: CountingFacts) -> LiveDecisions | None:
        people = self._completed
        if people is None or facts.recounts != self._recounts:
            people = CompletedPeople(self._study, LiveTally.start(self._study, self._store.live_rules), self._reader)
        if people.look(connection, self._group, facts.reseated) or people is not self._completed:
            # of two processes, the one that knows more has read the higher marks, or more visits
            marks = facts.recounts + facts.reseated
            counted = CountedUpTo(group=self._group, recounts=marks, visits=people.ended.n)
            self.tally = people.tally
            self._found = self.tally.decisions(self._study, counted)
        self._completed, self._recounts = people, facts.recounts
        return self._found

    def _computed_anew(self, mark: int, now: float) -> LiveDecisions | None:
        order = self._store.visits.begun_order(now).get(self._group)
        counted = mark, 0 if order is None else len(order.counted)
        if counted != self._counted:
            self.tally = None
            states = self._anew(self._study, self._store, now=now)
            state = next((one for one in states if one.group == self._group), None)
            self._found = None if state is None else state.decisions
            self._counted = counted
        return self._found
