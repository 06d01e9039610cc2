"""Ratings of single outputs: means by system, and differences between systems on the same output's item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import numpy as np

from analysis.answers.equal_weights import (
    have_votes,
    items_of_counts,
    one_gave_most,
    unpaired_weight_fields,
    weight_fields,
)
from analysis.answers.live_rows import LiveVerdict
from analysis.answers.plan import Plan
from analysis.answers.units import ITEM_NOTE, Unit, UnitRule, UnitValues, who_answers
from analysis.comparisons.partly_paired import PairedOutputs, compare_all
from analysis.comparisons.rated_parts import RatedPart
from analysis.comparisons.rating_sums import rating_totals, score_totals
from analysis.comparisons.score_totals import RatingTotals, ScoreTotals
from analysis.comparisons.unanimity import with_unanimity
from analysis.comparisons.unpaired import OTHERS_BY_ITEM, SeparatingColumn, compare_clusters, separating_column
from analysis.statistics.corrections import Verdict
from analysis.statistics.reasons import Reason
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, TTest, one_sample, t_bound, welch

Test = Literal["paired t", "Welch t", "clustered t"]
PAIRED: Final = "paired t"
WELCH: Final = "Welch t"
CLUSTERED: Final = "clustered t"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RatingMean(Record):
    """Mean rating of one system; the interval is clustered by ``unit``."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    n: Count
    """Cells."""
    mean: float
    sd: float | None
    sd_population: float
    ci_low: float | None
    ci_high: float | None
    unit: str
    n_units: Count
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RatingTest(Record):
    """Mean rating of x minus that of y, tested against 0; with the effect sizes and the crossed test of the report.

    Everybody weighs the same, also where the unit is the item because there are few annotators.
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "verdict")
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system_x: str
    system_y: str
    unit: Unit
    unit_note: str | None = None
    n: Count
    """Units."""
    n_items: Count | None = None
    """Items that a clustered test takes as drawn beside its units; null: it holds for these items, or is another."""
    separated_by: SeparatingColumn | None = None
    """Column by which ratings of the two systems never meet; null: some are of one annotator and one item."""
    level_problem: str | None = None
    """Why the test does not keep its level."""
    mean_difference: float
    """X minus y, raw."""
    ci_low: float | None = None
    ci_high: float | None = None
    test: Test
    t: float | None
    df: float | None
    p_value: Probability | None
    p_adjusted: Probability | None = None
    """Adjusted within the family (settings.correction)."""
    n_tests: int | None = None
    """Size of the family: its tests that could be run; all its comparisons where some have p_unanimous."""
    stars: Literal["", "*", "**", "***"] = ""
    """Adjusted p below .10, .05, .01."""
    verdict: Verdict | None = None
    """X: system_x is preferred; null where there is no test, or the study does not compare the pair."""
    decision: LiveVerdict | None = None
    """Of a live study, which verdict follows while p_value does not hold; null in a study of fixed size."""
    p_equivalence: Probability | None = None
    """Larger p of the two one-sided tests against the declared margin; null: no margin, or no test."""
    p_equivalence_adjusted: Probability | None = None
    """Holm-adjusted, in a family of its own."""
    equivalent: bool | None = None
    """Within the declared margin."""
    highly_skewed: bool = False
    """The level of the t-test is in doubt: most values equal, or a few far out."""
    reason: Reason | None = None
    """Why a number is missing."""
    p_unanimous: Probability | None = None
    """Where all units are alike and no test can be run: at most this is the chance that all agree so if there were no
    difference, times the comparisons of the family; null: they differ, or sit at no difference."""
    all_alike: Count | None = None
    """Annotators (of an LLM: assignments) whose averages are the same; null where p_unanimous is."""
    d_z: float | None = None
    """Cohen's d_z: mean difference over the standard deviation of the units' differences; paired tests only."""
    d_z_low: float | None = None
    d_z_high: float | None = None
    d_z_interval: Literal["noncentral t", "normal approximation"] | None = None
    hedges_g: float | None = None
    """Hedges' g: mean difference over the standard deviation of single ratings."""
    hedges_g_low: float | None = None
    hedges_g_high: float | None = None
    superiority: Share | None = None
    """Chance that a rating of x is above that of y beside it, equal ones half."""
    superiority_low: Share | None = None
    superiority_high: Share | None = None
    effect_reason: Reason | None = None
    """Why an effect size or a bound is missing."""
    p_crossed: Probability | None = None
    """The same question over annotators and items at once, both taken as drawn."""
    p_crossed_adjusted: Probability | None = None
    """Holm-adjusted over the crossed tests of the family."""
    crossed_df: float | None = None
    """Satterthwaite's degrees of freedom."""
    crossed_verdict: Verdict | None = None
    disagree: bool | None = None
    """Whether crossed_verdict differs from verdict; null where one is missing."""
    crossed_reason: Reason | None = None
    """Why there is no crossed test."""

    n_answers: Count | None = None
    """Ratings of the two systems."""
    n_paired: Count | None = None
    """Those of them that one annotator gave beside one of the other system, about the same item; null: some of several
    samples of an output, which are averaged."""
    n_used: Count | None = None
    """Those of them that the test rests on: the paired ones, or all where these are less than nine tenths."""
    most_of_one: Count | None = None
    """Those used that one annotator (LLM: assignment) gave, who gave most."""
    pooled_estimate: float | None = None
    """mean_difference with every answer alike, not every annotator (LLM: assignment); null where it is the same."""
    others_estimate: float | None = None
    """mean_difference without the annotator (LLM: assignment) who gave most; null where nobody else answered."""
    one_gave_most: bool = False
    """Whether one annotator (LLM: assignment) gave half of those used or more, and 1.5 times an equal share."""
    weights_reverse: bool = False
    """Whether the means over annotators and over answers lie on different sides of no difference: no winner."""
    n_shared_items: Count | None = None
    """Items about which both systems were rated, where one was rated about others than the other; else null."""
    shared_difference: float | None = None
    """x minus y about these items, each of which weighs the same; null as n_shared_items, and below two of them."""
    items_decide: bool = False
    """Whether mean_difference is farther from shared_difference than both intervals allow, and that shows nobody ahead
    on its side: then the items of one system alone make it, and no winner is named."""
    own_items: bool = False
    """Whether less than nine tenths of the ratings are about items of both, and these show nobody ahead on the side of
    mean_difference, or are fewer than three: it speaks of the systems if the items of each are equally hard."""

    @property
    def estimate(self) -> float:
        """Return the difference x minus y."""
        return self.mean_difference

    @property
    def effect(self) -> float:
        """Mean rating of x minus that of y, raw."""
        return self.mean_difference


def summarise_ratings(rated: RatedPart, plan: Plan) -> list[RatingMean]:
    """Average the ratings of each system over its cells.

    The interval is mean ± t(G - 1) · SE with SE² = G / (G - 1) · Σ_g (Σ_(i in g) (y_i - mean))² / n²
    over the G units, which is the plain standard error where every unit has one cell.

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
    Biometrika, 73(1), 13-22.
    """
    part, totals = rated.sums, score_totals(rated.sums)
    rule = UnitRule(planned=plan.unit, llm=part.llm)
    return [
        RatingMean(
            group=part.group,
            criterion=part.criterion,
            system=part.systems[number],
            sd_population=float(np.sqrt(totals.squares[number] / totals.count[number])),
            **clustered_mean(totals, number, rule, plan.confidence),
        )
        for number in np.flatnonzero(totals.count).tolist()
    ]


def clustered_mean(totals: ScoreTotals, number: int, rule: UnitRule, confidence: float) -> dict[str, Any]:
    """Return the mean of one system's cells and the interval of :func:`summarise_ratings`, as fields of a row."""
    unit = rule.choose(int(totals.annotators[number]))
    n, mean, sums = int(totals.count[number]), float(totals.mean[number]), totals.sums(number, unit)
    clusters = len(sums)
    reason = ONE_UNIT if clusters < 2 else NO_VARIATION if totals.squares[number] == 0 else None
    half = None
    if reason is None:
        se = float(np.sqrt(clusters / (clusters - 1) * np.sum(sums**2))) / n
        half = t_bound(clusters - 1, confidence) * se
    return {
        "n": n,
        "mean": mean,
        "sd": totals.sd(number),
        "ci_low": None if half is None else mean - half,
        "ci_high": None if half is None else mean + half,
        "unit": unit,
        "n_units": clusters,
        "reason": reason,
    }


def compare_ratings(rated: RatedPart, plan: Plan, *, width: float | None = None) -> list[RatingTest]:
    """Test for every pair of systems whether their mean ratings differ.

    x minus y is averaged within the unit over what was rated side by side, and a one-sample t over units is taken
    (``test`` "paired t"); where the unit is the item by default, each annotator weighs the same
    (:mod:`analysis.answers.equal_weights`). Where nobody rated both systems on one item, the means of annotators'
    means are compared, with errors clustered by annotator and by item
    (:func:`analysis.statistics.clustered_difference.clustered_t`, "clustered t"); where the plan names a unit or says
    so, Welch's t compares the units ("Welch t"). Where less than nine tenths of the ratings are side by side, they do
    not stand for the others, and the means of all are compared, too
    (:func:`analysis.comparisons.partly_paired.compare_all`). With the ``width`` of the scale, highest score less
    lowest, paired differences that are all alike get ``p_unanimous``.
    """
    totals = rating_totals(rated)
    k, present = len(totals.systems), totals.present
    rule = UnitRule(planned=plan.unit, llm=totals.llm)
    chosen = [rule.choose(count) for count in totals.both.ravel().tolist()]
    paired = totals.averages(chosen)
    who = who_answers(llm=totals.llm, n_annotators=totals.n_annotators)
    rows = []
    for place, x in enumerate(present):
        for y in present[place + 1 :]:
            units = paired[x * k + y]
            row = _compare(totals, x, y, units, chosen[x * k + y], who, plan)
            n_answers = int(totals.answers[[x, y]].sum())
            people = None if units is None else totals.people(x * k + y)
            if people is not None and row.test == PAIRED:
                weights = weight_fields(people, row.mean_difference, against=0.0, scale=totals.scale)
            else:
                raters = totals.raters(x, who), totals.raters(y, who)
                weights = unpaired_weight_fields(
                    *raters, row.mean_difference, scale=totals.scale, partly=people is not None
                )
            n_paired = 0 if people is None else people.used
            rows.append(replace(row, n_answers=n_answers, n_paired=n_paired, **weights))
    if width is None:
        return rows
    both = totals.both.ravel()
    return with_unanimity(
        rows, totals.systems, totals.averages, annotators=both, llm=totals.llm, width=width, test=PAIRED
    )


def _compare(
    totals: RatingTotals, x: int, y: int, units: UnitValues | None, chosen: Unit, who: Unit, plan: Plan
) -> RatingTest:
    """Test one pair of systems; ``units`` are its paired differences."""
    outputs = PairedOutputs(
        n_x=int(totals.outputs[x]), n_y=int(totals.outputs[y]), n_paired=0 if units is None else units.n
    )
    if units is not None and outputs.enough and plan.rating_test != "welch":
        if UnitRule(planned=plan.unit, llm=totals.llm).is_default(units.unit):
            number = x * len(totals.systems) + y
            even = totals.people(number).even
            weighed = items_of_counts(units.values, units.counts) if even else totals.items(number)
            result = weighed.test(against=0.0, confidence=plan.confidence)
        else:
            result = one_sample(units.values, against=0.0, confidence=plan.confidence)
        return _rating_test(totals, x, y, units.unit, PAIRED, result)
    names = totals.systems[x], totals.systems[y]
    if plan.rating_test == "welch" or (units is None and plan.unit != "auto"):
        row = _welch(totals, x, y, chosen, plan)
    else:
        raters = totals.raters(x, who), totals.raters(y, who)
        alike = have_votes(*raters) if units is None else plan.unit == "auto" and one_gave_most(*raters)
        sides = totals.sides(x, y, who, alike)
        if units is not None:
            unit, result, holds = compare_all(
                *sides,
                names,
                outputs,
                unit=units.unit,
                planned=plan.unit != "auto",
                who=who,
                llm=totals.llm,
                confidence=plan.confidence,
            )
        else:
            unit, result, holds = compare_clusters(*sides, names, who=who, llm=totals.llm, confidence=plan.confidence)
        row = replace(_rating_test(totals, x, y, unit, CLUSTERED, result), **holds)
        row = replace(row, **outputs.about_items(*sides, result, confidence=plan.confidence))
    if units is not None:
        return row
    return replace(row, separated_by=separating_column(*totals.sides(x, y, who, True), who))


def _welch(totals: RatingTotals, x: int, y: int, unit: Unit, plan: Plan) -> RatingTest:
    sides = [totals.unit_means(system, unit) for system in (x, y)]
    row = _rating_test(totals, x, y, unit, WELCH, welch(sides[0], sides[1], confidence=plan.confidence))
    alone = unit == "item" and not totals.same_annotators(x, y)
    return replace(row, level_problem=OTHERS_BY_ITEM) if alone else row


def _rating_test(totals: RatingTotals, x: int, y: int, unit: Unit, test: Test, result: TTest) -> RatingTest:
    return RatingTest(
        group=totals.group,
        criterion=totals.criterion,
        system_x=totals.systems[x],
        system_y=totals.systems[y],
        unit=unit,
        unit_note=ITEM_NOTE if unit == "item" else None,
        mean_difference=result.mean,
        test=test,
        **result.columns(),
    )
