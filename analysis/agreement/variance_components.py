"""Variance components of units and annotators by REML, for tables with missing cells.

The likelihood needs only sums by the number of answers a unit has, so its cost does not grow with the units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dposv
from scipy.special import gammaincinv

from analysis.agreement.data import ReliabilityData
from analysis.statistics.coding import Floats

Annotators = Literal["absent", "random", "fixed"]
NEARLY = 1 - 1e-9  # largest share of variance tried
TOLERANCE = 1e-10
NOISE = 1e-14  # a sum of squares this small beside the answers' own is rounding
EXHAUSTED = 1e-12  # the same for what is left of a fit
NO_ERROR = "units and annotators explain every answer: no error is left to estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitShare:
    """Share of the variance that lies between units, with bounds; ``reason`` where it cannot be estimated."""

    annotators: Annotators
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SufficientSums:
    """Sufficient statistics: y are the answers minus their mean, N the units x annotators table of who answered.

    ``size`` (s,) are the numbers of answers that units have; for each: how many ``units``, ``met`` = N'N,
    ``sums`` = N' (y of the unit), ``squares`` = sum of (y of the unit)^2, ``total`` = sum of y.
    """

    size: Floats
    units: Floats
    met: Floats
    sums: Floats
    squares: Floats
    total: Floats
    by_annotator: Floats
    answers: Floats
    n: float
    square: float


def sufficient_sums(data: ReliabilityData) -> SufficientSums:
    """Add up what the likelihood needs, in O(answers x answers a unit)."""
    value = data.value - data.value.mean()
    value = value / np.abs(value).max()
    k = data.n_annotators
    sizes = data.sizes
    of_unit = np.bincount(data.unit, weights=value, minlength=data.n_units)
    there = sp.csr_array(sp.coo_array((np.ones(len(value)), (data.unit, data.annotator)), shape=(data.n_units, k)))
    listed = np.unique(sizes)
    met, sums = np.zeros((len(listed), k, k)), np.zeros((len(listed), k))
    for place, size in enumerate(listed.tolist()):
        rows = np.flatnonzero(sizes == size)
        own = there[rows]
        met[place] = (own.T @ own).toarray()
        sums[place] = own.T @ of_unit[rows]
    number = np.searchsorted(listed, sizes)
    return SufficientSums(
        size=listed.astype(np.float64),
        units=np.bincount(number).astype(np.float64),
        met=met,
        sums=sums,
        squares=np.bincount(number, weights=of_unit**2).astype(np.float64),
        total=np.bincount(number, weights=of_unit).astype(np.float64),
        by_annotator=np.bincount(data.annotator, weights=value, minlength=k).astype(np.float64),
        answers=np.bincount(data.annotator, minlength=k).astype(np.float64),
        n=float(len(value)),
        square=float(value @ value),
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
    from scipy.optimize import brentq, minimize_scalar  # slow to load, and balanced tables need none of it

    fixed = len(sums.answers) if annotators == "fixed" else 1
    if sums.n - fixed < 2:
        return UnitShare(annotators=annotators, reason="too few answers for a mixed model")
    left = sums.square - float(np.sum(sums.by_annotator**2 / sums.answers))
    if annotators != "absent" and left <= NOISE * sums.square:
        return UnitShare(annotators=annotators, reason="each annotator gave one answer only: no variation is left")
    if _exhausted(sums, annotators):  # the likelihood grows without bound as the error goes to 0
        return UnitShare(annotators=annotators, reason=NO_ERROR)
    deviance = _deviance(sums, annotators)
    try:
        best = minimize_scalar(deviance, bounds=(0, NEARLY), method="bounded", options={"xatol": TOLERANCE})
        value, least = (float(best.x), float(best.fun))
        at_zero = deviance(0.0)
        value, least = (0.0, at_zero) if at_zero <= least else (value, least)
        bound = least + 2 * float(gammaincinv(0.5, confidence))
        low = 0.0 if at_zero <= bound else float(brentq(lambda share: deviance(share) - bound, 0.0, value))
        high = float(brentq(lambda share: deviance(share) - bound, value, NEARLY))
    except (ValueError, np.linalg.LinAlgError):
        return UnitShare(annotators=annotators, reason="the mixed model has no maximum within (0, 1)")
    return UnitShare(annotators=annotators, value=value, low=low, high=high)


def _exhausted(sums: SufficientSums, annotators: Annotators) -> bool:
    """Say whether units (and annotators), taken as fixed, leave answers over but no variation."""
    table, right, rest = _normal_equations(sums, 1 / sums.size)
    rank = 0
    if annotators != "absent":
        effects, _, found, _ = np.linalg.lstsq(table, right, rcond=1e-10)
        rank = int(found)
        rest -= float(right @ effects)
    over = int(sums.n - sums.units.sum()) - rank
    return over > 0 and rest <= EXHAUSTED * sums.square


def _deviance(sums: SufficientSums, annotators: Annotators) -> Callable[[float], float]:
    """Return -2 log restricted likelihood as a function of the share (least over the annotators' variance)."""
    if annotators == "absent":
        return lambda share: _one_way(sums, share / (1 - share))
    if annotators == "fixed":
        return lambda share: _fixed(sums, share / (1 - share))

    from scipy.optimize import minimize_scalar

    def profile(share: float) -> float:
        def of_annotators(part: float) -> float:
            rest = (1 - share) * (1 - part)
            return _crossed(sums, share / rest, part / (1 - part))

        found = minimize_scalar(of_annotators, bounds=(0, 1 - 1e-6), method="bounded", options={"xatol": 1e-9})
        return min(float(found.fun), of_annotators(0.0))

    return profile


def _weights(sums: SufficientSums, ratio: float) -> tuple[Floats, float]:
    """Return var(unit) / (var(error) + size var(unit)) by size, and log |V| without annotators."""
    weights: Floats = ratio / (1 + ratio * sums.size)
    return weights, float(sums.units @ np.log1p(ratio * sums.size))


def _one_way(sums: SufficientSums, ratio: float) -> float:
    weights, log_size = _weights(sums, ratio)
    n = sums.n
    xx = n - float(weights @ (sums.size**2 * sums.units))
    xy = float(sums.total.sum()) - float(weights @ (sums.size * sums.total))
    yy = sums.square - float(weights @ sums.squares)
    return _restricted(n - 1, yy - xy**2 / xx, log_size + math.log(xx))


def _normal_equations(sums: SufficientSums, weights: Floats) -> tuple[Floats, Floats, float]:
    table = -(weights @ sums.met.reshape(len(weights), -1)).reshape(sums.met.shape[1:])
    table.flat[:: len(table) + 1] += sums.answers
    return table, sums.by_annotator - weights @ sums.sums, sums.square - float(weights @ sums.squares)


def _fixed(sums: SufficientSums, ratio: float) -> float:
    weights, log_size = _weights(sums, ratio)
    table, right, yy = _normal_equations(sums, weights)
    factor = cho_factor(table)
    log_table = 2 * float(np.log(np.diag(factor[0])).sum())
    n = sums.n
    return _restricted(n - len(right), yy - float(right @ cho_solve(factor, right)), log_size + log_table)


def _crossed(sums: SufficientSums, ratio: float, spread: float) -> float:
    """Add random annotators by Woodbury's identity; ``spread`` is var(annotator) / var(error)."""
    weights, log_size = _weights(sums, ratio)
    table, right, yy = _normal_equations(sums, weights)
    rows = table.sum(axis=1)
    scaled = spread * table
    scaled.flat[:: len(table) + 1] += 1
    factor, both, info = dposv(scaled, np.array([right, rows]).T)
    if info:
        raise np.linalg.LinAlgError("the annotators' equations are singular")
    log_size += 2 * float(np.log(factor.diagonal()).sum())
    both *= spread
    xx = float(rows.sum() - rows @ both[:, 1])
    xy = float(right.sum() - rows @ both[:, 0])
    yy -= float(right @ both[:, 0])
    return _restricted(sums.n - 1, yy - xy**2 / xx, log_size + math.log(xx))


def _restricted(df: float, rest: float, log_size: float) -> float:
    return df * math.log(max(rest, 1e-300)) + log_size
