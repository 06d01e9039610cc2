"""Power and its inverses: published values, statsmodels, quadrature, monotony."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, ndtr, stdtrit
from statsmodels.stats.power import TTestPower

from analysis.planning.power import expected_power, t_power
from analysis.planning.solve import MOST, annotators_needed, detectable_difference

effects = st.floats(0.01, 3)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)
levels = st.sampled_from([0.05, 0.01, 0.001, 0.05 / 45])


@pytest.mark.parametrize(
    ("effect", "power", "published"),
    [  # R, pwr.t.test(type = "paired", sig.level = 0.05): n as printed, to be rounded up
        (0.25, 0.75, 112.9798),
        (0.5, 0.75, 29.7355),
    ],
)
def test_annotators_match_the_r_package_pwr(effect: float, power: float, published: float):
    assert annotators_needed(effect, sd=1, alpha=0.05, power=power).annotators == math.ceil(published)


@settings(deadline=None)
@given(effects, st.integers(3, 3000), levels)
def test_power_matches_statsmodels(effect: float, n: int, alpha: float):
    wanted = TTestPower().power(effect, n, alpha)
    if math.isfinite(wanted):
        assert float(t_power(effect, n, alpha=alpha)) == pytest.approx(wanted, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0, 8), st.integers(150, 5_000_000), levels)
def test_power_matches_quadrature(shift: float, n: int, alpha: float):
    """P(|T| > c) as the mean of normal tails over the distribution of the estimated SD."""
    df, c = n - 1, float(-stdtrit(n - 1, alpha / 2))
    reach = 9 / math.sqrt(2 * df)
    ratio = 1 + reach * NODES
    log_density = math.log(2) + df / 2 * math.log(df / 2) - gammaln(df / 2) + (df - 1) * np.log(ratio)
    log_density -= df * ratio**2 / 2
    density = np.exp(log_density)
    rejected = ndtr(shift - c * ratio) + ndtr(-shift - c * ratio)
    wanted = float(np.sum(WEIGHTS * density * rejected) / np.sum(WEIGHTS * density))
    assert float(t_power(shift / math.sqrt(n), n, alpha=alpha)) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize(("effect", "n"), [(0.01, 1_000_000), (0.5, 10**7), (100.0, 10**7), (2.8683168, 7)])
def test_power_where_scipy_gives_no_number(effect: float, n: int):
    """scipy.stats.nct is NaN at large non-centralities, scipy.special.nctdtr in its far lower tail."""
    power = t_power(effect, np.array([n, n - 1, n // 2]), alpha=0.0001)
    assert np.all((power > 0) & (power <= 1))


def test_the_bisection_from_far_above_finds_199():
    """With NaN for power at n = 10^7 a bisection from there returned 13641."""
    assert annotators_needed(0.2, sd=1, alpha=0.05, power=0.8).annotators == 199


def test_power_without_a_difference_is_the_level():
    assert t_power(0.0, np.array([2, 10, 1000]), alpha=0.01).tolist() == pytest.approx([0.01] * 3)
    assert t_power(1.0, np.array([0, 1]), alpha=0.01).tolist() == [0, 0]


@settings(deadline=None)
@given(effects, st.integers(2, 500), levels)
def test_power_rises_with_annotators_and_difference(effect: float, n: int, alpha: float):
    now = float(t_power(effect, n, alpha=alpha))
    assert float(t_power(effect, n + 1, alpha=alpha)) >= now - 1e-12
    assert float(t_power(effect * 1.1, n, alpha=alpha)) >= now - 1e-12
    assert float(t_power(-effect, n, alpha=alpha)) == now


@settings(deadline=None)
@given(st.floats(0.1, 2), st.integers(2, 60), st.floats(0.01, 0.6))
def test_expected_power_is_the_mean_over_who_stays(effect: float, n: int, rate: float):
    chances = [math.comb(n, k) * (1 - rate) ** k * rate ** (n - k) for k in range(n + 1)]
    powers = [float(t_power(effect, k, alpha=0.05)) for k in range(n + 1)]
    wanted = math.fsum(chance * power for chance, power in zip(chances, powers, strict=True))
    assert expected_power(effect, n, alpha=0.05, exclusion_rate=rate) == pytest.approx(wanted, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0.05, 2), st.floats(0.1, 2), levels, st.floats(0.3, 0.99), st.floats(0, 0.5))
def test_the_number_needed_is_the_smallest_that_is_enough(
    difference: float, sd: float, alpha: float, power: float, rate: float
):
    need = annotators_needed(difference, sd=sd, alpha=alpha, power=power, exclusion_rate=rate)
    assert need.annotators is not None
    assert need.reached is not None
    assert need.reached >= power
    fewer = expected_power(difference / sd, need.annotators - 1, alpha=alpha, exclusion_rate=rate)
    assert fewer < power
    found = detectable_difference(need.annotators, sd=sd, alpha=alpha, power=power, exclusion_rate=rate)
    assert found.difference is not None
    assert found.difference <= difference + 1e-6
    again = expected_power(found.difference / sd, need.annotators, alpha=alpha, exclusion_rate=rate)
    assert again == pytest.approx(power, abs=1e-6)


@settings(deadline=None)
@given(st.floats(0.1, 1), st.floats(0.1, 1))
def test_more_spread_needs_no_fewer_annotators(difference: float, sd: float):
    less = annotators_needed(difference, sd=sd, alpha=0.05).annotators or 0
    more = annotators_needed(difference, sd=1.3 * sd, alpha=0.05).annotators or 0
    assert more >= less


def test_what_cannot_be_found_has_a_reason():
    assert annotators_needed(0.0, sd=1, alpha=0.05).reason == "no difference: there is nothing to find"
    assert annotators_needed(1e-6, sd=1, alpha=0.05).reason == f"more than {MOST:,} annotators"
    assert detectable_difference(1, sd=1, alpha=0.05).reason == "fewer than 2 annotators"
    assert "largest difference of the scale" in str(detectable_difference(5, sd=0.4, alpha=0.01, largest=0.5).reason)
    assert "fewer than 2" in str(detectable_difference(3, sd=1, alpha=0.05, exclusion_rate=0.9).reason)


@pytest.mark.parametrize(
    "wrong", [{"sd": 0}, {"sd": math.nan}, {"alpha": 0}, {"power": 0.04}, {"power": 1}, {"exclusion_rate": 1}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=r"must|expected"):
        annotators_needed(0.5, **{"sd": 1.0, "alpha": 0.05, "power": 0.8, **wrong})
