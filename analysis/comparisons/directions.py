"""The two directions in which a pair was asked, and whether they add up to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.comparisons.preferences import CHANCE, NOBODY, Comparisons, Directed
from analysis.statistics.coding import Floats, fold, snap, split_by
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import TTest, one_sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DirectionSummary(Record):
    """One direction as it was asked.

    ``mean_sum`` is over the ``n_symmetry`` annotators who answered both, and ``p_symmetry`` the p-value of the
    t-test that it is 1. A bound on the sum selects annotators by it, so ``mean_excess_selected`` lies low by
    construction and is not tested.
    """

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: Count
    mean: Share | None
    sd: float | None
    mean_sum: float | None
    """Mean of P(x > y) + P(y > x), before exclusions."""
    n_symmetry: Count
    p_symmetry: Probability | None
    mean_excess: float | None = None
    """Mean_sum - 1, before exclusions."""
    excess_low: float | None = None
    excess_high: float | None = None
    n_selected: Count = 0
    mean_excess_selected: float | None = None
    """The same of those kept: selected by this sum, so low by construction; not tested."""
    n_before: Count = 0
    """Annotators who answered this direction, before exclusions; n counts those kept."""
    mean_before: Share | None = None
    sd_before: float | None = None
    reason: Reason | None = None
    """Why a number is missing."""


def summarise_directions(
    everybody: Directed, kept: Directed, tests: Comparisons, *, confidence: float = 0.95
) -> list[DirectionSummary]:
    """Describe each direction as asked, and test whether the two directions add up to 1.

    Parameters
    ----------
    everybody : Directed
        All answers, before exclusions: the basis of ``n_before``, ``mean_sum`` and ``p_symmetry``.
    kept : Directed
        The answers that stay: the basis of ``n``, ``mean`` and ``sd``.
    tests : Comparisons
        The pairs and the direction in which they are listed.
    confidence : float
        Level of the interval of ``mean_excess``.
    """
    rows = []
    n_tests = len(tests.keys)
    values, before = (
        split_by(directed.test * 2 + ~directed.forward, directed.value, 2 * n_tests) for directed in (kept, everybody)
    )
    sums, selected = _sums(everybody, n_tests), _sums(kept, n_tests)
    for direction in tests.directions:
        group, criterion, exposure, x, y = tests.name(direction // 2)
        if direction % 2:
            x, y = y, x
        own, asked = values[direction], before[direction]
        both, left = sums[direction // 2], selected[direction // 2]
        summary, of_all = (
            one_sample(each, against=CHANCE, confidence=0.95) if len(each) else None for each in (own, asked)
        )
        symmetry = one_sample(both, against=1.0, confidence=confidence) if len(both) else None
        rows.append(
            DirectionSummary(
                group=group,
                criterion=criterion,
                exposure=exposure,
                system_x=x,
                system_y=y,
                n=len(own),
                mean=summary.mean if summary else None,
                sd=summary.sd if summary else None,
                mean_sum=symmetry.mean if symmetry else None,
                n_symmetry=len(both),
                p_symmetry=symmetry.p_value if symmetry else None,
                mean_excess=_less_one(symmetry.mean if symmetry else None),
                excess_low=_less_one(symmetry.ci_low if symmetry else None),
                excess_high=_less_one(symmetry.ci_high if symmetry else None),
                n_selected=len(left),
                mean_excess_selected=_less_one(math.fsum(left.tolist()) / len(left) if len(left) else None),
                n_before=len(asked),
                mean_before=of_all.mean if of_all else None,
                sd_before=of_all.sd if of_all else None,
                reason=_why_null(summary, symmetry),
            )
        )
    return rows


def _less_one(value: float | None) -> float | None:
    return None if value is None else value - 1


def _why_null(summary: TTest | None, symmetry: TTest | None) -> Reason | None:
    if summary is None:
        return NOBODY
    return symmetry.reason if symmetry else why("one_direction")


def _sums(directed: Directed, n_tests: int) -> list[Floats]:
    both = fold(directed.test, directed.unit)
    count = np.bincount(both.of, minlength=len(both))
    total = np.bincount(both.of, weights=directed.value, minlength=len(both))
    complete = count == 2
    return split_by(directed.test[both.first][complete], snap(total[complete], scale=1.0, digits=13), n_tests)
