"""The checks of a part from its sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.answers.equal_weights import equal_weights
from analysis.answers.plan import Plan
from analysis.answers.units import Unit, count_by
from analysis.comparisons.rated_parts import RatedPart
from analysis.comparisons.rating_sums import sides_of_sums
from analysis.rating_checks.crossed import ClusterSquares, crossed_of_squares, items_by_pair
from analysis.rating_checks.effect_sizes import SpreadSums
from analysis.rating_checks.many_tests import ManyTests, chosen_tests, untested
from analysis.rating_checks.ordinal import TOO_MANY, Counted, OrdinalFit, fit_counted, fit_ordinal
from analysis.rating_checks.pair_differences import UNITS, PairDifferences, pair_lookup
from analysis.rating_checks.part import PartSums, ordinal_tests, standardised_tests, weighed_units
from analysis.rating_checks.respacing import scale_levels
from analysis.rating_checks.z_scores import spread_of_annotators, standardised_differences
from analysis.records.results import Results
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import why
from analysis.sums.criterion_sums import (
    PAIR,
    SINGLE,
    Columns,
    CriterionSums,
    EqualSums,
    distances,
    equal_sums,
    option_counts,
    rows_of_units,
    squares_about_mean,
    votes_of,
)
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals

MOST = 1_000_000  # single differences that are held at once
TOO_LARGE = why("too_many_differences", most=MOST)
MOST_SPREAD = 1 << 24  # systems times units whose spread is kept


def part_sums(rated: RatedPart, plan: Plan) -> PartSums:
    """Return what the checks need."""
    part = rated.sums
    k = len(part.systems)
    levels, table = _level_counts(rated)

    def pairs(x: Ints, y: Ints, kind: Ints) -> PairDifferences:
        lookup = pair_lookup(x, y, k).ravel()
        of_pair = np.zeros(k * k, dtype=np.int64)
        of_pair[x * k + y] = kind
        rows = rows_of_units(part.pairs, of_pair)
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
        return _with_weights(own, rated.equal_pairs, lookup) if weighed.any() else own

    return PartSums(
        systems=part.systems,
        scale=part.scale,
        levels=levels,
        counts=table,
        spread=lambda unit: _spread(part, unit, most=MOST_SPREAD if rated.cells is None else None),
        pairs=pairs,
        z_scores=lambda own: _z_tests(rated, own, plan),
        ordinal=lambda own: _ordinal_tests(rated, own),
        crossed=lambda own: crossed_tests_of(
            part,
            rated.equal_pairs,
            pair_lookup(own.x, own.y, k).ravel(),
            len(own),
            against=0.0,
            confidence=plan.confidence,
        ),
        sides=lambda x, y: sides_of_sums(rated, equal_sums(part, "scores", votes_of(part)), x, y, alike=True),
    )


def _level_counts(rated: RatedPart) -> tuple[Floats, Ints]:
    """Return the levels of the scale, and how often each system got each; none where levels are too many."""
    counts, cells, k = rated.sums.counts, rated.cells, len(rated.sums.systems)
    if not len(counts["score"]) and cells is not None:
        system, score, n = cells.system, cells.value, np.ones(len(cells.value))
    else:
        system, score, n = counts["system"], counts["score"], counts["n"]
    levels = scale_levels(score) if len(score) else score
    place = system * len(levels) + np.searchsorted(levels, score)
    table = np.bincount(place, weights=n, minlength=k * len(levels)).reshape(k, len(levels))
    return levels, table.astype(np.int64)


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


def _ordinal_tests(rated: RatedPart, pairs: PairDifferences) -> ManyTests:
    part, cells = rated.sums, rated.cells
    counts = {unit: option_counts(part, unit) for unit in {UNITS[kind] for kind in pairs.kind.tolist()}}
    if any(found is None for found in counts.values()):
        if cells is not None:
            return ordinal_tests(
                lambda unit: fit_ordinal(cells.value, cells.system, cells.column(unit), n_systems=len(cells.systems)),
                pairs,
            )
        n = {kind: len(np.unique(part.scores[UNITS[kind]][UNITS[kind]])) for kind in set(pairs.kind.tolist())}
        clusters = np.array([n[kind] for kind in pairs.kind.tolist()], dtype=np.int64)
        return replace(untested([SINGLE if len(part.options) else TOO_MANY] * len(pairs)), n=clusters)

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


def _spread(part: CriterionSums, unit: Unit, *, most: int | None) -> tuple[Ints, SpreadSums] | None:
    own, overall = part.scores[unit], part.scores["overall"]
    middle = float(np.round(overall["total"].sum() / overall["n"].sum()))
    there, column = np.unique(own[unit], return_inverse=True)
    if most is not None and len(there) * len(part.systems) > most:
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


def _z_tests(rated: RatedPart, pairs: PairDifferences, plan: Plan) -> tuple[ManyTests, Ints]:
    """Test standardised differences within annotators; within other units of several annotators, sums do not do."""
    part = rated.sums
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
    left_out = count_by(pair[lost], annotator[lost], len(pairs))
    if kept.all():
        return found, left_out
    others = np.zeros(len(pairs), dtype=np.bool_)
    others[pairs.pair[~kept]] = True
    many = part.pairs["overall"]["n"].sum() > MOST
    if rated.cells is None or many:
        why_not = SINGLE if rated.cells is None else TOO_LARGE
        reasons = [why_not if alone else reason for alone, reason in zip(others, found.reasons, strict=True)]
        return replace(found, reasons=reasons), left_out
    single, left_out_of_single = _single_z_tests(rated, pairs, plan)
    return chosen_tests(others, single, found), np.where(others, left_out_of_single, left_out)


def _single_z_tests(rated: RatedPart, pairs: PairDifferences, plan: Plan) -> tuple[ManyTests, Ints]:
    """Test standardised single differences; count by pair the annotators that cannot be standardised."""
    cells, differences, k = rated.cells, rated.differences, len(rated.sums.systems)
    assert cells is not None
    spread = spread_of_annotators(cells.value, cells.annotator)
    values = standardised_differences(differences.value, differences.annotator, spread)
    pair = pair_lookup(pairs.x, pairs.y, k)[differences.x, differences.y]
    votes = differences.assignment if votes_of(rated.sums) == "assignment" else differences.annotator
    weights = equal_weights(pair, votes, len(pairs))
    columns = [differences.annotator, differences.assignment, differences.item]
    own = replace(
        pairs,
        pair=pair,
        unit=np.choose(pairs.kind[pair], columns) if len(pair) else pair,
        total=values,
        higher=(np.sign(differences.value) + 1) / 2,
        n=None,
        weighed=weighed_units(pairs.kind, plan, llm=rated.sums.llm),
        share=weights,
        square=weights**2,
    )
    lost = ~np.isfinite(values)
    return standardised_tests(own), count_by(pair[lost], differences.annotator[lost], len(pairs))


def crossed_tests_of(
    part: CriterionSums, equal: EqualSums, number: Ints, n_tests: int, *, against: float, confidence: float
) -> ManyTests:
    """Test pairs, whose tests ``number`` numbers, over annotators (of few LLMs: assignments) and items at once.

    ``equal`` are the sums of pairs with everybody weighing the same.
    """
    overall = part.pairs["overall"]
    place = number[overall[PAIR]]
    n, same = np.zeros(n_tests, dtype=np.int64), np.zeros(n_tests, dtype=np.bool_)
    n[place], same[place] = overall["n"], overall["squares"] == 0

    def added(pair: Ints, values: Floats) -> Floats:
        return np.bincount(pair, weights=values, minlength=n_tests).astype(np.float64)

    own, of_own, of_item = equal.by_unit, number[equal.by_unit[PAIR]], number[equal.items[PAIR]]
    people = np.bincount(of_own, minlength=n_tests).astype(np.int64)
    with np.errstate(all="ignore"):
        mean = added(of_own, own["total"] / own["n"]) / people
    rest = distances(own["total"] / own["n"], mean[of_own], part.scale) / people[of_own]
    annotators = ClusterSquares(squares=added(of_own, rest**2), clusters=people)
    both = part.pairs["clusters" if equal.who == "annotator" else "visits"]
    of_both, weight = number[both[PAIR]], weights_of(equal, both)
    cells = ClusterSquares(
        squares=added(of_both, weight**2 * both["squares"]),
        clusters=added(of_both, both["clusters"]).astype(np.int64),
    )
    shares = added(of_both, weight**2 * both["n"] ** 2 * both["clusters"])
    share, square = equal.items["share"], equal.items["square"]
    of_items = share * distances(equal.items["total"] / share, mean[of_item], part.scale)
    items = items_by_pair(of_item, share, square, of_items, shares)
    return crossed_of_squares(n, mean, annotators, items, cells, same=same, against=against, confidence=confidence)


def weights_of(equal: EqualSums, rows: Columns) -> Floats:
    """Return the weight of a value of the annotator (assignment) of each row."""
    width = 1 + max(int(columns[equal.who].max(initial=0)) for columns in (equal.by_unit, rows))
    known = equal.by_unit[equal.key] * width + equal.by_unit[equal.who]
    order = np.argsort(known)
    place = np.searchsorted(known, rows[equal.key] * width + rows[equal.who], sorter=order)
    weights: Floats = equal.by_unit["weight"][order[place]]
    return weights


def _lost(method: str, text: str) -> Callable[[AnswerTotals, Results], str | None]:
    def said(totals: AnswerTotals, results: Results) -> str | None:
        rows = results.ratings.robustness
        return text if any(row.method == method and row.reason == SINGLE for row in rows) else None

    return said


def _without_crossed(totals: AnswerTotals, results: Results) -> str | None:
    rows = [row for row in results.ratings.pairs if SINGLE in (row.crossed_reason, row.reason)]
    return "tests over annotators and items where some outputs were rated in several samples" if rows else None


ORDINAL_MODEL = NeedsSingleAnswers("ordinal_model", ("ratings.robustness",), _lost("ordinal", "the ordinal model"))
Z_SCORES = NeedsSingleAnswers("z_scores", ("ratings.robustness",), _lost("z_scores", "z-scores of tests by item"))
CROSSED_SAMPLES = NeedsSingleAnswers(
    "crossed_samples", ("ratings.pairs", "ratings.robustness", "headline"), _without_crossed
)
