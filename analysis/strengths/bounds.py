"""From strengths and their covariance to intervals and ranks: one rule for Bradley-Terry and Plackett-Luce."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis.statistics.coding import Floats, Ints, scale_of, snap
from analysis.statistics.reasons import Reason, why
from analysis.strengths.existence import NOISE

NO_VARIANCE = 1e-12  # a variance of a difference this small beside those of the strengths is what rounding left of none
DRAWS = 10_000
KNOWN_DF = 20.0  # fewer know the correlation of differences too badly to gain from it
MOST = 2 * 10**8  # pairs times draws that are simulated; beyond it Šidák's bound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankIntervals:
    """Simultaneous intervals of ranks, 1 = best.

    ``critical`` is what every difference was held against, as a normal deviate. ``p_values`` (k, k) are those of the
    differences, adjusted for all of them; 1 where there is no variation, NaN where degrees of freedom are too few.
    """

    low: Ints
    high: Ints
    critical: float
    method: str
    p_values: Floats


LEAST_DF = 4.0  # fewer hold neither their level nor their coverage (Pustejovsky and Tipton 2018)
ROUNDING = 1e-6  # of degrees of freedom: five equal annotators have 4
STABLE_DIGITS = 11  # digits of the largest strength or bound that do not depend on the order of the rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StrengthBounds:
    """Standard errors, degrees of freedom, intervals and ranks of all systems, NaN (ranks 0) where there are none.

    ``places`` has the ranks and p-values of the systems fitted. ``no_interval`` says why some have too few degrees of
    freedom.
    """

    se: Floats
    df: Floats
    low: Floats
    high: Floats
    rank_low: Ints
    rank_high: Ints
    places: RankIntervals
    no_interval: Reason | None


def strength_bounds(
    strength: Floats,
    kept: Ints,
    covariance: Floats,
    df: Floats,
    df_differences: Floats,
    *,
    confidence: float,
    rng: np.random.Generator | None,
    least_df: float,
    unit: str,
) -> StrengthBounds:
    """Bound strengths by ± t · SE with their own degrees of freedom, and their ranks jointly.

    Parameters
    ----------
    strength : array of float, shape (n_systems,)
        Of all systems.
    kept : array of int, shape (k,)
        Which are fitted.
    covariance : array of float, shape (k, k)
        Of their strengths.
    df : array of float, shape (k,)
        Degrees of freedom of each, infinite for normal.
    df_differences : array of float, shape (k, k)
        Those of every difference.
    confidence : float
        Level of each interval, and of all ranks jointly.
    rng : numpy.random.Generator or None
        See :func:`analysis.strengths.bounds.rank_intervals`.
    least_df : float
        A strength with fewer has no bounds.
    unit : str
        What strengths are clustered by, for the reason.
    """
    n, least = len(strength), max(least_df - ROUNDING, ROUNDING)
    columns = np.full((4, n), np.nan)
    ranks = np.zeros((2, n), dtype=np.int64)
    enough = df >= least
    own = kept[enough]
    se = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))[enough]
    se = np.where(se > NOISE, se, 0.0)
    half = t_quantile(df[enough], confidence) * se
    columns[:, own] = se, df[enough], strength[own] - half, strength[own] + half
    places = rank_intervals(
        strength[kept], covariance, df=df_differences, confidence=confidence, rng=rng, least_df=least
    )
    ranks[:, own] = places.low[enough], places.high[enough]
    return StrengthBounds(
        se=columns[0],
        df=columns[1],
        low=columns[2],
        high=columns[3],
        rank_low=ranks[0],
        rank_high=ranks[1],
        places=places,
        no_interval=None if enough.all() else why("few_degrees_of_freedom", unit=unit),
    )


def t_quantile(df: Floats, confidence: float) -> Floats:
    """Return the bound of |t| that holds with ``confidence``; of z where degrees of freedom are infinite."""
    finite = np.isfinite(df)
    level = (1 + confidence) / 2
    found: Floats = np.where(finite, stdtrit(np.where(finite, df, 1.0), level), ndtri(level))
    return found


def stable(*columns: Floats) -> list[Floats]:
    """Round strengths and bounds to the digits of the largest: one near 0 has no more of them than the others."""
    scale = max(scale_of(column[np.isfinite(column)]) for column in columns)
    return [snap(column, scale=scale, digits=STABLE_DIGITS) for column in columns]


def rank_intervals(
    strength: Floats,
    covariance: Floats,
    *,
    df: Floats | float,
    confidence: float,
    rng: np.random.Generator | None,
    least_df: float = 0.0,
) -> RankIntervals:
    """Bound the rank of every system, so that all bounds hold together with the stated confidence.

    A system's best rank is one more than the number of systems clearly above it, its worst rank k
    less the number clearly below it. "Clearly" is that |t| of s_i - s_j, turned into the normal deviate of its own
    p-value, exceeds the quantile of the largest of all pairs' deviates.

    Parameters
    ----------
    strength : array of float, shape (k,)
        Strengths; higher is better.
    covariance : array of float, shape (k, k)
        Their covariance.
    df : float or array of float, shape (k, k)
        Degrees of freedom of t, of all differences or of each; infinite for normal.
    confidence : float
        Joint level.
    rng : numpy.random.Generator or None
        Simulates the largest deviate ("max-t"), dependent as the covariance says. ``None``, systems too many for it and
        differences of fewer than 20 degrees of freedom: Šidák's bound, which is a little wider.
    least_df : float
        A difference with fewer degrees of freedom is not judged.

    Returns
    -------
    RankIntervals
        O(k² · draws). A difference without any variation, or that is not judged, is not clear.

    References
    ----------
    Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in general parametric
    models. Biometrical J., 50(3), 346-363 (the largest |t|).
    Klein, M., Wright, T. and Wieczorek, J. (2020). A joint confidence region for an overall ranking
    of populations. J. Royal Statistical Society C, 69(3), 589-606 (ranks from differences).
    Šidák, Z. (1967). Rectangular confidence regions for the means of multivariate normal
    distributions. J. American Statistical Association, 62, 626-633.
    """
    k = len(strength)
    if k < 2:
        return RankIntervals(
            low=np.ones(k, np.int64), high=np.ones(k, np.int64), critical=0.0, method="none", p_values=np.ones((k, k))
        )
    variance = np.diagonal(covariance)
    spread = variance[:, None] + variance[None, :] - 2 * covariance
    floor = NO_VARIANCE * max(float(variance.max()), 1e-300)
    known = spread > max(floor, 1e-24)
    se = np.sqrt(np.where(known, spread, np.inf))
    pairs = int(np.sum(np.triu(known, 1)))
    if pairs == 0:
        return RankIntervals(
            low=np.ones(k, np.int64), high=np.full(k, k), critical=np.inf, method="none", p_values=np.ones((k, k))
        )
    own = np.broadcast_to(np.asarray(df, dtype=np.float64), spread.shape)
    judged = known & (own >= least_df)
    t = np.abs(strength[:, None] - strength[None, :]) / se
    tail = _upper_tail(t, np.where(judged, own, np.inf))
    deviate = np.where(np.isfinite(own), -ndtri(tail), t)
    if rng is not None and pairs * DRAWS <= MOST and own[judged].min(initial=np.inf) >= KNOWN_DF:
        # One order of systems whatever their names or the side that wins: the same draws, the same ranks.
        order = np.lexsort((np.abs(strength).round(9), (variance / variance.max()).round(9)))
        place = np.ix_(order, order)
        largest = np.sort(_largest_deviate(covariance[place], se[place], rng))
        critical = float(np.quantile(largest, confidence))
        beyond = len(largest) - np.searchsorted(largest, deviate, side="left")
        p_values = np.asarray((1 + beyond) / (1 + len(largest)), dtype=np.float64)
        method = f"max-t over {pairs} differences"
    else:
        critical = float(ndtri((1 + confidence ** (1 / pairs)) / 2))
        method = f"Šidák over {pairs} differences"
        p_values = np.asarray(-np.expm1(pairs * np.log1p(-2 * tail)), dtype=np.float64)
    above = judged & (deviate > critical) & (strength[:, None] > strength[None, :])
    p_values = np.where(known, np.where(judged, p_values, np.nan), 1.0)
    np.fill_diagonal(p_values, 1.0)
    return RankIntervals(
        low=1 + above.sum(axis=0).astype(np.int64),
        high=k - above.sum(axis=1).astype(np.int64),
        critical=critical,
        method=method,
        p_values=p_values,
    )


def _largest_deviate(covariance: Floats, se: Floats, rng: np.random.Generator) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T  # symmetric: no eigenvector's sign matters
    draws = root @ rng.standard_normal((DRAWS, len(se))).T
    largest, apart = np.zeros(DRAWS), np.empty(DRAWS)
    for i, j in combinations(range(len(se)), 2):  # a pair at a time stays in the processor's cache
        np.abs(np.subtract(draws[i], draws[j], out=apart), out=apart)
        np.maximum(largest, np.divide(apart, se[i, j], out=apart), out=largest)
    return largest


def _upper_tail(t: Floats, df: Floats) -> Floats:
    tail = np.where(np.isfinite(df), stdtr(np.where(np.isfinite(df), df, 1.0), -t), ndtr(-t))
    capped: Floats = np.minimum(tail, 0.5 - 1e-16)
    return capped
