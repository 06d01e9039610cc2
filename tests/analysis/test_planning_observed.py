"""Observed power of the published study: what means and stars allow, and that it follows from p alone."""

from __future__ import annotations

import pytest
from scipy.special import stdtrit

from analysis.planning.observed import TABLE_1_LIKERT, TABLE_1_SPA, observed_power
from analysis.planning.plan import DEFAULTS
from analysis.planning.power import t_power


def test_the_stars_bound_the_sds_of_table_1():
    """Ada against human, *: fourth of five p-values, so .05/2 <= p < .10/2 and 1.99 < t <= 2.28 at n = 90."""
    found = {row.test.system_x: row for row in observed_power(TABLE_1_SPA)}
    ada = found["ada"]
    assert (ada.sd_low, ada.sd_high) == pytest.approx((0.080 * 90**0.5 / 2.2800, 0.080 * 90**0.5 / 1.9870), rel=1e-3)
    assert found["human"].sd_high is None
    assert found["babbage"].sd_low is None


def test_the_usual_sds_are_ones_that_table_1_allows():
    likert = {row.test.system_x: row for row in observed_power(TABLE_1_LIKERT)}["human"]
    assert likert.sd_low is not None
    assert likert.sd_high is not None
    assert likert.sd_low < DEFAULTS["likert"][0].contribution_sd(1) < likert.sd_high
    spa = observed_power(TABLE_1_SPA)
    lows = [row.sd_low for row in spa if row.sd_low is not None]
    highs = [row.sd_high for row in spa if row.sd_high is not None]
    assert min(highs) < DEFAULTS["spa"][0].contribution_sd(5) < max(lows)


def test_figure_2_does_not_follow_from_table_1():
    """Power near 1 at alpha = .001 for all tests cannot hold for those with fewer than three stars."""
    for table in (TABLE_1_SPA, TABLE_1_LIKERT):
        for row in observed_power(table):
            if row.test.stars == "***":
                assert row.power_high == 1
            else:
                assert row.power_high < 0.2


def test_observed_power_at_p_equal_to_the_level_is_about_a_half():
    """Hoenig & Heisey (2001): observed power is the p-value said in another way."""
    effect = -float(stdtrit(89, 0.0005)) / 90**0.5
    assert float(t_power(effect, 90, alpha=0.001)) == pytest.approx(0.5, abs=0.02)
