"""The calls of libraries by name: each takes the numbers of a claim and returns its figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from analysis.verification import by_choix, by_scipy, by_statsmodels
from analysis.verification.claims import NotComputedError, Why

Reply: TypeAlias = Sequence[float] | Why
LIBRARIES: Final = ("scipy", "statsmodels", "choix")
TOLERANCE: Final = 1e-9
SMALLEST: Final = 1e-6  # p-values below this are compared as if they were this large


@dataclass(frozen=True, slots=True)
class Call:
    """A function of a library; ``absolute``: its figures are no p-values, and are compared as they are."""

    name: str
    compute: Callable[..., Sequence[float]]
    absolute: bool = False

    @property
    def library(self) -> str:
        """Return the library."""
        return self.name.partition(".")[0]


CALLS: Final[dict[str, Call]] = {
    "ttest_1samp": Call("scipy.stats.ttest_1samp", by_scipy.one_sample),
    "two_one_sided": Call("scipy.stats.ttest_1samp", by_scipy.two_one_sided),
    "ttest_rel": Call("scipy.stats.ttest_rel", by_scipy.paired),
    "ttest_ind": Call("scipy.stats.ttest_ind", by_scipy.welch),
    "kendalltau": Call("scipy.stats.kendalltau", by_scipy.kendall),
    "spearmanr": Call("scipy.stats.spearmanr", by_scipy.spearman),
    "pearsonr": Call("scipy.stats.pearsonr", by_scipy.pearson),
    "wilcoxon": Call("scipy.stats.wilcoxon", by_scipy.signed_ranks),
    "binomtest": Call("scipy.stats.binomtest", by_scipy.sign_test),
    "cov_cluster_2groups": Call("statsmodels.stats.sandwich_covariance.cov_cluster_2groups", by_statsmodels.crossed),
    "ols": Call("statsmodels.regression.linear_model.OLS", by_statsmodels.clustered),
    "ols_below": Call("statsmodels.regression.linear_model.OLS", by_statsmodels.clustered_below),
    "anova_oneway": Call("statsmodels.stats.oneway.anova_oneway", by_statsmodels.subgroups),
    "cohens_kappa": Call("statsmodels.stats.inter_rater.cohens_kappa", by_statsmodels.kappa_of_two, absolute=True),
    "glm": Call("statsmodels.genmod.generalized_linear_model.GLM", by_statsmodels.controlled, absolute=True),
    "multipletests": Call("statsmodels.stats.multitest.multipletests", by_statsmodels.corrected),
    "ilsr_pairwise": Call("choix.ilsr_pairwise_dense", by_choix.strengths, absolute=True),
    "ilsr_rankings": Call("choix.ilsr_rankings", by_choix.ranked, absolute=True),
}


def same(figure: float, again: float, *, absolute: bool = False) -> bool:
    """Say whether two numbers are the same up to 1e-9, relatively for p-values from 1e-6 on.

    >>> same(0.02, 0.02 * (1 + 1e-6)), same(1e-12, 1.0001e-12), same(1.0, 1.0 + 5e-10, absolute=True)
    (False, True, True)
    """
    if not math.isfinite(again):
        return False
    scale = max(1.0, abs(again)) if absolute else max(abs(again), SMALLEST)
    return abs(figure - again) <= TOLERANCE * scale


def recompute(call: str, numbers: dict[str, Any]) -> Reply:
    """Return what a library computes, or why it does not."""
    try:
        return [float(value) for value in CALLS[call].compute(**numbers)]
    except ImportError:
        return "not_installed"
    except NotComputedError as error:
        return error.why
