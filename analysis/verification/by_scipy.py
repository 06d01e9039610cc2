"""Tests by ``scipy.stats``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from analysis.verification.claims import NotComputedError

COUNTED = 13  # values with ties up to which all signs are counted
Alternative = Literal["two-sided", "less", "greater"]
Values = Sequence[float] | npt.NDArray[np.float64]
Samples = Values | Sequence[Values]


def one_sample(values: Samples, against: float, alternative: Alternative = "two-sided") -> list[float]:
    """Return the p-value of a one-sample t-test, of several samples of one size theirs."""
    from scipy.stats import ttest_1samp

    samples = np.atleast_2d(np.asarray(values, dtype=np.float64))
    found: list[float] = np.atleast_1d(ttest_1samp(samples, against, axis=1, alternative=alternative)[1]).tolist()
    return found


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


def signed_ranks(values: Values, counted: int) -> list[float]:
    """Return the p-value of Wilcoxon's signed ranks, zeros as Pratt.

    With ties or zeros all signs are counted: ``method="exact"`` reads untied tables, and from 14 values on the default
    is normal. Without them the tables are exact; above ``counted`` values the distribution is normal.
    """
    from scipy.stats import PermutationMethod, wilcoxon

    sizes = np.abs(np.asarray(values))
    if len(np.unique(sizes)) == len(sizes) and sizes.min() > 0:
        method: Any = "exact" if len(sizes) <= counted else "asymptotic"
        return [float(wilcoxon(values, method=method, correction=False).pvalue)]
    if len(sizes) > COUNTED:
        raise NotComputedError("wilcoxon_ties")
    method = PermutationMethod(n_resamples=1 << COUNTED)  # all signs, and not a sample of them
    return [float(wilcoxon(values, zero_method="pratt", method=method).pvalue)]


def kendall(x: Values, y: Values) -> list[float]:
    """Return the p-value of Kendall's tau-b."""
    from scipy.stats import kendalltau

    return [float(kendalltau(x, y).pvalue)]


def spearman(x: Values, y: Values) -> list[float]:
    """Return the p-value of Spearman's rho."""
    from scipy.stats import spearmanr

    return [float(spearmanr(x, y).pvalue)]


def pearson(x: Values, y: Values) -> list[float]:
    """Return the p-value of Pearson's r."""
    from scipy.stats import pearsonr

    return [float(pearsonr(x, y).pvalue)]
