"""Bradley-Terry strengths from fractional wins, only where the data determine them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.strengths.counting import PairCounts
from analysis.strengths.existence import determined_systems
from analysis.strengths.sparse_newton import newton_of_pairs
from analysis.strengths.steps import SMALL, STEPS, TOLERANCE, climb

DENSE = 300  # systems up to which tables of systems by systems are made
TOO_UNEVEN = why("too_uneven")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strengths:
    """Natural-log strengths with mean zero over the fitted systems; NaN with a reason where there is none."""

    strength: Floats
    reasons: tuple[Reason | None, ...]
    regularisation: float | None

    @property
    def fitted(self) -> Ints:
        """Numbers of the systems that have a strength."""
        return np.flatnonzero(np.isfinite(self.strength)).astype(np.int64)


def fit_bradley_terry(
    wins: Floats | csr_array, names: Sequence[str], *, regularisation: float | None = None
) -> Strengths:
    """Estimate strengths by maximum likelihood: P(i beats j) = 1 / (1 + exp(s_j - s_i)).

    The spectral estimate of choix is the start of Newton's steps on the table, which go on until every system's
    wins equal its expected wins: O(n_systems³) a step, whatever the number of comparisons. Above 300 systems, the steps
    begin from log odds and cost by the pairs compared (:func:`analysis.strengths.sparse_newton.newton_of_pairs`).

    Parameters
    ----------
    wins : array of float or sparse array, shape (n_systems, n_systems)
        Entry [i, j] is what i won of j; fractions are welcome, a tie is half for each.
    names : sequence of str
        Systems, for the reasons.
    regularisation : float, optional
        Wins added to both directions of every pair; then every system has a strength.

    Returns
    -------
    Strengths
        NaN with a reason where :func:`analysis.strengths.existence.determined_systems` finds no strength.

    References
    ----------
    Bradley, R. A. and Terry, M. E. (1952). Rank analysis of incomplete block designs: I. Biometrika, 39, 324-345.
    Maystre, L. and Grossglauser, M. (2015). Fast and accurate inference of Plackett-Luce models. NeurIPS 28 (choix).

    >>> fit_bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), ["a", "b"]).strength.round(4).tolist()
    [0.5493, -0.5493]
    """
    return fit_strengths(wins, names, regularisation=regularisation, start=_spectral)


def fit_strengths(
    wins: Floats | csr_array,
    names: Sequence[str],
    *,
    regularisation: float | None = None,
    start: Callable[[Floats], Floats | None] | None = None,
) -> Strengths:
    """Do what :func:`fit_bradley_terry` does, from another start: by default log odds, as choix takes 0.4 s to load."""
    if len(names) > DENSE and regularisation is None:
        return fit_pairs(PairCounts.of(check_sparse("wins", wins, len(names))), names)
    table = check_counts("wins", wins, len(names))
    np.fill_diagonal(table, 0.0)
    if regularisation is not None:
        table += regularisation * (1 - np.eye(len(table)))
    strength = np.full(len(table), np.nan)
    found = determined_systems(table, names)
    if len(kept := found.kept):
        try:
            own = table[np.ix_(kept, kept)]
            strength[kept] = newton(own, None if start is None else start(own))
        except (ArithmeticError, np.linalg.LinAlgError):
            found = found.without(kept, TOO_UNEVEN)
    return Strengths(strength=strength, reasons=found.reasons, regularisation=regularisation)


def fit_pairs(pairs: PairCounts, names: Sequence[str]) -> Strengths:
    """Do what :func:`fit_bradley_terry` does, from the pairs that were compared."""
    strength = np.full(pairs.n_systems, np.nan)
    found = determined_systems(pairs.wins, names)
    if len(kept := found.kept):
        try:
            strength[kept] = newton_of_pairs(pairs.among(kept))
        except ArithmeticError:
            found = found.without(kept, TOO_UNEVEN)
    return Strengths(strength=strength, reasons=found.reasons, regularisation=None)


def fit_connected(wins: Floats | csr_array) -> Floats:
    """Return the strengths (mean zero) of systems each of which won of some and, in turn, of all; no diagonal counts.

    Raises
    ------
    ArithmeticError
        Where Newton's steps do not end.
    """
    if wins.shape[0] > DENSE:
        return newton_of_pairs(PairCounts.of(csr_array(wins)))
    table = wins.toarray() if issparse(wins) else np.array(wins)
    np.fill_diagonal(table, 0.0)
    return newton(table)


def gap_to_likelihood(wins: Floats, strength: Floats) -> Floats:
    """Return wins minus expected wins of every system: zero at the maximum of the likelihood."""
    gap: Floats = wins.sum(axis=1) - ((wins + wins.T) * share_won(strength)).sum(axis=1)
    return gap


def information(played: Floats, strength: Floats) -> Floats:
    """Return the Fisher information of the strengths, shape (k, k): n p (1 - p) of each pair as a graph's Laplacian."""
    share = share_won(strength)
    weight = played * share * (1 - share)
    found: Floats = np.diag(weight.sum(axis=1)) - weight
    return found


def share_won(strength: Floats) -> Floats:
    """Return P(i beats j) for all pairs, shape (k, k)."""
    with np.errstate(over="ignore"):  # exp of a huge gap is infinite and the share 0
        share: Floats = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    return share


def newton(wins: Floats, start: Floats | None = None) -> Floats:
    """Maximise the likelihood of a strongly connected table; strengths have mean zero.

    Newton's steps on the k x k table, halved until the likelihood does not fall: O(k³) each, usually five.

    Raises
    ------
    ArithmeticError
        When wins and expected wins still differ, which a strongly connected table does not allow.
    """
    played = wins + wins.T
    size = np.maximum(played.sum(axis=1), 1e-300)
    strength = _log_odds(wins, size) if start is None else start
    height = log_likelihood(wins, strength)
    for _ in range(STEPS):
        gap = gap_to_likelihood(wins, strength)
        curve = information(played, strength)
        step = np.linalg.solve(curve + np.trace(curve) / len(wins) ** 2, gap)  # the constant fixes the free mean
        strength, height = climb(strength, step, height, partial(log_likelihood, wins))
        strength -= strength.mean()
        if np.abs(step).max() <= SMALL:
            break
    if not np.all(np.abs(gap_to_likelihood(wins, strength)) <= TOLERANCE * size):
        raise ArithmeticError("Bradley-Terry did not converge")
    return strength


def log_likelihood(wins: Floats, strength: Floats) -> float:
    """Return the sum of wins[i, j] · log P(i beats j)."""
    return -float(np.sum(wins * np.logaddexp(0, strength[None, :] - strength[:, None])))


def _log_odds(wins: Floats, size: Floats) -> Floats:
    """Start from each system's own log odds against all, drawn in so that no start is extreme."""
    own = wins.sum(axis=1)
    start: Floats = np.log((own + 0.01 * size) / (size - own + 0.01 * size))
    start -= start.mean()
    return start


def _spectral(wins: Floats) -> Floats | None:
    """Start from choix's spectral ranking; ``None`` where its linear system is singular in double precision."""
    from choix import lsr_pairwise_dense

    try:
        with np.errstate(all="ignore"):
            start: Floats = lsr_pairwise_dense(wins)
    except ValueError:
        return None
    return start if np.isfinite(start).all() else None


def check_sparse(name: str, wins: Floats | csr_array, n_systems: int) -> csr_array:
    """Do what :func:`check_counts` does, with a sparse table."""
    if wins.shape != (n_systems, n_systems):
        raise ValueError(f"{name} must be {n_systems} x {n_systems}, one row a system, got shape {wins.shape}")
    table: csr_array[Any, tuple[int, int]] = csr_array(wins).astype(np.float64)
    if not (np.isfinite(table.data).all() and (table.data >= 0).all()):
        raise ValueError(f"{name} must be finite and at least 0")
    return table


def check_counts(name: str, table: Floats | csr_array, n_systems: int) -> Floats:
    """Return a copy of a table of wins or ties; refuse another shape, and entries below 0 or not finite."""
    counts = np.array(table.toarray() if issparse(table) else table, dtype=np.float64)
    if counts.shape != (n_systems, n_systems):
        raise ValueError(f"{name} must be {n_systems} x {n_systems}, one row a system, got shape {counts.shape}")
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise ValueError(f"{name} must be finite and at least 0")
    return counts
