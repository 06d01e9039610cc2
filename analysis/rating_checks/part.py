"""The checks of one group and criterion: every pair of systems, tested and measured in other ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr

from analysis.answers.plan import Plan
from analysis.answers.units import Unit, UnitRule
from analysis.comparisons.ratings import RatingTest
from analysis.rating_checks.crossed import ONE_ANNOTATOR, ONE_ITEM
from analysis.rating_checks.effect_sizes import SpreadSums
from analysis.rating_checks.many_tests import (
    NOTHING_PAIRED,
    Flags,
    ManyTests,
    UnitMeans,
    untested,
    weighed_tests,
)
from analysis.rating_checks.ordinal import OrdinalFit
from analysis.rating_checks.pair_differences import (
    UNITS,
    PairDifferences,
    average_by_unit,
    pair_numbers,
    partly_paired_tests,
)
from analysis.rating_checks.pair_effects import Effects, effects_of
from analysis.rating_checks.respacing import Respacing, respacings_of_counts
from analysis.rating_checks.wilcoxon import signed_rank_tests
from analysis.rating_checks.z_scores import CONSTANT
from analysis.statistics.clustered_difference import ClusteredValues, clustered_t
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import Reason, why

Method = Literal["wilcoxon", "z_scores", "ordinal", "crossed"]
METHODS: tuple[Method, ...] = get_args(Method)
ONE_GAVE_MOST = why("one_gave_most")
FEW_PAIRED = why("few_paired")
ITSELF = why("crossed_itself")
UNCOUNTED = Respacing(holds=None, ratio=None, share=None, reason=why("too_many_scores"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartChecks:
    """What was found for the pairs of one group and criterion, in the order of its tests."""

    effects: Effects
    methods: dict[Method, ManyTests]
    left_out: Ints  # annotators without z-scores
    respacing: list[Respacing]


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


def check_sums(sums: PartSums, tests: Sequence[RatingTest], plan: Plan) -> PartChecks:
    """Measure and test every pair of one group and criterion in other ways than :func:`compare_ratings` did.

    Parameters
    ----------
    sums : PartSums
        What :func:`analysis.rating_checks.part_sums.part_sums` returns of its ratings.
    tests : sequence of RatingTest
        Its tests, in whose order the results stand; their units are kept.
    plan : Plan
        For the level of intervals.
    """
    x, y = pair_numbers(sums.systems, tests)
    kind = np.array([UNITS.index(test.unit) for test in tests], dtype=np.int64)
    pairs = sums.pairs(x, y, kind)
    means = average_by_unit(pairs, pairs.total, sums.scale)
    z_tests, left_out = sums.z_scores(pairs)
    dominated = np.array([test.one_gave_most for test in tests], dtype=np.bool_)
    methods: dict[Method, ManyTests] = {
        "wilcoxon": _unless(dominated & pairs.weighed, _signed_ranks(sums, pairs, tests, means)),
        "z_scores": _unless(partly_paired_tests(tests), z_tests, FEW_PAIRED),
        "ordinal": _unless(dominated, sums.ordinal(pairs)),
        "crossed": _crossed_of_all(sums, pairs, tests, sums.crossed(pairs), plan.confidence),
    }
    return PartChecks(
        effects=effects_of(sums.counts, sums.spread, pairs, tests, means, plan.confidence),
        methods=methods,
        left_out=left_out,
        respacing=respacings_of_counts(sums.counts, x, y, sums.levels) if len(sums.levels) else [UNCOUNTED] * len(x),
    )


def _signed_ranks(sums: PartSums, pairs: PairDifferences, tests: Sequence[RatingTest], means: UnitMeans) -> ManyTests:
    """Test the signed ranks of the units; where few ratings pair, of the differences of units' means of all ratings."""
    partly = partly_paired_tests(tests)
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


def _unless(flags: Flags, found: ManyTests, why_not: Reason = ONE_GAVE_MOST) -> ManyTests:
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


def _crossed_of_all(
    sums: PartSums, pairs: PairDifferences, tests: Sequence[RatingTest], found: ManyTests, confidence: float
) -> ManyTests:
    """Put tests of all ratings in the place of those of the paired ones, where the test of the pair is of all, too."""
    columns = {name: getattr(found, name).copy() for name in ("n", "estimate", "df", "p_value", "low", "high")}
    reasons = list(found.reasons)
    for place in np.flatnonzero(partly_paired_tests(tests)).tolist():
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


def standardised_tests(pairs: PairDifferences) -> ManyTests:
    """Run the tests over units of standardised differences; those that are not finite are left out."""
    kept = np.isfinite(pairs.total)
    n = None if pairs.n is None else pairs.n[kept]
    rows = {name: getattr(pairs, name)[kept] for name in ("pair", "unit", "share", "square")}
    found = weighed_tests(average_by_unit(replace(pairs, **rows, n=n), pairs.total[kept], 1.0), len(pairs))
    return _with_reason(found, CONSTANT, np.bincount(pairs.pair, minlength=len(pairs)) > 0)


def _with_reason(found: ManyTests, reason: Reason, there: Flags) -> ManyTests:
    reasons = [
        reason if given == NOTHING_PAIRED and known else given
        for given, known in zip(found.reasons, there.tolist(), strict=True)
    ]
    return replace(found, reasons=reasons)


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
