"""Tests by ``scipy.stats``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Alternative = Literal["two-sided", "less", "greater"]
Values = Sequence[float] | npt.NDArray[np.float64]


def one_sample(values: Values, against: float, alternative: Alternative = "two-sided") -> list[float]:
    """Return the p-value of a one-sample t-test."""
    from scipy.stats import ttest_1samp

    return [float(ttest_1samp(np.asarray(values), against, alternative=alternative).pvalue)]


def two_one_sided(values: Values, against: float, margin: float) -> list[float]:
    """Return the larger p-value of two one-sided t-tests that the mean is within a margin."""
    (low,) = one_sample(values, against - margin, "greater")
    (high,) = one_sample(values, against + margin, "less")
    return [max(low, high)]


def paired(x: Values, y: Values) -> list[float]:
    """Return the p-value of a paired t-test."""
    from scipy.stats import ttest_rel

    return [ttest_rel(np.asarray(x), np.asarray(y)).pvalue]


def welch(x: Values, y: Values) -> list[float]:
    """Return the p-value of Welch's t-test of two samples."""
    from scipy.stats import ttest_ind

    return [ttest_ind(np.asarray(x), np.asarray(y), equal_var=False).pvalue]


def sign_test(wins: int, losses: int) -> list[float]:
    """Return the p-value of the exact two-sided binomial test at 1/2."""
    from scipy.stats import binomtest

    return [binomtest(wins, wins + losses, 0.5).pvalue]
