"""Value counts of units, folded into distinct profiles: all that most coefficients need to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from analysis.agreement.data import ReliabilityData
from analysis.statistics.coding import Floats, Ints, fold

WIDEST = 65_536  # whole numbers within this range are coded by counting instead of sorting
DENSE = 2_000_000  # cells up to which a table of profiles x values is kept dense


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """Units that hold the same values, whoever gave them, are one profile.

    Five annotators on a scale of five steps have at most 126 complete profiles, however many units there are.

    Attributes
    ----------
    values : array of float, shape (n_values,)
        Distinct values, ascending.
    profile, code : array of int, shape (n_entries,)
        Entries: a profile, and the number of a value that it holds. A value may have several entries.
    times : array of int, shape (n_entries,)
        How often; the entries of a profile add up to its size.
    size : array of int, shape (n_profiles,)
        Answers of a profile.
    units : array of int, shape (n_profiles,)
        Units that have this profile.
    of_unit : array of int, shape (n_units,)
        Profile of each unit. Profiles stand in the order of their content, not of the units.
    turns : bool
        As in the reliability data. Values then lie on both sides of 0 alike; a unit and its opposite are one profile.
    """

    values: Floats
    profile: Ints
    code: Ints
    times: Ints
    size: Ints
    units: Ints
    of_unit: Ints
    turns: bool = False

    def table(self, weights: Floats | None = None) -> Floats | sp.csr_array:
        """Return profiles x values, an answer counting the weight of its profile (default 1); sparse where large."""
        shape = (len(self.size), len(self.values))
        share = self.times.astype(np.float64) if weights is None else weights[self.profile] * self.times
        if shape[0] * shape[1] <= DENSE:
            counted = np.bincount(
                self.profile * shape[1] + self.code, weights=share, minlength=shape[0] * shape[1]
            ).reshape(shape)
            return counted.astype(np.float64)
        return sp.csr_array(sp.coo_array((share, (self.profile, self.code)), shape=shape))

    def sums(self, of_values: Floats) -> Floats:
        """Add up a number of each value over the answers of each profile."""
        total = np.bincount(self.profile, weights=of_values[self.code] * self.times, minlength=len(self.size))
        return total.astype(np.float64)

    def squares(self) -> Floats:
        """Return the sum over values of the squared count, by profile."""
        cells = self.profile * len(self.values) + self.code
        folded = fold(cells)
        times = np.bincount(folded.of, weights=self.times)
        total = np.bincount(self.profile[folded.first], weights=times**2, minlength=len(self.size))
        return total.astype(np.float64)


def code_values(value: Floats, *, turns: bool = False) -> tuple[Floats, Ints]:
    """Return the distinct values, ascending, and the number of each answer's value; the opposites where units ``turn``.

    >>> values, codes = code_values(np.array([4.0, 1.0, 4.0]))
    >>> values.tolist(), codes.tolist()
    ([1.0, 4.0], [1, 0, 1])
    """
    if turns:
        given, codes = code_values(value)
        values = np.union1d(given, -given)
        return values, np.searchsorted(values, given)[codes]
    low, high = value.min(), value.max()
    if high - low < WIDEST:
        whole = (value - low).astype(np.int64)
        if low == np.floor(low) and np.array_equal(whole, value - low):
            present = np.bincount(whole) > 0
            return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[whole].astype(np.int64)
    values, codes = np.unique(value, return_inverse=True)
    return values, codes.astype(np.int64)


def fold_profiles(data: ReliabilityData, *, at_least: int = 1) -> Profiles:
    """Fold the units with ``at_least`` answers into profiles.

    O(answers + units x values) where a unit has more answers than there are values, else O(answers log answers).
    """
    sizes = data.sizes
    unit, value = data.unit, data.value
    if sizes.min() < at_least:
        kept = sizes[unit] >= at_least
        unit, value = (np.cumsum(sizes >= at_least) - 1)[unit[kept]], value[kept]
        sizes = sizes[sizes >= at_least]
    values, codes = code_values(value, turns=data.turns)
    if sizes.max() > len(values):
        return _fold_counts(values, unit, codes, sizes, data.turns)
    return _fold_answers(values, unit, codes, sizes, data.turns)


def _fold_counts(values: Floats, unit: Ints, codes: Ints, sizes: Ints, turns: bool) -> Profiles:
    """Fold rows of the table of units x values; equal sizes stand as their sorted answers would."""
    shape = (len(sizes), len(values))
    key = unit * shape[1]
    key += codes
    return profiles_of_counts(values, np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape), turns=turns)


def profiles_of_counts(values: Floats, counts: Ints, *, turns: bool = False) -> Profiles:
    """Fold units whose ``counts`` of each value, shape (n_units, n_values), are known."""
    if turns:
        backward = _is_backward(counts - counts[:, ::-1])
        counts = np.where(backward[:, None], counts[:, ::-1], counts)
    sizes = counts.sum(axis=1)
    folded = fold(sizes, *(sizes - column for column in counts.T))
    counts = counts[folded.first]
    profile, code = np.nonzero(counts)
    return Profiles(
        values=values,
        profile=profile,
        code=code,
        times=counts[profile, code],
        size=sizes[folded.first],
        units=np.bincount(folded.of, minlength=len(folded)),
        of_unit=folded.of,
        turns=turns,
    )


def _is_backward(difference: Ints) -> np.ndarray:
    """Tell in which rows the first number that is not 0 is below it."""
    first = np.argmax(difference != 0, axis=1)
    return np.asarray(np.take_along_axis(difference, first[:, None], axis=1)[:, 0] < 0)


def _fold_answers(values: Floats, unit: Ints, codes: Ints, sizes: Ints, turns: bool) -> Profiles:
    order = np.argsort(unit, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    codes = codes[order]
    of_unit = np.zeros(len(sizes), dtype=np.int64)
    profile, entries, widths, units = [], [], [], []
    found = 0
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        block = np.sort(codes[start[rows][:, None] + np.arange(size)], axis=1)
        if turns:
            opposite = len(values) - 1 - block[:, ::-1]
            block = np.where(_is_backward(block - opposite)[:, None], opposite, block)
        folded = fold(*block.T)
        of_unit[rows] = folded.of + found
        profile.append(np.repeat(np.arange(len(folded)) + found, size))
        entries.append(block[folded.first].ravel())
        widths.append(np.full(len(folded), size))
        units.append(np.bincount(folded.of, minlength=len(folded)))
        found += len(folded)
    return Profiles(
        values=values,
        profile=np.concatenate(profile),
        code=np.concatenate(entries),
        times=np.ones(sum(map(len, entries)), dtype=np.int64),
        size=np.concatenate(widths),
        units=np.concatenate(units),
        of_unit=of_unit,
        turns=turns,
    )
