"""The whole order of many systems by choices: bounds, whose place is uncertain, and whom to compare next."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import beta

from analysis.sequential.top_k import BordaCounts, beta_mixture_bounds
from analysis.sequential.whole_order import OrderRule, next_order_pairs, order_state, unsettled_systems

RULE = OrderRule(tolerance=0.2)


@pytest.mark.parametrize(("won", "compared", "centred"), [(7, 10, 5.0), (30.5, 50, 20.0), (12, 80, 3.0)])
def test_order_bounds_at_likelihood_ratio_level(won: float, compared: int, centred: float) -> None:
    """Centred bounds are where the integrated likelihood ratio reaches the level."""

    def mixture(mean: float) -> float:
        def ratio(p: float) -> float:
            return float((p / mean) ** won * ((1 - p) / (1 - mean)) ** (compared - won))

        prior = beta(centred * mean, centred * (1 - mean))
        return float(quad(lambda p: ratio(p) * prior.pdf(p), 0, 1, limit=400)[0])

    low, high = beta_mixture_bounds(np.array([won]), np.array([compared]), 0.05, centred=centred)
    assert [mixture(low[0]), mixture(high[0])] == pytest.approx([20, 20], rel=1e-4)
    inside = [mixture(mean) for mean in np.linspace(low[0], high[0], 9)[1:-1]]
    assert max(inside) < 20
    assert mixture(low[0] / 2) > 20 < mixture((1 + high[0]) / 2)


def test_systems_without_a_win_or_a_comparison_have_bounds() -> None:
    low, high = beta_mixture_bounds(np.array([0.0, 40, 0]), np.array([40, 40, 0]), 0.05, centred=25.0)
    assert (low[0], high[1], low[2], high[2]) == pytest.approx((0, 1, 0, 1), abs=1e-6)
    assert high[0] == pytest.approx(1 - low[1], abs=1e-6)


@given(
    counts=st.lists(st.tuples(st.integers(0, 400), st.floats(0, 1)), min_size=2, max_size=7),
)
def test_order_systems_unsettled(counts: list[tuple[int, float]]) -> None:
    """Systems are unsettled while they may belong beyond another."""
    compared = np.array([n for n, _ in counts])
    found = order_state(BordaCounts(won=compared * [share for _, share in counts], compared=compared), RULE)
    place = {system: rank for rank, system in enumerate(found.order)}
    uncertain = {
        system
        for pair in combinations(range(len(counts)), 2)
        for first, later in [sorted(pair, key=place.__getitem__)]
        if found.high[later] - found.low[first] >= RULE.tolerance
        for system in pair
    }
    assert set(np.flatnonzero(found.unsettled).tolist()) == uncertain
    assert found.decided == (not uncertain)


def test_order_pairs_drawn_with_unsettled_system() -> None:
    """Pairs are drawn uniformly from those with an unsettled system."""
    counts = BordaCounts(won=np.array([980.0, 500, 480, 20]), compared=np.full(4, 1000))
    unsettled = unsettled_systems(counts, OrderRule(tolerance=0.02))
    assert unsettled.tolist() == [False, True, True, False]
    pairs = next_order_pairs(unsettled, count=6000, rng=np.random.default_rng(2))
    seen, times = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
    assert seen.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert np.all(abs(times - 1200) < 4 * np.sqrt(1200 * 0.8))
    assert abs(np.mean(pairs[:, 0] < pairs[:, 1]) - 0.5) < 0.03
    assert unsettled_systems(BordaCounts.start(4), RULE).all()
    settled = BordaCounts(won=np.array([900.0, 100]), compared=np.full(2, 1000))
    assert order_state(settled, RULE).decided
    assert unsettled_systems(settled, RULE).all()  # somebody may come all the same


def study(rng: np.random.Generator, strengths: np.ndarray, *, adaptive: bool) -> tuple[bool, bool, int]:
    """Return whether the order was right, whether a bound ever missed, and how often was asked."""
    win = expit(strengths[:, None] - strengths[None, :])
    borda = (win.sum(axis=1) - 0.5) / (len(strengths) - 1)
    counts, missed, asked = BordaCounts.start(len(strengths)), False, 0
    while not (state := order_state(counts, RULE)).decided or not asked:
        unsettled = unsettled_systems(counts, RULE) if adaptive else np.ones(len(strengths), dtype=bool)
        pairs = next_order_pairs(unsettled, count=80, rng=rng)
        won = (rng.random(80) < win[pairs[:, 0], pairs[:, 1]]).astype(float)
        for side, result in ((pairs[:, 0], won), (pairs[:, 1], 1 - won)):
            counts = counts.after(side[unsettled[side]], result[unsettled[side]])
        asked += 80
        missed |= bool(np.any((borda < state.low) | (borda > state.high)))
    named = borda[list(state.order)]
    return bool(np.all(np.maximum.accumulate(named[::-1])[::-1] - named < RULE.tolerance)), missed, asked


def test_whole_order_is_right_and_cheaper() -> None:
    """The order is right bounds hold and uniform comparisons cost more."""
    found = {}
    for adaptive in (True, False):
        rng = np.random.default_rng(4)
        found[adaptive] = [study(rng, rng.normal(0, 1.5, 8), adaptive=adaptive) for _ in range(20)]
        assert all(right for right, _, _ in found[adaptive])
        assert sum(missed for _, missed, _ in found[adaptive]) <= 4  # 5 % of 20; more than 4 in fewer than 1 of 300
    asked = {adaptive: np.mean([one[2] for one in each]) for adaptive, each in found.items()}
    assert asked[True] < 0.95 * asked[False]
