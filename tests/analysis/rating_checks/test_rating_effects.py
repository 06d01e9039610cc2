"""Effect sizes of ratings: worked values, the classical formulas, properties, coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import cohens_d_z, hedges_g, superiority
from analysis.rating_checks.many_tests import sums_by
from tests.analysis.made_answers import ratings, run

SCORES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=4, max_size=12)


def test_d_z_and_its_noncentral_interval() -> None:
    """d_z is the t over the root of n and its interval inverts the noncentral t."""
    values = [1, 2, 0, 1, -1, 3]
    found = cohens_d_z(values)
    t = stats.ttest_1samp(values, 0).statistic
    assert found.value == pytest.approx(t / np.sqrt(6))
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert stats.nct.sf(t, 5, found.ci_low * np.sqrt(6)) == pytest.approx(0.025, abs=1e-6)
    assert stats.nct.cdf(t, 5, found.ci_high * np.sqrt(6)) == pytest.approx(0.025, abs=1e-6)


def test_g_of_independent_ratings_is_that_of_hedges() -> None:
    """Hedges (1981): J(6) = 1 - 3/23, both standard deviations sqrt(11/12), difference 2."""
    found = hedges_g([4, 5, 3, 5], [2, 3, 3, 1])
    assert found.value == pytest.approx((1 - 3 / 23) * 2 / np.sqrt(11 / 12))


def test_hedges_g_of_paired_ratings() -> None:
    """G of paired ratings is the difference over the mean spread."""
    x, y = np.array([4.0, 5, 3, 5, 2]), np.array([2.0, 3, 3, 1, 2])
    who = [0, 1, 2, 3, 4]
    found = hedges_g(x, y, units_x=who, units_y=who)
    spread = np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
    assert found.value == pytest.approx((1 - 3 / 15) * (x - y).mean() / spread)
    left = []
    for gone in range(5):  # the jackknife by hand
        a, b = np.delete(x, gone), np.delete(y, gone)
        left.append((1 - 3 / 15) * (a - b).mean() / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    se = np.sqrt(4 / 5 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert found.ci_high == pytest.approx(found.value + stats.t.ppf(0.975, 4) * se)


@pytest.mark.parametrize("step", [1.0, 0.1, 0.7])
def test_no_g_is_made_of_rounding(step: float) -> None:
    """One rating, or equal ones, have no spread, however their sums round; nor has what leaves one of two."""
    four = np.array([4.0, 3, 4, 1]) * step
    for one in (9, 7, 3):
        found = hedges_g(four, [one * step])
        assert (found.value, str(found.reason)) == (None, "one value only on one side: no spread to test against")
        alike = hedges_g([one * step] * 5, [8 * step] * 5)
        assert (alike.value, str(alike.reason)) == (None, "no variation: every value is the same")
        two = hedges_g(four, [one * step, 8 * step])
        assert two.value is not None
        assert two.ci_low is None


def test_superiority_counts_ties_half_and_averages_within_units() -> None:
    found = superiority([5, 4, 3, 2], [4, 4, 1, 3], units=["a", "a", "b", "b"])
    assert (found.value, found.n) == (0.625, 2)  # a: (1 + 1/2) / 2, b: 1/2
    assert superiority([3, 3], [2, 2]).reason is not None


@given(SCORES)
def test_swapping_the_systems_mirrors_every_effect(scores: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, dtype=float) for side in zip(*scores, strict=True))
    who = list(range(len(x)))
    one, two = superiority(x, y), superiority(y, x)
    assert one.value == pytest.approx(1 - (two.value or 0))
    g, turned = (hedges_g(*sides, units_x=who, units_y=who).value for sides in ((x, y), (y, x)))
    assert (g is None) == (turned is None)
    assert g is None or g == pytest.approx(-(turned or 0), abs=1e-12)
    d, turned = (cohens_d_z(sides).value for sides in (x - y, y - x))
    assert d is None or d == pytest.approx(-(turned or 0))


def test_the_interval_of_g_holds_the_truth_as_often_as_it_says() -> None:
    """30 annotators with 4 items, tastes of their own: true g is 0.5 over the spread of single ratings."""
    rng = np.random.default_rng(4)
    held = 0
    truth = 0.5 / np.sqrt(2)  # taste and noise have variance 1 each
    for _ in range(400):
        who = np.repeat(np.arange(30), 4)
        shared = rng.normal(size=30)[who] * np.sqrt(0.5)
        x, y = (shared + rng.normal(size=30)[who] * np.sqrt(0.5) + rng.normal(size=120) + up for up in (0.5, 0))
        found = hedges_g(x, y, units_x=who, units_y=who)
        held += bool(found.ci_low is not None and found.ci_low <= truth <= (found.ci_high or 0))
    assert held / 400 == pytest.approx(0.95, abs=0.033)


def test_the_rows_hold_what_the_functions_say() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(1, 6, size=(12, 5, 2))
    rows: list[tuple[str, str, str, object]] = [
        (f"p{a}", f"i{i}", "xy"[s], scores[a, i, s]) for a in range(12) for i in range(5) for s in range(2)
    ]
    (row,) = run(ratings=ratings(rows))["ratings"]["pairs"]
    who = np.repeat(np.arange(12), 5)
    x, y = (scores[..., side].reshape(-1).astype(float) for side in (0, 1))
    d, g = cohens_d_z((x - y).reshape(12, 5).mean(axis=1)), hedges_g(x, y, units_x=who, units_y=who)
    higher = superiority(x, y, units=who)
    for name, found in (("d_z", d), ("hedges_g", g), ("superiority", higher)):
        assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (
            pytest.approx(found.value),
            pytest.approx(found.ci_low),
            pytest.approx(found.ci_high),
        )


def test_unpaired_ratings_have_g_and_the_share_of_all_couples() -> None:
    x, y = [1, 2, 4, 5, 3], [4, 4, 5, 2]
    rows: list[tuple[str, str, str, object]] = [(f"a{i}", f"i{i}", "x", v) for i, v in enumerate(x)]
    rows += [(f"b{i}", f"j{i}", "y", v) for i, v in enumerate(y)]
    results = run(ratings=ratings(rows))["ratings"]
    (row,) = results["pairs"]
    assert row["d_z"] is None
    assert row["hedges_g"] == pytest.approx(hedges_g(x, y).value)
    assert row["superiority"] == pytest.approx(stats.mannwhitneyu(x, y).statistic / 20)
    assert row["effect_reason"] == row["crossed_reason"] == "nobody rated both systems on one item"
    tested = {check["method"]: check["p_value"] is not None for check in results["robustness"]}
    assert tested == {"wilcoxon": False, "z_scores": False, "ordinal": True, "crossed": False}


@pytest.mark.parametrize("wrong", [[], [1.0, float("nan")]])
def test_what_is_no_sample_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        cohens_d_z(wrong)


def test_sums_are_exact_in_any_order() -> None:
    """Sums are exact for whole numbers and else the same in any order."""
    rng = np.random.default_rng(4)
    part, whole = rng.integers(0, 5, size=400), rng.integers(-9, 9, size=400).astype(np.float64)
    for values in (whole, whole / 3, whole * 2.0**50, np.where(whole > 0, whole, 0.1)):
        shuffled = rng.permutation(400)
        found = sums_by(part, values, 6)
        np.testing.assert_array_equal(found, sums_by(part[shuffled], values[shuffled], 6))
        np.testing.assert_allclose(found, [math.fsum(values[part == number]) for number in range(6)], rtol=1e-12)
