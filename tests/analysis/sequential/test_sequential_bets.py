"""Bets on means: their capital, that no bet gains on the truth, and the limits that follow."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from analysis.sequential import bets
from analysis.sequential.bets import FRACTIONS, LARGEST, SHARES, bets_of, confidence_limits, log_e_values, log_factors
from analysis.sequential.rule import StoppingRule
from tests.calibration.table import most_by_luck

RULE = StoppingRule(effect=0.1, sd=0.22, margin=0.15)
SHARE = st.floats(0, 1)


def capital(values: list[float], null: float, sign: int, distance: float, sd: float) -> float:
    """Return a mixture's capital by plain multiplication."""
    most = LARGEST / (null if sign > 0 else 1 - null)
    amounts = [min(fraction * distance / (sd**2 + distance**2), most) for fraction in FRACTIONS]
    return math.fsum(
        share * math.prod(1 + sign * bet * (value - null) for value in values)
        for share, bet in zip(SHARES, amounts, strict=True)
    )


@pytest.mark.parametrize(
    ("place", "null", "sign", "distance"),
    [(0, 0.5, 1, 0.1), (1, 0.5, -1, 0.1), (2, 0.65, -1, 0.15), (3, 0.35, 1, 0.15)],
)
def test_capital_is_the_product_of_what_each_unit_pays(place: int, null: float, sign: int, distance: float) -> None:
    values = [0.62, 0.3, 1.0, 0.0, 0.55, 0.7]
    found = log_e_values(log_factors(np.array(values), bets_of(RULE)).sum(axis=0))
    assert np.exp(found[place]) == pytest.approx(capital(values, null, sign, distance, 0.22), rel=1e-12)


def test_the_planned_bet_by_hand() -> None:
    """0.1 / (0.22^2 + 0.1^2) = 1.712...; twice as much would risk more than 0.9 / 0.5 = 1.8."""
    assert bets_of(RULE).amount[0].tolist() == pytest.approx([0.1 / 0.0584, 0.04 / 0.0584, 1.8])
    assert bets_of(RULE).amount[1].tolist() == pytest.approx([-0.1 / 0.0584, -0.04 / 0.0584, -1.8])


@given(st.floats(0, 1), st.floats(0, 0.5))
def test_no_bet_gains_on_the_truth(tie: float, below: float) -> None:
    """By enumeration of all answers 0, 1/2 and 1 of four people: the mean of the capital is at most 1."""
    staked = bets_of(RULE)
    values = np.array(list(product((0.0, 0.5, 1.0), repeat=4)))
    log_e = log_e_values(log_factors(values, staked).sum(axis=1))
    for place, null in enumerate(staked.null[:, 0]):
        up = staked.amount[place, 0] > 0
        mean = null * (1 - below) if up else 1 - (1 - null) * (1 - below)
        tied = tie * 2 * min(mean, 1 - mean)
        chances = {0.0: 1 - mean - tied / 2, 0.5: tied, 1.0: mean - tied / 2}
        weights = np.array([math.prod(chances[value] for value in row) for row in values])
        expected = float(weights @ np.exp(log_e[:, place]))
        assert expected <= 1 + 1e-9
        if below == 0:
            assert expected == pytest.approx(1)


def test_limits_are_where_capital_reaches_its_bound() -> None:
    values = np.random.default_rng(2).beta(3, 2, 60).round(2)
    low, high = confidence_limits(values[:, None], RULE, error_rate=0.01)
    for limit, sign in ((low, 1), (high, -1)):
        root = brentq(lambda m, sign=sign: capital(values.tolist(), m, sign, 0.1, 0.22) - 200, 0.01, 0.99)
        assert limit[0] == pytest.approx(root, abs=1e-6)


def test_limits_are_those_of_ville(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ville 0.1.0: ``BettingCS(alpha=0.05, c=0.9, grid=100_001, intersect=False)``, lambda 0.1 / 0.0584."""
    monkeypatch.setattr(bets, "FRACTIONS", np.ones(1))
    monkeypatch.setattr(bets, "SHARES", np.ones(1))
    values = np.random.default_rng(0).beta(3, 2, (60, 20))[:, :3]
    low, high = confidence_limits(values, RULE, error_rate=0.05)
    assert low.tolist() == pytest.approx([0.53514, 0.53041, 0.55252], abs=1.1e-5)  # its grid
    assert high.tolist() == pytest.approx([0.66674, 0.67226, 0.68264], abs=1.1e-5)


@given(st.lists(st.tuples(SHARE, SHARE), min_size=1, max_size=130))
def test_limits_hold_the_mean_and_turn_with_the_pair(rows: list[tuple[float, float]]) -> None:
    values = np.array(rows)
    low, high = confidence_limits(values, RULE, error_rate=0.05)
    mean = values.mean(axis=0)
    assert ((low <= mean + 1e-6) & (mean - 1e-6 <= high)).all()
    turned_low, turned_high = confidence_limits(1 - values, RULE, error_rate=0.05)
    assert np.allclose(turned_low, 1 - high, atol=1e-6)
    assert np.allclose(turned_high, 1 - low, atol=1e-6)


def test_units_that_were_not_asked_change_no_limit() -> None:
    values = np.random.default_rng(3).random((70, 1))
    gaps = np.full((140, 1), np.nan)
    gaps[::2] = values
    assert np.allclose(
        confidence_limits(gaps, RULE, error_rate=0.05), confidence_limits(values, RULE, error_rate=0.05), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["beta", "skewed"])
def test_limits_hold_the_truth_at_every_look(kind: str) -> None:
    """Columns are studies; looked at after every second of 60 people."""
    rng, mean = np.random.default_rng(4), 0.7
    values = rng.beta(7 / 3, 1, (60, 400)) if kind == "beta" else np.where(rng.random((60, 400)) < 0.2, 0.1, 0.85)
    lost = np.zeros(400, dtype=np.bool_)
    for n in range(1, 61, 2):
        low, high = confidence_limits(values[:n], RULE, error_rate=0.05)
        lost |= (low > mean) | (high < mean)
    assert lost.mean() <= most_by_luck(400, 0.05)
