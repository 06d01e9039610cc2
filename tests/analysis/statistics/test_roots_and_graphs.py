"""Zeros of functions against scipy's, parts of graphs against scipy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from analysis.statistics import graphs
from analysis.statistics.graphs import connected_parts
from analysis.statistics.roots import find_root

FUNCTIONS: list[tuple[Callable[[float], float], float, float]] = [
    (lambda x: x**3 - 2 * x - 5, 2.0, 3.0),
    (lambda x: math.exp(-x) - x, 0.0, 1.0),
    (lambda x: math.atan(1e6 * (x - 0.7)), 0.0, 1.0),
    (lambda x: math.log(x) + 40, 1e-30, 1.0),
    (lambda x: -1.0 if x < 1 / 3 else 1.0, 0.0, 1.0),
    (lambda x: x, 0.0, 1.0),
    (lambda x: x - 1, 0.0, 1.0),
]


@pytest.mark.parametrize(("function", "low", "high"), FUNCTIONS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-13])
def test_the_zero_is_that_of_brent(
    function: Callable[[float], float], low: float, high: float, tolerance: float
) -> None:
    found = find_root(function, low, high, tolerance=tolerance)
    if function(found) != 0:  # a flat function is zero at many places in floating point
        assert abs(found - brentq(function, low, high, xtol=1e-15)) <= tolerance


def test_a_flat_zero_is_found() -> None:
    assert find_root(lambda x: (x - 1) ** 9, 0.3, 3.0, tolerance=1e-9) == pytest.approx(1, abs=1e-9)


def test_few_calls_are_needed_where_a_function_is_smooth() -> None:
    calls = 0

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return x**3 - 2 * x - 5

    find_root(counted, 2.0, 3.0, tolerance=1e-13)
    assert calls <= 10


@given(st.floats(-0.999, 0.999), st.floats(0.1, 30.0))
def test_a_known_zero_is_found(zero: float, steep: float) -> None:
    found = find_root(lambda x: math.sinh(steep * (x - zero)), -1.0, 1.0, tolerance=1e-12)
    assert found == pytest.approx(zero, abs=1e-12)


@pytest.mark.parametrize("values", [(1.0, 2.0), (-1.0, -2.0), (math.nan, 1.0), (-1.0, math.inf)])
def test_ends_without_a_zero_between_them_are_refused(values: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="different signs"):
        find_root(lambda x: values[int(x)], 0.0, 1.0, tolerance=1e-9)


def test_a_value_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a number"):
        find_root(lambda x: x - 0.5 if x in (0.0, 1.0) else math.nan, 0.0, 1.0, tolerance=1e-9)


@given(arrays(bool, st.integers(0, 9).map(lambda n: (n, n))), st.booleans(), st.booleans())
def test_parts_are_those_of_scipy(linked: np.ndarray, both_ways: bool, few: bool) -> None:
    with patch.object(graphs, "FEW", 9 if few else 0):
        found = connected_parts(linked, both_ways=both_ways)
    if len(linked) == 0:
        assert len(found) == 0
        return
    n_parts, of = connected_components(csr_array(linked), connection="strong" if both_ways else "weak")
    assert len(set(found.tolist())) == n_parts
    assert len(set(zip(found.tolist(), of.tolist(), strict=True))) == n_parts
    assert found[0] == 0
