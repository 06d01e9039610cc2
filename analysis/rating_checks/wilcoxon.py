"""Wilcoxon's signed-rank test with zeros and ties, for many pairs at once.

scipy counts signs with ties only by permutation, 4,000 times slower for 12 values, and takes the normal distribution
from 14 values on (``tests/analysis/statistics/test_libraries.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtr

from analysis.rating_checks.many_tests import NOTHING_PAIRED, ManyTests, untested
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import ONE_UNIT

EXACT = 50  # values up to which the distribution is counted out
ALL_ZERO = why("all_zero")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRankTest:
    """The test, and the rank-biserial correlation: (ranks for x - ranks for y) / all, from -1 to 1."""

    n: int
    rank_biserial: float | None
    p_value: float | None
    method: Literal["exact", "normal"]
    reason: Reason | None


def signed_rank_test(differences: Sequence[float] | Floats) -> SignedRankTest:
    """Test two-sidedly whether differences are symmetric about 0.

    Zeros are ranked with the others and then dropped (Pratt); ties share the mean of their ranks. Up to 50
    values the distribution over all signs is counted exactly, given those ranks; beyond, it is normal with
    the variance corrected for ties and zeros, without continuity correction.

    Parameters
    ----------
    differences : array of float, shape (n,)
        One a unit; equal ones must be equal to the last bit.

    Returns
    -------
    SignedRankTest
        With ``reason`` for fewer than two values, or zeros only.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin, 1(6), 80-83. Pratt, J. W. (1959). Remarks on zeros and ties in the
    Wilcoxon signed rank procedures. JASA, 54(287), 655-667.

    Examples
    --------
    >>> found = signed_rank_test([1, 2, 2, 0, -1])
    >>> found.method, round(found.p_value, 4), round(found.rank_biserial, 3)
    ('exact', 0.375, 0.643)
    """
    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite; leave out what is missing")
    found = signed_rank_tests(np.zeros(len(values), dtype=np.int64), values, 1)
    reason = found.reasons[0]
    return SignedRankTest(
        n=len(values),
        rank_biserial=None if reason else float(found.estimate[0]),
        p_value=None if reason else float(found.p_value[0]),
        method="exact" if len(values) <= EXACT else "normal",
        reason=reason,
    )


def signed_rank_tests(pair: Ints, values: Floats, n_pairs: int) -> ManyTests:
    """Run :func:`signed_rank_test` on the values of every pair."""
    n = np.bincount(pair, minlength=n_pairs).astype(np.int64)
    order = np.lexsort((np.abs(values), pair))
    pair, values = pair[order], values[order]
    size = np.abs(values)
    first = np.ones(len(values), dtype=np.bool_)  # of a run of equal sizes in one pair
    first[1:] = (pair[1:] != pair[:-1]) | (size[1:] != size[:-1])
    run = np.cumsum(first) - 1
    length = np.bincount(run) if len(run) else run
    before = np.flatnonzero(first) - (np.cumsum(n) - n)[pair[first]]
    twice = (2 * before + length + 1)[run] if len(run) else run  # doubled ranks are whole numbers
    zeros = np.bincount(pair[size == 0], minlength=n_pairs)
    plus = np.bincount(pair[values > 0], weights=twice[values > 0], minlength=n_pairs) / 2
    total = (n * (n + 1) - zeros * (zeros + 1)) / 2
    ties = np.where(size[first] > 0, length**3 - length, 0) if len(run) else length
    tied = np.bincount(pair[first], weights=ties, minlength=n_pairs)
    variance = (n * (n + 1) * (2 * n + 1) - zeros * (zeros + 1) * (2 * zeros + 1) - tied / 2) / 24
    reasons = [
        NOTHING_PAIRED if count == 0 else ONE_UNIT if count == 1 else ALL_ZERO if count == zero else None
        for count, zero in zip(n.tolist(), zeros.tolist(), strict=True)
    ]
    with np.errstate(all="ignore"):
        estimate = (2 * plus - total) / total
        p_value = 2 * ndtr(-np.abs(plus - total / 2) / np.sqrt(variance))
    ends = np.cumsum(n)
    for number in np.flatnonzero((n <= EXACT) & (n > 1)).tolist():
        if reasons[number] is None:
            rows = slice(ends[number] - n[number], ends[number])
            p_value[number] = _exact(twice[rows][size[rows] > 0], round(2 * plus[number]))
    p_value = np.where([reason is not None for reason in reasons], np.nan, p_value)
    return replace(untested(reasons), n=n, estimate=estimate, p_value=p_value)


def _exact(twice: Ints, plus: int) -> float:
    """Count the share of all choices of signs whose doubled sum of ranks is as far from its mean, both sides."""
    total = int(twice.sum())
    share = np.zeros(total + 1)
    share[0] = 1.0
    for rank in twice.tolist():
        moved = np.zeros_like(share)
        moved[rank:] = share[: total + 1 - rank]
        share = (share + moved) / 2
    least = min(plus, total - plus)
    return min(1.0, 2 * float(share[: least + 1].sum()))
