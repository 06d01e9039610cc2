"""The pairs to ask about next: those still open, or those that tell the best few of many systems, or their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.live.hypotheses import Hypothesis
from analysis.live.unit_matrix import UnitMatrix
from analysis.sequential.top_k import BordaCounts, TopRule, next_comparisons, top_state
from analysis.sequential.whole_order import OrderRule, next_order_pairs, order_state, unsettled_systems
from analysis.statistics.coding import Floats
from spa.live import LiveState, LiveSystem
from spa.records.study import Study
from spa.study.narrowing import DealtPair, Pair
from spa.study.stopping import planned_annotators, stopping_facts

AHEAD = 50  # assignments dealt at once: as many people may come before the next one completes


def open_pairs(study: Study, left: Sequence[Pair], *, of: int, seed: tuple[int, int]) -> Iterator[DealtPair]:
    """Yield open pairs in random order, again and again, once some are decided and their place goes to the others.

    ``left`` are those of the comparisons that are open, ``of`` how many; each comes as often as any other to within
    one, with either system first in turn.
    """
    if study.stopping.freed != "open_pairs" or not left or len(left) == of:
        return
    rng = np.random.default_rng(seed)
    for number in range(AHEAD * study.items_per_annotator):
        turn, place = divmod(number, len(left))
        if place == 0:
            order = rng.permutation(len(left))
        x, y = left[order[place]] if (turn + order[place]) % 2 else left[order[place]][::-1]
        yield DealtPair(system_x=x, system_y=y, subject=x)


def systems_state(study: Study, matrix: UnitMatrix, dealt: Mapping[str, Sequence[DealtPair]]) -> LiveState:
    """Return the best few or the order of the systems so far, and what to ask of those who come next.

    An annotator gives a system one value: the mean of their choices that count for it. Pairs that were drawn count
    for both systems; those dealt by earlier answers for the systems that they were dealt for, whose opponents alone
    were drawn uniformly.

    Parameters
    ----------
    study : Study
        With ``[stopping] top`` or ``order``.
    matrix : UnitMatrix
        Of choices.
    dealt : mapping of str to sequence of DealtPair
        By assignment: the pairs that were dealt in the place of those drawn.
    """
    systems = [system.id for system in study.compared]
    counts = BordaCounts.start(len(systems))
    for number, assignment_id in enumerate(matrix.assignments):
        counts = counts_after(counts, study, matrix.hypotheses, matrix.values[number], dealt.get(assignment_id))
    units = len(matrix.units)
    ranking = ranking_of(study, counts, units)
    low, high = ranking.low, ranking.high
    return LiveState(
        group=matrix.group,
        answers=matrix.answers,
        units=units,
        excluded=matrix.excluded,
        waiting=matrix.waiting,
        late=matrix.late,
        most=planned_annotators(study),
        systems=tuple(
            LiveSystem(
                system=system,
                n=int(counts.compared[number]),
                score=float(counts.won[number] / counts.compared[number]) if counts.compared[number] else None,
                low=float(low[number]),
                high=float(high[number]),
                leads=number in ranking.leaders,
                rank_low=1 + int(np.sum(low > high[number])),
                rank_high=int(np.sum(high >= low[number])),
            )
            for number, system in enumerate(systems)
        ),
        systems_decided=ranking.decided,
        next_pairs=ranking.next_pairs,
    )


def counts_after(
    counts: BordaCounts,
    study: Study,
    hypotheses: Sequence[Hypothesis],
    values: Floats,
    dealt: Sequence[DealtPair] | None,
) -> BordaCounts:
    """Return the counts after one more annotator with ``values``, shape (hypotheses,), on the pairs ``dealt``."""
    means = _means(hypotheses, values, dealt)
    place = {system.id: number for number, system in enumerate(study.compared)}
    own = np.array([place[system] for system in means], dtype=np.int64)
    return counts.after(own, np.array(list(means.values())))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SystemRanking:
    """What is known of the systems by their counts, and what to ask next."""

    low: Floats
    high: Floats
    leaders: tuple[int, ...]  # the best few; of an order, the first
    decided: bool
    next_pairs: tuple[DealtPair, ...]


NextPairs = list[tuple[int, int, int | None]]  # two systems, and the one that the answer counts for


def ranking_of(study: Study, counts: BordaCounts, units: int) -> SystemRanking:
    """Return the best few or the order after so many annotators."""
    facts, rng = stopping_facts(study), np.random.default_rng((study.seed, units))
    low, high, leaders, decided, pairs = (_order if study.stopping.order else _best_few)(study, facts, counts, rng)
    names = [system.id for system in study.compared]
    return SystemRanking(
        low=low,
        high=high,
        leaders=leaders,
        decided=decided and units >= facts["least"],
        next_pairs=tuple(
            DealtPair(system_x=names[x], system_y=names[y], subject=None if own is None else names[own])
            for x, y, own in pairs
        ),
    )


def _best_few(
    study: Study, facts: Mapping[str, Any], counts: BordaCounts, rng: np.random.Generator
) -> tuple[Floats, Floats, tuple[int, ...], bool, NextPairs]:
    rule = TopRule(k=facts["top"], tolerance=facts["epsilon"], error_rate=facts["error_rate"])
    state = top_state(counts, rule)
    pairs: NextPairs = []
    count = AHEAD * study.items_per_annotator
    for own, other in next_comparisons(counts, rule, count=count, rng=rng, state=state).tolist():
        pairs.append((own, other, own) if rng.integers(2) else (other, own, own))
    return state.low, state.high, state.leaders, state.decided, pairs


def _order(
    study: Study, facts: Mapping[str, Any], counts: BordaCounts, rng: np.random.Generator
) -> tuple[Floats, Floats, tuple[int, ...], bool, NextPairs]:
    rule = OrderRule(tolerance=facts["epsilon"], error_rate=facts["error_rate"])
    state = order_state(counts, rule)
    unsettled = unsettled_systems(counts, rule, state)
    pairs: NextPairs = []
    for x, y in next_order_pairs(unsettled, count=AHEAD * study.items_per_annotator, rng=rng).tolist():
        pairs.append((x, y, None if unsettled[x] and unsettled[y] else x if unsettled[x] else y))
    return state.low, state.high, state.order[:1], state.decided, pairs


def _means(hypotheses: Sequence[Hypothesis], values: Floats, dealt: Sequence[DealtPair] | None) -> dict[str, float]:
    """Return one annotator's mean choice for each system that it counts for."""
    counted = (
        None
        if dealt is None
        else {
            (system, frozenset((pair.system_x, pair.system_y)))
            for pair in dealt
            for system in ((pair.system_x, pair.system_y) if pair.subject is None else (pair.subject,))
        }
    )
    found: dict[str, list[float]] = {}
    for column in np.flatnonzero(np.isfinite(values)).tolist():
        *_, x, y = hypotheses[column]
        for system, value in ((x, values[column]), (y, 1 - values[column])):
            if counted is None or (system, frozenset((x, y))) in counted:
                found.setdefault(system, []).append(float(value))
    return {system: float(np.mean(own)) for system, own in found.items()}
