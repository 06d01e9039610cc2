"""Bradley-Terry: worked values, another optimiser, properties, and tables that determine nothing."""

from __future__ import annotations

import contextlib
import math

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from analysis import fit_bradley_terry
from analysis.statistics.coding import Floats
from analysis.strengths import gap_to_likelihood
from analysis.strengths.fit import TOO_UNEVEN, fit_strengths
from tests.analysis.baseball import PUBLISHED, TEAMS, WINS

NAMES = list("abcdefgh")


def tables(k: int) -> st.SearchStrategy[Floats]:
    cells = st.lists(st.floats(0.05, 9, allow_subnormal=False), min_size=k * k, max_size=k * k)
    return cells.map(lambda values: np.array(values).reshape(k, k) * (1 - np.eye(k)))


def by_likelihood(wins: Floats) -> Floats:
    """Maximise the log-likelihood with a general optimiser."""

    def negative(free: Floats) -> float:
        strength = np.append(free, -free.sum())
        return float(np.sum(wins * np.logaddexp(0, strength[None, :] - strength[:, None])))

    free = minimize(negative, np.zeros(len(wins) - 1), method="BFGS", options={"gtol": 1e-9}).x
    return np.append(free, -free.sum())


def test_two_systems_lie_a_log_odds_apart() -> None:
    strength = fit_bradley_terry(np.array([[0.0, 7.5], [2.5, 0.0]]), NAMES[:2]).strength
    assert strength.tolist() == pytest.approx([math.log(3) / 2, -math.log(3) / 2], abs=1e-12)


def test_agresti_baseball_1987() -> None:
    strength = fit_bradley_terry(WINS, TEAMS).strength
    assert (strength - strength[-1]).tolist() == pytest.approx(PUBLISHED, abs=0.006)


@settings(max_examples=25, deadline=None)
@given(tables(5))
def test_choix_finds_the_same_strengths(wins: Floats) -> None:
    ours = fit_bradley_terry(wins, NAMES[:5]).strength
    assert ours.tolist() == pytest.approx(choix.ilsr_pairwise_dense(wins).tolist(), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(tables(4))
def test_bradley_terry_likelihood_equations(wins: Floats) -> None:
    """The likelihood equations hold and another optimiser agrees."""
    strength = fit_bradley_terry(wins, NAMES[:4]).strength
    assert np.abs(gap_to_likelihood(wins, strength)).max() < 1e-9 * (wins + wins.T).sum()
    assert strength.tolist() == pytest.approx(by_likelihood(wins).tolist(), abs=1e-5)
    assert abs(strength.mean()) < 1e-12


@settings(max_examples=25, deadline=None)
@given(tables(5), st.permutations(range(5)))
def test_relabelling_systems_permutes_strengths(wins: Floats, order: list[int]) -> None:
    strength = fit_bradley_terry(wins, NAMES[:5]).strength
    permuted = fit_bradley_terry(wins[np.ix_(order, order)], NAMES[:5]).strength
    assert permuted.tolist() == pytest.approx(strength[order].tolist(), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(tables(4))
def test_swapping_wins_and_losses_mirrors_strengths(wins: Floats) -> None:
    strength = fit_bradley_terry(wins, NAMES[:4]).strength
    assert fit_bradley_terry(wins.T, NAMES[:4]).strength.tolist() == pytest.approx((-strength).tolist(), abs=1e-9)


def test_recovers_known_strengths_from_simulated_choices() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([1.2, 0.5, 0.0, -0.6, -1.1])
    share = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
    won = np.triu(rng.binomial(4000, share), 1)
    wins = (won + np.tril((4000 - won).T, -1)).astype(np.float64)
    strength = fit_bradley_terry(wins, NAMES[:5]).strength
    assert strength.tolist() == pytest.approx((truth - truth.mean()).tolist(), abs=0.06)
    assert np.argsort(-strength).tolist() == [0, 1, 2, 3, 4]


def test_a_table_that_falls_apart_has_no_strengths() -> None:
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = wins[3, 2] = 1.0
    fit = fit_bradley_terry(wins, NAMES[:4])
    assert np.isnan(fit.strength).all()
    assert set(map(str, fit.reasons)) == {
        "the comparisons fall apart into systems never compared with one another: a, b | c, d"
    }


def test_bradley_terry_system_that_wins_everything() -> None:
    """A system that wins everything stands apart and the rest is fitted."""
    wins = np.array([[0, 4, 5, 3], [0, 0, 3, 2], [0, 1, 0, 3], [0, 2, 1, 0]], dtype=np.float64)
    fit = fit_bradley_terry(wins, NAMES[:4])
    assert fit.reasons[0] is not None
    assert str(fit.reasons[0]).startswith("won every comparison")
    assert np.isnan(fit.strength[0])
    alone = fit_bradley_terry(wins[1:, 1:], NAMES[1:4])
    assert fit.strength[1:].tolist() == pytest.approx(alone.strength.tolist(), abs=1e-12)


def test_taking_systems_away_goes_on_until_none_is_left() -> None:
    """A chain in which each system beat all later ones: nobody has a finite strength."""
    fit = fit_bradley_terry(np.triu(np.ones((4, 4)), 1), NAMES[:4])
    assert np.isnan(fit.strength).all()
    assert None not in fit.reasons


def test_bradley_terry_sets_without_finite_distance() -> None:
    """Two sets one of which won everything have no finite distance."""
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = wins[3, 2] = 1.0
    wins[0, 2] = 3.0
    fit = fit_bradley_terry(wins, NAMES[:4])
    assert np.isnan(fit.strength).all()
    assert fit.reasons[0] is not None
    assert "a, b | c, d" in str(fit.reasons[0])


def test_regularisation_gives_everybody_a_strength() -> None:
    wins = np.triu(np.ones((4, 4)), 1)
    fit = fit_bradley_terry(wins, NAMES[:4], regularisation=0.1)
    assert fit.regularisation == 0.1
    assert np.isfinite(fit.strength).all()
    assert np.abs(gap_to_likelihood(wins + 0.1 * (1 - np.eye(4)), fit.strength)).max() < 1e-9


def test_lopsided_tables_converge() -> None:
    wins = np.array([[0, 1e6, 3], [1e-3, 0, 2e4], [1e-4, 1e-2, 0]])
    strength = fit_bradley_terry(wins, NAMES[:3]).strength
    assert np.abs(gap_to_likelihood(wins, strength)).max() < 1e-9 * 1e6


@settings(max_examples=25, deadline=None)
@given(tables(5), st.integers(-6, 6))
def test_bradley_terry_starts_end_alike(wins: Floats, decades: int) -> None:
    """A report starts from log odds, as choix takes 0.4 s to load; the Python function starts from choix."""
    wins[0] *= 10.0**decades
    ours, theirs = fit_strengths(wins, NAMES[:5]).strength, fit_bradley_terry(wins, NAMES[:5]).strength
    assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-9, abs=1e-9)


def test_strengths_where_the_system_of_choix_is_singular() -> None:
    wins = np.array([[0, 1, 1e8, 0], [1e-3, 0, 0.1, 0], [1e6, 0, 0, 1], [0, 1e-8, 0, 0]])
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):
        assert not np.isfinite(choix.lsr_pairwise_dense(wins)).all()
    strength = fit_bradley_terry(wins, NAMES[:4]).strength
    assert np.abs(gap_to_likelihood(wins, strength)).max() < 1e-9 * wins.sum()


def test_a_table_too_lopsided_for_double_precision_says_so() -> None:
    wins = np.array([[0, 1e-30, 1e-29], [1e-33, 0, 1e-3], [1e-34, 1.0, 0]])
    fit = fit_bradley_terry(wins, NAMES[:3])
    assert np.isnan(fit.strength).all()
    assert fit.reasons == (TOO_UNEVEN,) * 3
