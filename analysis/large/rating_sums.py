"""From the sums of a table of ratings to what its tests, checks, strengths and rankings need of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from analysis.answers.plan import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS, Unit, UnitRule, UnitValues, averages_of_sums, count_by
from analysis.comparisons.score_totals import RatingTotals, ScoreTotals
from analysis.correlations.scores import Scores
from analysis.large.criterion_sums import (
    Columns,
    CriterionSums,
    by_criterion,
    crossed_tests_of,
    option_counts,
    rows_of_units,
    squares_about_mean,
)
from analysis.large.totals import AnswerTotals
from analysis.ranking.replicates import ReplicateSums, sums_of_units
from analysis.rating_checks.effects import SpreadSums
from analysis.rating_checks.many_tests import ManyTests, untested
from analysis.rating_checks.ordinal import TOO_MANY, Counted, OrdinalFit, fit_counted
from analysis.rating_checks.part import (
    UNITS,
    PairDifferences,
    PartSums,
    ordinal_tests,
    pair_lookup,
    standardised_tests,
)
from analysis.rating_checks.respacing import scale_levels
from analysis.statistics.clustered_difference import ClusteredValues, ClusterSums
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import why
from spa.errors import AnalysisError

MOST_OUTPUTS = 10_000_000  # means of outputs up to which groups are correlated
BESIDE = ("squares_x", "squares_y", "product")
TOGETHER = -1  # number of the clusters of an annotator and an item that hold ratings of both systems
MOST_SPREAD = 1 << 24  # systems times units whose spread is kept
SINGLE = why("needs_single_answers")


def score_totals(part: CriterionSums) -> ScoreTotals:
    """Return the totals of each system."""
    k, overall = len(part.systems), part.scores["overall"]
    count, total, squares = (np.zeros(k) for _ in range(3))
    for column, name in ((count, "n"), (total, "total"), (squares, "squares")):
        column[overall["system"]] = overall[name]
    mean = snap(total / np.maximum(count, 1), scale=part.scale)

    def sums(system: int, unit: str) -> Floats:
        own = _of_system(part.scores[unit], system)
        return snap(own["total"] - own["n"] * mean[system], scale=part.scale, digits=13)

    return ScoreTotals(
        count=count.astype(np.int64),
        mean=mean,
        squares=squares,
        annotators=np.bincount(part.scores["annotator"]["system"], minlength=k).astype(np.int64),
        sums=sums,
    )


def rating_totals(part: CriterionSums) -> RatingTotals:
    """Return what the tests need."""
    k, rated = len(part.systems), part.scores["annotator"]

    def averages(units: Sequence[Unit]) -> list[UnitValues | None]:
        rows = rows_of_units(part.pairs, np.array([UNITS.index(unit) for unit in units]), k)
        return averages_of_sums(units, rows["pair"], rows["n"], rows["total"], scale=part.scale)

    def unit_means(system: int, unit: Unit) -> Floats:
        own = _of_system(part.scores[unit], system)
        return snap(own["total"] / own["n"], scale=part.scale, digits=13)

    people, number = np.unique(rated["annotator"], return_inverse=True)
    table = csr_array((np.ones(len(number), dtype=np.int64), (number, rated["system"])), shape=(len(people), k))

    def raters(system: int) -> Ints:
        own: Ints = number[rated["system"] == system]
        return own

    answers = np.zeros(k, dtype=np.int64)
    answers[part.scores["overall"]["system"]] = part.scores["overall"]["n"]
    return RatingTotals(
        group=part.group,
        criterion=part.criterion,
        llm=part.llm,
        systems=part.systems,
        present=part.scores["overall"]["system"].tolist(),
        both=(table.T @ table).toarray(),
        n_annotators=part.n_annotators,
        answers=answers,
        outputs=_outputs(part) if part.sampled else answers,
        averages=averages,
        unit_means=unit_means,
        same_annotators=lambda x, y: np.array_equal(raters(x), raters(y)),
        sides=lambda x, y, who: _sides(part, x, y, who),
    )


def _outputs(part: CriterionSums) -> Ints:
    """Count the outputs of each system as they were rated, samples of one together."""
    own = part.scores["visits" if part.llm else "clusters"]
    return np.bincount(own["system"], weights=own["clusters"], minlength=len(part.systems)).astype(np.int64)


def _sides(part: CriterionSums, x: int, y: int, who: Unit) -> tuple[ClusteredValues, ClusteredValues]:
    """Return the sums of two systems by clusters."""
    sides = _clusters(part, x, who), _clusters(part, y, who)
    overall = part.pairs["overall"]
    row = np.flatnonzero(overall["pair"] == x * len(part.systems) + y)
    apart = who == "annotator" and part.blocks > part.clusters
    if not len(row):
        if apart:
            raise AnalysisError(
                f"group {part.group!r}, criterion {part.criterion!r}: annotators rated the same item in several "
                "assignments or variants, and some systems never in one; their test needs all ratings at once, "
                "expected a table that is read whole (or --rating-test welch)"
            )
        return sides
    if apart or part.sampled:
        return replace(sides[0], both_known=False), replace(sides[1], both_known=False)
    n, (square_x, square_y, product) = int(overall["n"][row[0]]), (float(overall[name][row[0]]) for name in BESIDE)
    of_x, of_y = sides
    together = max(square_x / of_x.n**2 + square_y / of_y.n**2 - 2 * product / (of_x.n * of_y.n), 0.0)
    return (
        replace(of_x, cells=_partly_beside(of_x, n, square_x, math.sqrt(together / n), part.scale)),
        replace(of_y, cells=_partly_beside(of_y, n, square_y, 0.0, part.scale)),
    )


def _partly_beside(values: ClusteredValues, n: int, squares: float, rest: float, scale: float) -> ClusterSums:
    """Return the sums by annotator and item where ``n`` ratings lie beside one of the other system.

    ``squares`` adds up their squared distances from the mean; ``rest`` stands for the difference of both systems.
    """
    cells, size = values.cells, values.n
    assert cells.times is not None
    apart = size - n
    left = float((cells.rest**2 * cells.times).sum()) * size**2 - squares
    left = 0.0 if apart == 0 or snap(np.array([left]), scale=scale**2 * size, digits=13)[0] <= 0 else left
    alone = math.sqrt(left / apart) / size if apart else 0.0
    return ClusterSums(
        cluster=np.array([TOGETHER, *cells.cluster[:1]] if apart else [TOGETHER], dtype=np.int64),
        share=np.full(1 + bool(apart), 1 / size),
        rest=np.array([rest, alone] if apart else [rest]),
        times=np.array([n, apart] if apart else [n], dtype=np.float64),
    )


def _clusters(part: CriterionSums, system: int, who: Unit) -> ClusteredValues:
    """Return the sums of one system by clusters; those of annotator and item are of this system alone."""
    overall = _of_system(part.scores["overall"], system)
    n = int(overall["n"][0])
    mean = float(snap(overall["total"] / n, scale=part.scale)[0])

    def sums(unit: Unit) -> ClusterSums:
        own = _of_system(part.scores[unit], system)
        rest = snap(own["total"] - own["n"] * mean, scale=part.scale, digits=13)
        return ClusterSums(cluster=own[unit], share=own["n"] / n, rest=rest / n)

    cells = _of_system(part.scores["clusters" if who == "annotator" else "visits"], system)
    return ClusteredValues(
        n=n,
        mean=mean,
        annotators=sums(who),
        items=sums("item"),
        cells=ClusterSums(
            cluster=np.arange(len(cells["n"])) * len(part.systems) + system,
            share=cells["n"] / n,
            rest=np.sqrt(cells["squares"] / cells["clusters"]) / n,
            times=cells["clusters"].astype(np.float64),
        ),
    )


def part_sums(part: CriterionSums, plan: Plan) -> PartSums:
    """Return what the checks need."""
    k, counts = len(part.systems), part.counts
    levels = scale_levels(counts["score"]) if len(counts["score"]) else counts["score"]
    table = np.zeros((k, len(levels)), dtype=np.int64)
    table[counts["system"], np.searchsorted(levels, counts["score"])] = counts["n"]

    def pairs(x: Ints, y: Ints, kind: Ints) -> PairDifferences:
        lookup = pair_lookup(x, y, k).ravel()
        of_pair = np.zeros(k * k, dtype=np.int64)
        of_pair[x * k + y] = kind
        rows = rows_of_units(part.pairs, of_pair, k)
        return PairDifferences(
            x=x,
            y=y,
            kind=kind,
            pair=lookup[rows["pair"]],
            unit=rows["unit"],
            total=rows["total"],
            higher=rows["above"] + rows["tied"] / 2,
            n=rows["n"].astype(np.float64),
        )

    who: Unit = "assignment" if part.llm and part.n_annotators < ENOUGH_ANNOTATORS else "annotator"
    return PartSums(
        systems=part.systems,
        scale=part.scale,
        levels=levels,
        counts=table,
        spread=lambda unit: _spread(part, unit),
        pairs=pairs,
        z_scores=lambda own: _z_tests(part, own),
        ordinal=lambda own: _ordinal_tests(part, own),
        crossed=lambda own: crossed_tests_of(part, own.x, own.y, against=0.0, confidence=plan.confidence),
        sides=lambda x, y: _sides(part, x, y, who),
    )


def _ordinal_tests(part: CriterionSums, pairs: PairDifferences) -> ManyTests:
    counts = {unit: option_counts(part, unit) for unit in {UNITS[kind] for kind in pairs.kind.tolist()}}
    if any(found is None for found in counts.values()):
        return untested([SINGLE if len(part.options) else TOO_MANY] * len(pairs))

    def fit(unit: Unit) -> OrdinalFit:
        own, table = part.scores[unit], counts[unit]
        assert table is not None
        table = table[:, table.any(axis=0)]
        row, category = np.nonzero(table)
        clusters, cluster = np.unique(own[unit], return_inverse=True)
        counted = Counted(
            cluster=cluster[row],
            system=own["system"][row],
            category=category.astype(np.int64),
            n=table[row, category].astype(np.float64),
        )
        return fit_counted(counted, len(part.systems), len(clusters))

    return ordinal_tests(fit, pairs)


def _spread(part: CriterionSums, unit: Unit) -> tuple[Ints, SpreadSums] | None:
    own, overall = part.scores[unit], part.scores["overall"]
    middle = float(np.round(overall["total"].sum() / overall["n"].sum()))
    there, column = np.unique(own[unit], return_inverse=True)
    if len(there) * len(part.systems) > MOST_SPREAD:
        return None

    def about_middle(columns: Columns) -> tuple[Floats, Floats, Floats]:
        n, total, squares = (columns[name].astype(np.float64) for name in ("n", "total", "squares"))
        return n, total - n * middle, squares - 2 * middle * total + n * middle**2

    def table(values: Floats) -> Floats:
        found = np.zeros((len(part.systems), len(there)))
        found[own["system"], column] = values
        return found

    n, first, second = (table(values) for values in about_middle(own))
    return there, SpreadSums(
        n=n,
        first=first,
        second=second,
        total_n=n.sum(axis=1),
        total_first=first.sum(axis=1),
        total_second=second.sum(axis=1),
        middle=middle,
    )


def _z_tests(part: CriterionSums, pairs: PairDifferences) -> tuple[ManyTests, Ints]:
    """Test standardised differences within annotators; within other units of several annotators, sums do not do."""
    own = part.scores["annotator"]
    who, of = np.unique(own["annotator"], return_inverse=True)
    n, total, squares = (np.bincount(of, weights=own[name]).astype(np.float64) for name in ("n", "total", "squares"))
    with np.errstate(all="ignore"):
        rest = squares_about_mean(n, total, squares, part.scale)
        spread = np.where(rest > 0, np.sqrt(rest / (n - 1)), np.nan)
    scaled_by_unit = (pairs.kind == UNITS.index("annotator")) | (len(who) == 1)
    kept = scaled_by_unit[pairs.pair]
    pair, unit = pairs.pair[kept], pairs.unit[kept]
    annotator = np.searchsorted(who, unit) if len(who) > 1 else np.zeros_like(unit)
    scaled = pairs.total[kept] / spread[annotator]
    times = None if pairs.n is None else pairs.n[kept]
    found = standardised_tests(replace(pairs, pair=pair, unit=unit, total=scaled, n=times))
    lost = ~np.isfinite(scaled)
    untested_pairs = np.unique(pairs.pair[~kept])
    reasons = [SINGLE if place in untested_pairs else reason for place, reason in enumerate(found.reasons)]
    return replace(found, reasons=reasons), count_by(pair[lost], annotator[lost], len(pairs))


def mean_sums(
    part: CriterionSums, totals: RatingTotals, names: Mapping[str, Sequence[str]], plan: Plan
) -> ReplicateSums:
    """Return what resampling the means needs."""
    unit = UnitRule(planned=plan.unit, llm=part.llm).choose(part.n_annotators)
    own = part.scores[unit]
    n = own["n"].astype(np.float64)
    return sums_of_units(totals, unit, names[unit], own["system"], own[unit], n, own["total"], plan)


def has_too_many_outputs(totals: AnswerTotals) -> bool:
    """Say whether groups are not correlated, for the memory that the means of so many outputs would take."""
    return totals.scores is not None and totals.scores.item.height > MOST_OUTPUTS


def mean_scores(totals: AnswerTotals) -> dict[str, dict[str, Scores]]:
    """Return the mean rating of each output by criterion and group; none where a table has too many outputs."""
    found: dict[str, dict[str, Scores]] = {}
    if totals.scores is None or len(totals.groups) < 2 or has_too_many_outputs(totals):
        return found
    for part in by_criterion(totals):
        own = part.scores["item"]
        output = own["item"] * len(part.systems) + own["system"]
        first = np.argsort(output)
        value = own["total"] / own["n"]
        found.setdefault(part.criterion, {})[part.group] = Scores(
            name=f"ratings:{part.group}", output=output[first], value=value[first]
        )
    return found


def _of_system(columns: Columns, system: int) -> Columns:
    own = columns["system"] == system
    return {name: column[own] for name, column in columns.items()}
