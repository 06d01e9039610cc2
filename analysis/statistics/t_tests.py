"""Student's and Welch's t on values whose order does not matter, with "no variation" told apart from a result.

The distributions are scipy's. scipy.stats finds equal answers of 0.1 significant, takes half a second more to load in
every report, and 20 to 30 times as long for 30 values (``make bench``,
``tests/analysis/statistics/test_libraries.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, stdtr, stdtrit

from analysis.statistics.coding import Floats, at_target
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import replace_fields

ONE_UNIT = why("one_unit")
NO_VARIATION = why("no_variation")
MOSTLY_ONE = 0.8  # share of equal values from which on a t-test does not keep its level
SKEWED = 0.25  # skewness beside the root of n, from which on it does not; seen only in ENOUGH_FOR_SKEW values
ENOUGH_FOR_SKEW = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TTest:
    """Mean (or difference of means), its interval, and the test; ``reason`` where there is none.

    ``highly_skewed`` says that the level of the test is in doubt (:func:`is_highly_skewed`).
    """

    n: int
    mean: float
    sd: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: float | None
    reason: Reason | None
    highly_skewed: bool = False

    def columns(self) -> dict[str, Any]:
        """Return what the rows of preferences, ratings and choices have in common of a test."""
        names = ("n", "ci_low", "ci_high", "t", "df", "p_value", "highly_skewed", "reason")
        return {name: getattr(self, name) for name in names}


def one_sample(values: Floats, *, against: float, confidence: float) -> TTest:
    """Test two-sidedly whether the mean of the values is ``against``.

    t = (mean - against) / (sd / sqrt(n)), n - 1 degrees of freedom; sums are exactly rounded,
    so the order of the values does not matter.

    Parameters
    ----------
    values : array of float, shape (n,)
        One number a unit (annotator, assignment or item), at least one.
    against : float
        Mean under the null hypothesis.
    confidence : float
        Level of the interval of the mean.

    Returns
    -------
    TTest
        With ``reason`` instead of a test when n = 1 or all values are equal.

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika, 6(1), 1-25.
    """
    listed = values.tolist()
    n = len(listed)
    mean = exact_mean(listed)
    if n == 1:
        return no_test(n, mean, None, ONE_UNIT)
    if min(listed) == max(listed):
        return no_test(n, listed[0], 0.0, NO_VARIATION)
    mean = at_target(mean, against, scale=max(abs(min(listed)), abs(max(listed))))
    sd = math.sqrt(_squares(listed, mean) / (n - 1))
    found = t_of_estimate(n, mean, sd, against, sd / math.sqrt(n), n - 1, confidence)
    return replace_fields(found, highly_skewed=True) if is_highly_skewed(values) else found


def is_highly_skewed(values: Sequence[float] | Floats) -> bool:
    """Say whether values are so uneven that Student's t errs more often than its level says.

    So they are where at least 80% are equal and some differ, and where, of 20 values or more, the skewness
    m3 / m2^1.5 is beyond root(n) / 4. Both bounds were chosen by simulation: ``docs/statistics.md`` has what they
    catch and what they miss.

    >>> is_highly_skewed([0.4] * 9 + [0.9]), is_highly_skewed([0.2, 0.4, 0.6, 0.8])
    (True, False)
    """
    ordered = np.sort(values)
    n = len(ordered)
    if ordered[0] == ordered[-1]:
        return False
    if np.count_nonzero(ordered == ordered[n // 2]) >= MOSTLY_ONE * n:  # most of them have their median among them
        return True
    if n < ENOUGH_FOR_SKEW:
        return False
    away = ordered - exact_mean(ordered.tolist())
    squares = away * away
    second, third = exact_mean(squares.tolist()), exact_mean((squares * away).tolist())
    bound: float = SKEWED * math.sqrt(n) * second**1.5
    return abs(third) > bound


def welch(values_x: Floats, values_y: Floats, *, confidence: float) -> TTest:
    """Test two-sidedly whether two independent samples have the same mean, variances unequal.

    Degrees of freedom after Welch and Satterthwaite; ``mean`` is the difference x minus y,
    ``n`` the size of both samples together.

    References
    ----------
    Welch, B. L. (1947). The generalization of "Student's" problem when several different
    population variances are involved. Biometrika, 34(1-2), 28-35.
    """
    x, y = values_x.tolist(), values_y.tolist()
    n = len(x) + len(y)
    mean_x, mean_y = exact_mean(x), exact_mean(y)
    difference = at_target(mean_x - mean_y, 0.0, scale=max(map(abs, (*x, *y))))
    if min(len(x), len(y)) < 2:
        return no_test(n, difference, None, why("one_unit_on_one_side"))
    if min(x) == max(x) and min(y) == max(y):
        return no_test(n, difference, None, NO_VARIATION)
    part_x = _squares(x, mean_x) / (len(x) - 1) / len(x)
    part_y = _squares(y, mean_y) / (len(y) - 1) / len(y)
    df = (part_x + part_y) ** 2 / (part_x**2 / (len(x) - 1) + part_y**2 / (len(y) - 1))
    return t_of_estimate(n, difference, None, 0.0, math.sqrt(part_x + part_y), df, confidence)


def t_bound(df: float, confidence: float) -> float:
    """Return the two-sided critical value of t."""
    return float(stdtrit(df, (1 + confidence) / 2))


def sign_test(wins: int, losses: int) -> float | None:
    """Return the exact two-sided binomial p-value of ``wins`` out of the untied at 1/2; ``None`` for none.

    >>> round(sign_test(8, 2), 6)
    0.109375
    """
    untied = wins + losses
    if untied == 0:
        return None
    return min(1.0, 2 * float(bdtr(min(wins, losses), untied, 0.5)))


def exact_mean(values: list[float]) -> float:
    """Return the mean of an exactly rounded sum."""
    return math.fsum(values) / len(values)


def _squares(values: list[float], mean: float) -> float:
    return math.fsum([(value - mean) ** 2 for value in values])


def t_of_estimate(
    n: int, mean: float, sd: float | None, against: float, se: float, df: float, confidence: float
) -> TTest:
    """Return the test and the interval of an estimate with a standard error."""
    t = (mean - against) / se
    half = t_bound(df, confidence) * se
    p_value = min(1.0, 2 * float(stdtr(df, -abs(t))))
    return TTest(
        n=n, mean=mean, sd=sd, ci_low=mean - half, ci_high=mean + half, t=t, df=df, p_value=p_value, reason=None
    )


def no_test(n: int, mean: float, sd: float | None, reason: Reason) -> TTest:
    """Return an estimate that cannot be tested, and why."""
    return TTest(n=n, mean=mean, sd=sd, ci_low=None, ci_high=None, t=None, df=None, p_value=None, reason=reason)
