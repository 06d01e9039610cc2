"""Intervals of correlations: worked values, properties, coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from analysis import correlate
from analysis.correlations.coefficients import METHODS, Method, correlate_series, prepare
from analysis.correlations.intervals import correlation_interval, tie_factor
from analysis.correlations.levels import PairedScores, correlate_levels


def bounds(x: Any, y: Any, method: Method, confidence: float = 0.95) -> tuple[float | None, float | None, float]:
    first, second = prepare(x), prepare(y)
    value = correlate_series(first, second, method).value
    assert value is not None
    found = correlation_interval(first, second, value, method, confidence=confidence)
    return found.low, found.high, value


def test_pearsons_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=20)
    y = x + rng.normal(size=20)
    wanted = pearsonr(x, y).confidence_interval(0.9)
    assert bounds(x, y, "pearson", 0.9)[:2] == pytest.approx((wanted.low, wanted.high), rel=1e-9)


def test_rank_coefficients_by_hand() -> None:
    """Twelve values without ties: SE of rho² (1 + r²/2) / 9, of tau² .437 / 8."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=12)
    y = x + rng.normal(size=12)
    for method, variance in (("spearman", lambda r: (1 + r * r / 2) / 9), ("kendall", lambda r: 0.437 / 8)):
        low, high, value = bounds(x, y, method)  # type: ignore[arg-type]
        half = 1.959963984540054 * math.sqrt(variance(value))
        assert (low, high) == pytest.approx((math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)))


def test_the_tie_factor_is_the_variance_over_all_orders() -> None:
    """Every order of one side, tau-b of each: their variance over that of the same number without ties."""
    from itertools import permutations

    x, y = (1, 1, 2, 3, 3, 3), (1, 2, 2, 2, 3, 4)
    tied = [correlate(x, order).value for order in set(permutations(y))]
    plain = [correlate(range(6), order).value for order in permutations(range(6))]
    wanted = np.mean(np.square(tied)) / np.mean(np.square(plain))  # type: ignore[arg-type]
    assert tie_factor(prepare(x).counts, prepare(y).counts) == pytest.approx(wanted)


@given(st.integers(0, 10**6), st.sampled_from(METHODS))
def test_turning_a_side_mirrors_and_order_does_not_matter(seed: int, method: Method) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 6, 15), rng.integers(0, 6, 15)
    if len(set(x.tolist())) == 1 or len(set(y.tolist())) == 1:
        return
    low, high, value = bounds(x, y, method)
    if low is None or high is None:
        assert abs(value) == pytest.approx(1)
        return
    assert low < value < high
    shuffled = rng.permutation(15)
    assert bounds(x[shuffled], y[shuffled], method)[:2] == pytest.approx((low, high))
    turned = bounds(x, -y, method)
    assert turned[:2] == pytest.approx((-high, -low))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stepped", [False, True])
def test_correlation_intervals_cover_the_truth(method: Method, stepped: bool) -> None:
    """95 % intervals hold the truth on continuous and on five-step scales."""
    rng = np.random.default_rng(3)

    def draw(runs: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=(runs, n))
        y = 0.5 * x + math.sqrt(0.75) * rng.normal(size=(runs, n))
        return (np.clip(np.round(x), -2, 2), np.clip(np.round(y), -2, 2)) if stepped else (x, y)

    pairs = zip(*draw(30, 1000), strict=True)
    truth = float(np.mean([correlate(x, y, method=method).value for x, y in pairs]))  # type: ignore[arg-type]
    inside = []
    for x, y in zip(*draw(400, 30), strict=True):
        low, high, _ = bounds(x, y, method)
        assert low is not None
        assert high is not None
        inside.append(low <= truth <= high)
    assert 0.92 <= np.mean(inside) <= 0.985


def test_levels_have_intervals_or_a_reason() -> None:
    rng = np.random.default_rng(4)
    item, system = (axis.ravel() for axis in np.meshgrid(np.arange(30), np.arange(4)))
    a = rng.normal(size=120)
    found = correlate_levels(PairedScores(item=item, system=system, a=a, b=a + rng.normal(size=120)))
    by = {(row.level, row.method): row for row in found}
    for method in METHODS:
        overall, per_item = by["overall", method], by["per_item", method]
        for row in (overall, per_item):
            assert row.ci_low is not None
            assert row.ci_high is not None
            assert row.value is not None
            assert row.ci_low < row.value < row.ci_high
        assert per_item.interval == "t over items"
        few = by["system", method]
        assert (few.ci_low, str(few.reason)) == (None, "no interval: fewer than 5 in common")
        assert few.p_value is not None
        assert by["within_system", method].ci_low is None
    same = correlate_levels(PairedScores(item=item, system=system, a=a, b=a), ("overall",))[0]
    assert (same.ci_low, str(same.reason)) == (None, "no interval: a coefficient of 1 or -1 shows no spread")
