"""Own code beside the library that does the same, at users' sizes: why the own code is there (docs/statistics.md).

Ratios above 5 are a reason by themselves; below, the library gives another figure somewhere (the tests name the case)
or takes too long to load for a report.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from timeit import repeat

import choix
import numpy as np
import polars as pl
import statsmodels.api as sm
from scipy import stats
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from analysis import annotators_needed, cohen_kappa, crossed_test, fit_ordinal, holm, signed_rank_test, t_power
from analysis.statistics.coding import fold
from analysis.statistics.t_tests import one_sample, sign_test, welch
from analysis.strengths.fit import fit_strengths
from tests.benchmarks.measure import Figure

LIBRARIES = ("scipy.special", "scipy.stats", "choix", "statsmodels.stats.multitest")


def figures() -> Iterator[Figure]:
    """Yield how many times longer each library takes, and what each takes to load."""
    for name, own, library in (*_tests(), *_models(), *_tables()):
        ours, theirs = _best(own), _best(library)
        note = f"own {1000 * ours:.3g} ms, library {1000 * theirs:.3g} ms"
        yield Figure(name=name, value=theirs / ours, unit="x library", note=note)
    for module in LIBRARIES:
        yield Figure(name=f"import {module}", value=_loading(module), unit="s of processor time", note="after numpy")


Work = tuple[str, Callable[[], object], Callable[[], object]]


def _tests() -> Iterator[Work]:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.3, 1, 30), rng.normal(0, 1.5, 30)
    steps = rng.integers(-3, 4, 12).astype(np.float64)
    p_values = rng.random(45).tolist()
    yield (
        "one-sample t and interval, n = 30",
        lambda: one_sample(x, against=0.0, confidence=0.95),
        lambda: stats.ttest_1samp(x, 0.0).confidence_interval(0.95),
    )
    yield (
        "Welch's t and interval, n = 30 + 30",
        lambda: welch(x, y, confidence=0.95),
        lambda: stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95),
    )
    yield "sign test, 8 of 28", lambda: sign_test(8, 20), lambda: stats.binomtest(8, 28).pvalue
    yield (
        "Wilcoxon with ties and zeros, n = 12",
        lambda: signed_rank_test(steps),
        lambda: stats.wilcoxon(steps, zero_method="pratt", method=stats.PermutationMethod(n_resamples=2**12)),
    )
    yield "Holm, 45 tests", lambda: holm(p_values), lambda: multipletests(p_values, method="holm")
    power = TTestPower()
    yield "power, n = 34", lambda: t_power(0.5, 34, alpha=0.05), lambda: power.power(0.5, 34, 0.05)
    yield (
        "annotators needed",
        lambda: annotators_needed(0.5, sd=1.0, alpha=0.05),
        lambda: power.solve_power(effect_size=0.5, alpha=0.05, power=0.8),
    )


def _models() -> Iterator[Work]:
    rng = np.random.default_rng(2)
    annotator, item, system = (axis.ravel() for axis in np.indices((20, 10, 4)))
    score = np.clip(np.round(3 + 0.3 * system + rng.normal(size=800)), 1, 5)
    dummies = (system[:, None] == np.arange(1, 4)).astype(np.float64)
    yield (
        "ordinal model, 20 x 10 x 4 ratings",
        lambda: fit_ordinal(score, system, annotator),
        lambda: OrderedModel(score, dummies, distr="logit").fit(method="bfgs", disp=0, maxiter=500),
    )
    apart, who, what = score[system == 1] - score[system == 0], annotator[system == 0], item[system == 0]
    yield (
        "crossed test, 20 x 10 differences",
        lambda: crossed_test(apart, who, what),
        lambda: cov_cluster_2groups(sm.OLS(apart, np.ones(len(apart))).fit(), who, what),
    )
    wins = rng.integers(1, 30, (10, 10)).astype(np.float64)
    np.fill_diagonal(wins, 0)
    names = [str(number) for number in range(10)]
    yield (
        "Bradley-Terry of 10 systems, to 1e-12 (choix: to 1e-8)",
        lambda: fit_strengths(wins, names),
        lambda: choix.ilsr_pairwise_dense(wins),
    )


def _tables() -> Iterator[Work]:
    rng = np.random.default_rng(3)
    answers = rng.integers(1, 6, (2000, 2))
    table = np.zeros((5, 5))
    np.add.at(table, (answers[:, 0] - 1, answers[:, 1] - 1), 1)
    yield "Cohen's kappa, 2000 x 2 (library: of the table)", lambda: cohen_kappa(answers), lambda: cohens_kappa(table)
    columns = [rng.integers(0, size, 1_000_000) for size in (1000, 10, 20)]
    key = (columns[0] * 10 + columns[1]) * 20 + columns[2]
    frame = pl.DataFrame({str(place): column for place, column in enumerate(columns)}).with_row_index("row")
    yield (
        "cells of 1e6 rows (numpy.unique)",
        lambda: fold(*columns),
        lambda: np.unique(key, return_index=True, return_inverse=True),
    )
    yield (
        "cells of 1e6 rows (polars group_by)",
        lambda: fold(*columns),
        lambda: frame.group_by("0", "1", "2").agg("row").sort("0", "1", "2"),
    )


def _best(work: Callable[[], object]) -> float:
    times = max(1, int(0.05 / min(repeat(work, number=1, repeat=2))))
    return min(repeat(work, number=times, repeat=3)) / times


def _loading(module: str) -> float:
    """Return the processor time of an import in a process of its own, the best of three."""
    code = f"import numpy, time; start = time.process_time(); import {module}; print(time.process_time() - start)"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3))
