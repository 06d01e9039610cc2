"""The decisions of a live study, followed from one answer to the next: what letting people in costs stays the same.

Of each visit that counts the values are taken once, from its answers alone (:mod:`analysis.live.visit_units`), and the
bets go on from where they stood.
That is kept in memory alone: a process that starts reads the store from its beginning. Everything is computed anew,
from the store,

- where the store's mark of recounts was raised (:mod:`spa.responses.recounts`: somebody was forgotten, simulated visits
  were deleted, a claimed visit was taken away or confirmed late, a place without a limit of time was taken again, a
  visit was completed in the last minute of its time, or given up with a time before it was completed), and
- where a platform that hands out forms itself names somebody later than it should who began before others that count.

Of people counted as they complete (:mod:`analysis.live.completed_people`) the last few visits may change places.
"""

from __future__ import annotations

from sqlalchemy import Connection

from analysis.live.completed_people import CompletedPeople
from analysis.live.tally import LiveTally
from analysis.live.visit_reader import VisitReader
from spa.live import LiveDecisions
from spa.records.study import Study
from spa.responses.begun_order import CountedVisits, CountingFacts, counting_facts
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
            if self._as_begun:
                return self._follow_begun(connection, facts, now)
            return self._follow_completed(connection, facts)

    def _follow_begun(self, connection: Connection, facts: CountingFacts, now: float) -> LiveDecisions | None:
        visits, tally, until = self._visits, self.tally, facts.known_until
        later = visits.later_visits(connection, self._group, until)
        if tally is None or facts.recounts != self._recounts or not visits.are_later(later, until):
            visits, tally = CountedVisits(), LiveTally.start(self._study, self._store.live_rules)
            later = visits.later_visits(connection, self._group, until)
        newly = visits.look(later, now, until)
        for visit in newly.counted:
            read = self._reader.one(connection, visit)
            tally = tally.after(self._study, visit.annotator_id, read.unit, read.dealt)
        visits.take(newly)
        if tally is not self.tally:
            counted = CountedUpTo(group=self._group, recounts=facts.recounts, visits=tally.visits)
            self._found = tally.decisions(self._study, counted)
        self.tally, self._visits, self._recounts = tally, visits, facts.recounts
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
