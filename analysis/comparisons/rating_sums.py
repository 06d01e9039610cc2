"""From the sums of a table of ratings to what its tests, checks, strengths and rankings need of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from analysis.answers.units import Unit, UnitValues, averages_of_sums
from analysis.comparisons.rated_parts import RatedPart
from analysis.comparisons.score_totals import RatingTotals, ScoreTotals
from analysis.statistics.clustered_difference import ClusteredValues, ClusterSums
from analysis.statistics.coding import Floats, Ints, snap
from analysis.sums.criterion_sums import (
    PAIR,
    Columns,
    CriterionSums,
    EqualSums,
    distances,
    equal_sums,
    items_of_pair,
    people_of_pair,
    rows_of_units,
)
from analysis.sums.grid import UNITS
from spa.errors import AnalysisError


def score_totals(part: CriterionSums) -> ScoreTotals:
    """Return the totals of each system."""
    k, overall = len(part.systems), part.scores["overall"]
    count, total, squares = (np.zeros(k) for _ in range(3))
    for column, name in ((count, "n"), (total, "total"), (squares, "squares")):
        column[overall["system"]] = overall[name]
    mean = snap(total / np.maximum(count, 1), scale=part.scale)
    sd = np.sqrt(squares / np.maximum(count, 1))

    def sums(system: int, unit: str) -> Floats:
        own = _of_system(part.scores[unit], system)
        return snap(own["total"] - own["n"] * mean[system], scale=part.scale, digits=13)

    return ScoreTotals(
        count=count.astype(np.int64),
        mean=mean,
        squares=np.where(snap(sd, scale=part.scale, digits=13) == 0, 0.0, squares),
        annotators=np.bincount(part.scores["annotator"]["system"], minlength=k).astype(np.int64),
        sums=sums,
    )


def rating_totals(rated_part: RatedPart) -> RatingTotals:
    """Return what the tests need."""
    part = rated_part.sums
    k, rated = len(part.systems), part.scores["annotator"]

    def averages(units: Sequence[Unit]) -> list[UnitValues | None]:
        rows = rows_of_units(part.pairs, np.array([UNITS.index(unit) for unit in units]))
        return averages_of_sums(units, rows["pair"], rows["n"], rows["total"], scale=part.scale)

    def unit_means(system: int, unit: Unit) -> Floats:
        own = _of_system(part.scores[unit], system)
        return snap(own["total"] / own["n"], scale=part.scale, digits=13)

    @cache
    def of_systems(who: Unit) -> EqualSums:
        return equal_sums(part, "scores", who)

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
        sides=lambda x, y, who, alike: sides_of_sums(rated_part, of_systems(who), x, y, alike=alike),
        raters=lambda system, who: people_of_pair(of_systems(who), system),
        people=lambda pair: people_of_pair(rated_part.equal_pairs, pair),
        items=lambda pair: items_of_pair(rated_part.equal_pairs, pair, scale=part.scale),
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


def sides_of_sums(
    rated: RatedPart, equal: EqualSums, x: int, y: int, *, alike: bool
) -> tuple[ClusteredValues, ClusteredValues]:
    """Return the sums of two systems by clusters; ``alike``: annotators weigh the same, not ratings.

    Where somebody rated an output in several samples, or one item in several assignments, sums do not say which
    clusters of annotator and item hold ratings of both systems: single ratings do.
    """
    part = rated.sums
    of_x, of_y = (_side(part, equal, system, alike=alike) for system in (x, y))
    together = part.pairs[equal.who]
    own = together[PAIR] == x * len(part.systems) + y
    apart = equal.who == "annotator" and part.blocks > part.clusters
    if not (apart or (own.any() and part.sampled)):
        if not own.any():
            return of_x.values, of_y.values
        return _beside({name: column[own] for name, column in together.items()}, equal.who, of_x, of_y, part.scale)
    if rated.cells is not None:
        single = rated.clusters(equal.who, alike=alike)
        return replace(of_x.values, cells=single[x].cells), replace(of_y.values, cells=single[y].cells)
    if not own.any():
        raise AnalysisError(
            f"group {part.group!r}, criterion {part.criterion!r}: annotators rated the same item in several "
            "assignments or variants, and some systems never in one; their test needs all ratings at once, "
            "expected a table that is read whole (or --rating-test welch)"
        )
    return replace(of_x.values, both_known=False), replace(of_y.values, both_known=False)


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
        mean = middle
    else:
        plain, size = _of_system(part.scores["item"], system), n.sum()
        items = {"item": plain["item"], "share": plain["n"] / size, "square": plain["n"] / size**2}
        items["total"], weight = plain["total"] / size, np.full(len(n), 1 / size)
        mean = float(own["total"].sum() / size)
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
            rest=weight * n * distances(each, mean, part.scale),
            count=n,
        ),
        items=ClusterSums(
            cluster=items["item"],
            share=items["share"],
            square=items["square"],
            rest=items["share"] * distances(items["total"] / items["share"], mean, part.scale),
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


def _of_system(columns: Columns, system: int) -> Columns:
    own = columns["system"] == system
    return {name: column[own] for name, column in columns.items()}
