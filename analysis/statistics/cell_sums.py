"""Sums and counts by a whole-number key, added part by part, so that no part need stay in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from analysis.statistics.coding import Floats, Ints, fold

DENSE = 1 << 23  # keys up to which there is one place for each that is possible
LONG = 4  # values that follow each other with one number, on average, from which on they are added up first
THIN = 32  # possible keys a value beyond which values are folded first
PENDING = 1 << 22  # folded cells that wait before they are folded together
BITS = 53  # of whole numbers that a float holds
Fields: TypeAlias = list[tuple[str, int, int]]  # of columns that are put together: name, least value, bits


def numbered_keys(key: Ints, size: int) -> tuple[Ints, Ints | None, int]:
    """Give keys below ``size`` numbers: themselves where there is room for a place each, else those that occur.

    Returns
    -------
    tuple of (array of int, array of int or None, int)
        Each value's number, the key of each number (``None``: itself), and how many numbers there are.
    """
    if size <= min(DENSE, THIN * max(len(key), 1)):
        return key, None, size
    folded = fold(key)
    return folded.of, key[folded.first], len(folded)


class ByNumber:
    """Add up whole numbers by numbers below ``size``, one column after the other; no sum may reach 2^53.

    Values that follow each other with one number are added up before: a fifth of the time.

    >>> ByNumber(np.array([1, 1, 0]), 3)(np.array([1.0, 2.0, 4.0])).tolist()
    [4.0, 3.0, 0.0]
    """

    def __init__(self, of: Ints, size: int) -> None:
        self._of, self.size = of, size
        starts = np.flatnonzero(of[1:] != of[:-1])
        self._starts = np.concatenate([[0], starts + 1]) if LONG * len(starts) < len(of) - LONG else None
        if self._starts is None:
            self.n: Ints = np.bincount(of, minlength=size)
        else:
            self._of = of[self._starts]
            self.n = self._added(np.diff(self._starts, append=len(of)).astype(np.float64)).astype(np.int64)

    def __call__(self, values: Floats) -> Floats:
        """Return the sums; of numbers without values 0."""
        return self._added(values if self._starts is None else np.add.reduceat(values, self._starts))

    def _added(self, values: Floats) -> Floats:
        return np.bincount(self._of, values, self.size).astype(np.float64, copy=False)


class WholeSums:
    """Add up several columns of whole numbers by key, exactly: as many at once as one float has room for.

    No sum may reach 2^53. Time O(n) where ``size``, one more than the largest possible key, is at most 8 million and
    32 times the values, else O(n log n).

    >>> sums = WholeSums(5)
    >>> sums.add(np.array([3, 3, 0]), [("total", np.array([1.0, -2.0, 4.0]))])
    >>> key, added = sums.found()
    >>> key.tolist(), {name: column.tolist() for name, column in added.items()}
    ([0, 3], {'n': [1, 2], 'total': [4, -1]})
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[Ints, dict[str, Ints]]] = []
        self._dense: dict[str, Ints] = {}  # of all keys that are possible

    def add(self, key: Ints, columns: Iterable[tuple[str, Floats]], *, which: Ints | None = None) -> None:
        """Add named values by their keys; how many there are of each is ``n``.

        ``which`` are the places of each key's values in the columns, where it is not its own.
        """
        of, keys, size = numbered_keys(key, self.size)
        added = ByNumber(of, size)
        found = {"n": added.n}
        for fields, together in packed(columns, int(added.n.max(initial=0))):
            found |= unpacked(fields, added(together if which is None else together[which]), added.n)
        if keys is not None:
            self._parts.append((keys, found))
        elif self._dense:
            for name, column in found.items():
                self._dense[name] += column
        else:
            self._dense = found

    def put(self, key: Ints, columns: dict[str, Ints]) -> None:
        """Take sums by keys that are larger than those before, where nothing is added."""
        assert not self._dense
        self._parts.append((key, columns))

    def found(self) -> tuple[Ints, dict[str, Ints]]:
        """Return the keys that occur, ascending, and their sums."""
        parts = [*self._parts]
        if self._dense:
            keys = np.flatnonzero(self._dense["n"])
            full = len(keys) == self.size
            parts.append((keys, self._dense if full else {name: own[keys] for name, own in self._dense.items()}))
        if len(parts) < 2:
            return parts[0] if parts else (np.zeros(0, dtype=np.int64), {})
        folded = fold(together := np.concatenate([key for key, _ in parts]))
        added = {name: np.concatenate([own[name] for _, own in parts]) for name in parts[0][1]}
        if folded.first is folded.of:  # each key once, in order
            return together, added
        sums = {name: np.bincount(folded.of, own, len(folded)).astype(np.int64) for name, own in added.items()}
        return together[folded.first], sums


def packed(columns: Iterable[tuple[str, Floats]], most: int) -> Iterator[tuple[Fields, Floats]]:
    """Yield columns put together to one: each one's name, least value and bits, and the floats that hold them.

    Sums of up to ``most`` values have room.
    """
    fields: Fields = []
    together, used = np.zeros(0), 0
    for name, column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        bits = (most * (high - low)).bit_length()
        above = column - low if low else column
        if fields and used + bits > BITS:
            yield fields, together
            fields, used = [], 0
        together = together + above * float(1 << used) if fields else above
        fields.append((name, low, bits))
        used += bits
    if fields:
        yield fields, together


def unpacked(fields: Fields, sums: npt.NDArray[Any], n: Ints) -> dict[str, Ints]:
    """Return the sums of each column that was put together with others; ``n`` says of how many values each sum is."""
    found: dict[str, Ints] = {}
    rest = sums.astype(np.int64)
    for name, low, bits in fields:
        own = rest & ((1 << bits) - 1) if len(fields) > 1 else rest
        found[name] = own + low * n if low else own
        rest = rest >> bits
    return found


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
