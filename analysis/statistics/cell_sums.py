"""Sums and counts by a whole-number key, added part by part, so that no part need stay in memory."""

from __future__ import annotations

import numpy as np

from analysis.statistics.coding import Floats, Ints, fold

DENSE = 1 << 23  # keys up to which there is one place for each that is possible
THIN = 32  # possible keys a value beyond which values are folded first
PENDING = 1 << 22  # folded cells that wait before they are folded together


class CellSums:
    """Add up values by key.

    ``size`` is one more than the largest key that is possible. Time O(n) and memory O(size) where that is at most
    8 million and 32 times the first values, else O(n log n) and O(cells that occur) beside the last part.

    >>> sums = CellSums(5)
    >>> sums.add(np.array([3, 3, 0]), np.array([1.0, 2.0, 4.0]))
    >>> [array.tolist() for array in sums.found()]
    [[0, 3], [1.0, 2.0], [4.0, 3.0]]
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._parts: list[tuple[Ints, Floats, Floats]] = []
        self._dense: bool | None = None  # as the first part has it

    def add(self, key: Ints, values: Floats | None = None) -> None:
        """Add values (or count only) by their keys."""
        if self._dense is None:
            self._dense = self._size <= min(DENSE, THIN * len(key))
        if self._dense:
            count = np.bincount(key, minlength=self._size).astype(np.float64)
            sums = count if values is None else np.bincount(key, weights=values, minlength=self._size)
            if self._parts:
                _, counted, summed = self._parts[0]
                counted += count
                if values is not None:
                    summed += sums
            else:
                self._parts.append((np.arange(self._size), count, sums.astype(np.float64, copy=False)))
            return
        folded = fold(key)
        count = np.bincount(folded.of, minlength=len(folded)).astype(np.float64)
        sums = count if values is None else np.bincount(folded.of, weights=values, minlength=len(folded))
        self._parts.append((key[folded.first], count, sums.astype(np.float64, copy=False)))
        if sum(len(part[0]) for part in self._parts[1:]) > PENDING:
            self._merge()

    def found(self) -> tuple[Ints, Floats, Floats]:
        """Return the keys that occur, ascending, with their counts and sums (the counts where no value was added)."""
        if not self._parts:
            return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
        self._merge()
        key, count, sums = self._parts[0]
        there = np.flatnonzero(count)
        return key[there], count[there], sums[there]

    def _merge(self) -> None:
        if len(self._parts) < 2:
            return
        key, count, sums = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        folded = fold(key)
        added = [np.bincount(folded.of, weights=column, minlength=len(folded)) for column in (count, sums)]
        self._parts = [(key[folded.first], added[0].astype(np.float64), added[1].astype(np.float64))]
