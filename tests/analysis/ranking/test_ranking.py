"""Orders of systems and Kendall's tau-b between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.ranking import kendall_tau, order_systems
from tests.analysis.made_answers import preferences, ratings, run

RANKS = st.lists(st.integers(1, 4), min_size=3, max_size=8)


@settings(max_examples=50)
@given(RANKS, st.randoms(use_true_random=False))
def test_tau_b_equals_scipy(first: list[int], random: object) -> None:
    second = list(first)
    random.shuffle(second)  # type: ignore[attr-defined]
    tau = kendall_tau(np.array(first, dtype=float), np.array(second, dtype=float))
    if len(set(first)) == 1:
        assert tau is None
    else:
        assert tau == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-12)


def test_tau_b_of_ties_is_the_published_one() -> None:
    """Kendall (1970), Rank Correlation Methods, section 3.5: tau-b where 30 pairs count (S) of 45, 43 and 39 untied."""
    first, second = np.array([1.0, 2, 2, 3]), np.array([1.0, 2, 3, 3])
    assert kendall_tau(first, second) == pytest.approx(4 / 5)  # S = 4; five untied pairs on either side


def test_strengths_that_differ_in_the_last_bits_are_tied() -> None:
    assert order_systems({"a": 0.1 + 0.2, "b": 0.3, "c": -1.0}, tie=1e-9) == (("a", "b"), ("c",))


def test_rankings_compared_over_shared_systems() -> None:
    """Rankings of one criterion are compared over the systems in both."""
    likes = [("a", "x", "y", 0.8), ("a", "y", "z", 0.7), ("a", "z", "w", 0.6), ("a", "x", "w", 0.9)]
    scores: list[tuple[str, str, str, object]] = [
        ("a", "i", "x", 5),
        ("a", "i", "y", 2),
        ("a", "i", "z", 3),
        ("a", "i", "v", 1),
    ]
    results = run(preferences=preferences(likes), ratings=ratings(scores))
    rows = {(row["a"], row["b"]): row for row in results["ranking_agreement"]}
    row = rows[("preferences:human", "ratings:human")]
    assert row["n_systems"] == 3
    assert row["kendall_tau"] == pytest.approx(1 / 3)  # x > y > z against x > z > y
    assert (row["ci_low"], row["ci_high"]) == (None, None)


def test_a_ranking_in_which_all_are_tied_has_no_tau() -> None:
    likes = [("a", "x", "y", 0.8)]
    scores: list[tuple[str, str, str, object]] = [("a", "i", "x", 3), ("a", "i", "y", 3)]
    results = run(preferences=preferences(likes), ratings=ratings(scores))
    row = next(row for row in results["ranking_agreement"] if row["b"] == "ratings:human")
    assert (row["kendall_tau"], row["reason"]) == (None, "all systems are tied in one of them")
