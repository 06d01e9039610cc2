"""How large the difference of every pair of systems is: in standard deviations, and as a chance to be higher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from analysis.answers.units import Unit
from analysis.comparisons.ratings import PAIRED, RatingTest
from analysis.rating_checks.effect_sizes import JackknifeResult, SpreadSums, cut, jackknife, mean_without
from analysis.rating_checks.many_tests import Flags, UnitMeans, sums_by, weighed_tests
from analysis.rating_checks.pair_differences import UNITS, PairDifferences, average_by_unit, partly_paired_tests
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.effect_sizes import d_z_bounds
from analysis.statistics.reasons import Reason, several, why
from analysis.statistics.weighed_items import spread_of_items

NO_D_Z = why("no_d_z")
FEW_PAIRED_EFFECTS = why("few_paired_effects")
TOO_MANY = why("no_hedges_g")
CHUNK = 2_000_000  # pairs times units that are held at once
Spread: TypeAlias = Callable[[Unit], tuple[Ints, SpreadSums] | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effects:
    """Effect sizes by pair, each with bounds; NaN where there is none."""

    d_z: tuple[Floats, Floats, Floats]
    exact: Flags  # whether the interval of d_z is of the noncentral t
    hedges_g: tuple[Floats, Floats, Floats]
    superiority: tuple[Floats, Floats, Floats]
    reasons: list[Reason | None]


def effects_of(
    counts: Ints,
    spread: Spread,
    pairs: PairDifferences,
    tests: Sequence[RatingTest],
    means: UnitMeans,
    confidence: float,
) -> Effects:
    """Measure every pair of systems.

    Parameters
    ----------
    counts : array of int, shape (n_systems, n_levels)
        How often each system got each score, none where they are too many.
    spread : callable
        Sums by system and unit, see :class:`analysis.rating_checks.part.PartSums`.
    pairs, tests, means
        The differences, the tests in their order, and the differences averaged by unit.
    confidence : float
        Level of the bounds.
    """
    n = np.array([test.n if test.df is None else test.df + 1 for test in tests], dtype=np.float64)
    partly = partly_paired_tests(tests)
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
    higher = average_by_unit(pairs, pairs.higher, 1.0)
    share = weighed_tests(higher, len(pairs), against=0.5, confidence=confidence)
    g = _hedges(spread, pairs, means, partly, confidence)
    paired = np.bincount(pairs.pair, minlength=len(pairs)) > 0
    shares = np.where(paired, share.estimate, _unpaired_shares(counts, pairs, paired))
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
    spread: Spread, pairs: PairDifferences, means: UnitMeans, partly: Flags, confidence: float
) -> JackknifeResult:
    """Standardise the difference of every pair by the spread of single ratings, unit kind by unit kind."""
    columns = [np.full(len(pairs), np.nan) for _ in range(3)]
    counted = np.zeros(len(pairs), dtype=np.int64)
    reasons: list[Reason | None] = [None] * len(pairs)
    most_df = spread_of_items(means.part, means.share, means.square, np.zeros(len(means.part)), len(pairs))[1]
    most_df = np.where(means.uneven, most_df, np.inf)
    for kind in np.unique(pairs.kind).tolist():
        found_spread, members = spread(UNITS[kind]), np.flatnonzero(pairs.kind == kind)
        if found_spread is None:
            reasons = [TOO_MANY if own == kind else reason for own, reason in zip(pairs.kind, reasons, strict=True)]
            continue
        units, sums = found_spread
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
