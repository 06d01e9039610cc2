"""Ratings of single outputs: means by system, and differences between systems on the same output's item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.answers.tables import answered_rows
from analysis.answers.units import ENOUGH_ANNOTATORS, ITEM_NOTE, Unit, UnitRule, UnitSums
from analysis.comparisons.score_totals import ScoreTotals, total_scores
from analysis.comparisons.unpaired import OTHERS_BY_ITEM, SeparatingColumn, compare_clusters, separating_column
from analysis.statistics.cell_sums import CellSums
from analysis.statistics.clustered_difference import SystemClusters
from analysis.statistics.coding import Floats, Ints, code, fold, scale_of, snap
from analysis.statistics.corrections import Verdict
from analysis.statistics.differences import Differences
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, TTest, one_sample, t_bound, welch
from analysis.strengths.rows import Judgements

Test = Literal["paired t", "Welch t", "clustered t"]
PAIRED: Final = "paired t"
WELCH: Final = "Welch t"
CLUSTERED: Final = "clustered t"


@dataclass(frozen=True, slots=True, kw_only=True)
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
    reason: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTest(Record):
    """Mean rating of x minus that of y, tested against 0; with the effect sizes and the crossed test of the report."""

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
    """Size of the family: its tests that could be run."""
    stars: Literal["", "*", "**", "***"] = ""
    """Adjusted p below .10, .05, .01."""
    verdict: Verdict | None = None
    """X: system_x is preferred; null where there is no test, or the study does not compare the pair."""
    p_equivalence: Probability | None = None
    """Larger p of the two one-sided tests against the declared margin; null: no margin, or no test."""
    p_equivalence_adjusted: Probability | None = None
    """Holm-adjusted, in a family of its own."""
    equivalent: bool | None = None
    """Within the declared margin."""
    highly_skewed: bool = False
    """The level of the t-test is in doubt: most values equal, or a few far out."""
    reason: str | None = None
    """Why a number is missing."""
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
    effect_reason: str | None = None
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
    crossed_reason: str | None = None
    """Why there is no crossed test."""

    @property
    def effect(self) -> float:
        """Mean rating of x minus that of y, raw."""
        return self.mean_difference


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatingCells:
    """Ratings of one group and criterion, one value a cell (repeats averaged).

    ``block`` numbers what was rated side by side: one annotator's (assignment's, variant's) item.
    """

    group: str
    criterion: str
    llm: bool
    systems: tuple[str, ...]
    system: Ints
    annotator: Ints
    assignment: Ints
    item: Ints
    block: Ints
    value: Floats
    scale: float

    def column(self, unit: str) -> Ints:
        """Return the ids of a unit."""
        return {"annotator": self.annotator, "assignment": self.assignment, "item": self.item}[unit]


def rating_cells(table: pl.DataFrame, order: Order) -> Iterator[RatingCells]:
    """Yield the answered cells of each group and criterion, in the order of the results."""
    table = answered_rows(table)
    if table.is_empty():
        return
    columns = {
        "group": code(table["group"], order.groups).of,
        "criterion": code(table["criterion"], order.criteria).of,
        "system": code(table["system"], order.systems).of,
        "annotator": code(table["annotator_id"]).of,
        "llm": (table["annotator_kind"] == "llm").to_numpy(),
        **{name: code(table[name]).of for name in ("item_id", "variant", "sample")},
    }
    columns["assignment"] = fold(columns["annotator"], code(table["assignment_id"]).of).of
    names = ("group", "criterion", "assignment", "variant", "item_id", "system", "sample")
    cells = fold(*(columns[name] for name in names))
    averaged, first = cells.mean(table["value"].to_numpy()), cells.first
    if first is not cells.of:  # else each row is a cell, and they are in order
        columns = {name: column[first] for name, column in columns.items()}
    del cells, first
    part = fold(columns["group"], columns["criterion"]).of
    block = fold(part, columns["assignment"], columns["variant"], columns["item_id"]).of
    ends = np.cumsum(np.bincount(part))
    for number, end in enumerate(ends.tolist()):
        rows = slice(ends[number - 1] if number else 0, end)  # folds are sorted by their columns
        yield RatingCells(
            group=order.groups[columns["group"][rows.start]],
            criterion=order.criteria[columns["criterion"][rows.start]],
            llm=bool(columns["llm"][rows.start]),
            systems=order.systems,
            system=columns["system"][rows],
            annotator=columns["annotator"][rows],
            assignment=columns["assignment"][rows],
            item=columns["item_id"][rows],
            block=block[rows],
            value=averaged[rows],
            scale=scale_of(averaged[rows]),
        )


def summarise_ratings(cells: RatingCells, plan: Plan) -> list[RatingMean]:
    """Average the ratings of each system over its cells.

    The interval is mean ± t(G - 1) · SE with SE² = G / (G - 1) · Σ_g (Σ_(i in g) (y_i - mean))² / n²
    over the G units, which is the plain standard error where every unit has one cell.

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
    Biometrika, 73(1), 13-22.
    """
    n_systems = len(cells.systems)
    columns = {unit: cells.column(unit) for unit in ("annotator", "assignment", "item")}
    totals = total_scores(cells.system, cells.value, columns, n_systems, cells.scale)
    rule = UnitRule(planned=plan.unit, llm=cells.llm)
    return [
        RatingMean(
            group=cells.group,
            criterion=cells.criterion,
            system=cells.systems[number],
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


def rating_differences(cells: RatingCells) -> Differences:
    """Pair the ratings that one annotator gave to two systems on one item (samples of a system averaged)."""
    outputs = fold(cells.block, cells.system)
    alone = outputs.first is outputs.of  # sorted by block and system, and each cell is an output as it stands
    first: Any = slice(None) if alone else outputs.first
    value = cells.value if alone else outputs.mean(cells.value)
    return Differences(
        block=cells.block[first],
        system=cells.system[first],
        score=value,
        annotators=cells.annotator[first],
        assignments=cells.assignment[first],
        items=cells.item[first],
        scale=cells.scale,
    )


def compare_ratings(cells: RatingCells, differences: Differences, plan: Plan) -> list[RatingTest]:
    """Test for every pair of systems whether their mean ratings differ.

    x minus y is averaged within the unit over what was rated side by side, and a one-sample t over units is taken
    (``test`` "paired t"). Where nobody rated both systems on one item, the means of all ratings are compared, with
    errors clustered by annotator and by item (:func:`analysis.statistics.clustered_difference.clustered_t`,
    "clustered t"); where the plan names a unit or says so, Welch's t compares the units ("Welch t").
    """
    k = len(cells.systems)
    rule = UnitRule(planned=plan.unit, llm=cells.llm)
    chosen = [rule.choose(count) for count in _annotators_of_both(cells).ravel().tolist()]
    width = 1 + max(int(cells.column(unit).max()) for unit in set(chosen))
    sums = UnitSums(chosen, width=width, scale=cells.scale)
    for part in differences.parts():
        sums.add(
            part.x * k + part.y,
            part.value,
            {unit: getattr(part, unit) for unit in set(chosen)},
        )
    paired = sums.averages()
    present = np.flatnonzero(np.bincount(cells.system, minlength=k)).tolist()
    few = cells.llm and len(np.unique(cells.annotator)) < ENOUGH_ANNOTATORS
    who: Unit = "assignment" if few else "annotator"
    clusters = SystemClusters(cells.system, cells.value, cells.column(who), cells.item, scale=cells.scale)
    rows = []
    for place, x in enumerate(present):
        for y in present[place + 1 :]:
            units = paired[x * k + y]
            if units is not None and plan.rating_test != "welch":
                result = one_sample(units.values, against=0.0, confidence=plan.confidence)
                rows.append(_row(cells, x, y, units.unit, PAIRED, result))
                continue
            if plan.rating_test == "welch" or plan.unit != "auto":
                row = _welch(cells, x, y, chosen[x * k + y], plan)
            else:
                names = cells.systems[x], cells.systems[y]
                unit, result, holds = compare_clusters(
                    clusters[x], clusters[y], names, who=who, llm=cells.llm, confidence=plan.confidence
                )
                row = replace(_row(cells, x, y, unit, CLUSTERED, result), **holds)
            apart = None if units is not None else separating_column(clusters[x], clusters[y], who)
            rows.append(replace(row, separated_by=apart))
    return rows


def _annotators_of_both(cells: RatingCells) -> Ints:
    """Count the annotators who rated both systems, for every two systems."""
    rated = np.zeros((int(cells.annotator.max()) + 1, len(cells.systems)), dtype=np.int64)
    rated[cells.annotator, cells.system] = 1
    both: Ints = rated.T @ rated
    return both


def _welch(cells: RatingCells, x: int, y: int, unit: Unit, plan: Plan) -> RatingTest:
    column = cells.column(unit)
    sides, people = [], []
    for system in (x, y):
        own = cells.system == system
        sides.append(snap(fold(column[own]).mean(cells.value[own]), scale=cells.scale, digits=13))
        people.append(np.unique(cells.annotator[own]))
    row = _row(cells, x, y, unit, WELCH, welch(sides[0], sides[1], confidence=plan.confidence))
    same = np.array_equal(people[0], people[1])
    return row if same or unit != "item" else replace(row, level_problem=OTHERS_BY_ITEM)


def _row(cells: RatingCells, x: int, y: int, unit: Unit, test: Test, result: TTest) -> RatingTest:
    return RatingTest(
        group=cells.group,
        criterion=cells.criterion,
        system_x=cells.systems[x],
        system_y=cells.systems[y],
        unit=unit,
        unit_note=ITEM_NOTE if unit == "item" else None,
        mean_difference=result.mean,
        test=test,
        **result.columns(),
    )


def rating_judgements(cells: RatingCells, differences: Differences) -> Judgements:
    """Return each pair of ratings as one comparison: the higher of one annotator's two ratings of one item wins.

    Equal ratings are half for each. Raw: for a lower-is-better criterion the ranks turn, not the wins.
    """
    return Judgements(
        x=differences.x,
        y=differences.y,
        won=(np.sign(differences.value) + 1) / 2,
        unit="assignment" if cells.llm else "annotator",
        of_unit=differences.assignment if cells.llm else differences.annotator,
        item=differences.item,
    )


def counted_judgements(cells: RatingCells, differences: Differences, plan: Plan) -> Judgements:
    """Return :func:`rating_judgements` with equal rows of one cluster folded into one that carries their number.

    The fit and its interval are the same. O(differences) time; memory by clusters times pairs, not by rows.
    """
    unit = "assignment" if cells.llm else "annotator"
    if plan.unit != "item":
        counted = _count_outcomes(cells, differences, unit)
        judged = Judgements(**counted, unit=unit, item=None)
        if plan.unit == "annotator" or judged.n_units >= ENOUGH_ANNOTATORS:
            return judged
    counted = _count_outcomes(cells, differences, "item")
    return Judgements(**{**counted, "of_unit": np.zeros_like(counted["x"])}, unit=unit, item=counted["of_unit"])


def _count_outcomes(cells: RatingCells, differences: Differences, cluster: str) -> dict[str, Any]:
    """Count how often x wins, ties and loses against y, by cluster."""
    k = len(cells.systems)
    counts = CellSums((int(cells.column(cluster).max()) + 1) * k * k * 3)
    for part in differences.parts():
        key = (getattr(part, cluster) * k + part.x) * k + part.y
        key *= 3
        key += np.sign(part.value).astype(np.int64) + 1
        counts.add(key)
    key, times, _ = counts.found()
    pair, won = np.divmod(key, 3)
    of, pair = np.divmod(pair, k * k)
    return {"x": pair // k, "y": pair % k, "won": won / 2, "of_unit": of, "weights": times}
