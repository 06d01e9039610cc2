"""Davidson's model of ties: hand-worked, another optimiser, properties, corners."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, linprog, minimize
from scipy.special import log_softmax

from analysis import fit_bradley_terry, fit_davidson
from analysis.statistics.coding import Floats
from analysis.strengths.fit import fit_strengths

NAMES = list("abcd")


def tables(seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    wins = rng.integers(1, 9, (4, 4)).astype(np.float64)
    np.fill_diagonal(wins, 0.0)
    ties = np.triu(rng.integers(0, 5, (4, 4)), 1).astype(np.float64)
    return wins, ties + ties.T


def log_likelihood(wins: Floats, ties: Floats, strength: Floats, log_ties: float) -> float:
    """Davidson (1970): with worths w i wins of j, ties with j and loses to j as w_i : nu sqrt(w_i w_j) : w_j."""
    total = 0.0
    for i, j in combinations(range(len(wins)), 2):
        shares = [strength[i], log_ties + (strength[i] + strength[j]) / 2, strength[j]]
        total += float(np.dot([wins[i, j], ties[i, j], wins[j, i]], log_softmax(shares)))
    return total


def test_two_systems_by_hand() -> None:
    """Wins 8 and 2, 4 ties: the model is saturated, odds 8 : 2 and nu 4 / sqrt(16); variance of the gap 1/8 + 1/2."""
    fit = fit_davidson(np.array([[0.0, 8.0], [2.0, 0.0]]), np.array([[0.0, 4.0], [4.0, 0.0]]), NAMES[:2])
    assert fit.strength.tolist() == pytest.approx([math.log(2), -math.log(2)], abs=1e-12)
    assert fit.ties == pytest.approx(1.0, abs=1e-12)
    assert fit.se[0] == pytest.approx(math.sqrt(1 / 8 + 1 / 2) / 2, abs=1e-10)
    assert fit.se_log_ties == pytest.approx(math.sqrt(1 / 4 + (1 / 8 + 1 / 2) / 4), abs=1e-10)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_another_optimiser_agrees(seed: int) -> None:
    wins, ties = tables(seed)

    def negative(free: Floats) -> float:
        return -log_likelihood(wins, ties, np.append(free[:3], -free[:3].sum()), float(free[3]))

    other = minimize(negative, np.zeros(4), options={"gtol": 1e-7}).x
    fit = fit_davidson(wins, ties, NAMES)
    assert fit.strength[:3].tolist() == pytest.approx(other[:3].tolist(), abs=1e-5)
    assert fit.ties == pytest.approx(math.exp(other[3]), abs=1e-5)
    curve = np.array(
        [approx_fprime(other, lambda at, row=row: approx_fprime(at, negative, 1e-5)[row], 1e-4) for row in range(4)]
    )
    errors = np.sqrt(np.diagonal(np.linalg.inv(curve)))
    assert [*fit.se[:3], fit.se_log_ties] == pytest.approx(errors.tolist(), rel=1e-2)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 200), st.permutations(range(4)))
def test_relabelling_permutes_and_losses_mirror(seed: int, order: list[int]) -> None:
    wins, ties = tables(seed)
    fit = fit_davidson(wins, ties, NAMES)
    moved = fit_davidson(wins[np.ix_(order, order)], ties[np.ix_(order, order)], NAMES)
    mirrored = fit_davidson(wins.T, ties, NAMES)
    assert moved.strength.tolist() == pytest.approx(fit.strength[order].tolist(), abs=1e-8)
    assert mirrored.strength.tolist() == pytest.approx((-fit.strength).tolist(), abs=1e-8)
    assert mirrored.ties == pytest.approx(fit.ties, abs=1e-8)


def test_recovers_what_was_simulated() -> None:
    rng = np.random.default_rng(4)
    truth, ties_truth, n = np.array([0.8, 0.1, -0.3, -0.6]), 0.7, 20_000
    wins, ties = np.zeros((4, 4)), np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1, 4):
            parts = np.array([np.exp(truth[i]), np.exp(truth[j]), ties_truth * np.exp((truth[i] + truth[j]) / 2)])
            wins[i, j], wins[j, i], ties[i, j] = rng.multinomial(n, parts / parts.sum())
            ties[j, i] = ties[i, j]
    fit = fit_davidson(wins, ties, NAMES)
    assert (np.abs(fit.strength - truth) < 4 * fit.se).all()
    assert abs(math.log(fit.ties / ties_truth)) < 4 * fit.se_log_ties


def test_without_ties_it_is_bradley_terry() -> None:
    wins, _ = tables(5)
    fit = fit_davidson(wins, np.zeros((4, 4)), NAMES)
    assert fit.strength.tolist() == pytest.approx(fit_bradley_terry(wins, NAMES).strength.tolist(), abs=1e-10)
    assert (fit.ties, fit.se_log_ties, fit.tie_reason is not None) == (0.0, None, True)


def test_tie_model_reasons() -> None:
    """Nothing but ties and a system that won everything have reasons."""
    _, ties = tables(6)
    even = fit_davidson(np.zeros((4, 4)), ties + 1 - np.eye(4), NAMES)
    assert np.abs(even.strength).max() < 1e-12 or even.tie_reason is not None
    assert (even.ties, even.se_log_ties) == (None, None)
    nobody = fit_davidson(np.zeros((0, 0)), np.zeros((0, 0)), [])
    assert (nobody.ties, str(nobody.tie_reason)) == (None, "no system is given")
    wins = np.array([[0, 4, 5], [0, 0, 3], [0, 1, 0]], dtype=np.float64)
    fit = fit_davidson(wins, np.zeros((3, 3)), NAMES[:3])
    assert fit.reasons[0] is not None
    assert np.isnan(fit.strength[0])
    assert np.isfinite(fit.strength[1:]).all()


def test_lopsided_ties_are_refused() -> None:
    with pytest.raises(ValueError, match="symmetric"):
        fit_davidson(np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]]), NAMES[:2])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_half_wins_that_are_known_are_not_fitted_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wins, ties = tables(seed)
    alone = fit_davidson(wins, ties, NAMES)
    known = fit_strengths(wins + ties / 2, NAMES)
    monkeypatch.setattr("analysis.strengths.ties.fit_strengths", None)
    given_half = fit_davidson(wins, ties, NAMES, half=known)
    assert given_half.strength.tolist() == alone.strength.tolist()
    assert (given_half.ties, given_half.reasons) == (alone.ties, alone.reasons)


def test_ties_of_neighbours_alone_have_no_finite_parameter() -> None:
    """A chain: each beats those two below it and ties with the next, so nu and all gaps grow without end."""
    places = np.arange(4)
    wins = (places[None, :] - places[:, None] >= 2).astype(float) * 3
    ties = (np.abs(places[None, :] - places[:, None]) == 1).astype(float) * 2
    fit = fit_davidson(wins, ties, NAMES)
    assert np.isnan(fit.strength).all()
    assert (fit.ties, str(fit.tie_reason)) == (
        None,
        "wins and ties can be told apart exactly by strengths: the tie parameter has no finite value",
    )
    assert set(fit.reasons) == {fit.tie_reason}
    heights = [log_likelihood(wins, ties, -2.0 * c * places, c) for c in (1, 5, 20)]
    assert heights == sorted(heights)
    wins[3, 0] = 1
    assert fit_davidson(wins, ties, NAMES).ties is not None


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_tie_estimates_are_finite(seed: int, k: int) -> None:
    """Estimates are finite where linear programming finds no direction."""
    rng = np.random.default_rng(seed)
    wins = np.where(rng.random((k, k)) < 0.35, rng.integers(1, 4, (k, k)), 0).astype(float)
    np.fill_diagonal(wins, 0.0)
    ties = np.triu(np.where(rng.random((k, k)) < 0.5, rng.integers(1, 4, (k, k)), 0), 1).astype(float)
    ties += ties.T
    fit = fit_davidson(wins, ties, list("abcde")[:k])
    half = np.isfinite(fit_strengths(wins + ties / 2, list("abcde")[:k]).strength)
    if not half.all() or not ties.any() or not wins.any():
        return
    rows = []
    for i, j in zip(*np.nonzero(~np.eye(k, dtype=bool)), strict=True):
        row = np.zeros(k)
        row[i], row[j] = 1.0, -1.0
        rows += [(-row, -1.0)] if wins[i, j] else []
        rows += [(row, 1.0)] if ties[i, j] else []
    apart = linprog(np.zeros(k), [row for row, _ in rows], [bound for _, bound in rows], bounds=(None, None)).success
    assert (fit.ties is None) == apart
    if fit.ties is not None:
        assert fit.ties < 1e6
        assert np.abs(fit.strength).max() < 30
