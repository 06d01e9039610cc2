"""Ids to whole numbers, once, so that all counting is done on integer arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
DIGITS = 12  # significant digits that a mean keeps: sums in another order differ behind them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codes:
    """``ids[of[row]]`` is the id of a row; an empty cell is the id ""."""

    ids: tuple[str, ...]
    of: Ints

    def __len__(self) -> int:
        """Return the number of different ids."""
        return len(self.ids)


def code(column: pl.Series, order: Sequence[str] = ()) -> Codes:
    """Give each id of a column a number: those of ``order`` first, the rest as they first appear.

    >>> codes = code(pl.Series(["b", "a", "b"]), order=["a"])
    >>> codes.ids, codes.of.tolist()
    (('a', 'b'), [1, 0, 1])
    """
    filled = column.cast(pl.String).fill_null("")
    listed = set(order)
    ids = (*order, *(found for found in filled.unique(maintain_order=True).to_list() if found not in listed))
    if not ids:
        return Codes(ids=(), of=np.zeros(0, dtype=np.int64))
    return Codes(ids=ids, of=filled.cast(pl.Enum(list(ids))).to_physical().cast(pl.Int64).to_numpy())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folded:
    """Rows with equal keys folded into one: ``of[row]`` is the number of its fold, ``first`` a row of each fold."""

    of: Ints
    first: Ints

    def __len__(self) -> int:
        """Return the number of folds."""
        return len(self.first)

    def mean(self, values: Floats) -> Floats:
        """Average the values of each fold."""
        sums = np.bincount(self.of, weights=values, minlength=len(self))
        means: Floats = sums / np.bincount(self.of, minlength=len(self))
        return means


def fold(*columns: Ints) -> Folded:
    """Find the rows that agree in all columns; folds are in the order of the columns' codes.

    >>> fold(np.array([1, 0, 1]), np.array([5, 5, 5])).of.tolist()
    [1, 0, 1]
    """
    key = columns[0]
    for column in columns[1:]:
        width = int(column.max()) + 1 if len(column) else 1
        if len(key) and (int(key.max()) + 1) * width > 2**62:
            key = np.unique(key, return_inverse=True)[1]
        key = key * width + column
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    return Folded(of=of.astype(np.int64), first=first.astype(np.int64))


def split_by(of: Ints, values: Floats, n_parts: int) -> list[Floats]:
    """Sort values into ``n_parts`` lists; ``of`` numbers the list of each value.

    >>> [part.tolist() for part in split_by(np.array([1, 0, 1]), np.array([5.0, 6.0, 7.0]), 3)]
    [[6.0], [5.0, 7.0], []]
    """
    ends = np.cumsum(np.bincount(of, minlength=n_parts))[:-1]
    return np.split(values[np.argsort(of, kind="stable")], ends)


def snap(values: Floats, *, scale: float, digits: int = DIGITS) -> Floats:
    """Round to ``digits`` significant digits of ``scale``, so that values equal in exact arithmetic are equal.

    ``scale`` is the largest size of the answers that the values were computed from; a difference
    of answers near 5 is noise at 1e-16 and becomes 0.

    >>> snap(np.array([0.1 + 0.2 - 0.3]), scale=1.0).tolist()
    [0.0]
    """
    if not scale > 0:
        return values + 0.0
    rounded: Floats = np.round(values, digits - 1 - math.floor(math.log10(scale))) + 0.0  # + 0.0 turns -0 into 0
    return rounded


def scale_of(values: Floats) -> float:
    """Return the largest size among the values; 0 for none."""
    return float(np.abs(values).max()) if len(values) else 0.0
