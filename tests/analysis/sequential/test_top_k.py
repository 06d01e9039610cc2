"""The best few of many systems by choices: bounds that hold at every moment, and comparisons where they tell most."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import beta

from analysis.sequential.top_k import BordaCounts, TopRule, beta_mixture_bounds, next_comparisons, top_state

RULE = TopRule(k=2, tolerance=0.1)
PRIOR = beta(0.5, 0.5)


def mixture(won: float, lost: float, mean: float) -> float:
    """Integrate the likelihood ratio over the prior, as the definition says."""
    ratio = lambda p: (p / mean) ** won * ((1 - p) / (1 - mean)) ** lost * PRIOR.pdf(p)  # noqa: E731
    return float(quad(ratio, 0, 1, limit=400)[0])


@pytest.mark.parametrize(("won", "compared", "level"), [(7, 10, 0.05), (30.5, 50, 0.01), (0, 12, 0.05)])
def test_top_k_bounds_at_likelihood_ratio_level(won: float, compared: int, level: float) -> None:
    """Bounds are where the integrated likelihood ratio reaches the level."""
    low, high = beta_mixture_bounds(np.array([won]), np.array([compared]), level)
    share = won / compared
    upper = brentq(lambda m: mixture(won, compared - won, m) - 1 / level, share + 1e-6, 1 - 1e-9)
    assert high[0] == pytest.approx(upper, abs=1e-6)
    if won:
        lower = brentq(lambda m: mixture(won, compared - won, m) - 1 / level, 1e-9, share - 1e-6)
        assert low[0] == pytest.approx(lower, abs=1e-6)
    else:
        assert low[0] == 0


@given(mean=st.floats(0.05, 0.95), tie=st.floats(0, 1))
def test_top_k_bet_expects_nothing(mean: float, tie: float) -> None:
    """The bet expects to win nothing with coins and at most nothing with ties."""
    n, share = 4, tie * 2 * min(mean, 1 - mean)
    coin = sum(comb(n, w) * mean**w * (1 - mean) ** (n - w) * _ratio(w, n - w, mean) for w in range(n + 1))
    assert coin == pytest.approx(1, abs=1e-9)
    chance = {0.0: 1 - mean - share / 2, 0.5: share, 1.0: mean - share / 2}
    expected = sum(
        np.prod([chance[value] for value in values]) * _ratio(sum(values), n - sum(values), mean)
        for values in product(chance, repeat=n)
    )
    assert expected <= 1 + 1e-9


def _ratio(won: float, lost: float, mean: float) -> float:
    from scipy.special import betaln

    return float(np.exp(betaln(0.5 + won, 0.5 + lost) - betaln(0.5, 0.5)) / (mean**won * (1 - mean) ** lost))


def study(rng: np.random.Generator, strengths: np.ndarray, rule: TopRule) -> tuple[bool, bool, int]:
    """Return whether the leaders were right, whether a bound ever missed, and how often was asked."""
    win = expit(strengths[:, None] - strengths[None, :])
    borda = (win.sum(axis=1) - 0.5) / (len(strengths) - 1)
    counts, missed = BordaCounts.start(len(strengths)), False
    while not (state := top_state(counts, rule)).decided:
        pairs = next_comparisons(counts, rule, count=60, rng=rng)
        counts = counts.after(pairs[:, 0], (rng.random(60) < win[pairs[:, 0], pairs[:, 1]]).astype(float))
        missed |= bool(np.any((borda < state.low) | (borda > state.high)))
    right = np.min(borda[list(state.leaders)]) >= np.sort(borda)[-rule.k] - rule.tolerance
    return bool(right), missed, int(counts.compared.sum())


def test_leaders_are_right_and_bounds_hold_at_every_moment() -> None:
    rng = np.random.default_rng(3)
    found = [study(rng, rng.normal(0, 1, 12), RULE) for _ in range(30)]
    assert all(right for right, _, _ in found)
    assert sum(missed for _, missed, _ in found) <= 5  # at most 5 % of 30; more than 5 in fewer than 1 of 100


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 40))
def test_top_k_looks_at_everybody_first(seed: int, count: int) -> None:
    """Everybody is looked at first and nobody meets themselves."""
    rng = np.random.default_rng(seed)
    counts = BordaCounts.start(7)
    for _ in range(4):
        pairs = next_comparisons(counts, RULE, count=count, rng=rng)
        assert pairs.shape == (count, 2)
        assert np.all(pairs[:, 0] != pairs[:, 1])
        assert np.all((pairs >= 0) & (pairs < 7))
        counts = counts.after(pairs[:, 0], np.full(count, 0.5))
    assert np.ptp(counts.compared) <= 1 or np.min(counts.compared) >= 10


def test_contenders_at_the_border_are_compared_next() -> None:
    counts = BordaCounts(won=np.array([95.0, 60, 55, 52, 5, 4]), compared=np.full(6, 100))
    pairs = next_comparisons(counts, TopRule(k=2, tolerance=0.05), count=40, rng=np.random.default_rng(0))
    assert set(pairs[:, 0].tolist()) == {1, 2, 3}


def test_more_leaders_than_systems_are_refused() -> None:
    with pytest.raises(ValueError, match="k must be less than the number of systems, got 2 of 2"):
        top_state(BordaCounts.start(2), RULE)
