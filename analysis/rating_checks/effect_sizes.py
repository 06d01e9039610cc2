"""How large a difference of ratings is: in standard deviations, and as a chance of being rated higher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from analysis.rating_checks.many_tests import one_sample_tests, sums_by, unit_means
from analysis.statistics.checks import check_level, check_values
from analysis.statistics.coding import ROUNDED, Floats, Ints
from analysis.statistics.effect_sizes import EffectSize
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT

TOO_THIN = why("spread_of_one_unit")
ONE_SIDED = why("one_unit_on_one_side")


def superiority(
    scores_x: Sequence[float] | Floats,
    scores_y: Sequence[float] | Floats,
    *,
    units: Sequence[Any] | Ints | None = None,
    confidence: float = 0.95,
) -> EffectSize:
    """Return the chance that a rating of x is above the rating of y beside it; equal ratings count half.

    The share is averaged within the unit, then over units; its t interval is cut at 0 and 1. 0.5 is no
    difference. It takes nothing of the scale but its order.

    Parameters
    ----------
    scores_x, scores_y : array of float, shape (n,)
        Two ratings by one annotator of one item each.
    units : array of ids, shape (n,), optional
        What counts once: the annotator or the item. By default each pair of ratings.
    confidence : float
        Level of the interval.

    References
    ----------
    Vargha, A. and Delaney, H. D. (2000). A critique and improvement of the CL common language effect size.
    Journal of Educational and Behavioral Statistics, 25(2), 101-132 (here over pairs that belong together).

    Examples
    --------
    >>> superiority([5, 4, 3, 2], [4, 4, 1, 3]).value
    0.625
    """
    x, y = np.asarray(scores_x, dtype=np.float64), np.asarray(scores_y, dtype=np.float64)
    check_level("confidence", confidence)
    check_values("scores_x", x)
    check_values("scores_y", y)
    if not len(x) or len(x) != len(y):
        raise ValueError(f"expected as many scores of x as of y, got {len(x)} and {len(y)}")
    unit = np.arange(len(x)) if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    pair, means = unit_means(np.zeros(len(x), dtype=np.int64), unit.astype(np.int64), (np.sign(x - y) + 1) / 2)
    found = one_sample_tests(pair, means, 1, against=0.5, confidence=confidence)
    low, high = cut(found.low), cut(found.high)
    return EffectSize(
        value=float(found.estimate[0]),
        ci_low=known_number(low[0]),
        ci_high=known_number(high[0]),
        n=len(means),
        reason=found.reasons[0],
    )


def cut(shares: Floats) -> Floats:
    """Keep bounds of a share within 0 and 1."""
    return np.clip(shares, 0.0, 1.0)


def hedges_g(
    scores_x: Sequence[float] | Floats,
    scores_y: Sequence[float] | Floats,
    *,
    units_x: Sequence[Any] | Ints | None = None,
    units_y: Sequence[Any] | Ints | None = None,
    confidence: float = 0.95,
) -> EffectSize:
    """Return the difference of mean ratings in standard deviations of single ratings.

    g = J (mean_x - mean_y) / sqrt((sd_x² + sd_y²) / 2) with J = 1 - 3 / (4 df - 1); df = units - 1, or
    units - 2 where no unit rated both. The means are those over units. The interval is g ± t(df) times the
    standard error of leaving out each unit in turn (jackknife): a unit's ratings may hang together.

    Parameters
    ----------
    scores_x, scores_y : array of float, shape (n_x,) and (n_y,)
        Single ratings of each system; the two need not be as many.
    units_x, units_y : array of ids, optional
        The annotator (or item) of each rating; a unit may have rated both. By default each rating is its own.
    confidence : float
        Level of the interval.

    References
    ----------
    Hedges, L. V. (1981). Journal of Educational Statistics, 6(2), 107-128. Lakens, D. (2013). Calculating and
    reporting effect sizes. Frontiers in Psychology, 4, 863 (d_av, equation 10).

    Examples
    --------
    >>> round(hedges_g([4, 5, 3, 5], [2, 3, 3, 1]).value, 3)
    1.816
    """
    x, y = np.asarray(scores_x, dtype=np.float64), np.asarray(scores_y, dtype=np.float64)
    check_level("confidence", confidence)
    check_values("scores_x", x)
    check_values("scores_y", y)
    units = [
        [(side, place) for place in range(len(scores))] if own is None else list(own)
        for side, scores, own in (("x", x, units_x), ("y", y, units_y))
    ]
    sizes = [len(own) for own in units]
    if sizes != [len(x), len(y)] or not min(sizes):
        raise ValueError(f"expected ratings of x and y, each with its unit, got {len(x)} and {len(y)} of {sizes} units")
    numbers = {unit: place for place, unit in enumerate(dict.fromkeys([*units[0], *units[1]]))}
    unit = np.array([numbers[one] for own in units for one in own], dtype=np.int64)
    side = np.repeat(np.array([0, 1], dtype=np.int64), [len(x), len(y)])
    sums = spread_sums(side, unit, np.concatenate([x, y]), 2)
    means = sums.means()
    difference, without = mean_without(means[0], means[1])
    pair = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    found = jackknife(sums, *pair, np.array([difference]), without[None, :], confidence)
    value, low, high = (known_number(column[0]) for column in (found.value, found.low, found.high))
    return EffectSize(value=value, ci_low=low, ci_high=high, n=int(found.n[0]), reason=found.reasons[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpreadSums:
    """Sums by system and unit, shape (systems, units): how many ratings, their sum and squares about ``middle``."""

    n: Floats
    first: Floats
    second: Floats
    total_n: Floats
    total_first: Floats
    total_second: Floats
    middle: float

    def means(self) -> Floats:
        """Return the mean rating by system and unit, NaN where there is none."""
        with np.errstate(all="ignore"):
            means: Floats = self.middle + self.first / self.n
        return means


def spread_sums(system: Ints, unit: Ints, value: Floats, n_systems: int) -> SpreadSums:
    """Add up ratings; whole numbers are added without rounding."""
    middle = float(np.round(np.median(value)))
    away = value - middle
    n_units = int(unit.max()) + 1
    cell, shape = system * n_units + unit, (n_systems, n_units)
    columns = (np.ones(len(value)), away, away**2)
    n, first, second = (sums_by(cell, column, n_systems * n_units).reshape(shape) for column in columns)
    total_n, total_first, total_second = (sums_by(system, column, n_systems) for column in columns)
    return SpreadSums(
        n=n,
        first=first,
        second=second,
        total_n=total_n,
        total_first=total_first,
        total_second=total_second,
        middle=middle,
    )


def mean_without(mean_x: Floats, mean_y: Floats) -> tuple[float, Floats]:
    """Return the difference of means over units, and the same without each unit."""
    sides = []
    for means in (mean_x, mean_y):
        known = np.isfinite(means)
        total, count = math.fsum(means[known].tolist()), int(known.sum())
        with np.errstate(all="ignore"):
            sides.append((total / count, (total - np.where(known, means, 0.0)) / (count - known)))
    return sides[0][0] - sides[1][0], sides[0][1] - sides[1][1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JackknifeResult:
    """Standardised differences of many pairs, shape (pairs,); NaN where ``reasons`` says why there is none."""

    value: Floats
    low: Floats
    high: Floats
    n: Ints
    reasons: list[Reason | None]


def jackknife(
    sums: SpreadSums,
    x: Ints,
    y: Ints,
    difference: Floats,
    without: Floats,
    confidence: float,
    *,
    most_df: Floats | float = np.inf,
) -> JackknifeResult:
    """Standardise differences of means, with the intervals of leaving out each unit in turn.

    Parameters
    ----------
    sums : SpreadSums
        What standard deviations are made of.
    x, y : array of int, shape (pairs,)
        The systems of each pair.
    difference : array of float, shape (pairs,)
        Differences of means.
    without : array of float, shape (pairs, units)
        The same without each unit; of units that rated neither system it does not matter.
    confidence : float
        Level of the intervals.
    most_df : array of float, shape (pairs,), or float
        Degrees of freedom that an interval has at most.
    """
    own = sums.n[x] + sums.n[y] > 0
    n = own.sum(axis=1)
    totals = [total[:, None] for total in (sums.total_n, sums.total_first, sums.total_second)]
    rest = [total - part for total, part in zip(totals, (sums.n, sums.first, sums.second), strict=True)]
    with np.errstate(all="ignore"):
        df = n - 1.0 - ~((sums.n[x] > 0) & (sums.n[y] > 0)).any(axis=1)
        correction = 1 - 3 / (4 * df - 1)
        spread = _spread(totals, x, y)[:, 0]
        value = np.where((n > 1) & (spread > 0), correction * difference / spread, np.nan)
        value = np.where(np.abs(value) <= ROUNDED, 0.0, value)
        left = correction[:, None] * without / _spread(rest, x, y)
        broken = (own & ~np.isfinite(left)).any(axis=1)
        left = np.sort(np.where(own, left, np.inf), axis=1)
        counted = np.arange(own.shape[1])[None, :] < n[:, None]
        centre = np.where(counted, left, 0.0).sum(axis=1) / n
        squares = (np.where(counted, left - centre[:, None], 0.0) ** 2).sum(axis=1)
        half = stdtrit(np.minimum(df, most_df), (1 + confidence) / 2) * np.sqrt((n - 1) / n * squares)
        half = np.where(broken, np.nan, half)
    reasons = [
        ONE_UNIT
        if count < 2
        else ONE_SIDED
        if math.isnan(wide)
        else NO_VARIATION
        if not wide
        else TOO_THIN
        if thin
        else None
        for count, wide, thin in zip(n.tolist(), spread.tolist(), broken.tolist(), strict=True)
    ]
    return JackknifeResult(value=value, low=value - half, high=value + half, n=n.astype(np.int64), reasons=reasons)


def _spread(sums: Sequence[Floats], x: Ints, y: Ints) -> Floats:
    """Return sqrt((sd_x² + sd_y²) / 2); NaN where one of them is of a single rating, 0 where it is noise of sums."""
    n, first, second = sums
    both = np.zeros(n[x].shape)
    for side in (x, y):
        squares = second[side] - first[side] ** 2 / n[side]
        both += np.where(squares > ROUNDED * second[side], squares, 0.0) / np.where(n[side] > 1, n[side] - 1, np.nan)
    root: Floats = np.sqrt(both / 2)
    return root


def known_number(value: float) -> float | None:
    """Return a number of an array, ``None`` for NaN and infinity."""
    return float(value) if math.isfinite(value) else None
