"""From strengths and their covariance to intervals and ranks: one rule for Bradley-Terry and Plackett-Luce."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from analysis.statistics.coding import Floats, Ints, scale_of, snap
from analysis.statistics.reasons import Reason, why
from analysis.strengths.existence import NOISE
from analysis.strengths.ranks import RankIntervals, rank_intervals

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
        See :func:`analysis.strengths.ranks.rank_intervals`.
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
