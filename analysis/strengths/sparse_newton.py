"""Newton's steps for many systems, few pairs of which were compared: memory and time by those pairs."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints
from analysis.strengths.counting import PairCounts
from analysis.strengths.steps import SMALL, STEPS, TOLERANCE, climb

GRADIENTS = 150  # conjugate gradients beyond which factors are cheaper


def newton_of_pairs(pairs: PairCounts, start: Floats | None = None) -> Floats:
    """Maximise the likelihood of Bradley and Terry over strongly connected wins; strengths have mean zero.

    The steps of :func:`analysis.strengths.fit.newton`. Their equations are those of a sparse graph, solved by conjugate
    gradients no further than the step deserves, or by a sparse factorisation where these take long (chains).

    Parameters
    ----------
    pairs : PairCounts
        What was won of whom.
    start : array of float, shape (k,), optional
        Strengths to begin with; by default log odds.

    Returns
    -------
    array of float, shape (k,)
        Wins and expected wins of each system differ by at most 1e-9 of its comparisons.

    Raises
    ------
    ArithmeticError
        When they differ by more, which strongly connected wins do not allow.

    References
    ----------
    Dembo, R. S., Eisenstat, S. C. and Steihaug, T. (1982). Inexact Newton methods. SIAM J. Numerical Analysis, 19(2),
    400-408.
    """
    k = pairs.n_systems
    size = np.maximum(_ends(pairs, pairs.played, pairs.played), 1e-300)
    own = _ends(pairs, pairs.won, pairs.played - pairs.won)
    strength: Floats = np.log((own + 0.01 * size) / (size - own + 0.01 * size)) if start is None else start
    strength = strength - strength.mean()
    graph = PairGraph(pairs.x, pairs.y, k)
    height = _log_likelihood(pairs, strength)
    longest = 1.0
    for _ in range(STEPS):
        share = _shares(pairs, strength)
        rest = pairs.won - pairs.played * share
        gap = _ends(pairs, rest, -rest)
        step = graph.solve(pairs.played * share * (1 - share), gap, accuracy=min(0.01, longest))
        longest = float(np.abs(step).max())
        strength, height = climb(strength, step, height, partial(_log_likelihood, pairs))
        strength -= strength.mean()
        if longest <= SMALL:
            break
    rest = pairs.won - pairs.played * _shares(pairs, strength)
    if not np.all(np.abs(_ends(pairs, rest, -rest)) <= TOLERANCE * size):
        raise ArithmeticError("Bradley-Terry did not converge")
    return strength


class PairGraph:
    """A graph of pairs whose weights change from step to step."""

    def __init__(self, x: Ints, y: Ints, k: int) -> None:
        n = len(x)
        place = (np.concatenate([x, y]), np.concatenate([y, x]))
        order = csr_array((np.arange(1.0, 2 * n + 1), place), shape=(k, k))
        self._x, self._y, self._k = x, y, k
        self._links, self._pair = order, (order.data.astype(np.int64) - 1) % n

    def solve(self, weight: Floats, gap: Floats, *, accuracy: float) -> Floats:
        """Return where the Laplacian of pairs that weigh ``weight`` gives a gap of sum zero, to a relative accuracy."""
        self._links.data = weight[self._pair]
        degree: Floats = self._links.sum(axis=1)
        if degree.min() <= 0:
            raise ArithmeticError("a system's comparisons weigh nothing in double precision")
        found = np.zeros(self._k)
        rest = gap - gap.mean()
        bound = accuracy**2 * float(rest @ rest)
        scaled = rest / degree
        along, product = scaled.copy(), float(rest @ scaled)
        for _ in range(GRADIENTS):
            if float(rest @ rest) <= bound:
                found -= found.mean()
                return found
            image = degree * along - self._links @ along
            length = product / max(float(along @ image), 1e-300)
            found += length * along
            rest -= length * image
            scaled = rest / degree
            before, product = product, float(rest @ scaled)
            along = scaled + product / max(before, 1e-300) * along
        return Inverse(self._x, self._y, weight, self._k)(gap[:, None])[:, 0]


class Inverse:
    """The inverse of a connected graph's Laplacian on the space of mean zero, from sparse factors, never as a table."""

    def __init__(self, x: Ints, y: Ints, weight: Floats, k: int) -> None:
        from scipy.sparse.linalg import splu  # loads scipy.linalg, which few systems do not need

        degree = np.bincount(x, weights=weight, minlength=k) + np.bincount(y, weights=weight, minlength=k)
        ground = int(degree.argmax())  # its value is 0 until the mean is taken off
        self._others = np.delete(np.arange(k), ground)
        place = np.arange(k)
        table = csr_array(
            (
                np.concatenate([degree, -weight, -weight]),
                (np.concatenate([place, x, y]), np.concatenate([place, y, x])),
            ),
            shape=(k, k),
        )
        own = table[self._others][:, self._others].tocsc()
        try:
            self._factors = splu(
                own, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError as error:  # exactly singular
            raise ArithmeticError("strengths so uneven that double precision does not tell them apart") from error
        self._k = k

    def __call__(self, columns: Floats) -> Floats:
        """Apply it to columns, shape (k, m), whose mean is taken off."""
        own = (columns - columns.mean(axis=0))[self._others]
        found = np.zeros(columns.shape)
        found[self._others] = self._factors.solve(np.ascontiguousarray(own))
        found -= found.mean(axis=0)
        return found


def _shares(pairs: PairCounts, strength: Floats) -> Floats:
    with np.errstate(over="ignore"):  # exp of a huge gap is infinite and the share 0
        share: Floats = 1 / (1 + np.exp(strength[pairs.y] - strength[pairs.x]))
    return share


def _ends(pairs: PairCounts, at_x: Floats, at_y: Floats) -> Floats:
    """Sum by system what each pair adds to its first and to its second."""
    k = pairs.n_systems
    found = np.bincount(pairs.x, weights=at_x, minlength=k) + np.bincount(pairs.y, weights=at_y, minlength=k)
    return found.astype(np.float64)


def _log_likelihood(pairs: PairCounts, strength: Floats) -> float:
    gap = strength[pairs.y] - strength[pairs.x]
    return -float(pairs.won @ np.logaddexp(0, gap) + (pairs.played - pairs.won) @ np.logaddexp(0, -gap))
