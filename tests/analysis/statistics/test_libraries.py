"""Cases in which a library gives another figure than the right one: why the code is our own (CONTRIBUTING.md)."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri
from statsmodels.stats.power import TTestPower

from analysis import annotators_needed, signed_rank_test, t_power
from analysis.statistics.t_tests import NO_VARIATION, one_sample, welch


def test_equal_values_are_no_test() -> None:
    """Three answers of 0.1: their mean rounds away from 0.1, and scipy takes that for a spread of 2e-17."""
    same = np.full(3, 0.1)
    with warnings.catch_warnings(action="ignore"):
        assert stats.ttest_1samp(same, 0.5).pvalue < 1e-30
        assert stats.ttest_ind(same, np.full(10, 0.1), equal_var=False).pvalue < 0.5
    assert one_sample(same, against=0.5, confidence=0.95).reason == NO_VARIATION
    assert welch(same, np.full(10, 0.1), confidence=0.95).reason == NO_VARIATION


def test_the_order_of_the_answers_moves_the_last_digits_of_scipy() -> None:
    values = np.random.default_rng(0).random(40)
    orders = [np.random.default_rng(seed).permutation(values) for seed in range(20)]
    assert len({float(stats.ttest_1samp(order, 0.5).pvalue) for order in orders}) > 1
    assert len({one_sample(order, against=0.5, confidence=0.95).p_value for order in orders}) == 1


def test_power_where_statsmodels_has_none() -> None:
    """NaN: noncentral t in its far lower tail (below 1e-12), and at a noncentrality of 10 with a million values."""
    for effect, n in ((2.8683168, 7), (0.01, 1_000_000)):
        assert math.isnan(TTestPower().power(effect, n, 1e-4))
        assert 0 < float(t_power(effect, n, alpha=1e-4)) < 1


def test_so_its_number_of_annotators_is_too_small() -> None:
    """At such sizes the t-test is a z-test; where it passes NaN, statsmodels stops 7,000 annotators too early."""
    wanted = ((ndtri(0.8) - ndtri(0.5e-4)) / 0.01) ** 2
    found = annotators_needed(0.01, sd=1.0, alpha=1e-4, power=0.8).annotators
    assert found == pytest.approx(wanted, rel=1e-4)
    with warnings.catch_warnings(action="ignore"):
        theirs = TTestPower().solve_power(effect_size=0.01, alpha=1e-4, power=0.8)
    assert float(ndtr(0.01 * math.sqrt(theirs) + ndtri(0.5e-4))) < 0.78


def test_scipy_signed_ranks_of_16_with_ties() -> None:
    """Beyond 13 values with ties or zeros scipy counts no signs: it says .044 where .054 is right."""
    values = np.array([1, 2, 2, 0, -1, 3, 3, -2, 1, 1, 2, -3, 3, 2, 1, 1], dtype=np.float64)
    ranks = stats.rankdata(np.abs(values))[values != 0]
    signs = 2 * ((np.arange(2**15)[:, None] >> np.arange(15)) & 1) - 1
    observed = ranks @ np.sign(values[values != 0])
    exact = float(np.mean(np.abs(signs @ ranks) >= abs(observed) - 1e-9))
    assert signed_rank_test(values).p_value == pytest.approx(exact, abs=1e-12)
    assert stats.wilcoxon(values, zero_method="pratt").pvalue < 0.05 < exact
