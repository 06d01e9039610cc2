"""Signed ranks and z-scores, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import signed_rank_test, z_scores
from analysis.rating_checks.wilcoxon import ALL_ZERO
from tests.analysis.made_answers import ratings, run


def test_wilcoxon_of_a_textbook() -> None:
    """Without ties and zeros the exact distribution is scipy's."""
    rng = np.random.default_rng(0)
    for n in (2, 5, 12, 50):
        values = rng.normal(size=n) + 0.3
        found = signed_rank_test(values)
        assert found.method == "exact"
        assert found.p_value == pytest.approx(stats.wilcoxon(values, method="exact").pvalue, abs=1e-12)


def test_with_ties_and_zeros_all_signs_are_counted() -> None:
    rng = np.random.default_rng(1)
    every_sign = stats.PermutationMethod(n_resamples=2**12)
    for _ in range(5):
        values = rng.integers(-2, 4, 9).astype(float)
        wanted = stats.wilcoxon(values, zero_method="pratt", method=every_sign)
        assert signed_rank_test(values).p_value == pytest.approx(wanted.pvalue, abs=1e-12)


def test_beyond_fifty_values_it_is_normal_with_pratts_zeros() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        values = rng.integers(-2, 4, 96) / 3
        found = signed_rank_test(values)
        wanted = stats.wilcoxon(values, zero_method="pratt", method="approx", correction=False)
        assert (found.method, found.p_value) == ("normal", pytest.approx(wanted.pvalue, rel=1e-9))


def test_exact_and_normal_meet() -> None:
    values = np.concatenate([np.arange(1, 41), -np.arange(1, 12) - 0.5])[:50]
    normal = stats.wilcoxon(values, method="approx").pvalue
    assert signed_rank_test(values).p_value == pytest.approx(normal, abs=2e-4)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=70))
def test_turning_the_signs_turns_the_correlation(values: list[int]) -> None:
    one, two = signed_rank_test(values), signed_rank_test([-value for value in values])
    assert one.p_value == two.p_value
    if one.rank_biserial is None or two.rank_biserial is None:
        assert set(values) == {0}
        assert one.reason == two.reason == ALL_ZERO
    else:
        assert one.rank_biserial == pytest.approx(-two.rank_biserial, abs=1e-12)


def test_z_scores_equal_scipy() -> None:
    """Z scores are those of SciPy and a constant annotator has none."""
    scores, who = [1.0, 3, 5, 2, 2, 4, 1], ["a", "a", "a", "b", "b", "c", "c"]
    found = z_scores(scores, who)
    assert found[:3] == pytest.approx(stats.zscore(scores[:3], ddof=1))
    assert np.isnan(found[3:5]).all()
    assert found[5:] == pytest.approx([np.sqrt(0.5), -np.sqrt(0.5)])


def test_the_rows_are_tests_over_the_same_units() -> None:
    rng = np.random.default_rng(5)
    spread = np.array([1, 4, 1, 2, 1, 3, 1, 2, 4, 1, 2])
    scores = 1 + rng.integers(0, 3, size=(11, 6, 2)) * spread[:, None, None]
    scores = np.concatenate([scores, np.full((1, 6, 2), 3)])  # one gives 3 to everything
    rows: list[tuple[str, str, str, object]] = [
        (f"p{a}", f"i{i}", "xy"[s], scores[a, i, s]) for a in range(12) for i in range(6) for s in range(2)
    ]
    found = {row["method"]: row for row in run(ratings=ratings(rows))["ratings"]["robustness"]}
    by_annotator = (scores[..., 0] - scores[..., 1]).mean(axis=1)
    assert found["wilcoxon"]["p_value"] == pytest.approx(signed_rank_test(by_annotator).p_value)
    assert found["wilcoxon"]["n"] == 12
    who = np.repeat(np.arange(11), 12)
    z = z_scores(scores[:11].reshape(-1), who).reshape(11, 6, 2)
    wanted = stats.ttest_1samp((z[..., 0] - z[..., 1]).mean(axis=1), 0)
    assert (found["z_scores"]["n"], found["z_scores"]["left_out"]) == (11, 1)
    assert found["z_scores"]["p_value"] == pytest.approx(wanted.pvalue)
    assert found["z_scores"]["estimate"] == pytest.approx((z[..., 0] - z[..., 1]).mean())
