"""From the sums of a table of ratings to what its tests, checks, strengths and rankings need of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.answers.plan import Plan
from analysis.answers.units import Unit, UnitRule, UnitValues, averages_of_sums, count_by
from analysis.comparisons.score_totals import RatingTotals, ScoreTotals
from analysis.correlations.scores import Scores
from analysis.large.criterion_sums import (
    PAIR,
    Columns,
    CriterionSums,
    EqualSums,
    by_criterion,
    crossed_tests_of,
    equal_sums,
    items_of_pair,
    option_counts,
    people_of_pair,
    rows_of_units,
    squares_about_mean,
    votes_of,
)
from analysis.large.totals import AnswerTotals
from analysis.ranking.replicates import ReplicateSums, sums_of_units
from analysis.rating_checks.effects import SpreadSums
from analysis.rating_checks.many_tests import ManyTests, untested
from analysis.rating_checks.ordinal import TOO_MANY, Counted, OrdinalFit, fit_counted
from analysis.rating_checks.pair_differences import UNITS, PairDifferences, pair_lookup
from analysis.rating_checks.part import PartSums, ordinal_tests, standardised_tests, weighed_units
from analysis.rating_checks.respacing import scale_levels
from analysis.statistics.clustered_difference import ClusteredValues, ClusterSums
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import why
from spa.errors import AnalysisError

MOST_OUTPUTS = 10_000_000  # means of outputs up to which groups are correlated
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

    @cache
    def of_systems(who: Unit) -> EqualSums:
        return equal_sums(part, "scores", who)

    @cache
    def of_pairs() -> EqualSums:
        return equal_sums(part, "pairs", votes_of(part))

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
        sides=lambda x, y, who, alike: _sides(part, of_systems(who), x, y, alike=alike),
        raters=lambda system, who: people_of_pair(of_systems(who), system),
        people=lambda pair: people_of_pair(of_pairs(), pair),
        items=lambda pair: items_of_pair(of_pairs(), pair, scale=part.scale),
        scale=part.scale,
    )


def _outputs(part: CriterionSums) -> Ints:
    """Count the outputs of each system as they were rated, samples of one together."""
    own = part.scores["visits" if part.llm else "clusters"]
    return np.bincount(own["system"], weights=own["clusters"], minlength=len(part.systems)).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """One system: its ``values`` by cluster, and by annotator (assignment) who rated it, ``who``.

    ``n`` counts the ratings of each, ``weight`` is that of one, ``squares`` adds up their squared distances from the
    mean, which lies ``away`` from the middle that the sums of the table are about.
    """

    values: ClusteredValues
    who: Ints
    n: Floats
    weight: Floats
    squares: Floats
    away: float


def _sides(
    part: CriterionSums, equal: EqualSums, x: int, y: int, *, alike: bool
) -> tuple[ClusteredValues, ClusteredValues]:
    """Return the sums of two systems by clusters; ``alike``: annotators weigh the same, not ratings."""
    of_x, of_y = (_side(part, equal, system, alike=alike) for system in (x, y))
    together = part.pairs[equal.who]
    own = together[PAIR] == x * len(part.systems) + y
    apart = equal.who == "annotator" and part.blocks > part.clusters
    if not own.any():
        if apart:
            raise AnalysisError(
                f"group {part.group!r}, criterion {part.criterion!r}: annotators rated the same item in several "
                "assignments or variants, and some systems never in one; their test needs all ratings at once, "
                "expected a table that is read whole (or --rating-test welch)"
            )
        return of_x.values, of_y.values
    if apart or part.sampled:
        return replace(of_x.values, both_known=False), replace(of_y.values, both_known=False)
    return _beside({name: column[own] for name, column in together.items()}, equal.who, of_x, of_y, part.scale)


def _beside(rows: Columns, who: Unit, x: _Side, y: _Side, scale: float) -> tuple[ClusteredValues, ClusteredValues]:
    """Return both systems' sums, where ``rows`` add up by annotator (assignment) what lies side by side.

    By annotator and item, ratings side by side are of one cluster: the difference stands in the sums of x.
    """
    n = rows["n"].astype(np.float64)
    sides = [(x, "first", "squares_x"), (y, "second", "squares_y")]
    place = [np.searchsorted(side.who, rows[who]) for side in (x, y)]
    weight = [side.weight[own] for side, own in zip((x, y), place, strict=True)]
    squares = [rows[square] - 2 * side.away * rows[total] + n * side.away**2 for side, total, square in sides]
    product = rows["product"] - y.away * rows["first"] - x.away * rows["second"] + n * x.away * y.away
    both = weight[0] ** 2 * squares[0] + weight[1] ** 2 * squares[1] - 2 * weight[0] * weight[1] * product
    rests = [np.sqrt(np.maximum(both, 0.0) / n), np.zeros(len(n))]
    found = []
    for number, side in enumerate((x, y)):
        left_n, left = side.n.copy(), side.squares.copy()
        left_n[place[number]] -= n
        left[place[number]] -= squares[number]
        alone = left_n > 0
        left = np.where(snap(left, scale=scale**2 * float(side.n.max()), digits=13) <= 0, 0.0, left)[alone]
        left_n, left_weight = left_n[alone], side.weight[alone]
        columns = {
            "cluster": (3 * rows[who], 3 * side.who[alone] + 1 + number),
            "share": (weight[number], left_weight),
            "square": (weight[number] ** 2, left_weight**2),
            "rest": (rests[number], left_weight * np.sqrt(left / left_n)),
            "count": (np.ones(len(n)), np.ones(len(left_n))),
            "times": (n, left_n),
        }
        joined = {name: np.concatenate(pair) for name, pair in columns.items()}
        order = np.argsort(joined["cluster"])
        cells = ClusterSums(**{name: column[order] for name, column in joined.items()})
        found.append(replace(side.values, cells=cells))
    return found[0], found[1]


def _side(part: CriterionSums, equal: EqualSums, system: int, *, alike: bool) -> _Side:
    """Return the sums of one system by clusters; those of annotator and item are of this system alone."""
    who, own = equal.who, equal.of(system, equal.by_unit)
    cells = equal.of(system, part.scores["clusters" if who == "annotator" else "visits"])
    each, n = own["total"] / own["n"], own["n"].astype(np.float64)
    middle = float(each.sum() / len(each))
    if alike:
        items, weight = equal.of(system, equal.items), own["weight"]
        mean = float(snap(np.array([middle]), scale=part.scale)[0])
    else:
        plain, size = _of_system(part.scores["item"], system), n.sum()
        items = {"item": plain["item"], "share": plain["n"] / size, "square": plain["n"] / size**2}
        items["total"], weight = plain["total"] / size, np.full(len(n), 1 / size)
        mean = float(snap(np.array([own["total"].sum() / size]), scale=part.scale)[0])
    place = np.searchsorted(own[who], cells[who])
    of_cell, away = weight[place], mean - middle
    size, times = cells["n"].astype(np.float64), cells["clusters"].astype(np.float64)
    squares = cells["squares"] - 2 * size * away * cells["total"] + times * (size * away) ** 2
    counts = _of_system(part.scores["item"], system)
    values = ClusteredValues(
        n=int(n.sum()),
        mean=mean,
        annotators=ClusterSums(
            cluster=own[who],
            share=weight * n,
            square=weight**2 * n,
            rest=weight * n * snap(each - mean, scale=part.scale, digits=13),
            count=n,
        ),
        items=ClusterSums(
            cluster=items["item"],
            share=items["share"],
            square=items["square"],
            rest=snap(items["total"] - items["share"] * mean, scale=part.scale, digits=13),
            count=counts["n"][np.searchsorted(counts["item"], items["item"])].astype(np.float64),
        ),
        cells=ClusterSums(
            cluster=np.arange(len(times)) * len(part.systems) + system,
            share=of_cell * size,
            square=of_cell**2 * size,
            rest=of_cell * np.sqrt(np.maximum(squares, 0.0) / times),
            count=size,
            times=times,
        ),
    )
    by_who = np.bincount(place, weights=squares, minlength=len(n)).astype(np.float64)
    return _Side(values=values, who=own[who], n=n, weight=weight, squares=by_who, away=away)


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
        weighed = weighed_units(kind, plan, llm=part.llm)
        own = PairDifferences(
            x=x,
            y=y,
            kind=kind,
            pair=lookup[rows["pair"]],
            unit=rows["unit"],
            total=rows["total"],
            higher=rows["above"] + rows["tied"] / 2,
            n=rows["n"].astype(np.float64),
            weighed=weighed,
            share=np.zeros(len(rows["n"])),
            square=np.zeros(len(rows["n"])),
        )
        return _with_weights(own, equal_sums(part, "pairs", votes_of(part)), lookup) if weighed.any() else own

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
        sides=lambda x, y: _sides(part, equal_sums(part, "scores", votes_of(part)), x, y, alike=True),
    )


def _with_weights(pairs: PairDifferences, equal: EqualSums, lookup: Ints) -> PairDifferences:
    """Put weighed means by item in the place of the sums of tests in which everybody weighs the same."""
    others, items = ~pairs.weighed[pairs.pair], equal.items
    pair = lookup[items[PAIR]]
    own = pairs.weighed[pair]
    share = items["share"][own]
    columns: dict[str, npt.NDArray[Any]] = {
        "pair": pair[own],
        "unit": items["item"][own],
        "total": items["total"][own] / share,
        "higher": items["higher"][own] / share,
        "n": np.ones(len(share)),
        "share": share,
        "square": items["square"][own],
    }
    return replace(
        pairs, **{name: np.concatenate([getattr(pairs, name)[others], column]) for name, column in columns.items()}
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
    rows = {name: getattr(pairs, name)[kept] for name in ("pair", "unit", "share", "square")}
    pair, unit = rows["pair"], rows["unit"]
    annotator = np.searchsorted(who, unit) if len(who) > 1 else np.zeros_like(unit)
    scaled = pairs.total[kept] / spread[annotator]
    times = None if pairs.n is None else pairs.n[kept]
    found = standardised_tests(replace(pairs, **rows, total=scaled, n=times))
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
