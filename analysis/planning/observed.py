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

from analysis.answers.study_facts import StudyFacts
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.planning.power import t_power
from analysis.statistics.record import Probability, Record, Source, record_like

if TYPE_CHECKING:
    from analysis.planning.assumptions import Kind

Test = PreferenceTest | RatingTest
FIGURE_ALPHA = 0.001  # of its Figure 2


PLANNED: dict[Kind, float] = {"spa": 0.1, "likert": 0.3}  # differences whose planned power is drawn beside it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ObservedPowerPoint(Record):
    """Power by so many annotators at the effect found, and at the one planned for (null without a plan)."""

    annotators: int
    observed: Probability
    planned: Probability | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    """T / root(n), x minus y; its size is held constant along the curve."""
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
    return [_power_of(row, sorted(shared | {row.n}), study, alpha) for row in tests]


def _power_of(
    row: PreferenceTest | RatingTest, counts: list[int], study: StudyFacts | None, alpha: float
) -> ObservedPowerRow:
    from analysis.planning.assumptions import assumed

    assert row.t is not None
    assert row.p_value is not None
    stated, effect = isinstance(row, PreferenceTest), row.t / math.sqrt(row.n)
    plan = assumed("spa") if stated else assumed("likert") if _is_likert(row.criterion, study) else None
    observed = t_power(abs(effect), counts, alpha=alpha).tolist()
    planned = t_power(PLANNED[plan.kind] / plan.sd, counts, alpha=alpha).tolist() if plan else [None] * len(counts)
    return record_like(
        ObservedPowerRow,
        row,
        source="preferences" if stated else "ratings",
        exposure=row.exposure if isinstance(row, PreferenceTest) else None,
        alpha=alpha,
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
