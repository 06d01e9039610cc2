"""Comparisons to counts: one pass over whole-number codes, and everything later costs by systems, not by rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints, fold

ROUNDING = 1e-12  # of the comparisons of a pair: less is what rounding of shares left of no win
CHUNK = 1 << 16  # rows counted at a time, so that their keys stay in the cache

Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WinCounts:
    """What the rows say of each ordered pair, all of shape (n_systems, n_systems).

    ``wins[i, j]`` is the (weighted) sum of the shares that i won of j, ``squares[i, j]`` the sum of
    their squares: enough for the fit and for the sandwich over rows.
    """

    wins: Floats
    squares: Floats

    @property
    def played(self) -> Floats:
        """Comparisons of each pair, symmetric."""
        return self.wins + self.wins.T


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairCounts:
    """What the rows say of each pair that was compared (x < y, sorted), shape (pairs,): memory by those pairs.

    ``played`` are (weighted) comparisons, ``won`` the sum of the shares that x won, ``squares`` that of their squares.
    """

    x: Ints
    y: Ints
    played: Floats
    won: Floats
    squares: Floats
    n_systems: int

    @property
    def wins(self) -> csr_array:
        """Return what each system won of each other, sparse, shape (n_systems, n_systems)."""
        values = np.concatenate([self.won, self.played - self.won])
        won = np.maximum(np.where(values > ROUNDING * np.tile(self.played, 2), values, 0.0), 0.0)
        place = (np.concatenate([self.x, self.y]), np.concatenate([self.y, self.x]))
        found = csr_array((won, place), shape=(self.n_systems, self.n_systems))
        found.eliminate_zeros()
        return found

    @staticmethod
    def of(wins: csr_array) -> PairCounts:
        """Return the pairs of a table of wins, all of which count as whole ones; its diagonal is left out."""
        n = wins.shape[0]
        table = wins.tocoo()
        (row, column), values = table.coords, table.data.astype(np.float64)
        own = (row != column) & (values != 0)
        row, column, values = row[own].astype(np.int64), column[own].astype(np.int64), values[own]
        low, high = np.minimum(row, column), np.maximum(row, column)
        pairs = fold(low, high)
        played = np.bincount(pairs.of, weights=values, minlength=len(pairs))
        won = np.bincount(pairs.of, weights=np.where(row < column, values, 0.0), minlength=len(pairs))
        return PairCounts(
            x=low[pairs.first],
            y=high[pairs.first],
            played=played.astype(np.float64),
            won=won.astype(np.float64),
            squares=won.astype(np.float64),
            n_systems=n,
        )

    def among(self, kept: Ints) -> PairCounts:
        """Keep the pairs of some systems, which are numbered anew."""
        number = np.full(self.n_systems, -1)
        number[kept] = np.arange(len(kept))
        own = (number[self.x] >= 0) & (number[self.y] >= 0)
        return PairCounts(
            x=number[self.x[own]],
            y=number[self.y[own]],
            played=self.played[own],
            won=self.won[own],
            squares=self.squares[own],
            n_systems=len(kept),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellCounts:
    """Sums by cluster and unordered pair (x < y), one entry a cell that occurs.

    ``played`` and ``won`` are (weighted) sums: comparisons, and the shares that x won of them.
    ``n_clusters`` counts the clusters that occur; ``cluster`` runs from 0.
    """

    cluster: Ints
    x: Ints
    y: Ints
    played: Floats
    won: Floats
    n_systems: int
    n_clusters: int

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.cluster)


def count_wins(x: Codes, y: Codes, won: Floats, n_systems: int, weights: Floats | None = None) -> WinCounts:
    """Count what each system won of each other.

    Parameters
    ----------
    x, y : array of int, shape (n,)
        Systems compared, 0 .. n_systems - 1.
    won : array of float, shape (n,)
        Share that x won, in [0, 1]; a tie is 0.5.
    n_systems : int
        Number of systems.
    weights : array of float, shape (n,), optional
        How often each row counts (frequency weights), at least 0.

    Returns
    -------
    WinCounts
        O(n + n_systems²) time, O(n_systems²) memory beside the input.

    Raises
    ------
    ValueError
        A code out of range, a system compared with itself, a share outside [0, 1], a weight below 0.

    >>> count_wins(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.25]), 2).wins.tolist()
    [[0.0, 1.75], [0.25, 0.0]]
    """
    check_rows(x, y, won, n_systems, weights)
    size = n_systems**2
    played, sums, squares = np.zeros(size), np.zeros(size), np.zeros(size)
    for rows in _chunks(len(x), max(CHUNK, 8 * size)):
        key = _key(x[rows], y[rows], n_systems)
        share = won[rows].astype(np.float64, copy=False)
        weight = None if weights is None else weights[rows]
        halves = _halves(share) if weight is None else None
        if halves is not None:
            key *= 3
            key += halves
            found = np.bincount(key, minlength=3 * size).reshape(size, 3)
            played += found.sum(axis=1)
            sums += found[:, 1] / 2 + found[:, 2]
            squares += found[:, 1] / 4 + found[:, 2]
            continue
        weighted = share if weight is None else share * weight
        played += np.bincount(key, weights=weight, minlength=size)
        sums += np.bincount(key, weights=weighted, minlength=size)
        squares += np.bincount(key, weights=weighted * share, minlength=size)
    shape = (n_systems, n_systems)
    played, sums, squares = played.reshape(shape), sums.reshape(shape), squares.reshape(shape)
    if np.any(np.diagonal(played)):
        raise ValueError("a system is compared with itself")
    return WinCounts(wins=sums + (played - sums).T, squares=squares + (played - 2 * sums + squares).T)


def count_pairs(x: Codes, y: Codes, won: Floats, n_systems: int, weights: Floats | None = None) -> PairCounts:
    """Do what :func:`count_wins` does, without a table of all pairs: O(n) or O(n log n), memory O(n + pairs compared).

    >>> counts = count_pairs(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.25]), 2)
    >>> counts.wins.toarray().tolist()
    [[0.0, 1.75], [0.25, 0.0]]
    """
    check_rows(x, y, won, n_systems, weights)
    if np.any(np.asarray(x) == np.asarray(y)):
        raise ValueError("a system is compared with itself")
    lower, upper = np.minimum(x, y).astype(np.int64), np.maximum(x, y).astype(np.int64)
    pairs = fold(lower, upper)
    share = np.where(x < y, won, 1 - won)
    weighted = share if weights is None else share * weights
    return PairCounts(
        x=lower[pairs.first],
        y=upper[pairs.first],
        played=np.bincount(pairs.of, weights=weights, minlength=len(pairs)).astype(np.float64),
        won=np.bincount(pairs.of, weights=weighted, minlength=len(pairs)).astype(np.float64),
        squares=np.bincount(pairs.of, weights=weighted * share, minlength=len(pairs)).astype(np.float64),
        n_systems=n_systems,
    )


def count_cells(
    x: Codes, y: Codes, won: Floats, n_systems: int, cluster: Codes, weights: Floats | None = None
) -> CellCounts:
    """Sum comparisons and wins by cluster and unordered pair.

    Parameters are those of :func:`count_wins`; ``cluster`` (whole numbers from 0, gaps allowed)
    says who or what each row belongs to.

    Returns
    -------
    CellCounts
        O(n) time where clusters times pairs are few beside the rows, else O(n log n); memory by the cells that occur.
    """
    check_rows(x, y, won, n_systems, weights)
    clusters = fold(cluster.astype(np.int64, copy=False))
    lower, upper = np.minimum(x, y).astype(np.int64), np.maximum(x, y).astype(np.int64)
    cells = fold(clusters.of, lower, upper)
    share = np.where(x < y, won, 1 - won)
    count = np.bincount(cells.of, weights=weights, minlength=len(cells))
    sums = np.bincount(cells.of, weights=share if weights is None else share * weights, minlength=len(cells))
    return CellCounts(
        cluster=clusters.of[cells.first],
        x=lower[cells.first],
        y=upper[cells.first],
        played=count.astype(np.float64),
        won=sums.astype(np.float64),
        n_systems=n_systems,
        n_clusters=len(clusters),
    )


def check_rows(x: Codes, y: Codes, won: Floats, n_systems: int, weights: Floats | None) -> None:
    """Refuse rows that cannot be counted."""
    lengths = {len(x), len(y), len(won), *(() if weights is None else (len(weights),))}
    if len(lengths) != 1:
        raise ValueError(f"expected columns of one length, got {sorted(lengths)}")
    if not len(x):
        return
    for codes in (x, y):
        if codes.min() < 0 or codes.max() >= n_systems:
            raise ValueError(f"systems must be numbered 0 to {n_systems - 1}, got {codes.min()} to {codes.max()}")
    if not (won.min() >= 0 and won.max() <= 1):  # false for NaN too
        raise ValueError(f"shares won must lie in [0, 1], got {won.min()} to {won.max()} (percent: divide by 100)")
    if weights is not None and not (weights.min() >= 0 and weights.max() < np.inf):
        raise ValueError(f"weights must be finite and at least 0, got {weights.min()} to {weights.max()}")


def _chunks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, start + size)


def _halves(share: Floats) -> npt.NDArray[np.int8] | None:
    """Return twice the share where it is 0, 1/2 or 1 everywhere: counting such rows is faster than summing."""
    twice = share * 2
    whole = twice.astype(np.int8)
    return whole if np.array_equal(whole, twice) else None


def _key(x: Codes, y: Codes, n_systems: int) -> Ints:
    key: Ints = x.astype(np.int64)
    key *= n_systems
    key += y
    return key
