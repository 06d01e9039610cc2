"""The two directions in which a pair was asked, and whether they add up to 1."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from analysis.answers.plan import Plan
from analysis.comparisons.preferences import CHANCE, NOBODY, Comparisons, Directed
from analysis.statistics.coding import Floats, fold, snap, split_by
from analysis.statistics.corrections import Verdict, with_verdicts
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import TTest, one_sample

OF_TEST: Final = ("ci_low", "ci_high", "t", "df", "p_value", "highly_skewed")


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
    ci_low: float | None = None
    """Of the mean of those kept."""
    ci_high: float | None = None
    t: float | None = None
    """This direction alone, of those kept, against 0.5."""
    df: float | None = None
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Corrected over the directions of one group and criterion, a family of their own: no test of a pair is in it."""
    n_tests: Count | None = None
    stars: Literal["", "*", "**", "***"] = ""
    """Adjusted p below .10, .05, .01."""
    verdict: Verdict | None = None
    """X: system_x is preferred, asked in this direction; null where there is no test."""
    highly_skewed: bool = False
    """The level of the test of this direction is in doubt."""
    p_symmetry_selected: Probability | None = None
    """The test of the sum among those kept, as the SPA paper's Figure 1: no evidence where a bound on the sum chose
    them."""

    @property
    def effect(self) -> float:
        """How far the mean lies from chance; positive speaks for x."""
        return 0.0 if self.mean is None else self.mean - CHANCE


def judged_directions(
    rows: Sequence[DirectionSummary], outside: Container[frozenset[str]], plan: Plan
) -> list[DirectionSummary]:
    """Correct the tests of directions in families of their own; pairs that are not compared (``outside``) stay out."""
    places = [place for place, row in enumerate(rows) if frozenset((row.system_x, row.system_y)) not in outside]
    found = with_verdicts(
        [rows[place] for place in places], fwer=plan.fwer, family=plan.family, correction=plan.correction
    )
    done = list(rows)
    for place, row in zip(places, found, strict=True):
        done[place] = row
    return done


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
        Level of the intervals.
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
            one_sample(each, against=CHANCE, confidence=confidence) if len(each) else None for each in (own, asked)
        )
        symmetry, after = (
            one_sample(each, against=1.0, confidence=confidence) if len(each) else None for each in (both, left)
        )
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
                **({name: getattr(summary, name) for name in OF_TEST} if summary else {}),
                p_symmetry_selected=after.p_value if after else None,
                reason=_why_null(summary, symmetry),
            )
        )
    return rows


def _less_one(value: float | None) -> float | None:
    return None if value is None else value - 1


def _why_null(summary: TTest | None, symmetry: TTest | None) -> Reason | None:
    if summary is None:
        return NOBODY
    return summary.reason or (symmetry.reason if symmetry else why("one_direction"))


def _sums(directed: Directed, n_tests: int) -> list[Floats]:
    both = fold(directed.test, directed.unit)
    count = np.bincount(both.of, minlength=len(both))
    total = np.bincount(both.of, weights=directed.value, minlength=len(both))
    complete = count == 2
    return split_by(directed.test[both.first][complete], snap(total[complete], scale=1.0, digits=13), n_tests)
