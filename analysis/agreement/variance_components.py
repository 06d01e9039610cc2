"""Variance components of units and annotators by REML, for tables with missing cells.

The likelihood needs only sums by the number of answers a unit has, so its cost does not grow with the units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaincinv

from analysis.agreement.data import ReliabilityData
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.roots import find_root

Annotators = Literal["absent", "random", "fixed"]
Deviance = tuple[float, float]  # -2 log restricted likelihood, and its slope
NEARLY = 1 - 1e-9  # largest share of variance tried
GRID = (0, 0.3, 0.6, 0.9, 0.99, 0.999, 1)  # where slopes are looked at first: a likelihood may have two maxima
SHARES = tuple(NEARLY * part for part in GRID)
FLAT = 1e-9  # a slope this small is rounding
TOLERANCE = 1e-13
NOISE = 1e-14  # a sum of squares this small beside the answers' own is rounding
EXHAUSTED = 1e-12  # the same for what is left of a fit
NO_ERROR = why("no_error_left")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitShare:
    """Share of the variance that lies between units, with bounds; ``reason`` where it cannot be estimated."""

    annotators: Annotators
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SufficientSums:
    """Sufficient statistics: y are the answers minus their mean, N the units x annotators table of who answered.

    ``size`` (s,) are the numbers of answers that units have, and ``units`` (s,) how many have each. ``by_size``
    (s, k² + k + 3) holds for each N'N, N' (y of the unit) and the sums over units of (y of the unit)², size (y of the
    unit) and size²; ``whole`` the same of all ``n`` answers one by one: how many each of k annotators gave (as a
    diagonal), their sums, y'y, the sum of y, and n.
    """

    size: Floats
    units: Floats
    by_size: Floats
    whole: Floats
    n: int
    k: int


def sufficient_sums(data: ReliabilityData, *, annotators: bool = True) -> SufficientSums:
    """Add up what the likelihood needs, in O(answers x answers a unit).

    Without ``annotators`` there are the sums of the model in which they are absent only, with k = 0: O(answers).
    """
    value = data.value - data.value.mean()
    value = value / np.abs(value).max()
    n, k = len(value), data.n_annotators
    of_unit = np.bincount(data.unit, weights=value, minlength=data.n_units).astype(np.float64, copy=False)
    if not annotators:
        return _sums_of_units(data.sizes, value, of_unit)
    there = sp.csr_array(sp.coo_array((np.ones(n), (data.unit, data.annotator)), shape=(data.n_units, k)))
    listed = np.unique(data.sizes)
    by_size = []
    for size in listed.tolist():
        rows = np.flatnonzero(data.sizes == size)
        own, answers = there[rows], of_unit[rows]
        sums = (answers @ answers, size * answers.sum(), size**2 * len(rows))
        by_size.append(np.concatenate([(own.T @ own).toarray().ravel(), own.T @ answers, sums]))
    by_annotator = np.bincount(data.annotator, weights=value, minlength=k)
    given = np.diag(np.bincount(data.annotator, minlength=k)).ravel()
    return SufficientSums(
        size=listed.astype(np.float64),
        units=np.array([np.sum(data.sizes == size) for size in listed], dtype=np.float64),
        by_size=np.array(by_size),
        whole=np.concatenate([given, by_annotator, (value @ value, of_unit.sum(), n)]),
        n=n,
        k=k,
    )


def _sums_of_units(sizes: Ints, value: Floats, of_unit: Floats) -> SufficientSums:
    listed = np.unique(sizes)
    by_size = []
    for size in listed.tolist():
        answers = of_unit[sizes == size]
        by_size.append([answers @ answers, size * answers.sum(), size**2 * len(answers)])
    return SufficientSums(
        size=listed.astype(np.float64),
        units=np.array([np.sum(sizes == size) for size in listed], dtype=np.float64),
        by_size=np.array(by_size),
        whole=np.array([value @ value, of_unit.sum(), len(value)]),
        n=len(value),
        k=0,
    )


def fit_share(sums: SufficientSums, annotators: Annotators, *, confidence: float) -> UnitShare:
    """Estimate the share of variance between units by restricted maximum likelihood.

    y = mean (+ annotator) + unit + error, the unit's effect random; annotators absent, fixed, or random as well.
    share = var(unit) / (var(unit) + var(annotator, if random) + var(error)).

    Parameters
    ----------
    sums : SufficientSums
        Of at least two units with two answers (:func:`sufficient_sums`).
    annotators : {"absent", "random", "fixed"}
        How annotators enter.
    confidence : float
        Level of the interval: shares whose profile deviance is within the chi-squared(1) quantile of the best.

    Returns
    -------
    UnitShare
        Estimates lie in [0, 1]: a negative variance is estimated as 0.

    References
    ----------
    Patterson, H. D. and Thompson, R. (1971). Recovery of inter-block information when block sizes are unequal.
    Biometrika, 58(3), 545-554. Harville, D. A. (1977). JASA, 72(358), 320-338.
    """
    if sums.n - (sums.k if annotators == "fixed" else 1) < 2:
        return UnitShare(annotators=annotators, reason=why("too_few_for_mixed_model"))
    table, right, square = _normal_equations(sums, sums.whole)
    left = square - float(np.sum(right**2 / table.diagonal()))
    if annotators != "absent" and left <= NOISE * square:
        return UnitShare(annotators=annotators, reason=why("annotators_constant_none_left"))
    if _exhausted(sums, annotators):  # the likelihood grows without bound as the error goes to 0
        return UnitShare(annotators=annotators, reason=NO_ERROR)
    profile = _profile(sums, annotators)
    try:
        if all(abs(profile(share)[1]) < FLAT for share in GRID[:-1]):
            raise ValueError("the likelihood is the same everywhere")
        value = _least(profile, NEARLY)
        least, reach = profile(value)[0], math.sqrt(2 * float(gammaincinv(0.5, confidence)))

        def beyond(share: float) -> float:  # a root of the deviance is nearly straight, so takes fewer steps
            return math.sqrt(max(profile(share)[0] - least, 0.0)) - reach

        low = _crossing(beyond, [*(share for share in SHARES if share < value), value])
        high = _crossing(beyond, [*(share for share in reversed(SHARES) if share > value), value])
        if high is None:
            raise ValueError("the likelihood does not fall towards 1")
    except (ValueError, np.linalg.LinAlgError):
        return UnitShare(annotators=annotators, reason=why("mixed_model_unfitted"))
    return UnitShare(annotators=annotators, value=value, low=low or 0.0, high=high)


def _crossing(function: Callable[[float], float], places: Sequence[float]) -> float | None:
    """Return where, on the way from the first place to the last, a function first falls through 0."""
    falls = (pair for pair in pairwise(places) if function(pair[0]) > 0 >= function(pair[1]))
    return next((_root(function, *pair) for pair in falls), None)


def _least(function: Callable[[float], Deviance], most: float) -> float:
    """Return where from 0 to ``most`` a function is least, of its ends and where its slope rises through 0."""
    grid = [most * part for part in GRID]
    dips = [(low, high) for low, high in pairwise(grid) if function(low)[1] < 0 <= function(high)[1]]
    places = [0.0, most, *(_root(lambda place: function(place)[1], low, high) for low, high in dips)]
    return min(places, key=lambda place: function(place)[0])


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return find_root(function, low, high, tolerance=TOLERANCE)


def _exhausted(sums: SufficientSums, annotators: Annotators) -> bool:
    """Say whether units (and annotators), taken as fixed, leave answers over but no variation."""
    table, right, rest = _normal_equations(sums, sums.whole - (1 / sums.size) @ sums.by_size)
    rank = 0
    if annotators != "absent":
        effects, _, found, _ = np.linalg.lstsq(table, right, rcond=1e-10)
        rank = int(found)
        rest -= float(right @ effects)
    over = int(sums.n - sums.units.sum()) - rank
    return over > 0 and rest <= EXHAUSTED * float(sums.whole[-3])


def _profile(sums: SufficientSums, annotators: Annotators) -> Callable[[float], Deviance]:
    """Return -2 log restricted likelihood by the share (least over the annotators' variance), with its slope.

    Slopes are by -log(1 - share), which keeps them finite.
    """
    if annotators != "random":
        model = _one_way if annotators == "absent" else _fixed

        @cache
        def alone(share: float) -> Deviance:
            value, by_ratio = model(sums, share / (1 - share))
            return value, by_ratio / (1 - share)

        return alone

    @cache
    def profile(share: float) -> Deviance:
        odds = share / (1 - share)

        @cache
        def crossed(part: float) -> tuple[float, float, float]:
            value, by_ratio, by_spread = _crossed(sums, odds / (1 - part), part / (1 - part))
            return value, (by_spread + odds * by_ratio) / (1 - part), by_ratio / ((1 - share) * (1 - part))

        value, _, slope = crossed(_least(lambda part: crossed(part)[:2], 1 - 1e-6))
        return value, slope

    return profile


def _weighted(sums: SufficientSums, ratio: float, first: int = 0) -> tuple[Floats, Floats, float, float]:
    """Return the sums (from the ``first``) weighted by units' inverse covariances, log |V| of units, and slopes."""
    rest = 1 + ratio * sums.size
    weighted, slopes = np.array([ratio / rest, -(rest**-2)]) @ sums.by_size[:, first:]
    log_size, by_log_size = float(sums.units @ np.log(rest)), float(sums.units @ (sums.size / rest))
    return sums.whole[first:] - weighted, slopes, log_size, by_log_size


def _normal_equations(sums: SufficientSums, weighted: Floats) -> tuple[Floats, Floats, float]:
    k = sums.k
    return weighted[: k * k].reshape(k, k), weighted[k * k : -3], float(weighted[-3])


def _one_way(sums: SufficientSums, ratio: float) -> Deviance:
    weighted, slopes, log_size, by_log_size = _weighted(sums, ratio, -3)
    return _restricted(sums.n - 1, weighted, log_size, slopes, by_log_size)


def _fixed(sums: SufficientSums, ratio: float) -> Deviance:
    weighted, slopes, log_size, by_log_size = _weighted(sums, ratio)
    table, right, yy = _normal_equations(sums, weighted)
    by_table, by_right, by_yy = _normal_equations(sums, slopes)
    log_size += 2 * float(np.log(np.linalg.cholesky(table).diagonal()).sum())
    inverse = np.linalg.inv(table)
    effects = inverse @ right
    rest = max(yy - float(right @ effects), 1e-300)
    by_rest = by_yy - float(effects @ (2 * by_right - by_table @ effects))
    df = sums.n - sums.k
    return df * math.log(rest) + log_size, df * by_rest / rest + by_log_size + float(np.vdot(inverse, by_table))


def _crossed(sums: SufficientSums, ratio: float, spread: float) -> tuple[float, float, float]:
    """Return the deviance with random annotators, and its slopes by ``ratio`` and ``spread``, by Woodbury's identity.

    ``spread`` is var(annotator) / var(error).
    """
    weighted, slopes, log_size, by_log_size = _weighted(sums, ratio)
    table, right, yy = _normal_equations(sums, weighted)
    by_table, by_right, by_yy = _normal_equations(sums, slopes)
    scaled = spread * table
    scaled.flat[:: sums.k + 1] += 1
    log_size += 2 * float(np.log(np.linalg.cholesky(scaled).diagonal()).sum())
    inverse = np.linalg.inv(scaled)
    effects, shares = inverse @ right, inverse @ table.sum(axis=1)
    kept = 1 - spread * shares
    turned = by_right - spread * (by_table @ effects)
    products = np.array([yy - spread * (right @ effects), effects.sum(), shares.sum()])
    by_ratio = np.array([by_yy - spread * (effects @ (by_right + turned)), kept @ turned, kept @ by_table @ kept])
    by_spread = -np.array([effects @ effects, shares @ effects, shares @ shares])
    log_slopes = by_log_size + spread * float(np.vdot(inverse, by_table)), float(np.vdot(inverse, table))
    value, first = _restricted(sums.n - 1, products, log_size, by_ratio, log_slopes[0])
    return value, first, _restricted(sums.n - 1, products, log_size, by_spread, log_slopes[1])[1]


def _restricted(df: int, sums: Floats, log_size: float, slopes: Floats, by_log_size: float) -> Deviance:
    """Return the deviance and its slope from y'V⁻¹y, 1'V⁻¹y, 1'V⁻¹1 and log |V| and their slopes."""
    yy, xy, xx = sums.tolist()
    by_yy, by_xy, by_xx = slopes.tolist()
    if xx <= 0:  # rounding left nothing of it, so near is the end of the scale
        return math.inf, 0.0
    mean = xy / xx
    rest = max(yy - mean * xy, 1e-300)
    by_rest = by_yy - mean * (2 * by_xy - mean * by_xx)
    return df * math.log(rest) + log_size + math.log(xx), df * by_rest / rest + by_log_size + by_xx / xx
