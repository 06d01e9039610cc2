"""Davidson's and Plackett-Luce's models of many systems: fits to tables of all systems are the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from analysis.orders import plackett_luce as orders
from analysis.orders.patterns import orders_of
from analysis.orders.plackett_luce import PlackettLuce, plackett_luce
from analysis.orders.sparse_stages import SparseStages, patterns_of
from analysis.statistics.coding import Floats, Ints, fold
from analysis.strengths import fit, ties
from analysis.strengths.ties import Davidson, fit_davidson

NAMES = [*"abcdefghi"]
K = len(NAMES)


def tied_tables(seed: int, n: int, share: float) -> tuple[Floats, Floats]:
    """Draw outright wins and ties."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 0.7, K)
    wins, tied = np.zeros((2, K, K))
    for _ in range(n):
        one, two = rng.choice(K, 2, replace=False)
        if rng.random() < share:
            tied[one, two] += 1
            tied[two, one] += 1
        elif rng.random() < 1 / (1 + np.exp(strength[two] - strength[one])):
            wins[one, two] += 1
        else:
            wins[two, one] += 1
    return wins, tied


def davidson_of_many(monkeypatch: pytest.MonkeyPatch, wins: Floats, tied: Floats, *, errors: bool = True) -> Davidson:
    """Fit by the pairs alone."""
    with monkeypatch.context() as patched:
        for module in (fit, ties):
            patched.setattr(module, "DENSE", 0)
        return fit_davidson(csr_array(wins), csr_array(tied), NAMES[: len(wins)], errors=errors)


@pytest.mark.parametrize(("n", "share"), [(300, 0.3), (60, 0.2), (300, 0.0), (300, 1.0), (25, 0.3), (4, 0.3)], ids=str)
def test_davidson_of_pairs_is_the_dense_fit(monkeypatch: pytest.MonkeyPatch, n: int, share: float) -> None:
    wins, tied = tied_tables(n, n, share)
    expected, found = fit_davidson(wins, tied, NAMES), davidson_of_many(monkeypatch, wins, tied)
    assert found.strength == pytest.approx(expected.strength, abs=1e-8, nan_ok=True)
    assert found.se == pytest.approx(expected.se, rel=1e-7, nan_ok=True)
    for name in ("ties", "se_log_ties"):
        own, wanted = getattr(found, name), getattr(expected, name)
        assert own == wanted or own == pytest.approx(wanted, rel=1e-7)
    assert [*map(str, found.reasons), str(found.tie_reason)] == [*map(str, expected.reasons), str(expected.tie_reason)]
    quick = davidson_of_many(monkeypatch, wins, tied, errors=False)
    assert quick.strength == pytest.approx(found.strength, abs=1e-12, nan_ok=True)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_ties_that_separate_are_found_by_steps(k: int, seed: int) -> None:
    """Circles of wins and ties decide alike in a table and by the steps alone."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(k)
    wins = np.triu(rng.integers(0, 2, (k, k)), 1).astype(np.float64)[np.ix_(place, place)]
    tied = np.triu(rng.integers(0, 2, (k, k)), 1).astype(np.float64)
    tied += tied.T
    assert ties.TiedPairs.of(csr_array(wins), csr_array(tied)).separated() == ties._separated(wins, tied)


def test_ties_of_many_must_be_symmetric(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="ties must be symmetric"):
        davidson_of_many(monkeypatch, np.zeros((3, 3)), np.eye(3, k=1))


def orderings(seed: int, n: int, *, of: int = 4, kind: str = "whole") -> tuple[Floats, Ints]:
    """Put some of the systems in order; ``partial``: half name the best two, some tie them."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 0.8, K)
    found = np.full((n, K), np.nan)
    for place in range(n):
        own = rng.choice(K, of, replace=False)
        rank = 1.0 + np.argsort(np.argsort(-strength[own] - rng.gumbel(size=of)))
        if kind == "partial" and place % 2:
            rank[rank > 2] = 3
        if kind == "partial" and place % 7 == 0:
            rank[rank < 3] = 1
        found[place, own] = 1.0 if kind == "tied" else rank
    return found, rng.integers(0, 12, n)


def both(monkeypatch: pytest.MonkeyPatch, ranks: Floats, cluster: Ints) -> tuple[PlackettLuce, PlackettLuce]:
    """Fit by what was put in order, and by tables of all systems."""
    made = []
    for most in (0, 300):
        monkeypatch.setattr(orders, "DENSE", most)
        made.append(plackett_luce(ranks, systems=NAMES, cluster=cluster, rng=np.random.default_rng(0)))
    return made[0], made[1]


@pytest.mark.parametrize(
    ("n", "kind", "of"),
    [(150, "whole", 4), (150, "partial", 4), (60, "whole", 2), (8, "whole", 3), (60, "tied", 3), (40, "whole", 9)],
    ids=str,
)
def test_plackett_luce_of_many_is_that_of_few(monkeypatch: pytest.MonkeyPatch, n: int, kind: str, of: int) -> None:
    """The same strengths, reasons, counts and levels; intervals are CR1 where those of few are CR2."""
    found, expected = both(monkeypatch, *orderings(n, n, of=of, kind=kind))
    assert found.strength == pytest.approx(expected.strength, abs=1e-8, nan_ok=True)
    assert [*map(str, found.reasons)] == [*map(str, expected.reasons)]
    for name in ("n_clusters", "n_orderings", "n_tied", "n_partial", "n_left_out", "interval"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.levels.level.tolist() == expected.levels.level.tolist()
    assert found.levels.within == pytest.approx(expected.levels.within, abs=1e-8)
    assert str(found.no_interval) == str(expected.no_interval)


def test_interval_of_many_orderings_is_cr1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores and information written out set by set."""
    ranks, cluster = orderings(5, 200)
    found, _ = both(monkeypatch, ranks, cluster)
    scores, information = np.zeros((12, K)), np.zeros((K, K))
    for row, of in zip(ranks, cluster.tolist(), strict=True):
        left = sorted(np.flatnonzero(~np.isnan(row)).tolist(), key=row.__getitem__)
        while len(left) > 1:
            share = np.zeros(K)
            share[left] = np.exp(found.strength[left]) / np.exp(found.strength[left]).sum()
            scores[of] += np.eye(K)[left.pop(0)] - share
            information += np.diag(share) - np.outer(share, share)
    inverse = np.linalg.pinv(information)
    se = np.sqrt(np.diagonal(12 / 11 * inverse @ scores.T @ scores @ inverse))
    assert (found.ci_high - found.ci_low) / 2 == pytest.approx(2.200985160 * se, rel=1e-7)  # t(11)
    assert set(found.df) == {11.0}


def test_orderings_that_allow_too_many_orders_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks, cluster = orderings(6, 100)
    ranks[:3] = [1, 1, 1, 1, 1, 2, 3, 4, 5]
    assert orders_of(ranks[0]) is None
    found, expected = both(monkeypatch, ranks, cluster)
    assert found.n_left_out == expected.n_left_out == 3
    assert found.strength == pytest.approx(expected.strength, abs=1e-8)


def test_orderings_of_many_systems_need_no_table_of_pairs() -> None:
    """Six hundred systems, five in each ordering; places won equal those expected."""
    rng = np.random.default_rng(7)
    k, n = 600, 3000
    strength = rng.normal(0, 1, k)
    ranks = np.full((n, k), np.nan)
    for row in ranks:
        own = rng.choice(k, 5, replace=False)
        row[own] = 1.0 + np.argsort(np.argsort(-strength[own] - rng.gumbel(size=5)))
    names = [f"s{number}" for number in range(k)]
    cluster = rng.integers(0, 40, n)
    found = plackett_luce(ranks, systems=names, cluster=cluster, rng=rng)
    known = np.isfinite(found.strength)
    assert known.sum() > 550
    assert np.corrcoef(found.strength[known], strength[known])[0, 1] > 0.9
    assert np.mean(np.abs(found.strength - strength - np.nanmean(found.strength - strength))[known] < 4) == 1
    inside = (found.ci_low <= strength) & (strength <= found.ci_high)
    assert inside[known].mean() > 0.9
    patterns, of = patterns_of(ranks)
    data = SparseStages.of(patterns, np.flatnonzero(known))
    total = np.bincount(of, minlength=len(patterns)).astype(np.float64)
    share = data.shares(found.strength[known])
    expected = np.bincount(data.system, weights=(total @ data.times)[data.set_of] * share)
    assert total @ data.won == pytest.approx(expected, abs=1e-6)
    assert len(fold(cluster)) == found.n_clusters
