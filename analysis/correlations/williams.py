"""Williams's test of whether one measure correlates higher with a target than another on the same data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtr

from analysis.statistics.checks import check_whole
from analysis.statistics.reasons import Reason, why

NEGATIVE_VARIANCE = why("negative_variance")
NOT_HIGHER = why("not_higher")


@dataclass(frozen=True, slots=True, kw_only=True)
class WilliamsTest:
    """Test of r12 = r13; positive ``t`` where r12 is higher. ``reason`` says why there is none.

    ``p_one_sided`` is for r12 > r13, ``p_two_sided`` for r12 ≠ r13.
    """

    r12: float
    r13: float
    r23: float
    n: int
    t: float | None
    df: int | None
    p_one_sided: float | None
    p_two_sided: float | None
    reason: Reason | None = None


def williams(r12: float, r13: float, r23: float, n: int) -> WilliamsTest:
    """Test whether two correlations that share variable 1 are equal.

    t = (r12 - r13) sqrt( (n - 1)(1 + r23) / (2K (n - 1) / (n - 3) + ((r12 + r13)² / 4)(1 - r23)³) )
    with K = 1 - r12² - r13² - r23² + 2 r12 r13 r23 and n - 3 degrees of freedom.

    Parameters
    ----------
    r12, r13 : float
        Correlations of the two measures (2 and 3) with the target (1), in [-1, 1].
    r23 : float
        Correlation between the two measures.
    n : int
        Number of units on which all three were computed.

    Returns
    -------
    WilliamsTest
        Without a test where n < 4, where the two measures are the same (r23 = 1), or where the
        variance is not positive, which rank correlations allow.

    Raises
    ------
    ValueError
        When a correlation does not lie in [-1, 1].

    Notes
    -----
    Derived for Pearson's r of normal variables; with Kendall's tau (Graham and Baldwin; Chhun et al.)
    it is an approximation: tau varies less than r, so the test then errs on the side of caution.

    References
    ----------
    Williams, E. J. (1959). The comparison of regression variables. Journal of the Royal Statistical
    Society B, 21(2), 396-399.
    Steiger, J. H. (1980). Tests for comparing elements of a correlation matrix. Psychological
    Bulletin, 87(2), 245-251, equation 7.

    >>> found = williams(0.4, 0.5, 0.1, 103)
    >>> round(found.t, 4), found.df, round(found.p_two_sided, 4)
    (-0.8913, 100, 0.3749)
    """
    if not all(-1 <= r <= 1 for r in (r12, r13, r23)):  # NaN fails too
        raise ValueError(f"correlations must lie in [-1, 1], got {r12}, {r13} and {r23}")
    check_whole("n", n)
    if n < 4:
        return _untested(r12, r13, r23, n, why("few_in_common", n=n, needed=4))
    if r23 == 1:
        return _untested(r12, r13, r23, n, why("measures_agree"))
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    variance = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    if variance <= 0 or r23 == -1:
        return _untested(r12, r13, r23, n, NEGATIVE_VARIANCE)
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / variance)
    one = float(stdtr(n - 3, -t))
    two = min(1.0, 2 * float(stdtr(n - 3, -abs(t))))
    return WilliamsTest(r12=r12, r13=r13, r23=r23, n=n, t=t, df=n - 3, p_one_sided=one, p_two_sided=two)


def williams_of_sizes(r12: float, r13: float, r23: float, n: int) -> WilliamsTest:
    """Test whether |r12| is higher than |r13|, as Chhun et al. (2024) do; nothing where it is not.

    A measure that runs against the target is turned round: r12 and r13 lose their signs, and r23 is
    multiplied by the sign of r12 · r13.

    >>> williams_of_sizes(0.5, -0.3, -0.2, 50) == williams(0.5, 0.3, 0.2, 50)
    True
    """
    turned = -r23 if r12 * r13 < 0 else r23
    if not abs(r12) > abs(r13):
        return _untested(abs(r12), abs(r13), turned, n, NOT_HIGHER)
    return williams(abs(r12), abs(r13), turned, n)


def _untested(r12: float, r13: float, r23: float, n: int, reason: Reason) -> WilliamsTest:
    nothing = {"t": None, "df": None, "p_one_sided": None, "p_two_sided": None}
    return WilliamsTest(r12=r12, r13=r13, r23=r23, n=n, reason=reason, **nothing)
