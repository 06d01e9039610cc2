"""How large a preference is beside the spread between annotators: Cohen's d_z against chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.special import nctdtr, nctdtrinc, ndtri

from analysis.checks import check_finite, check_level, check_whole
from analysis.preferences import PreferenceTest
from analysis.t_tests import NO_VARIATION, ONE_UNIT

NONCENTRAL, APPROXIMATE = "noncentral t", "normal approximation"
CLOSE = 1e-4  # how far the noncentral t may miss its level before the approximation takes over


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """Mean minus chance in standard deviations of the units, with its interval and how that was found."""

    d_z: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    reason: str | None = None


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
    >>> round(found.d_z, 2), round(found.ci_low, 2), round(found.ci_high, 2)
    (0.5, 0.15, 0.84)
    """
    check_finite("mean", mean)
    check_whole("n", n)
    check_level("confidence", confidence)
    if sd is not None:
        check_finite("sd", sd, least=0)
    if n < 2 or sd is None:
        return EffectSize(d_z=None, ci_low=None, ci_high=None, interval=None, reason=ONE_UNIT)
    if sd == 0:
        return EffectSize(d_z=None, ci_low=None, ci_high=None, interval=None, reason=NO_VARIATION)
    d_z = (mean - against) / sd
    size, root = abs(d_z), math.sqrt(n)  # of the size, and then turned: a swapped pair mirrors to the last bit
    ends, interval = _noncentral(size * root, n - 1, confidence), NONCENTRAL
    if ends is None:
        half = float(ndtri((1 + confidence) / 2)) * math.sqrt(1 / n + size**2 / (2 * (n - 1)))
        ends, interval = ((size - half) * root, (size + half) * root), APPROXIMATE
    low, high = (end / root for end in ends)
    low, high = (-high, -low) if d_z < 0 else (low, high)
    return EffectSize(d_z=d_z, ci_low=low, ci_high=high, interval=interval)


def _noncentral(t: float, df: int, confidence: float) -> tuple[float, float] | None:
    ends = []
    for level in ((1 + confidence) / 2, (1 - confidence) / 2):
        end = float(nctdtrinc(df, level, t))
        if not math.isfinite(end) or not abs(float(nctdtr(df, end, t)) - level) < CLOSE:
            return None
        ends.append(end)
    return ends[0], ends[1]


def with_effect_sizes(rows: Sequence[PreferenceTest], *, confidence: float) -> list[PreferenceTest]:
    """Add ``d_z`` and its interval to the tests; where there is none the row's ``reason`` already says why."""
    done = []
    for row in rows:
        if row.mean is None:
            done.append(row)
            continue
        found = effect_size(mean=row.mean, sd=row.sd, n=row.n, confidence=confidence)
        done.append(
            replace(row, d_z=found.d_z, d_z_low=found.ci_low, d_z_high=found.ci_high, d_z_interval=found.interval)
        )
    return done
