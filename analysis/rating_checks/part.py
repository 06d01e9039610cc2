"""The checks of one group and criterion: every pair of systems, tested and measured in other ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr

from analysis.answers.equal_weights import equal_weights
from analysis.answers.plan import Plan
from analysis.answers.units import Unit, UnitRule, count_by, who_answers
from analysis.comparisons.choices import CHANCE, ChoiceCells, ChoiceTest
from analysis.comparisons.ratings import CLUSTERED, PAIRED, RatingCells, RatingTest
from analysis.rating_checks.crossed import ONE_ANNOTATOR, ONE_ITEM, crossed_tests
from analysis.rating_checks.effects import (
    JackknifeResult,
    SpreadSums,
    cut,
    jackknife,
    mean_without,
    spread_sums,
)
from analysis.rating_checks.many_tests import (
    NOTHING_PAIRED,
    Flags,
    ManyTests,
    UnitMeans,
    sums_by,
    untested,
    weighed_tests,
)
from analysis.rating_checks.ordinal import OrdinalFit, fit_ordinal
from analysis.rating_checks.respacing import Respacing, respacings_of_counts, scale_levels
from analysis.rating_checks.wilcoxon import signed_rank_tests
from analysis.rating_checks.z_scores import CONSTANT, spread_of_annotators, standardised_differences
from analysis.statistics.clustered_difference import ClusteredValues, SystemClusters, clustered_t
from analysis.statistics.coding import Floats, Ints, fold, snap
from analysis.statistics.differences import Differences
from analysis.statistics.effect_sizes import d_z_bounds
from analysis.statistics.reasons import Reason, several, why
from analysis.statistics.weighed_items import spread_of_items

Method = Literal["wilcoxon", "z_scores", "ordinal", "crossed"]
METHODS: tuple[Method, ...] = get_args(Method)
UNITS: tuple[Unit, ...] = ("annotator", "assignment", "item")
MOST = 1_000_000  # differences of a part that are held at once
TOO_LARGE = why("too_many_differences", most=MOST)
LOPSIDED = why("lopsided")
NO_D_Z = why("no_d_z")
FEW_PAIRED = why("few_paired")
FEW_PAIRED_EFFECTS = why("few_paired_effects")
ITSELF = why("crossed_itself")
TOO_MANY = why("no_hedges_g")
UNCOUNTED = Respacing(holds=None, ratio=None, share=None, reason=why("too_many_scores"))
CHUNK = 2_000_000  # pairs times units that are held at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effects:
    """Effect sizes by pair, each with bounds; NaN where there is none."""

    d_z: tuple[Floats, Floats, Floats]
    exact: Flags  # whether the interval of d_z is of the noncentral t
    hedges_g: tuple[Floats, Floats, Floats]
    superiority: tuple[Floats, Floats, Floats]
    reasons: list[Reason | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartChecks:
    """What was found for the pairs of one group and criterion, in the order of its tests."""

    effects: Effects
    methods: dict[Method, ManyTests]
    left_out: Ints  # annotators without z-scores
    respacing: list[Respacing]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairDifferences:
    """The differences of a part by pair, one a row or some of one pair and unit added up.

    ``pair`` numbers the test that a row belongs to, ``unit`` its unit; ``total`` is the difference, ``higher`` is 1
    where x is rated higher and 1/2 where neither is. ``n`` says how many a row adds up, ``None``: one. Of tests in
    which every annotator weighs the same although items are the units (``weighed``), ``share`` is the weight of a
    row's differences, and ``square`` their squared weights, added up.
    """

    x: Ints
    y: Ints
    kind: Ints  # unit of each test, as a place in UNITS
    pair: Ints
    unit: Ints
    total: Floats
    higher: Floats
    n: Floats | None = None
    weighed: Flags
    share: Floats
    square: Floats

    def __len__(self) -> int:
        """Return the number of tests."""
        return len(self.x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartSums:
    """What the checks of one group and criterion are made of.

    Attributes
    ----------
    levels, counts : array, shape (n_levels,) and (n_systems, n_levels)
        Scores, ascending, and how often each system got each; none where they are too many to be counted.
    spread : callable
        From a unit to the numbers of those that occur, and to the sums by system and unit; ``None``: too many.
    pairs : callable
        From the systems x and y of the tests, and the unit of each, to the differences.
    z_scores, ordinal, crossed : callable
        The tests of the pairs; of z-scores with the number of annotators left out of each.
    sides : callable
        Sums of all ratings of two systems, by annotator (of few LLMs: assignment), by item, and by both.
    """

    systems: tuple[str, ...]
    scale: float
    levels: Floats
    counts: Ints
    spread: Callable[[Unit], tuple[Ints, SpreadSums] | None]
    pairs: Callable[[Ints, Ints, Ints], PairDifferences]
    z_scores: Callable[[PairDifferences], tuple[ManyTests, Ints]]
    ordinal: Callable[[PairDifferences], ManyTests]
    crossed: Callable[[PairDifferences], ManyTests]
    sides: Callable[[int, int], tuple[ClusteredValues, ClusteredValues]]


def check_part(cells: RatingCells, differences: Differences, tests: Sequence[RatingTest], plan: Plan) -> PartChecks:
    """Measure and test every pair of one group and criterion in other ways than :func:`compare_ratings` did.

    Parameters
    ----------
    cells, differences : RatingCells, Differences
        Ratings of the part, and their differences within an annotator's item.
    tests : sequence of RatingTest
        Its tests, in whose order the results stand; their units are kept.
    plan : Plan
        For the level of intervals.
    """
    last = np.flatnonzero(differences.block[1:] != differences.block[:-1])  # rows of a block stand together
    sizes = np.diff(last, prepend=-1, append=len(differences.block) - 1)
    if int(np.sum(sizes * (sizes - 1))) > 2 * MOST:
        return _unchecked(len(tests))
    return check_sums(_sums_of(cells, differences, plan), tests, plan)


def check_sums(sums: PartSums, tests: Sequence[RatingTest], plan: Plan) -> PartChecks:
    """Do what :func:`check_part` does, from the sums of one group and criterion."""
    x, y = pair_numbers(sums.systems, tests)
    kind = np.array([UNITS.index(test.unit) for test in tests], dtype=np.int64)
    pairs = sums.pairs(x, y, kind)
    means = _by_unit(pairs, pairs.total, sums.scale)
    z_tests, left_out = sums.z_scores(pairs)
    lopsided = np.array([test.one_gave_most for test in tests], dtype=np.bool_)
    methods: dict[Method, ManyTests] = {
        "wilcoxon": _unless(lopsided & pairs.weighed, _signed_ranks(sums, pairs, tests, means)),
        "z_scores": _unless(_partly_paired(tests), z_tests, FEW_PAIRED),
        "ordinal": _unless(lopsided, sums.ordinal(pairs)),
        "crossed": _crossed_of_all(sums, pairs, tests, sums.crossed(pairs), plan.confidence),
    }
    return PartChecks(
        effects=_effects(sums, pairs, tests, means, plan.confidence),
        methods=methods,
        left_out=left_out,
        respacing=respacings_of_counts(sums.counts, x, y, sums.levels) if len(sums.levels) else [UNCOUNTED] * len(x),
    )


def _signed_ranks(sums: PartSums, pairs: PairDifferences, tests: Sequence[RatingTest], means: UnitMeans) -> ManyTests:
    """Test the signed ranks of the units; where few ratings pair, of the differences of units' means of all ratings."""
    partly = _partly_paired(tests)
    paired = ~partly[means.part]
    part, value, unknown = [means.part[paired]], [means.mean[paired]], np.zeros(len(pairs), dtype=np.bool_)
    for kind in np.unique(pairs.kind[partly]).tolist():
        members = np.flatnonzero(partly & (pairs.kind == kind))
        spread = sums.spread(UNITS[kind])
        if spread is None:
            unknown[members] = True
            continue
        by_system = spread[1].means()
        for place in members.tolist():
            difference = by_system[pairs.x[place]] - by_system[pairs.y[place]]
            known = snap(difference[np.isfinite(difference)], scale=sums.scale, digits=13)
            part.append(np.full(len(known), place, dtype=np.int64))
            value.append(known)
    found = signed_rank_tests(np.concatenate(part), np.concatenate(value), len(pairs))
    reasons = [
        FEW_PAIRED if few and (lost or reason == NOTHING_PAIRED) else reason
        for few, lost, reason in zip(partly, unknown, found.reasons, strict=True)
    ]
    return replace(found, reasons=reasons)


def _unless(flags: Flags, found: ManyTests, why_not: Reason = LOPSIDED) -> ManyTests:
    """Take out the tests that are flagged: by default as they weigh answers alike, most of which one annotator gave."""
    reasons = [
        why_not if flag and reason is None else reason
        for flag, reason in zip(flags.tolist(), found.reasons, strict=True)
    ]
    columns = ("estimate", "df", "p_value", "low", "high")
    return replace(found, reasons=reasons, **{name: np.where(flags, np.nan, getattr(found, name)) for name in columns})


def weighed_units(kind: Ints, plan: Plan, *, llm: bool) -> Flags:
    """Tell which tests have items as units by default, so that every annotator weighs the same."""
    rule = UnitRule(planned=plan.unit, llm=llm)
    return np.array([rule.is_default(UNITS[number]) for number in kind.tolist()], dtype=np.bool_)


def _sums_of(cells: RatingCells, differences: Differences, plan: Plan) -> PartSums:
    k, levels = len(cells.systems), scale_levels(cells.value)
    place = cells.system * len(levels) + np.searchsorted(levels, cells.value)

    def spread(unit: Unit) -> tuple[Ints, SpreadSums]:
        there, of = np.unique(cells.column(unit), return_inverse=True)
        return there, spread_sums(cells.system, of.astype(np.int64), cells.value, k)

    who = who_answers(llm=cells.llm, n_annotators=len(np.unique(cells.annotator)))
    votes = differences.assignment if who == "assignment" else differences.annotator

    def pairs(x: Ints, y: Ints, kind: Ints) -> PairDifferences:
        pair = pair_lookup(x, y, k)[differences.x, differences.y]
        weights = equal_weights(pair, votes, len(x))
        columns = [differences.annotator, differences.assignment, differences.item]
        return PairDifferences(
            x=x,
            y=y,
            kind=kind,
            pair=pair,
            unit=np.choose(kind[pair], columns) if len(pair) else pair,
            total=differences.value,
            higher=(np.sign(differences.value) + 1) / 2,
            weighed=weighed_units(kind, plan, llm=cells.llm),
            share=weights,
            square=weights**2,
        )

    clusters = SystemClusters(cells.system, cells.value, cells.column(who), cells.item, scale=cells.scale)
    return PartSums(
        systems=cells.systems,
        scale=cells.scale,
        levels=levels,
        counts=np.bincount(place, minlength=k * len(levels)).reshape(k, len(levels)).astype(np.int64),
        spread=spread,
        pairs=pairs,
        z_scores=lambda own: _z_tests(cells, differences, own),
        ordinal=lambda own: _ordinal(cells, own),
        crossed=lambda own: crossed_tests(
            own.pair,
            differences.value,
            votes,
            differences.item,
            len(own),
            against=0.0,
            confidence=plan.confidence,
            scale=cells.scale,
        ),
        sides=lambda x, y: (clusters[x], clusters[y]),
    )


def _crossed_of_all(
    sums: PartSums, pairs: PairDifferences, tests: Sequence[RatingTest], found: ManyTests, confidence: float
) -> ManyTests:
    """Put tests of all ratings in the place of those of the paired ones, where the test of the pair is of all, too."""
    columns = {name: getattr(found, name).copy() for name in ("n", "estimate", "df", "p_value", "low", "high")}
    reasons = list(found.reasons)
    for place in np.flatnonzero(_partly_paired(tests)).tolist():
        test, sides = tests[place], sums.sides(int(pairs.x[place]), int(pairs.y[place]))
        result = clustered_t(*sides, confidence=confidence)
        reason = result.test.reason if sides[0].both_known else why("needs_single_answers")
        if test.n_items is not None:
            reason = ITSELF
        elif not (result.over_annotators and result.over_items):
            reason = ONE_ITEM if result.over_annotators else ONE_ANNOTATOR
        reasons[place], found_t = reason, result.test
        ends = (found_t.df, found_t.p_value, found_t.ci_low, found_t.ci_high)
        values = (test.n_answers, found_t.mean, *(ends if reason is None else (None,) * 4))
        for column, value in zip(columns.values(), values, strict=True):
            column[place] = np.nan if value is None else value
    return ManyTests(**columns, reasons=reasons)


def _partly_paired(tests: Sequence[RatingTest]) -> Flags:
    """Tell which tests are of all ratings although some pair."""
    return np.array([test.test == CLUSTERED and test.n_paired != 0 for test in tests], dtype=np.bool_)


def _unchecked(n_tests: int) -> PartChecks:
    none = untested([TOO_LARGE] * n_tests)
    unknown = (none.estimate, none.low, none.high)
    return PartChecks(
        effects=Effects(d_z=unknown, exact=none.n > 0, hedges_g=unknown, superiority=unknown, reasons=none.reasons),
        methods=dict.fromkeys(METHODS, none),
        left_out=none.n,
        respacing=[Respacing(holds=None, ratio=None, share=None, reason=TOO_LARGE)] * n_tests,
    )


def check_choices(cells: ChoiceCells, tests: Sequence[ChoiceTest], plan: Plan) -> ManyTests:
    """Test every pair of a part of the choices over annotators and items at once."""
    pair = pair_lookup(*pair_numbers(cells.systems, tests), len(cells.systems))[cells.x, cells.y]
    return crossed_tests(
        pair,
        cells.value,
        cells.assignment if cells.votes == "assignment" else cells.annotator,
        cells.item,
        len(tests),
        against=CHANCE,
        confidence=plan.confidence,
        scale=1.0,
    )


def pair_numbers(systems: Sequence[str], tests: Sequence[RatingTest | ChoiceTest]) -> tuple[Ints, Ints]:
    """Return the numbers of both systems of each test."""
    number = {name: place for place, name in enumerate(systems)}
    of_x = np.array([number[test.system_x] for test in tests], dtype=np.int64)
    of_y = np.array([number[test.system_y] for test in tests], dtype=np.int64)
    return of_x, of_y


def pair_lookup(x: Ints, y: Ints, n_systems: int) -> Ints:
    """Return the number of the test of systems x and y, shape (n_systems, n_systems)."""
    lookup = np.zeros((n_systems, n_systems), dtype=np.int64)
    lookup[x, y] = np.arange(len(x))
    return lookup


def _by_unit(pairs: PairDifferences, values: Floats, scale: float) -> UnitMeans:
    """Average values within pair and unit, and say how much each unit weighs."""
    folded = fold(pairs.pair, pairs.unit)
    part = pairs.pair[folded.first]
    n = np.ones(len(values)) if pairs.n is None else pairs.n
    weighed = pairs.weighed[pairs.pair]
    weight = np.where(weighed, pairs.share, n)
    sums = sums_by(folded.of, np.where(weighed, weight * (values / n), values), len(folded))
    weights, squares = (
        np.bincount(folded.of, weights=column, minlength=len(folded)) for column in (weight, pairs.square)
    )
    units = np.bincount(part, minlength=len(pairs))
    together = np.bincount(part, weights=weights, minlength=len(pairs))  # not 1 where annotators are left out
    known = pairs.weighed[part]
    share = np.where(known, weights / together[part], 1 / units[part])
    square = np.where(known, squares / together[part] ** 2, 1 / units[part] ** 2)
    even = np.isclose(share * units[part], 1, rtol=1e-12) & np.isclose(square, _least(part, square)[part], rtol=1e-12)
    return UnitMeans(
        part=part,
        unit=pairs.unit[folded.first],
        mean=snap(sums / weights, scale=scale, digits=13),
        share=share,
        square=square,
        uneven=np.bincount(part, weights=~even, minlength=len(pairs)) > 0,
    )


def _least(part: Ints, values: Floats) -> Floats:
    least = np.full(int(part.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, part, values)
    return least


def _z_tests(cells: RatingCells, differences: Differences, pairs: PairDifferences) -> tuple[ManyTests, Ints]:
    """Test standardised differences; count by pair the annotators that cannot be standardised."""
    spread = spread_of_annotators(cells.value, cells.annotator)
    values = standardised_differences(differences.value, differences.annotator, spread)
    lost = ~np.isfinite(values)
    left_out = count_by(pairs.pair[lost], differences.annotator[lost], len(pairs))
    return standardised_tests(replace(pairs, total=values)), left_out


def standardised_tests(pairs: PairDifferences) -> ManyTests:
    """Run the tests over units of standardised differences; those that are not finite are left out."""
    kept = np.isfinite(pairs.total)
    n = None if pairs.n is None else pairs.n[kept]
    rows = {name: getattr(pairs, name)[kept] for name in ("pair", "unit", "share", "square")}
    found = weighed_tests(_by_unit(replace(pairs, **rows, n=n), pairs.total[kept], 1.0), len(pairs))
    return _with_reason(found, CONSTANT, np.bincount(pairs.pair, minlength=len(pairs)) > 0)


def _with_reason(found: ManyTests, reason: Reason, there: Flags) -> ManyTests:
    reasons = [
        reason if given == NOTHING_PAIRED and known else given
        for given, known in zip(found.reasons, there.tolist(), strict=True)
    ]
    return replace(found, reasons=reasons)


def _ordinal(cells: RatingCells, pairs: PairDifferences) -> ManyTests:
    def fit(unit: Unit) -> OrdinalFit:
        return fit_ordinal(cells.value, cells.system, cells.column(unit), n_systems=len(cells.systems))

    return ordinal_tests(fit, pairs)


def ordinal_tests(fit: Callable[[Unit], OrdinalFit], pairs: PairDifferences) -> ManyTests:
    """Fit the model once for each unit in use, and test the pairs of that unit."""
    fits = {kind: fit(UNITS[kind]) for kind in np.unique(pairs.kind).tolist()}
    differences = [
        fits[kind].difference(x, y)
        for kind, x, y in zip(pairs.kind.tolist(), pairs.x.tolist(), pairs.y.tolist(), strict=True)
    ]
    n = np.array([fits[kind].n_clusters for kind in pairs.kind.tolist()], dtype=np.int64)
    estimate, se = (np.array([row[place] for row in differences], dtype=np.float64) for place in (0, 1))
    df = (n - 1).astype(np.float64)
    with np.errstate(all="ignore"):
        p_value: Floats = np.minimum(1.0, 2 * stdtr(df, -np.abs(estimate / se)))
    reasons = [row[2] for row in differences]
    return replace(untested(reasons), n=n, estimate=estimate, df=df, p_value=p_value)


def _effects(
    sums: PartSums,
    pairs: PairDifferences,
    tests: Sequence[RatingTest],
    means: UnitMeans,
    confidence: float,
) -> Effects:
    n = np.array([test.n if test.df is None else test.df + 1 for test in tests], dtype=np.float64)
    partly = _partly_paired(tests)
    kept, there = ~partly[pairs.pair], ~partly[means.part]  # where few pair, all ratings are measured
    pairs = replace(
        pairs,
        **{name: getattr(pairs, name)[kept] for name in ("pair", "unit", "total", "higher", "share", "square")},
        n=None if pairs.n is None else pairs.n[kept],
    )
    means = replace(
        means, **{name: getattr(means, name)[there] for name in ("part", "unit", "mean", "share", "square")}
    )
    t = np.array([test.t if test.test == PAIRED else None for test in tests], dtype=np.float64)
    d_z = t / np.sqrt(n)
    d_z = np.where(n == np.rint(n), d_z, np.round(d_z, 10))  # quantiles of noncentral t jump with its last digits
    low, high, exact = d_z_bounds(d_z, n, confidence)
    higher = _by_unit(pairs, pairs.higher, 1.0)
    share = weighed_tests(higher, len(pairs), against=0.5, confidence=confidence)
    g = _hedges(sums, pairs, means, partly, confidence)
    paired = np.bincount(pairs.pair, minlength=len(pairs)) > 0
    shares = np.where(paired, share.estimate, _unpaired_shares(sums.counts, pairs, paired))
    planned = [NO_D_Z if known and test.test != PAIRED else None for test, known in zip(tests, paired, strict=True)]
    unpaired = [FEW_PAIRED_EFFECTS if few else reason for few, reason in zip(partly, share.reasons, strict=True)]
    reasons = [several((test.reason, *whys)) for test, *whys in zip(tests, planned, g.reasons, unpaired, strict=True)]
    return Effects(
        d_z=(d_z, low, high),
        exact=exact,
        hedges_g=(g.value, g.low, g.high),
        superiority=(shares, cut(share.low), cut(share.high)),
        reasons=reasons,
    )


def _hedges(
    part: PartSums, pairs: PairDifferences, means: UnitMeans, partly: Flags, confidence: float
) -> JackknifeResult:
    """Standardise the difference of every pair by the spread of single ratings, unit kind by unit kind."""
    columns = [np.full(len(pairs), np.nan) for _ in range(3)]
    counted = np.zeros(len(pairs), dtype=np.int64)
    reasons: list[Reason | None] = [None] * len(pairs)
    most_df = spread_of_items(means.part, means.share, means.square, np.zeros(len(means.part)), len(pairs))[1]
    most_df = np.where(means.uneven, most_df, np.inf)
    for kind in np.unique(pairs.kind).tolist():
        spread, members = part.spread(UNITS[kind]), np.flatnonzero(pairs.kind == kind)
        if spread is None:
            reasons = [TOO_MANY if own == kind else reason for own, reason in zip(pairs.kind, reasons, strict=True)]
            continue
        units, sums = spread
        size = max(1, CHUNK // sums.n.shape[1])
        for start in range(0, len(members), size):
            some = members[start : start + size]
            difference, without = _without(sums, pairs, some, units, means, partly)
            systems = pairs.x[some], pairs.y[some]
            found = jackknife(sums, *systems, difference, without, confidence, most_df=most_df[some])
            for column, values in zip(columns, (found.value, found.low, found.high), strict=True):
                column[some] = values
            counted[some] = found.n
            for place, reason in zip(some.tolist(), found.reasons, strict=True):
                reasons[place] = reason
    return JackknifeResult(value=columns[0], low=columns[1], high=columns[2], n=counted, reasons=reasons)


def _without(
    sums: SpreadSums, pairs: PairDifferences, some: Ints, units: Ints, means: UnitMeans, partly: Flags
) -> tuple[Floats, Floats]:
    """Return the difference of some pairs, and the same without each unit, shape (pairs, units).

    ``partly`` tells the pairs that are tested on all ratings although some lie side by side.
    """
    place = np.full(len(pairs), -1, dtype=np.int64)
    place[some] = np.arange(len(some))
    row = place[means.part]
    own = row >= 0
    row, column, value = row[own], np.searchsorted(units, means.unit[own]), means.mean[own]
    n, share = np.bincount(row, minlength=len(some)), means.share[own]
    with np.errstate(all="ignore"):
        difference = np.where(n > 0, sums_by(row, share * value, len(some)), np.nan)
        without = np.repeat(difference[:, None], len(units), axis=1)
        without[row, column] = (difference[row] - share * value) / (1 - share)
    by_system = sums.means()
    for alone in np.flatnonzero(n == 0).tolist():
        x, y = int(pairs.x[some[alone]]), int(pairs.y[some[alone]])
        if partly[some[alone]]:
            difference[alone], without[alone] = _means_without(sums, x, y)
        else:
            difference[alone], without[alone] = mean_without(by_system[x], by_system[y])
    return difference, without


def _means_without(sums: SpreadSums, x: int, y: int) -> tuple[float, Floats]:
    """Return the difference of the means of all ratings of two systems, and the same without each unit."""
    with np.errstate(all="ignore"):
        whole = [float(sums.total_first[side] / sums.total_n[side]) for side in (x, y)]
        left = [(sums.total_first[side] - sums.first[side]) / (sums.total_n[side] - sums.n[side]) for side in (x, y)]
    return whole[0] - whole[1], left[0] - left[1]


def _unpaired_shares(counts: Ints, pairs: PairDifferences, paired: Flags) -> Floats:
    """Return the share of all couples of ratings in which x's is higher, where no two belong together."""
    shares = np.full(len(pairs), np.nan)
    for place in np.flatnonzero(~paired).tolist() if counts.size else ():
        x, y = counts[pairs.x[place]], counts[pairs.y[place]]
        upwards = 2 * np.cumsum(y) - y  # twice the ratings of y below a level, and those on it
        shares[place] = float(x @ upwards) / (2 * int(x.sum()) * int(y.sum()))
    return shares
