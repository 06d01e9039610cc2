"""The decisions of a live study, followed from one answer to the next: what letting people in costs stays the same.

Of each visit that counts the values are taken once, from its answers alone (:mod:`analysis.live.visit_units`), and the
bets go on from where they stood.
That is kept in memory alone: a process that starts reads the store from its beginning. Everything is computed anew,
from the store,

- where the store's mark of recounts was raised (:mod:`spa.responses.recounts`: somebody was forgotten, simulated visits
  were deleted, a claimed visit was taken away or confirmed late, a place without a limit of time was taken again, a
  visit was completed in the last minute of its time, or given up with a time before it was completed), and
- each time that further visits have counted, in studies whose visits do not come one after another, each for itself:
  people counted as they complete, or handed out forms by a platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sqlalchemy import Connection

from analysis.live.hypotheses import Hypotheses
from analysis.live.next_pairs import counts_after, open_pairs, ranking_of
from analysis.live.rule import stopping_rule
from analysis.live.unit_matrix import forms_read, live_plan, matrices_of
from analysis.live.visit_units import VisitUnit, visit_unit
from analysis.sequential.family import OPEN
from analysis.sequential.monitor import Monitor
from analysis.sequential.top_k import BordaCounts
from spa.live import LiveAnalysis, LiveDecisions, decided_pairs
from spa.records.assignment import AssignmentLabels
from spa.records.study import Study
from spa.records.submission import Submission
from spa.responses.answer_rows import read_submission
from spa.responses.begun_order import CountedVisits, counting_facts
from spa.responses.export import labels_of, visit_exposures, visit_tables
from spa.responses.leases import Lease, leases_after
from spa.responses.store import Store
from spa.responses.stored_assignments import asked_of_people
from spa.study.narrowing import CountedUpTo, DealtPair
from spa.study.stopping import counts_as_begun, planned_annotators, ranks_systems

NOTHING = VisitUnit(asked=False, excluded=False, values=None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LiveTally:
    """One group after some visits.

    Attributes
    ----------
    hypotheses : Hypotheses
    units : tuple of str
        Annotators who count, in order.
    monitors : tuple of Monitor
        One a family of hypotheses; none where systems are ranked.
    counts : BordaCounts or None
        Where systems are ranked.
    visits, excluded : int
        Visits that count, and people left out of these.
    asked : bool
        Whether any visit was asked anything of the kind that decides.
    """

    hypotheses: Hypotheses
    units: tuple[str, ...]
    monitors: tuple[Monitor, ...]
    counts: BordaCounts | None
    visits: int
    excluded: int
    asked: bool

    @classmethod
    def start(cls, study: Study, live_rules: int) -> LiveTally:
        """Return the tally before the first visit."""
        rule, hypotheses = stopping_rule(study), Hypotheses.of(study, live_rules)
        if rule is None:
            raise ValueError("expected a live study, got one of fixed size")
        ranks = ranks_systems(study)
        return cls(
            hypotheses=hypotheses,
            units=(),
            monitors=() if ranks else tuple(Monitor.start(rule, len(family)) for family in hypotheses.families),
            counts=BordaCounts.start(len(study.compared)) if ranks else None,
            visits=0,
            excluded=0,
            asked=False,
        )

    def after(self, study: Study, visit: Lease, unit: VisitUnit, dealt: Sequence[DealtPair] | None) -> LiveTally:
        """Return the tally after one more visit, of which ``dealt`` are the pairs in the place of those drawn."""
        seen = replace(
            self,
            visits=self.visits + 1,
            excluded=self.excluded + unit.excluded,
            asked=self.asked or unit.asked,
        )
        if unit.values is None:
            return seen
        families, counts = self.hypotheses.families, self.counts
        if counts is not None:
            counts = counts_after(counts, study, self.hypotheses.listed, unit.values, dealt)
        return replace(
            seen,
            units=(*self.units, visit.annotator_id),
            monitors=tuple(
                monitor.after(unit.values[family]) for monitor, family in zip(self.monitors, families, strict=False)
            ),
            counts=counts,
        )

    def decisions(self, study: Study, group: str, mark: int) -> LiveDecisions | None:
        """Return what is decided by now; ``None`` while nobody was asked."""
        if not self.asked:
            return None
        units, most = len(self.units), planned_annotators(study)
        counted = CountedUpTo(group=group, recounts=mark, visits=self.visits)
        if self.counts is not None:
            ranking = ranking_of(study, self.counts, units)
            return LiveDecisions(
                group=group,
                units=units,
                most=most,
                all_decided=ranking.decided,
                next_pairs=ranking.next_pairs,
                counted=counted,
            )
        is_open = np.zeros(len(self.hypotheses.listed), dtype=np.bool_)
        for monitor, family in zip(self.monitors, self.hypotheses.families, strict=True):
            is_open[family] = monitor.tally.marks == OPEN
        pairs = [(x, y, bool(one)) for (*_, x, y), one in zip(self.hypotheses.listed, is_open, strict=True)]
        left = [(x, y) for x, y, one in pairs if one]
        return LiveDecisions(
            group=group,
            units=units,
            most=most,
            all_decided=bool(pairs) and not left,
            decided=decided_pairs(pairs),
            next_pairs=tuple(open_pairs(study, left, of=len(pairs), seed=(study.seed, units))),
            counted=counted,
        )


class AnswerFollower:
    """Follows the decisions on one group of a store, in one process; for one thread at a time."""

    def __init__(self, study: Study, store: Store, group: str, anew: LiveAnalysis) -> None:
        self.tally: LiveTally | None = None  # of what is followed; None: nothing yet, or computed anew
        self._study, self._store, self._group, self._anew = study, store, group, anew
        self._plan = live_plan(study)
        self._follows = counts_as_begun(study)
        self._form_of = forms_read(study, store, self._plan)
        self._visits = CountedVisits()
        self._recounts = 0
        self._counted: tuple[int, ...] | None = None  # where all is computed anew
        self._found: LiveDecisions | None = None

    @property
    def now(self) -> float:
        """The time at which it was last looked, in seconds since 1970."""
        return self._visits.now

    def decisions(self, now: float) -> LiveDecisions | None:
        """Return what is decided ``now``, the same object while nobody else counts; ``None`` while nobody does."""
        with self._store.reading() as connection:
            mark, known_until = counting_facts(connection)
            if self._follows and known_until is None:
                return self._follow(connection, mark, now)
        return self._computed_anew(mark, now)

    def _follow(self, connection: Connection, mark: int, now: float) -> LiveDecisions | None:
        visits, tally = self._visits, self.tally
        if tally is None or mark != self._recounts:
            visits, tally = CountedVisits(), LiveTally.start(self._study, self._store.live_rules)
        newly = visits.look(leases_after(connection, visits.after, self._group), now)
        for visit in newly.counted:
            tally = self._after(connection, tally, visit)
        visits.take(newly)
        if tally is not self.tally:
            self._found = tally.decisions(self._study, self._group, mark)
        self.tally, self._visits, self._recounts = tally, visits, mark
        return self._found

    def _after(self, connection: Connection, tally: LiveTally, visit: Lease) -> LiveTally:
        submission = read_submission(connection, visit.submission_id)
        asked = asked_of_people(connection, visit.assignment_id)
        if submission is None or asked is None:  # deleted since: the mark of recounts says so next time
            return tally.after(self._study, visit, NOTHING, None)
        labels = labels_of(asked.assignment, asked.key)
        exposures = partial(visit_exposures, self._store, submission, labels, self._form_of)
        unit = visit_unit(submission, labels, tally.hypotheses, self._plan, exposures)
        if unit is None:
            unit = self._unit_of_tables(tally.hypotheses, visit, submission, labels)
        return tally.after(self._study, visit, unit, asked.dealt)

    def _unit_of_tables(
        self, hypotheses: Hypotheses, visit: Lease, submission: Submission, labels: AssignmentLabels
    ) -> VisitUnit:
        exported = visit_tables(self._store, submission, labels, form_of=self._form_of)
        places = {(visit.annotator_id, visit.assignment_id): 0}
        for matrix in matrices_of(self._study, exported, self._plan, hypotheses, places, self._group):
            values = matrix.values[0] if matrix.units else None
            return VisitUnit(asked=True, excluded=matrix.excluded > 0, values=values)
        return NOTHING

    def _computed_anew(self, mark: int, now: float) -> LiveDecisions | None:
        counted = mark, *self._counted_visits(now)
        if counted != self._counted:
            self.tally = None
            states = self._anew(self._study, self._store, now=now)
            state = next((one for one in states if one.group == self._group), None)
            self._found = None if state is None else state.decisions
            self._counted = counted
        return self._found

    def _counted_visits(self, now: float) -> tuple[int, ...]:
        """Return what differs where other visits count."""
        if not counts_as_begun(self._study):
            return self._store.visits.completed_mark()
        order = self._store.visits.begun_order(now).get(self._group)
        return () if order is None else (len(order.counted),)
