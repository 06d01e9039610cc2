"""Intervals of correlation coefficients on the scale of Fisher's z."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from analysis.correlations.coefficients import Method, Series
from analysis.statistics.coding import Ints
from analysis.statistics.reasons import Reason, why

NEARLY = 1 - 1e-12  # what differs from 1 by rounding only
FEWEST = 5  # below, the standard error of Kendall's tau does not exist and the others rest on nothing
FISHER, BONETT, FIELLER = "Fisher z", "Bonett-Wright", "Fieller, allowing for ties"
PERFECT = why("no_interval_coefficient_1")
TOO_FEW = why("no_interval_few_in_common", needed=FEWEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationInterval:
    """Bounds and how they were made, or a ``reason``."""

    low: float | None = None
    high: float | None = None
    interval: str | None = None
    reason: Reason | None = None


def correlation_interval(
    x: Series, y: Series, value: float, method: Method, *, confidence: float = 0.95
) -> CorrelationInterval:
    """Return the interval tanh(atanh(r) ± z SE) of a coefficient of independent pairs.

    SE² is 1 / (n - 3) for Pearson (Fisher), (1 + r² / 2) / (n - 3) for Spearman (Bonett and Wright), and
    0.437 λ / (n - 4) for Kendall's tau-b (Fieller, Hartley and Pearson), where λ is the variance of tau-b with these
    ties over that without ties, both where nothing is related (Kendall): 1 without ties. Without λ a nominal 95%
    interval of tau-b on five steps holds the truth in 87% of samples.

    Parameters
    ----------
    x, y : Series
        Both sides, prepared.
    value : float
        The coefficient.
    method : {"kendall", "spearman", "pearson"}
    confidence : float

    Returns
    -------
    CorrelationInterval
        A ``reason`` for fewer than 5 pairs or a coefficient of 1.

    References
    ----------
    Fisher, R. A. (1921). Metron, 1, 3-32. Fieller, E. C., Hartley, H. O. and Pearson, E. S. (1957). Tests for rank
    correlation coefficients. Biometrika, 44(3-4), 470-481. Bonett, D. G. and Wright, T. A. (2000). Sample size
    requirements for estimating Pearson, Kendall and Spearman correlations. Psychometrika, 65(1), 23-28. Kendall, M.
    G. (1970). Rank Correlation Methods, chapter 4 (ties).
    """
    n = len(x)
    if n < FEWEST:
        return CorrelationInterval(reason=TOO_FEW)
    if not abs(value) < NEARLY:
        return CorrelationInterval(reason=PERFECT)
    if method == "kendall":
        variance, name = 0.437 * tie_factor(x.counts, y.counts) / (n - 4), FIELLER
    else:
        variance, name = (1 / (n - 3), FISHER) if method == "pearson" else ((1 + value**2 / 2) / (n - 3), BONETT)
    half = float(ndtri((1 + confidence) / 2)) * math.sqrt(variance)
    centre = math.atanh(value)
    return CorrelationInterval(low=math.tanh(centre - half), high=math.tanh(centre + half), interval=name)


def tie_factor(counts_x: Ints, counts_y: Ints) -> float:
    """Return by how much ties raise the variance of tau-b where nothing is related.

    >>> import numpy as np
    >>> tie_factor(np.ones(6, dtype=int), np.ones(6, dtype=int))
    1.0
    """
    n = float(counts_x.sum())
    twice, plain = n * (n - 1), n * (n - 1) * (2 * n + 5)
    tied: list[tuple[float, float, float]] = []
    for counts in (counts_x, counts_y):
        t = counts.astype(float)
        tied.append(
            (float((t * (t - 1)).sum()), float((t * (t - 1) * (t - 2)).sum()), float((t * (t - 1) * (2 * t + 5)).sum()))
        )
    (pairs_x, triples_x, weighted_x), (pairs_y, triples_y, weighted_y) = tied
    variance = (plain - weighted_x - weighted_y) / 18 + pairs_x * pairs_y / (2 * twice)
    variance += triples_x * triples_y / (9 * twice * (n - 2))
    return variance * 18 / plain * (twice / (twice - pairs_x)) * (twice / (twice - pairs_y))
