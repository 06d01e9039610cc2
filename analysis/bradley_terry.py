"""Bradley-Terry strengths from fractional wins, only where the data determine them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from analysis.coding import Floats, Ints

TOLERANCE = 1e-9  # largest gap left between wins and expected wins, relative to the comparisons of a system
STEPS = 200
WON_ALL = "won every comparison: stronger than all others, at no finite distance"
LOST_ALL = "lost every comparison: weaker than all others, at no finite distance"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strengths:
    """Natural-log strengths with mean zero over the fitted systems; NaN with a reason where there is none."""

    strength: Floats
    reasons: tuple[str | None, ...]
    regularisation: float | None

    @property
    def fitted(self) -> Ints:
        """Numbers of the systems that have a strength."""
        return np.flatnonzero(np.isfinite(self.strength)).astype(np.int64)


def fit_bradley_terry(wins: Floats, names: Sequence[str], *, regularisation: float | None = None) -> Strengths:
    """Estimate strengths by maximum likelihood: P(i beats j) = 1 / (1 + exp(s_j - s_i)).

    The fit starts from choix's iterative spectral ranking on the dense table and is finished by
    Newton steps until every system's wins equal its expected wins.

    Parameters
    ----------
    wins : array of float, shape (n_systems, n_systems)
        Entry [i, j] is what i won of j; fractions are welcome, a tie is half for each.
    names : sequence of str
        Systems, for the reasons.
    regularisation : float, optional
        Wins added to both directions of every pair; then every system has a strength.

    Returns
    -------
    Strengths
        A table that falls apart gives NaN for all. A system that won or lost everything is NaN
        and the others are fitted without it, again and again until none is left.

    References
    ----------
    Bradley, R. A. and Terry, M. E. (1952). Rank analysis of incomplete block designs: I. Biometrika, 39, 324-345.
    Ford, L. R. (1957). Solution of a ranking problem from binary comparisons. Am. Math. Monthly, 64(8), 28-33.
    Maystre, L. and Grossglauser, M. (2015). Fast and accurate inference of Plackett-Luce models. NeurIPS.

    >>> fit_bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), ["a", "b"]).strength.round(4).tolist()
    [0.5493, -0.5493]
    """
    table = np.array(wins, dtype=np.float64)
    np.fill_diagonal(table, 0.0)
    if regularisation is not None:
        table += regularisation * (1 - np.eye(len(table)))
    strength = np.full(len(table), np.nan)
    reasons: list[str | None] = [None] * len(table)
    kept = np.arange(len(table))
    why = _falls_apart(table, kept, names)
    while why is None and len(kept) > 0:
        own = table[np.ix_(kept, kept)]
        losers, winners = own.sum(axis=1) == 0, own.sum(axis=0) == 0
        if not np.any(losers | winners):
            break
        for place in np.flatnonzero(losers | winners).tolist():
            alone = losers[place] and winners[place]
            reasons[kept[place]] = _left_alone(names, kept) if alone else WON_ALL if winners[place] else LOST_ALL
        kept = kept[~(losers | winners)]
        why = _falls_apart(table, kept, names)
    if why is None and len(kept) > 1:
        why = _one_sided(table, kept, names)
    if why is None and len(kept) > 1:
        strength[kept] = _solve(table[np.ix_(kept, kept)])
    for place in kept.tolist() if why is not None else ():
        reasons[place] = why
    return Strengths(strength=strength, reasons=tuple(reasons), regularisation=regularisation)


def gap_to_likelihood(wins: Floats, strength: Floats) -> Floats:
    """Return wins minus expected wins of every system: zero at the maximum of the likelihood."""
    played = wins + wins.T
    expected = played / (1 + np.exp(strength[None, :] - strength[:, None]))
    gap: Floats = wins.sum(axis=1) - expected.sum(axis=1)
    return gap


def _solve(wins: Floats) -> Floats:
    strength = _start(wins)
    played = wins + wins.T
    size = played.sum(axis=1)
    for _ in range(STEPS):
        gap = gap_to_likelihood(wins, strength)
        if np.all(np.abs(gap) <= TOLERANCE * 1e-3 * np.maximum(size, 1e-300)):
            break
        share = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        weight = played * share * (1 - share)
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.solve(information + weight.sum() / len(wins) ** 2, gap)  # the constant fixes the free mean
        longest = np.abs(step).max()
        if longest < 1e-15:
            break
        strength = strength + step * min(1.0, 2.0 / longest)
        strength -= strength.mean()
    if not np.all(np.abs(gap_to_likelihood(wins, strength)) <= TOLERANCE * size):
        raise ArithmeticError("Bradley-Terry did not converge")  # a strongly connected table always has a maximum
    return strength


def _start(wins: Floats) -> Floats:
    import choix  # takes a second to import; only a fit needs it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            strength = np.asarray(choix.ilsr_pairwise_dense(wins), dtype=np.float64)
        except (RuntimeError, ValueError):  # slow on lopsided tables: Newton starts from equal strengths
            return np.zeros(len(wins))
    if not np.all(np.isfinite(strength)):
        return np.zeros(len(wins))
    centred: Floats = strength - strength.mean()
    return centred


def _parts(table: Floats, kept: Ints, connection: Literal["weak", "strong"]) -> list[Ints]:
    own = csr_array((table[np.ix_(kept, kept)] > 0).astype(np.float64))
    n_parts, of = connected_components(own, directed=True, connection=connection)
    return [kept[of == part] for part in range(n_parts)]


def _named(parts: Sequence[Ints], names: Sequence[str]) -> str:
    return " | ".join(sorted(", ".join(names[place] for place in part.tolist()) for part in parts))


def _falls_apart(table: Floats, kept: Ints, names: Sequence[str]) -> str | None:
    if len(kept) < 2:
        return "no other system is left to compare it with"
    parts = _parts(table, kept, "weak")
    if len(parts) == 1:
        return None
    return f"the comparisons fall apart into systems never compared with one another: {_named(parts, names)}"


def _one_sided(table: Floats, kept: Ints, names: Sequence[str]) -> str | None:
    parts = _parts(table, kept, "strong")
    if len(parts) == 1:
        return None
    return f"one set of systems won everything against another, so their distance is not finite: {_named(parts, names)}"


def _left_alone(names: Sequence[str], kept: Ints) -> str:
    return f"no comparison is left among {', '.join(names[place] for place in kept.tolist())}"
