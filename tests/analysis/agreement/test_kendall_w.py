"""Kendall's W: published examples, what must hold of it, and what random orders give."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata, spearmanr

from analysis import kendall_w
from analysis.agreement.data import from_codes
from tests.analysis.made_answers import ratings, render_report, run

EXECUTIVES = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
TIED = [
    [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10],
    [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5],
    [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10],
]
TABLES = arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(2, 5)), elements=st.integers(1, 4))


def by_definition(table: np.ndarray) -> float:
    """Kendall (1970), equations 6.1 and 6.8."""
    n, m = table.shape
    sums = rankdata(table, axis=0).sum(axis=1)
    ties = sum(float(count**3 - count) for column in table.T for count in np.unique(column, return_counts=True)[1])
    return float(12 * np.sum((sums - sums.mean()) ** 2) / (m**2 * (n**3 - n) - m * ties))


@pytest.mark.parametrize(("ranks", "published"), [(EXECUTIVES, 25.5 / 157.5), (TIED, 591 / 714)])
def test_examples_of_siegel(ranks: list[list[float]], published: float) -> None:
    """Siegel (1956), Nonparametric Statistics, section 9: W = .16 without ties, .828 corrected for them."""
    found = kendall_w(np.array(ranks).T)
    assert found.value == pytest.approx(published, rel=1e-12)
    assert (found.n_items, found.n_annotators) == (len(ranks[0]), 3)


@given(TABLES)
def test_it_is_the_definition_whatever_the_ties(table: np.ndarray) -> None:
    found = kendall_w(table)
    if np.ptp(table, axis=0).any():
        assert found.value == pytest.approx(by_definition(table), abs=1e-12)
    else:
        assert found.value is None
        assert found.reason


def test_kendall_w_and_spearman() -> None:
    """Without ties it is a straight line of the mean of Spearman's rho."""
    table = np.random.default_rng(3).normal(size=(12, 5))
    rho = np.mean([spearmanr(table[:, x], table[:, y]).statistic for x, y in combinations(range(5), 2)])
    assert kendall_w(table).value == pytest.approx((rho * 4 + 1) / 5, rel=1e-12)


@given(TABLES, st.integers(0, 1000))
def test_kendall_w_invariances(table: np.ndarray, seed: int) -> None:
    """Neither the order of raters nor that of units nor the scale matters."""
    rng = np.random.default_rng(seed)
    units, raters = (rng.permutation(size) for size in table.shape)
    once, again = kendall_w(table).value, kendall_w(np.exp(table[np.ix_(units, raters)])).value
    assert once == pytest.approx(again, abs=1e-12) if once is not None else again is None


def test_one_order_is_1_and_two_opposite_ones_are_0() -> None:
    order = np.array([1.0, 2.0, 2.0, 5.0])
    same = kendall_w(np.column_stack([order, 10 * order, order**3]), rng=np.random.default_rng(0))
    assert (same.value, same.ci_low) == (1.0, None)
    assert same.reason is not None
    assert kendall_w(np.column_stack([order, -order])).value == 0.0


@pytest.mark.parametrize("m", [2, 3, 8])
def test_random_orders_give_1_divided_by_the_raters(m: int) -> None:
    """E[W] = 1 / m (Kendall 1970, section 6.4)."""
    rng = np.random.default_rng(m)
    values = [kendall_w(rng.random((10, m))).value or 0.0 for _ in range(600)]
    assert np.mean(values) == pytest.approx(1 / m, abs=4 * np.std(values) / np.sqrt(600))


@pytest.mark.parametrize(("n", "m"), [(20, 3), (80, 5)])
def test_the_interval_holds_the_value_of_many_units(n: int, m: int) -> None:
    def answers(units: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(np.round(rng.normal(size=(units, 1)) + rng.normal(size=(units, m))))

    truth = kendall_w(answers(100_000, np.random.default_rng(0))).value or 0.0
    rng = np.random.default_rng(n)
    found = [kendall_w(answers(n, rng), replicates=300, rng=rng) for _ in range(200)]
    held = [(one.ci_low or 0.0) <= truth <= (one.ci_high or 0.0) for one in found]
    assert np.mean(held) > 0.90


def test_units_that_a_rater_left_out_do_not_count() -> None:
    table = np.array([*np.array(EXECUTIVES, dtype=float).T, [9, float("nan"), 9]])
    assert kendall_w(table).value == kendall_w(table[:-1]).value
    few = kendall_w([[1, 2], [2, float("nan")], [2, 3], [float("nan"), 1]])
    assert few.value == 1.0
    nobody = kendall_w([[1, 2, float("nan")], [2, float("nan"), 1], [float("nan"), 1, 2], [1, 3, float("nan")]])
    assert nobody.value is None
    assert str(nobody.reason) == "0 units were answered by all 3 raters: at least 2 are needed"


def test_kendall_w_memory_sparse_table() -> None:
    """Three of 400 raters answer each of 20,000 units, and all of them two: no table of 64 MB is laid out."""
    rng = np.random.default_rng(4)
    who = (np.arange(20_000)[:, None] + rng.integers(1, 100, (20_000, 3)).cumsum(axis=1)) % 400
    unit = np.concatenate([np.repeat(np.arange(20_000), 3), np.repeat([20_000, 20_001], 400)])
    annotator = np.concatenate([who.ravel(), np.tile(np.arange(400), 2)])
    value = np.concatenate([rng.integers(1, 6, who.size), np.full(400, 1), np.full(400, 2)]).astype(float)
    data = from_codes(unit, annotator, value, tuple(map(str, range(400))))
    tracemalloc.start()
    found = kendall_w(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.value, found.n_items) == (1.0, 2)
    assert peak < 16e6


def test_it_stands_in_the_results_and_in_the_report() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (f"p{rater}", f"i{unit}", "x", unit % 5 + int(rng.integers(0, 3))) for unit in range(20) for rater in range(3)
    ]
    results = run(ratings=ratings(rows))
    (row,) = (row for row in results["agreement"] if row["measure"] == "kendall_w")
    scores = np.array([score for *_, score in rows]).reshape(20, 3)
    assert row["value"] == pytest.approx(kendall_w(scores).value, rel=1e-10)
    assert row["ci_low"] < row["value"] < row["ci_high"]
    assert "| W |" in render_report(results)["report.md"]


def test_an_interval_over_the_whole_scale_is_left_out() -> None:
    found = kendall_w([[1, 2], [2, 1], [3, 3]], rng=np.random.default_rng(1))
    assert (found.ci_low, found.ci_high, found.interval) == (None, None, None)
    assert str(found.reason) == "no interval: over so few units it would reach from 0 to 1"
