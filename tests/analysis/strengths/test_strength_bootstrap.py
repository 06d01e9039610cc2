"""Bootstrap of strengths: against the sandwich, against refitting row by row, degenerate replicates."""

from __future__ import annotations

import numpy as np
import pytest

from analysis import bootstrap_strengths, bradley_terry
from analysis.statistics.coding import Floats, Ints
from analysis.strengths.bootstrap import DISCONNECTED, ONE_SIDED

K = 5
SYSTEMS = list("abcde")


def simulated(seed: int, n: int = 1500, spread: float = 0.8) -> tuple[Ints, Ints, Floats, Ints, Ints]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, K, n)
    y = (x + rng.integers(1, K, n)) % K
    annotator, item = rng.integers(0, 40, n), rng.integers(0, 30, n)
    taste = rng.normal(0, spread, (40, K)) + np.linspace(-0.6, 0.6, K)
    won = rng.random(n) < 1 / (1 + np.exp(taste[annotator, y] - taste[annotator, x]))
    return x, y, won.astype(np.float64), annotator, item


def test_rows_spread_as_the_sandwich_over_rows() -> None:
    x, y, won, *_ = simulated(1)
    boot = bootstrap_strengths(x, y, won, K, rng=np.random.default_rng(1), n_replicates=2000)
    se = bradley_terry(x, y, won, systems=SYSTEMS).se
    assert (boot.se / se).tolist() == pytest.approx([1.0] * K, abs=0.06)
    assert (boot.resampled, boot.degenerate, boot.reason) == ("rows", {}, None)


@pytest.mark.parametrize("n", [300, 20_000])
def test_rows_drawn_one_by_one_or_as_counts_spread_alike(n: int) -> None:
    """The larger table is drawn multinomially."""
    x, y, won, *_ = simulated(2, n)
    boot = bootstrap_strengths(x, y, won, K, rng=np.random.default_rng(1), n_replicates=1500)
    se = bradley_terry(x, y, won, systems=SYSTEMS).se
    assert (boot.se / se).tolist() == pytest.approx([1.0] * K, abs=0.09)


def test_fractional_wins_spread_less_than_coin_tosses() -> None:
    x, y, _, *_ = simulated(3)
    won = np.random.default_rng(3).beta(4, 4, len(x))
    boot = bootstrap_strengths(x, y, won, K, rng=np.random.default_rng(1), n_replicates=1000)
    found = bradley_terry(x, y, won, systems=SYSTEMS)
    assert (boot.se / found.se).tolist() == pytest.approx([1.0] * K, abs=0.09)


def test_annotators_spread_as_the_clustered_sandwich() -> None:
    x, y, won, annotator, _ = simulated(4)
    boot = bootstrap_strengths(x, y, won, K, rng=np.random.default_rng(1), annotator=annotator, n_replicates=2000)
    se = bradley_terry(x, y, won, systems=SYSTEMS, clusters={"annotator": annotator}).se
    assert (boot.se / se).tolist() == pytest.approx([1.0] * K, abs=0.1)
    assert boot.resampled == "annotator"


def test_annotators_and_items_are_wider_than_annotators_alone() -> None:
    x, y, won, annotator, item = simulated(5)
    both = bootstrap_strengths(
        x, y, won, K, rng=np.random.default_rng(1), annotator=annotator, item=item, n_replicates=800
    )
    two_way = bradley_terry(x, y, won, systems=SYSTEMS, clusters={"annotator": annotator, "item": item}).se
    assert (both.se > 0.95 * two_way).all()
    assert both.resampled == "annotator and item"


def test_a_replicate_is_the_fit_of_its_own_counts() -> None:
    """Every third annotator alone: the bootstrap's weights are whole clusters, refitted here from the rows."""
    x, y, won, annotator, _ = simulated(6)
    boot = bootstrap_strengths(x, y, won, K, rng=np.random.default_rng(9), annotator=annotator, n_replicates=3)
    times = np.random.default_rng(9).multinomial(40, np.full(40, 1 / 40), size=3)
    for replicate in range(3):
        alone = bradley_terry(x, y, won, systems=SYSTEMS, weights=times[replicate][annotator].astype(np.float64))
        assert boot.strength[replicate].tolist() == pytest.approx(alone.strength.tolist(), abs=1e-6)


def test_degenerate_replicates_are_counted_and_named() -> None:
    """One loss in 8: about a third of the replicates miss it."""
    x, y = np.zeros(8, dtype=np.int64), np.ones(8, dtype=np.int64)
    won = np.array([0.0] + [1.0] * 7)
    boot = bootstrap_strengths(x, y, won, 2, rng=np.random.default_rng(1), n_replicates=1000)
    assert boot.degenerate[ONE_SIDED] == pytest.approx(1000 * (7 / 8) ** 8, abs=60)
    assert boot.reason is not None
    assert np.isnan(boot.ci_low).all()
    assert len(boot.strength) + boot.degenerate[ONE_SIDED] == 1000


def test_replicates_that_fall_apart_are_told_from_one_sided_ones() -> None:
    x, y = np.array([0, 0, 1, 1] * 5 + [1]), np.array([1, 1, 0, 0] * 5 + [2])
    won = np.array([1.0, 0.0, 1.0, 0.0] * 5 + [0.5])
    boot = bootstrap_strengths(x, y, won, 3, rng=np.random.default_rng(1), n_replicates=300)
    assert boot.degenerate[DISCONNECTED] == pytest.approx(300 * (20 / 21) ** 21, abs=45)


def test_bootstrap_follows_the_seed() -> None:
    """The same seed gives the same replicates and other shares mirror."""
    x, y, won, *_ = simulated(7)
    first, second = (bootstrap_strengths(x, y, won, K, rng=np.random.default_rng(3), n_replicates=50) for _ in "ab")
    assert first.strength.tolist() == second.strength.tolist()
    assert sorted(first.ranks[0].tolist()) == [1, 2, 3, 4, 5]


def test_data_without_strengths_are_refused() -> None:
    with pytest.raises(ValueError, match="no strengths to resample"):
        bootstrap_strengths(np.array([0]), np.array([1]), np.array([1.0]), 2, rng=np.random.default_rng(1))
