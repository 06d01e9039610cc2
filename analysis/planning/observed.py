"""Observed power, as in Figure 2 of Ethayarajh & Jurafsky (2022), and what its Table 1 says about that figure.

Observed power is the power at the effect that a study happened to find. It is a function of
the p-value and nothing else (Hoenig & Heisey 2001), so it says nothing about a study to come:
nothing here is used for planning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from analysis.answers.study_facts import StudyFacts
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.planning.power import t_power
from analysis.statistics.record import Probability, Record, Source

if TYPE_CHECKING:
    from analysis.planning.plan import Kind

PUBLISHED_N = 90  # annotators after exclusions (its section 6.3)
Test = PreferenceTest | RatingTest
FIGURE_ALPHA = 0.001  # of its Figure 2
LEVELS = {"***": (0.0, 0.01), "**": (0.01, 0.05), "*": (0.05, 0.10), "": (0.10, 1.0)}  # adjusted p of its stars


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTest:
    """A row of Table 1: mean difference from the null value, and its stars (Holm, five tests)."""

    system_x: str
    system_y: str
    difference: float
    stars: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPower:
    """What stars and mean together allow: bounds of the SD and of the observed power.

    A bound is ``None`` where the stars set none.
    """

    test: PublishedTest
    n: int
    alpha: float
    sd_low: float | None
    sd_high: float | None
    power_low: float
    power_high: float


_PAIRS = (("ada", "human"), ("babbage", "ada"), ("curie", "babbage"), ("davinci", "curie"), ("human", "davinci"))


def _table(rows: Sequence[tuple[float, str]]) -> tuple[PublishedTest, ...]:
    return tuple(
        PublishedTest(system_x=x, system_y=y, difference=difference, stars=stars)
        for (x, y), (difference, stars) in zip(_PAIRS, rows, strict=True)
    )


TABLE_1_SPA = _table([(-0.080, "*"), (0.188, "***"), (0.130, "***"), (0.075, "***"), (0.044, "")])
TABLE_1_LIKERT = _table([(-0.822, "***"), (0.644, "***"), (0.322, ""), (0.244, ""), (-0.389, "*")])


def observed_power(
    family: Sequence[PublishedTest], *, n: int = PUBLISHED_N, alpha: float = FIGURE_ALPHA
) -> tuple[ObservedPower, ...]:
    """Bound SDs and observed power of a Holm family of which only means and stars are known.

    The tests of one star level hold the ranks a..b of the k p-values. Their raw p-values lie
    between low / (k - a + 1) and high / (k - b + 1), with the level's bounds of the adjusted
    p-value; t follows from p, the SD from t, mean and n, and the power from t alone.

    Parameters
    ----------
    family : sequence of PublishedTest
        All tests that were corrected together.
    n : int
        Annotators tested.
    alpha : float
        Level at which power is computed.

    References
    ----------
    Hoenig, J. M. and Heisey, D. M. (2001). The abuse of power. The American Statistician, 55(1), 19-24.
    """
    k = len(family)
    rows = []
    for test in family:
        low, high = LEVELS[test.stars]
        first = 1 + sum(LEVELS[other.stars][0] < low for other in family)
        last = sum(LEVELS[other.stars][0] <= low for other in family)
        p_low, p_high = low / (k - first + 1), min(1.0, high / (k - last + 1))
        t_high = math.inf if p_low == 0 else -float(stdtrit(n - 1, p_low / 2))
        t_low = 0.0 if p_high == 1 else -float(stdtrit(n - 1, p_high / 2))
        scaled = abs(test.difference) * math.sqrt(n)
        rows.append(
            ObservedPower(
                test=test,
                n=n,
                alpha=alpha,
                sd_low=None if math.isinf(t_high) else scaled / t_high,
                sd_high=None if t_low == 0 else scaled / t_low,
                power_low=_power(t_low, n, alpha),
                power_high=1.0 if math.isinf(t_high) else _power(t_high, n, alpha),
            )
        )
    return tuple(rows)


def _power(t: float, n: int, alpha: float) -> float:
    return float(t_power(t / math.sqrt(n), n, alpha=alpha))


PLANNED: dict[Kind, float] = {"spa": 0.1, "likert": 0.3}  # differences whose planned power is drawn beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPowerPoint(Record):
    """Power by so many annotators at the effect found, and at the one planned for (null without a plan)."""

    annotators: int
    observed: Probability
    planned: Probability | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPowerRow(Record):
    """Power of one test, by annotators."""

    source: Source
    group: str
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: int
    alpha: float
    """Level of each test, uncorrected."""
    p_value: Probability
    effect: float
    """T / root(n), held constant along the curve."""
    power: Probability
    planned_for: str | None
    planned_sd: float | None
    curve: tuple[ObservedPowerPoint, ...]


def observed_power_rows(
    preferences: Sequence[PreferenceTest],
    ratings: Sequence[RatingTest],
    *,
    groups: Iterable[tuple[str, str]],
    study: StudyFacts | None = None,
    alpha: float = FIGURE_ALPHA,
) -> list[ObservedPowerRow]:
    """Reckon power by annotators with the effect found held constant, for every test that counts annotators.

    It restates the p-value (Hoenig & Heisey 2001) and is no evidence: for reproducing the figure only.

    Parameters
    ----------
    preferences, ratings : sequence of tests
        With their verdicts; tests by item are left out.
    groups : iterable of (group, annotator_kind)
        LLMs are left out.
    study : StudyFacts, optional
        A Likert scale is assumed of ratings unless it has none.
    alpha : float
        Level of each test, uncorrected as in the figure.
    """
    from analysis.planning.plan import CURVE_POINTS

    llms = {group for group, kind in groups if kind == "llm"}
    by_annotator = [
        row for row in ratings if (row.unit, row.test) == ("annotator", "paired t") and row.p_adjusted is not None
    ]
    candidates: list[Test] = [*preferences, *by_annotator]
    tests = [row for row in candidates if row.t is not None and row.group not in llms]
    shared = set(np.linspace(2, 2 * max((row.n for row in tests), default=1), CURVE_POINTS).astype(int).tolist())
    return [_row(row, sorted(shared | {row.n}), study, alpha) for row in tests]


def _row(
    row: PreferenceTest | RatingTest, counts: list[int], study: StudyFacts | None, alpha: float
) -> ObservedPowerRow:
    from analysis.planning.plan import assumed

    assert row.t is not None
    assert row.p_value is not None
    stated, effect = isinstance(row, PreferenceTest), abs(row.t) / math.sqrt(row.n)
    plan = assumed("spa") if stated else assumed("likert") if _is_likert(row.criterion, study) else None
    observed = t_power(effect, counts, alpha=alpha).tolist()
    planned = t_power(PLANNED[plan.kind] / plan.sd, counts, alpha=alpha).tolist() if plan else [None] * len(counts)
    return ObservedPowerRow(
        source="preferences" if stated else "ratings",
        group=row.group,
        criterion=row.criterion,
        exposure=row.exposure if isinstance(row, PreferenceTest) else None,
        system_x=row.system_x,
        system_y=row.system_y,
        n=row.n,
        alpha=alpha,
        p_value=row.p_value,
        effect=effect,
        power=observed[counts.index(row.n)],
        planned_for=plan.shown(PLANNED[plan.kind]) if plan else None,
        planned_sd=plan.sd if plan else None,
        curve=tuple(
            ObservedPowerPoint(annotators=number, observed=own, planned=other)
            for number, own, other in zip(counts, observed, planned, strict=True)
        ),
    )


def _is_likert(criterion: str, study: StudyFacts | None) -> bool:
    likert = study is None or "likert" in study.elicitations
    return likert and "(" not in criterion  # "fluency (continuous)" has another scale
