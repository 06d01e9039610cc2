"""Corrections, clustered errors and kappas by statsmodels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.verification.claims import NotComputedError

Values = Sequence[float] | npt.NDArray[np.float64]
Numbers = Sequence[int] | npt.NDArray[np.int64]
METHODS = {"holm": "holm", "bh": "fdr_bh", "by": "fdr_by"}
CORRECTIONS = "statsmodels.stats.multitest"
PACKAGES = ("stats", "tools")  # whose doors load regressions, pandas and scipy.linalg
BESIDE: dict[str, tuple[str, ...]] = {
    "statsmodels.stats._knockoff": ("RegressionFDR",),
    "pandas": ("DataFrame", "Series"),
}


def load_corrections_alone() -> None:
    """Load ``multipletests`` without pandas, and the regressions that a class beside it needs: a fifth of the time.

    For a process that asks statsmodels for nothing else. The function itself is as installed. Where it cannot be had
    so, all is loaded when it is called.
    """
    found = find_spec("statsmodels")
    if (
        found is None
        or found.submodule_search_locations is None
        or not {"statsmodels", *BESIDE}.isdisjoint(sys.modules)
    ):
        return
    there = {*sys.modules}
    folders = [Path(folder) for folder in found.submodule_search_locations]
    for name in PACKAGES:
        sys.modules[f"statsmodels.{name}"] = package = ModuleType(f"statsmodels.{name}")
        package.__path__ = [str(folder / name) for folder in folders]
    for name, unneeded in BESIDE.items():
        sys.modules[name] = module = ModuleType(name)
        vars(module).update({one: type(one, (), {}) for one in unneeded})
    try:
        corrections = import_module(CORRECTIONS)
        for method in METHODS.values():
            corrections.multipletests([0.5, 1.0], method=method)
    except (ImportError, AttributeError, TypeError, ValueError):  # another version, which needs more
        for name in {*sys.modules} - there:
            if name.partition(".")[0] == "statsmodels":
                del sys.modules[name]
    for name in BESIDE:
        sys.modules.pop(name, None)


def corrected(p_values: Sequence[float], correction: str, n_tests: int) -> list[float]:
    """Return corrected p-values; further members of the family count as 1.

    No missing value may be given: ``multipletests`` counts a NaN in Holm's n, and turns every value of
    Benjamini-Hochberg to NaN.
    """
    from statsmodels.stats.multitest import multipletests

    if any(value != value for value in p_values):
        raise ValueError("a p-value is missing")
    padded = [*p_values, *(1.0,) * (n_tests - len(p_values))]
    adjusted: list[float] = multipletests(padded, method=METHODS[correction])[1].tolist()
    return adjusted[: len(p_values)]


def crossed(values: Values, weights: Values, annotators: Numbers, items: Numbers, against: float) -> list[float]:
    """Return the p-value of a weighted mean, clustered by annotator and item.

    The three variances are statsmodels'; of them the larger of all, with Satterthwaite's degrees of freedom, is taken.
    """
    from scipy.stats import t as student
    from statsmodels.regression.linear_model import WLS
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    value = np.asarray(values)
    fitted = WLS(value, np.ones(len(value)), weights=np.asarray(weights)).fit()
    who, what = (np.unique(ids, return_inverse=True)[1] for ids in (annotators, items))
    together, by_who, by_what = (float(np.squeeze(cov)) for cov in cov_cluster_2groups(fitted, who, what))
    variance = max(together, by_who, by_what)
    n_who, n_what = who.max() + 1, what.max() + 1
    df = variance**2 / (by_who**2 / (n_who - 1) + by_what**2 / (n_what - 1)) if min(n_who, n_what) > 2 else 1.0
    df = max(1.0, df)
    t = (float(fitted.params[0]) - against) / variance**0.5
    return [min(1.0, 2 * float(student.sf(abs(t), df)))]


def clustered(y: Values, x: npt.NDArray[np.float64], clusters: Numbers, coefficient: int) -> list[float]:
    """Return the p-value of one coefficient of least squares, clustered, by t with G - 1 degrees of freedom.

    statsmodels takes the normal distribution unless it is told to use t.
    """
    from statsmodels.regression.linear_model import OLS

    groups = np.unique(clusters, return_inverse=True)[1]
    fitted: Any = OLS(np.asarray(y), x).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    return [float(fitted.pvalues[coefficient])]


def clustered_below(values: Values, clusters: Numbers, against: float) -> list[float]:
    """Return the p-value of a mean, clustered, tested to lie below a value, by t with G - 1 degrees of freedom."""
    from scipy.stats import t as student
    from statsmodels.regression.linear_model import OLS

    value, groups = np.asarray(values, dtype=np.float64), np.unique(clusters, return_inverse=True)[1]
    fitted: Any = OLS(value, np.ones(len(value))).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    return [float(student.cdf((fitted.params[0] - against) / fitted.bse[0], groups.max()))]


def subgroups(samples: Sequence[Values], most_df: float) -> list[float]:
    """Return the p-value of Brown and Forsythe's test with Mehrotra's degrees of freedom, but ``most_df``."""
    from scipy.special import fdtrc
    from statsmodels.stats.oneway import anova_oneway

    found = anova_oneway([np.asarray(one) for one in samples], use_var="bf")
    return [float(fdtrc(found.df[0], min(found.df[1], most_df), found.statistic))]


def kappa_of_two(table: Sequence[Sequence[float]]) -> list[float]:
    """Return Cohen's kappa of a contingency table."""
    from statsmodels.stats.inter_rater import cohens_kappa

    return [float(cohens_kappa(np.asarray(table), return_results=False))]


def controlled(
    first: Numbers, second: Numbers, won: Values, covariates: npt.NDArray[np.float64], n_systems: int
) -> list[float]:
    """Return strengths, mean zero, of a logistic regression on who was compared and on covariates."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    systems = np.arange(n_systems - 1)  # the last is the base
    x, y = (np.asarray(side)[:, None] == systems for side in (first, second))
    design = np.column_stack([x.astype(np.float64) - y, covariates])
    fitted: Any = GLM(np.asarray(won), design, family=Binomial()).fit(maxiter=200, tol=1e-14)
    if not fitted.converged:
        raise NotComputedError("not_converged")
    strength = np.append(fitted.params[: n_systems - 1], 0.0)
    centred: list[float] = (strength - strength.mean()).tolist()
    return centred
