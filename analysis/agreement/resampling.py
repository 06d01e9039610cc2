"""Intervals from resampling units or leaving one out, on the counts of distinct profiles instead of on the units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why

Statistic = Callable[[Floats], Floats]  # weights (replicates x profiles) -> one value a replicate, NaN if undefined
CELLS = 1_000_000  # weights held at once
CACHED = 100_000  # of those that are counted one by one, so that the processor's cache holds them
TOGETHER = 16  # replicates whose statistic takes a third of what it takes of one after the other
JACKKNIFED = 2_000  # profiles up to which the acceleration is computed; it vanishes with more
BINOMIAL = 20  # a binomial draw costs as much as drawing so many units
MANY = 1_000  # units from which on each resample is counted by itself
FEW_UNITS = 50  # below, leaving one out covers better than resampling (tests/calibration/calibration.md)
EQUAL = 1e-12  # values of a coefficient that differ by less differ by rounding
UNDEFINED = 0.05  # share of undefined replicates that an interval bears


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Bounds, or a reason; ``undefined`` replicates had no value and were left out."""

    low: float | None
    high: float | None
    method: str
    replicates: int = 0
    undefined: int = 0
    reason: Reason | None = None


def interval_over_units(
    statistic: Statistic,
    units: Ints,
    *,
    value: float,
    confidence: float,
    replicates: int,
    rng: np.random.Generator,
) -> Interval:
    """Return the interval of a coefficient in [-1, 1] for other units: resampled from 50 on, else leaving out one."""
    if units.sum() < FEW_UNITS and value > -1:
        return jackknife_interval(statistic, units, value=value, confidence=confidence)
    return resampled_interval(statistic, units, value=value, confidence=confidence, replicates=replicates, rng=rng)


def draw_weights(units: Ints, replicates: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw how often the units of each profile occur in a resample of all units.

    Parameters
    ----------
    units : array of int, shape (n_profiles,)
        Units that have each profile.
    replicates : int
        Resamples; each has as many units as there are.
    rng : numpy.random.Generator
        Source of randomness.

    Yields
    ------
    array of float, shape (some replicates, n_profiles)
        Multinomial counts. Cost: O(replicates x profiles), or O(replicates x units) where almost every
        unit is a profile of its own.
    """
    n_units, n_profiles = int(units.sum()), len(units)
    by_unit = n_profiles * BINOMIAL > n_units
    one_by_one = by_unit and n_units >= MANY
    step = max(1, CELLS // (n_units if by_unit else n_profiles))
    step = max(CACHED // n_units, min(TOGETHER, step)) if one_by_one else step
    owner = None if n_profiles == n_units else np.repeat(np.arange(n_profiles), units)
    for start in range(0, replicates, step):
        many = min(step, replicates - start)
        if not by_unit:
            yield rng.multinomial(n_units, units / n_units, size=many).astype(np.float64)
            continue
        if one_by_one:
            weights, profiles = np.empty((many, n_profiles)), np.empty(n_units, dtype=np.int64)
            for into in weights:
                own = rng.integers(0, n_units, n_units)
                of = own if owner is None else owner.take(own, out=profiles, mode="clip")  # which checks no number
                into[:] = np.bincount(of, minlength=n_profiles)
            yield weights
            continue
        drawn = rng.integers(0, n_units, (many, n_units))
        drawn = drawn if owner is None else owner.take(drawn)
        drawn += n_profiles * np.arange(many)[:, None]
        yield np.bincount(drawn.ravel(), minlength=many * n_profiles).reshape(many, n_profiles).astype(np.float64)


def resampled_interval(
    statistic: Statistic,
    units: Ints,
    *,
    value: float,
    confidence: float,
    replicates: int,
    rng: np.random.Generator,
) -> Interval:
    """Return the bias-corrected and accelerated (BCa) interval of a statistic over units, expanded for few units.

    The percentile interval is shifted by z0 = Phi^-1(share of replicates below the value, ties half) and by the
    acceleration a = sum d^3 / (6 (sum d^2)^1.5), with d the leave-one-unit-out differences. Since resamples of n
    units vary less than samples do, t(n - 1) sqrt(n / (n - 1)) stands for the normal quantile.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA, 82(397), 171-185.
    Hesterberg, T. C. (2015). What teachers should know about the bootstrap. The American Statistician, 69(4),
    371-386 (the expansion).
    """
    found = np.concatenate([statistic(weights) for weights in draw_weights(units, replicates, rng)])
    defined = found[np.isfinite(found)]
    missing = len(found) - len(defined)
    method = f"expanded BCa, {replicates:,} resamples of units"
    if missing > UNDEFINED * len(found):
        reason = why("no_interval_resamples_undefined", lost=missing, replicates=replicates)
        return Interval(low=None, high=None, method=method, replicates=replicates, undefined=missing, reason=reason)
    if defined.min() == defined.max():
        reason = why("no_interval_resamples_alike")
        return Interval(low=None, high=None, method=method, replicates=replicates, undefined=missing, reason=reason)
    shift = _shift(defined, value)
    acceleration = _acceleration(statistic, units)
    n_units = int(units.sum())
    wide = float(stdtrit(n_units - 1, (1 + confidence) / 2)) * np.sqrt(n_units / (n_units - 1))
    z = shift + np.array([-wide, wide])
    levels = ndtr(shift + z / (1 - acceleration * z))
    low, high = np.quantile(defined, levels)
    return Interval(low=float(low), high=float(high), method=method, replicates=replicates, undefined=missing)


def jackknife_interval(statistic: Statistic, units: Ints, *, value: float, confidence: float) -> Interval:
    """Return the interval of a coefficient in (-1, 1) from leaving each unit out once, for few units.

    SE^2 = (n - 1) / n sum (v_i - mean v)^2 over the n values v_i that leave unit i out. On Fisher's scale the
    interval is atanh(value) +- t(n - 1) SE / (1 - value^2). There is none where the value without one of the units is
    undefined: that unit alone holds all the variation, and nothing shows how much another one would.

    References
    ----------
    Miller, R. G. (1974). The jackknife: a review. Biometrika, 61(1), 1-15.
    Fisher, R. A. (1921). On the "probable error" of a coefficient of correlation. Metron, 1, 3-32 (the scale).
    """
    method = "jackknife over units, t on Fisher's scale"
    left_out = np.concatenate(list(_left_out(statistic, units)))
    if not np.isfinite(left_out).all():
        reason = why("no_interval_one_unit_varies")
        return Interval(low=None, high=None, method=method, reason=reason)
    n_units = int(units.sum())
    if np.ptp(left_out) <= EQUAL:
        reason = why("no_interval_left_out_alike")
        return Interval(low=None, high=None, method=method, reason=reason)
    away = left_out - np.average(left_out, weights=units)
    se = np.sqrt((n_units - 1) / n_units * np.sum(units * away**2))
    half = float(stdtrit(n_units - 1, (1 + confidence) / 2)) * se / (1 - value**2)
    low, high = np.tanh(np.arctanh(value) + np.array([-half, half]))
    return Interval(low=float(low), high=float(high), method=method)


def _shift(found: Floats, value: float) -> float:
    close = 1e-12 * max(1.0, abs(value))
    share = (np.count_nonzero(found < value - close) + np.count_nonzero(found <= value + close)) / 2 / len(found)
    return float(ndtri(min(max(share, 1 / len(found)), 1 - 1 / len(found))))


def _left_out(statistic: Statistic, units: Ints) -> Iterator[Floats]:
    """Yield the value without one unit of each profile, NaN where it is undefined."""
    n_profiles = len(units)
    step = max(1, CELLS // n_profiles)
    for start in range(0, n_profiles, step):
        rows = np.arange(start, min(start + step, n_profiles))
        weights = np.repeat(units[None, :].astype(np.float64), len(rows), axis=0)
        weights[np.arange(len(rows)), rows] -= 1
        yield statistic(weights)


def _acceleration(statistic: Statistic, units: Ints) -> float:
    if len(units) > JACKKNIFED:
        return 0.0
    left_out = np.concatenate(list(_left_out(statistic, units)))
    times = units[np.isfinite(left_out)]
    left_out = left_out[np.isfinite(left_out)]
    away = np.average(left_out, weights=times) - left_out
    spread = float(np.sum(times * away**2))
    return float(np.sum(times * away**3)) / (6 * spread**1.5) if spread > 0 else 0.0
