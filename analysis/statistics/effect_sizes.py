"""Cohen's d_z, how large a mean is beside the spread between units, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, nctdtrinc, ndtri

from analysis.statistics.checks import check_finite, check_level, check_values, check_whole
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, one_sample

NONCENTRAL: Final = "noncentral t"
APPROXIMATE: Final = "normal approximation"
CLOSE = 1e-4  # how far the noncentral t may miss its level before the approximation takes over


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """An effect over ``n`` units; ``interval`` says how its bounds were made, ``reason`` why a number is missing."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    interval: str | None = None
    reason: Reason | None = None


def effect_size(*, mean: float, sd: float | None, n: int, against: float = 0.5, confidence: float = 0.95) -> EffectSize:
    """Return Cohen's d_z = (mean - against) / sd and its interval.

    The interval holds the noncentralities of t (divided by the root of n) under which the t that was
    found, root(n) d_z, lies between the two tails. Where that distribution cannot be inverted, the interval is
    d_z ± z root(1/n + d_z² / (2 (n - 1))), and ``interval`` says so.

    Parameters
    ----------
    mean, sd : float
        Of the units; ``sd`` with n - 1.
    n : int
        Units.
    against : float
        Mean under the null hypothesis.
    confidence : float
        Level of the interval.

    Returns
    -------
    EffectSize
        Positive where the mean lies above ``against``; null with a reason where the units do not vary.

    References
    ----------
    Cohen, J. (1988). Statistical Power Analysis for the Behavioral Sciences, 2nd edition, section 2.3.5.
    Cumming, G. and Finch, S. (2001). A primer on the understanding, use, and calculation of confidence
    intervals that are based on central and noncentral distributions. Educational and Psychological
    Measurement, 61(4), 532-574.

    >>> found = effect_size(mean=0.65, sd=0.3, n=36)
    >>> round(found.value, 2), round(found.ci_low, 2), round(found.ci_high, 2)
    (0.5, 0.15, 0.84)
    """
    check_finite("mean", mean)
    check_whole("n", n)
    check_level("confidence", confidence)
    if sd is not None:
        check_finite("sd", sd, least=0)
    if n < 2 or not sd:
        reason = ONE_UNIT if n < 2 or sd is None else NO_VARIATION
        return EffectSize(value=None, ci_low=None, ci_high=None, n=n, reason=reason)
    d_z = (mean - against) / sd
    low, high, exact = d_z_bounds(np.array([d_z]), np.array([n]), confidence)
    interval = NONCENTRAL if exact[0] else APPROXIMATE
    return EffectSize(value=d_z, ci_low=float(low[0]), ci_high=float(high[0]), n=n, interval=interval)


def cohens_d_z(differences: Sequence[float] | Floats, *, confidence: float = 0.95) -> EffectSize:
    """Return :func:`effect_size` of differences against 0: their mean over their standard deviation, t / sqrt(n).

    Parameters
    ----------
    differences : array of float, shape (n,)
        x minus y, one a unit; positive speaks for x. The more ratings a unit averages, the larger is d_z: compare
        it only between studies that average alike.
    confidence : float
        Level of the interval.

    Examples
    --------
    >>> found = cohens_d_z([1, 2, 0, 1])
    >>> round(found.value, 3), round(found.ci_low, 3), round(found.ci_high, 3)
    (1.225, -0.17, 2.534)
    """
    values = np.asarray(differences, dtype=np.float64)
    if not (len(values) and np.isfinite(values).all()):
        raise ValueError("expected at least one difference, all finite")
    check_level("confidence", confidence)
    check_values("differences", values)
    found = one_sample(values, against=0.0, confidence=confidence)
    return effect_size(mean=found.mean, sd=found.sd, n=found.n, against=0.0, confidence=confidence)


def d_z_bounds(d_z: Floats, n: Ints | Floats, confidence: float) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return both bounds of many d_z, over n units each, and which of them are exact; NaN where d_z is NaN."""
    size = np.abs(d_z)  # bounds of the size, then turned: a swapped pair mirrors to the last bit
    root, df = np.sqrt(n), n - 1.0
    levels = ((1 + confidence) / 2, (1 - confidence) / 2)
    with np.errstate(all="ignore"):
        ends = [nctdtrinc(df, level, size * root) for level in levels]
        missed = [np.abs(nctdtr(df, end, size * root) - level) for end, level in zip(ends, levels, strict=True)]
        half = float(ndtri(levels[0])) * np.sqrt(1 / n + size**2 / (2 * df))
        exact: npt.NDArray[np.bool_] = np.all(np.isfinite(ends) & (np.array(missed) < CLOSE), axis=0)
        low, high = np.where(exact, ends[0] / root, size - half), np.where(exact, ends[1] / root, size + half)
        even = float(ndtri(levels[0])) / root  # P(t < 0) is that of a normal value below minus the noncentrality
        low, high = np.where(size == 0, -even, low), np.where(size == 0, even, high)
    turned = d_z < 0
    return np.where(turned, -high, low), np.where(turned, -low, high), exact
