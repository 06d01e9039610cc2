"""Power of the two-sided one-sample t-test, which is also the paired one, by the non-central t distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, nctdtr, stdtrit

from analysis.statistics.coding import Floats, Ints

LEAST = 2  # values that a t-test needs
SPREAD = 9  # standard deviations of the number of annotators that stay; beyond lies less than 1e-16 or nobody


def t_power(effect: float, n: Any, *, alpha: float) -> Floats:
    """Return the chance that a two-sided one-sample t-test rejects.

    With c the critical value of t at n - 1 degrees of freedom and T non-central t with
    non-centrality effect * sqrt(n), power = P(T > c) + P(T < -c).

    Parameters
    ----------
    effect : float
        True difference divided by the standard deviation of one value.
    n : int or array of int
        Values tested. Below 2 there is no test and the power is 0.
    alpha : float
        Level of the test, in (0, 1).

    Returns
    -------
    array of float, shape of ``n``
        ``alpha`` itself where the effect is 0.

    Notes
    -----
    Both tails are read at the lower end of the distribution, P(T > c; d) = P(T < -c; -d), which keeps
    small powers exact. ``scipy.stats.nct``, and with it statsmodels' ``TTestPower``, turns NaN at large
    non-centralities and in the far tail, and ``solve_power`` then stops too early
    (``tests/analysis/statistics/test_libraries.py``).

    References
    ----------
    Johnson, N. L. and Welch, B. L. (1940). Applications of the non-central t-distribution.
    Biometrika, 31(3-4), 362-389.

    >>> round(float(t_power(0.5, 34, alpha=0.05)), 3)
    0.808
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if not math.isfinite(effect):
        raise ValueError(f"effect must be a finite number, got {effect!r}")
    count = np.asarray(n, dtype=np.float64)
    if not np.isfinite(count).all():
        raise ValueError(f"n must be a finite number of values, got {n!r}")
    df = np.maximum(count - 1, 1.0)
    critical = stdtrit(df, alpha / 2)  # negative
    shift = abs(effect) * np.sqrt(np.maximum(count, 1.0))
    far = nctdtr(df, shift, critical)
    far = np.where(np.isnan(far) & (shift > 2), 0.0, far)  # scipy gives NaN where it is below 1e-12
    return np.where(count < LEAST, 0.0, np.minimum(nctdtr(df, -shift, critical) + far, 1.0))


def expected_power(effect: float, annotators: int, *, alpha: float, exclusion_rate: float = 0.0) -> float:
    """Return the power when each recruited annotator is excluded with the same chance.

    The number that stays is binomial, so this is the mean of :func:`t_power` over it.

    Parameters
    ----------
    effect : float
        True difference divided by the standard deviation of one annotator's contribution.
    annotators : int
        Annotators recruited and paid.
    alpha : float
        Level of the test.
    exclusion_rate : float
        Share of the recruited that the analysis leaves out, in [0, 1).

    >>> round(expected_power(0.5, 34, alpha=0.05, exclusion_rate=0.1), 3)
    0.762
    """
    if exclusion_rate == 0:
        return float(t_power(effect, annotators, alpha=alpha))
    kept, chances = chances_to_stay(annotators, exclusion_rate)
    return float(chances @ t_power(effect, kept, alpha=alpha))


def chances_to_stay(annotators: int, exclusion_rate: float) -> tuple[Ints, Floats]:
    """Return how many of the recruited may stay in the analysis, and how likely each number is.

    >>> kept, chances = chances_to_stay(3, 0.5)
    >>> kept.tolist(), chances.round(3).tolist()
    ([0, 1, 2, 3], [0.125, 0.375, 0.375, 0.125])
    """
    if not 0 <= exclusion_rate < 1:
        raise ValueError(f"exclusion_rate must lie in [0, 1), got {exclusion_rate!r}")
    if exclusion_rate == 0:
        return np.array([annotators]), np.ones(1)
    middle = annotators * (1 - exclusion_rate)
    reach = SPREAD * math.sqrt(middle * exclusion_rate) + SPREAD**2 / 2  # Bernstein's bound needs both terms
    kept = np.arange(max(0, math.floor(middle - reach)), min(annotators, math.ceil(middle + reach)) + 1)
    chances = np.exp(
        gammaln(annotators + 1)
        - gammaln(kept + 1)
        - gammaln(annotators - kept + 1)
        + kept * math.log1p(-exclusion_rate)
        + (annotators - kept) * math.log(exclusion_rate)
    )
    return kept, chances / np.sum(chances)


def equivalence_power(effect: float, n: int, *, alpha: float) -> float:
    """Return the chance that two one-sided t-tests show two equal systems to be equal.

    Each of the two tests fails with chance P(T < c), T non-central t with non-centrality effect * sqrt(n), so the
    power is at least 1 - 2 P(T < c), which it is where both cannot fail at once.

    Parameters
    ----------
    effect : float
        Margin divided by the standard deviation of one annotator's contribution, above 0.
    n : int
        Annotators tested.
    alpha : float
        Level of each of the two tests.

    References
    ----------
    Phillips, K. F. (1990). Power of the two one-sided tests procedure in bioequivalence. Journal of Pharmacokinetics
    and Biopharmaceutics, 18(2), 137-144.

    >>> round(equivalence_power(0.5, 60, alpha=0.05), 2)
    0.97
    """
    if n < LEAST:
        return 0.0
    passed = float(nctdtr(n - 1, -effect * math.sqrt(n), stdtrit(n - 1, alpha)))
    return max(0.0, 2 * passed - 1)
