"""The pairs to ask about next: those still open, or those that tell who the best few of many systems are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.live.unit_matrix import UnitMatrix
from analysis.sequential.top_k import BordaCounts, TopRule, next_comparisons, top_state
from analysis.statistics.coding import Floats
from spa.live import LivePair, LiveState, LiveSystem
from spa.study.narrowing import DealtPair
from spa.study.stopping import planned_annotators, stopping_facts
from spa.study.study import Study

AHEAD = 50  # assignments dealt at once: as many people may come before the next one completes


def open_pairs(study: Study, pairs: Sequence[LivePair], *, seed: tuple[int, int]) -> Iterator[DealtPair]:
    """Yield open pairs in random order, again and again, once some are decided and their place goes to the others.

    Each pair comes as often as any other to within one, with either system first in turn.
    """
    left = [(pair.system_x, pair.system_y) for pair in pairs if pair.decision is None]
    if study.stopping.freed != "open_pairs" or not left or len(left) == len(pairs):
        return
    rng = np.random.default_rng(seed)
    for number in range(AHEAD * study.items_per_annotator):
        turn, place = divmod(number, len(left))
        if place == 0:
            order = rng.permutation(len(left))
        x, y = left[order[place]] if (turn + order[place]) % 2 else left[order[place]][::-1]
        yield DealtPair(system_x=x, system_y=y, subject=x)


def best_few_state(study: Study, matrix: UnitMatrix, dealt: Mapping[str, Sequence[DealtPair]]) -> LiveState:
    """Return the leaders so far, and what to ask of those who come next.

    An annotator gives a system one value: the mean of their choices that count for it. Pairs that were drawn count
    for both systems; those dealt by earlier answers for the system that they were dealt for, whose opponent alone
    was drawn uniformly.

    Parameters
    ----------
    study : Study
        With ``[stopping] top``.
    matrix : UnitMatrix
        Of choices.
    dealt : mapping of str to sequence of DealtPair
        By assignment: the pairs that were dealt in the place of those drawn.
    """
    facts, systems = stopping_facts(study), [system.id for system in study.compared]
    rule = TopRule(k=facts["top"], epsilon=facts["epsilon"], error_rate=facts["error_rate"])
    counts = BordaCounts.start(len(systems))
    place = {system: number for number, system in enumerate(systems)}
    for number, assignment_id in enumerate(matrix.assignments):
        means = _means(matrix, matrix.values[number], dealt.get(assignment_id))
        own = np.array([place[system] for system in means], dtype=np.int64)
        counts = counts.after(own, np.array(list(means.values())))
    state, units = top_state(counts, rule), len(matrix.units)
    return LiveState(
        group=matrix.group,
        answers=matrix.answers,
        units=units,
        excluded=matrix.excluded,
        most=planned_annotators(study),
        systems=tuple(
            LiveSystem(
                system=system,
                n=int(counts.compared[number]),
                score=float(counts.won[number] / counts.compared[number]) if counts.compared[number] else None,
                low=float(state.low[number]),
                high=float(state.high[number]),
                leads=number in state.leaders,
            )
            for number, system in enumerate(systems)
        ),
        best_found=state.decided and units >= facts["least"],
        next_pairs=tuple(_next_pairs(study, counts, rule, systems, seed=(study.seed, units))),
    )


def _means(matrix: UnitMatrix, values: Floats, dealt: Sequence[DealtPair] | None) -> dict[str, float]:
    """Return one annotator's mean choice for each system that it counts for."""
    counted = None if dealt is None else {(pair.subject, frozenset((pair.system_x, pair.system_y))) for pair in dealt}
    found: dict[str, list[float]] = {}
    for column in np.flatnonzero(np.isfinite(values)).tolist():
        *_, x, y = matrix.hypotheses[column]
        for system, value in ((x, values[column]), (y, 1 - values[column])):
            if counted is None or (system, frozenset((x, y))) in counted:
                found.setdefault(system, []).append(float(value))
    return {system: float(np.mean(own)) for system, own in found.items()}


def _next_pairs(
    study: Study, counts: BordaCounts, rule: TopRule, systems: list[str], *, seed: tuple[int, int]
) -> Iterator[DealtPair]:
    rng = np.random.default_rng(seed)
    for subject, opponent in next_comparisons(counts, rule, count=AHEAD * study.items_per_annotator, rng=rng).tolist():
        x, y = (subject, opponent) if rng.integers(2) else (opponent, subject)
        yield DealtPair(system_x=systems[x], system_y=systems[y], subject=systems[subject])
