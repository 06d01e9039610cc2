"""What a live study knows of one group after some visits: the bets, or the shares won, and what they decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.live.hypotheses import Hypotheses, stopping_rule
from analysis.live.next_pairs import counts_after, open_pairs, ranking_of
from analysis.live.visit_units import VisitUnit
from analysis.sequential.family import OPEN
from analysis.sequential.monitor import Monitor
from analysis.sequential.top_k import BordaCounts
from spa.live import LiveDecisions, decided_pairs
from spa.records.study import Study
from spa.study.narrowing import CountedUpTo, DealtPair
from spa.study.stopping import planned_annotators, ranks_systems


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

    def after(self, study: Study, who: str, unit: VisitUnit, dealt: Sequence[DealtPair] | None) -> LiveTally:
        """Return the tally after somebody's visit, of which ``dealt`` are the pairs in the place of those drawn."""
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
            units=(*self.units, who),
            monitors=tuple(
                monitor.after(unit.values[family]) for monitor, family in zip(self.monitors, families, strict=False)
            ),
            counts=counts,
        )

    def decisions(self, study: Study, counted: CountedUpTo) -> LiveDecisions | None:
        """Return what is decided by now, ``counted`` up to what; ``None`` while nobody was asked."""
        if not self.asked:
            return None
        units, most, group = len(self.units), planned_annotators(study), counted.group
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
