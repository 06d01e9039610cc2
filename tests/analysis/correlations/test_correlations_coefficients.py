"""Coefficients, levels, upper bounds, Williams and Benjamini-Hochberg: independent values, properties, calibration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.correlations import (
    PairedScores,
    correlate,
    correlate_levels,
    correlate_rows,
    one_against_others,
    williams,
    williams_of_sizes,
)
from analysis.correlations.coefficients import METHODS, Method, round_significant
from analysis.correlations.levels import correlate_all, correlate_each
from analysis.correlations.scores import Scores
from analysis.statistics.corrections import benjamini_hochberg
from tests.analysis.peers import multipletests

SCIPY: dict[str, Any] = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
TIED = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=60)
WIDE = st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)), min_size=3, max_size=60)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60, deadline=None)
@given(pairs=st.one_of(TIED, WIDE))
def test_coefficients_and_p_values_are_those_of_scipy(method: Method, pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    found = correlate(x, y, method=method)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found.value is None
        assert found.p_value is None
        assert "all values are the same" in str(found.reason)
        return
    wanted = SCIPY[method](x, y)
    assert found.value == pytest.approx(wanted.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-6, abs=1e-7)  # steep where r is near 1


def test_correlations_of_many_values_equal_scipy() -> None:
    """Inversions by binary digits, beyond what the contingency table does."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=3000)
    for y in (x + rng.normal(size=3000), rng.integers(0, 2000, size=3000), -x):
        found, wanted = correlate(x, y), stats.kendalltau(x, y)
        assert found.value == pytest.approx(wanted.statistic, abs=1e-12)
        assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_kendall_without_ties_counts_all_orders(n: int) -> None:
    """Every order once: p is the share of orders at least as far from 0."""
    values = {order: correlate(range(n), order) for order in itertools.permutations(range(n))}
    for found in list(values.values())[:: max(1, math.factorial(n) // 30)]:
        assert found.value is not None
        as_far = sum(abs(other.value or 0.0) >= abs(found.value) - 1e-12 for other in values.values())
        assert found.p_value == pytest.approx(as_far / math.factorial(n))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30, deadline=None)
@given(pairs=TIED, seed=st.integers(0, 99))
def test_sides_order_of_rows_and_sign(method: Method, pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = (np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    found = correlate(x, y, method=method)
    shuffled = np.random.default_rng(seed).permutation(len(x))
    for other in (correlate(y, x, method=method), correlate(x[shuffled], y[shuffled], method=method)):
        assert other.value == pytest.approx(found.value, abs=1e-12)
        assert other.p_value == pytest.approx(found.p_value, abs=1e-12)
    turned = correlate(x, -y, method=method)
    assert turned.value == (None if found.value is None else pytest.approx(-found.value, abs=1e-12))


def test_noise_in_the_last_bit_breaks_no_tie() -> None:
    """The sum .1 + .2 is not .3 for scipy, which gives 1 here where exact arithmetic gives .82."""
    x, y = [0.1 + 0.2, 0.3, 1.0], [1.0, 2.0, 3.0]
    assert correlate(x, y).value == pytest.approx(stats.kendalltau([0.3, 0.3, 1.0], y).statistic)
    assert stats.kendalltau(x, y).statistic != pytest.approx(correlate(x, y).value)


def test_tiny_values_keep_their_digits() -> None:
    values = np.array([1.5e-16, 2.5e-16, 0.0, 3.0, -7e200, 5e-318])
    assert round_significant(values).tolist() == pytest.approx(values.tolist(), rel=1e-11)
    assert correlate([1e-16, 2e-16, 3e-16], [1, 2, 3], method="pearson").value == pytest.approx(1)
    assert correlate([1e300, 2e300, -3e300], [1, 2, -3], method="pearson").value == pytest.approx(1)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2], [1, 2], "only 2 in common"),
        ([], [], "only 0 in common"),
        ([1, 1, 1], [1, 2, 3], "all values are the same"),
        ([0.7, 0.7, 0.1 + 0.6], [1, 2, 3], "all values are the same"),
        ([1, 2, math.inf], [1, 2, 3], "missing or infinite"),
        ([1, 2, 3], [1, math.nan, 3], "missing or infinite"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_correlated_has_a_reason(method: Method, x: list[float], y: list[float], reason: str) -> None:
    found = correlate(x, y, method=method)
    assert (found.value, found.p_value) == (None, None)
    assert reason in str(found.reason)


def test_correlation_bad_input() -> None:
    """Lists of different length and unknown methods are refused."""
    with pytest.raises(ValueError, match="same length"):
        correlate([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="method must be"):
        correlate([1, 2, 3], [1, 2, 3], method="tau")  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(40, 6), (5, 90), (300, 40), (4, 200)])
def test_rows_are_those_of_a_loop_over_scipy(shape: tuple[int, int]) -> None:
    """At once, in steps and sorted; with gaps, ties and constant rows."""
    rng = np.random.default_rng(4)
    a, b = (rng.integers(1, 6, size=shape).astype(np.float64) for _ in range(2))
    a[rng.random(shape) < 0.1] = np.nan
    b[rng.random(shape) < 0.1] = np.nan
    a[0] = 3.0
    found = correlate_rows(a, b)
    assert np.isnan(found.kendall[0])
    for row in range(1, shape[0]):
        both = ~np.isnan(a[row]) & ~np.isnan(b[row])
        x, y = a[row][both], b[row][both]
        if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
            continue
        assert found.kendall[row] == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
        assert found.spearman[row] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert found.pearson[row] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def paired(seed: int, n_items: int = 12, n_systems: int = 5) -> PairedScores:
    rng = np.random.default_rng(seed)
    item, system = np.divmod(np.arange(n_items * n_systems), n_systems)
    kept = rng.random(len(item)) < 0.9
    a = rng.integers(1, 6, size=len(item)) + system * 0.3
    b = a + rng.integers(-2, 3, size=len(item))
    return PairedScores(item=item[kept], system=system[kept], a=a[kept], b=b[kept])


def test_levels_do_not_depend_on_numbers_order_or_side() -> None:
    """Relabelling systems and items, shuffling rows and swapping the sides change nothing."""
    pair = paired(1)
    rng = np.random.default_rng(2)
    order = rng.permutation(len(pair.a))
    items, systems = rng.permutation(40), rng.permutation(9)
    other = PairedScores(
        item=items[pair.item][order], system=systems[pair.system][order], a=pair.b[order], b=pair.a[order]
    )
    for one, two in zip(correlate_levels(pair), correlate_levels(other), strict=True):
        assert (one.level, one.method, one.n, one.reason) == (two.level, two.method, two.n, two.reason)
        assert one.value == pytest.approx(two.value, abs=1e-12)
        assert one.p_value == (None if two.p_value is None else pytest.approx(two.p_value, rel=1e-9))


def test_several_at_once_are_correlated_as_one_by_one() -> None:
    rng = np.random.default_rng(8)
    several = []
    for outputs in (2, 3, 24, 60):
        of = rng.permutation(60)[:outputs]
        a, b = rng.integers(1, 5, (2, outputs)).astype(np.float64)
        several.append(PairedScores(item=of // 4, system=of % 4, a=a, b=np.full(outputs, 3.0) if outputs == 24 else b))
    found = correlate_each(several)
    for place, own in enumerate(several):
        for row in correlate_levels(own):
            value = found[row.level, row.method][place]
            assert np.isnan(value) if row.value is None else value == pytest.approx(row.value, abs=1e-12)
    assert correlate_all(several) == [correlate_levels(own) for own in several]


def test_a_constant_item_is_left_out_and_counted() -> None:
    item, system = np.divmod(np.arange(12), 3)
    a = np.array([1, 2, 3, 1, 2, 3, 5, 5, 5, 3, 2, 1], dtype=np.float64)
    b = np.tile([1.0, 2.0, 3.0], 4)
    rows = {(row.level, row.method): row for row in correlate_levels(PairedScores(item=item, system=system, a=a, b=b))}
    row = rows["per_item", "kendall"]
    assert row.value == pytest.approx(1 / 3)
    assert (row.n, row.n_undefined) == (3, 1)
    assert row.p_value == pytest.approx(stats.ttest_1samp([1, 1, -1], 0).pvalue)
    within = rows["within_system", "kendall"]
    assert (within.value, within.n_undefined) == (None, 3)  # b is constant within each system
    assert "no system holds two items" in str(within.reason)


def test_one_system_an_item_leaves_no_order_within_items() -> None:
    pair = PairedScores(item=np.arange(4), system=np.arange(4) % 2, a=np.arange(4.0), b=np.arange(4.0))
    rows = {(row.level, row.method): row for row in correlate_levels(pair)}
    assert rows["overall", "kendall"].value == 1
    assert str(rows["system", "kendall"].reason) == "only 2 in common, at least 3 are needed"
    assert "no item holds two systems" in str(rows["per_item", "kendall"].reason)


def test_one_against_the_others_leaves_the_one_out() -> None:
    rng = np.random.default_rng(5)
    annotator, output = np.repeat(np.arange(4), 10), np.tile(np.arange(10), 4)
    score = rng.integers(1, 6, size=40).astype(np.float64)
    table = score.reshape(4, 10)
    for one in one_against_others(annotator, output, score):
        assert one.own.tolist() == table[one.annotator].tolist()
        assert one.others.tolist() == pytest.approx(np.delete(table, one.annotator, axis=0).mean(axis=0))
    alone = list(one_against_others(np.zeros(5, dtype=np.int64), np.arange(5), np.arange(5.0)))
    assert alone == []


def test_williams_worked_by_hand() -> None:
    """Numbers of the example in psych::r.test (R): n = 103, r12 = .4, r13 = .5, r23 = .1 gives t = -0.89, p = .37."""
    found = williams(0.4, 0.5, 0.1, 103)
    assert (round(found.t or 0, 2), round(found.p_two_sided or 0, 2), found.df) == (-0.89, 0.37, 100)


@settings(max_examples=50, deadline=None)
@given(r12=st.floats(-0.6, 0.6), r13=st.floats(-0.6, 0.6), r23=st.floats(-0.5, 0.9), n=st.integers(4, 500))
def test_williams_is_steigers_equation_7(r12: float, r13: float, r23: float, n: int) -> None:
    """Written with the determinant of the correlation matrix, as Steiger does; mirrored when the sides swap."""
    determinant = float(np.linalg.det(np.array([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]])))
    variance = 2 * (n - 1) / (n - 3) * determinant + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    found, swapped = williams(r12, r13, r23, n), williams(r13, r12, r23, n)
    if variance <= 1e-9:
        return
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / variance)
    assert found.t == pytest.approx(t, rel=1e-6, abs=1e-9)
    assert found.p_two_sided == pytest.approx(2 * stats.t.sf(abs(t), n - 3), rel=1e-5)
    assert found.p_one_sided == pytest.approx(stats.t.sf(t, n - 3), rel=1e-5)
    assert swapped.t == pytest.approx(-(found.t or 0.0), abs=1e-12)


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((0.9, -0.9, 0.9, 20), "no positive variance"),
        ((0.5, 0.5, 1.0, 20), "agree perfectly"),
        ((0.5, 0.4, 0.1, 3), "only 3 in common"),
        ((0.5, 0.4, -1.0, 20), "no positive variance"),
    ],
)
def test_williams_without_a_test_has_a_reason(numbers: tuple[float, float, float, int], reason: str) -> None:
    found = williams(*numbers)
    assert (found.t, found.df, found.p_one_sided, found.p_two_sided) == (None, None, None, None)
    assert reason in str(found.reason)


def test_williams_bad_input() -> None:
    """Williams refuses what is no correlation and sizes need a higher first."""
    with pytest.raises(ValueError, match="must lie in"):
        williams(math.nan, 0.1, 0.2, 20)
    assert "not higher" in str(williams_of_sizes(-0.2, 0.3, 0.1, 50).reason)


def test_williams_under_the_null_rejects_as_often_as_it_says() -> None:
    """2,000 samples of 30 from a normal with equal correlations .5 and .5 (.4 between the measures)."""
    rng = np.random.default_rng(6)
    root = np.linalg.cholesky(np.array([[1, 0.5, 0.5], [0.5, 1, 0.4], [0.5, 0.4, 1]]))
    rejected = 0
    for _ in range(2000):
        r = np.atleast_2d(np.corrcoef(root @ rng.normal(size=(3, 30))))
        rejected += (williams(r[0, 1], r[0, 2], r[1, 2], 30).p_two_sided or 0.0) <= 0.05
    assert rejected / 2000 == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / 2000))


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30))
def test_benjamini_hochberg_equals_statsmodels(p: list[float]) -> None:
    rejected, adjusted = multipletests(p, alpha=0.05, method="fdr_bh")
    found = benjamini_hochberg(p)
    assert list(found.p_adjusted) == pytest.approx(adjusted.tolist(), rel=1e-12)
    clear = np.abs(adjusted - 0.05) > 1e-12
    assert np.array(found.rejected)[clear].tolist() == rejected[clear].tolist()


def test_benjamini_hochberg_untestable_and_bound() -> None:
    """Benjamini hochberg leaves out the untestable and rejects at the bound."""
    found = benjamini_hochberg([0.025, None, 0.9])
    assert (found.p_adjusted, found.rejected, found.n_tests) == ((0.05, None, 0.9), (True, None, False), 2)
    assert benjamini_hochberg([None]).p_adjusted == (None,)
    with pytest.raises(ValueError, match="must lie in"):
        benjamini_hochberg([math.nan])


def test_score_of_an_output_that_has_none_is_an_error() -> None:
    """Not that of its neighbour."""
    scores = Scores(name="metrics:BLEU", output=np.array([1, 3]), value=np.array([0.1, 0.3]))
    assert scores.at(np.array([3, 1, 3])).tolist() == [0.3, 0.1, 0.3]
    for missing in (0, 2, 4):
        with pytest.raises(KeyError, match=rf"metrics:BLEU: no score of the outputs \[{missing}\]"):
            scores.at(np.array([1, missing]))
    with pytest.raises(KeyError, match="no score"):
        Scores(name="empty", output=np.zeros(0, np.int64), value=np.zeros(0)).at(np.array([4]))
