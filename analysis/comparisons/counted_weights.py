"""Values of counted cells by item, each times the weight of who gave it: exact sums of more bits than floats have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from analysis.comparisons.counted_cells import CountedCells, of_both, sides
from analysis.statistics.cell_sums import BITS, ByNumber, WholeSums, numbered_keys
from analysis.statistics.coding import Floats, Ints
from analysis.sums.grid import TOGETHER, Sums

AT_ONCE = 1 << 16  # rows of large sums that are put together from small ones at a time


def counted_weighed(own: CountedCells, weights: Mapping[str, pl.DataFrame]) -> Sums:
    """Return what :func:`analysis.sums.adding.add_weighed` does: sums by item, each value times its weight.

    Weights have more bits than floats: they are added up in parts of as many bits as sums have room for.
    """
    cells, found = own.cells, Sums()
    n_items, differences = int(cells.item.max()) + 1, 2 * float(np.abs(own.value).max())
    whole = None if own.side_by_side is None else _WholeBlocks(own, own.side_by_side)
    for of, every in weights.items():
        abouts = own.about(of, np.arange(len(own.abouts(of)))).to_numpy()
        about = every["about"].to_numpy()
        place = np.searchsorted(abouts, about)
        mine = np.append(abouts, -1)[place] == about
        for unit in TOGETHER.values():
            width = int(cells.column(unit).max()) + 1  # others gave nothing here
            here = (every["who"] < width) & (every["votes"] == unit)
            kept = np.flatnonzero(mine & here.to_numpy())
            if not len(kept):
                continue
            room = BITS - int(2 * width * max(differences, 2)).bit_length()
            _, first, number = np.unique(
                every["weight"].cast(pl.Int64).to_numpy()[kept], return_index=True, return_inverse=True
            )
            limbs = {name: _limbs(every[name][kept[first]].to_list(), room) for name in ("weight", "squared")}
            row = np.full(len(abouts) * width, -1, dtype=np.int64)
            row[place[kept] * width + every["who"].to_numpy()[kept]] = number
            if (
                whole is not None
                and (frames := whole.frames(of, row.reshape(-1, width), unit, limbs, room)) is not None
            ):
                found[f"{of}_weighed_item"] = pl.concat(frames)
                continue
            added = WholeSums(len(abouts) * n_items)
            for at, who, item, values, which in _values(of, own, unit):
                rows, key = row[at * width + who], at * n_items + item
                if rows.min(initial=0) < 0:
                    own_rows = np.flatnonzero(rows >= 0)
                    rows, key = rows[own_rows], key[own_rows]
                    values = values if which is not None else {name: one[own_rows] for name, one in values.items()}
                    which = which if which is None else which[own_rows]
                n_weights, n_values = len(first), len(values["total"])
                if which is not None and n_weights * n_values < len(rows):  # all weights times all values
                    values = {name: np.tile(one, n_weights) for name, one in values.items()}
                    rows, which = np.repeat(np.arange(n_weights), n_values), rows * n_values + which
                elif which is not None:
                    values, which = {name: one[which] for name, one in values.items()}, None
                added.add(key, _weighed(rows, values, limbs), which=which)
            key, sums = added.found()
            found[f"{of}_weighed_item"] = pl.concat(_weighed_frames(own, of, (key, n_items), sums, room, {}))
    return found


class _WholeBlocks:
    """Weighed sums of whole blocks.

    Where everybody's weight is the same for all systems, a pair's total is the difference of its systems'. These, and
    the shares, are looked for once, of pairs and scores whose weights are the same.
    """

    def __init__(self, own: CountedCells, scores: Ints) -> None:
        self._own, self._scores = own, scores
        item = own.cells.item[:: len(scores)]
        self._n_items = int(own.cells.item.max()) + 1
        of, keys, size = numbered_keys(item, self._n_items)
        self._added = ByNumber(of, size)
        there = np.flatnonzero(self._added.n)
        self._there = None if len(there) == size else there
        self._items = there if keys is None else keys[there]
        self._of: tuple[Ints, Mapping[str, list[Floats]]] | None = None  # weights of what follows
        self._shares: dict[tuple[str, int], pl.Series] = {}
        self._totals: list[list[Ints]] = []  # of each system

    def frames(
        self, of: str, row: Ints, unit: str, limbs: Mapping[str, list[Floats]], room: int
    ) -> list[pl.DataFrame] | None:
        """Return weighed sums as tables below each other; nothing where somebody has no weight.

        ``row``, shape (systems or pairs, annotators), is that of each weight, below 0 where there is none.
        """
        who = self._own.cells.column(unit)[:: len(self._scores)]
        rows = row[:, np.bincount(who, minlength=row.shape[1]) > 0]
        if np.any(rows < 0):
            return None
        alike, found, of_block = bool(np.all(rows == rows[0])), list[pl.DataFrame](), row[0][who]
        both = of_both(self._own.values)["total"]
        abouts: list[tuple[int, ...]] = [*combinations(range(len(self._scores)), 2 if of == "pairs" else 1)]
        for place, systems in enumerate(abouts):
            of_block = of_block if alike else row[place][who]
            sums = {} if place and alike else self._new_shares(of_block, limbs)
            if alike and not self._totals:
                self._totals = [self._times(of_block, limbs, self._own.values, which) for which in self._scores]
            if of == "scores":
                (x,) = systems
                totals = self._totals[x] if alike else self._times(of_block, limbs, self._own.values, self._scores[x])
            else:
                x, y = systems
                which = self._scores[x] * len(self._own.values) + self._scores[y]
                if alike:
                    totals = [first - second for first, second in zip(self._totals[x], self._totals[y], strict=True)]
                else:
                    totals = self._times(of_block, limbs, both, which)
                higher = self._times(of_block, limbs, np.sign(both) + 1, which)
                sums |= {f"higher_{at}": one for at, one in enumerate(higher)}
            sums |= {f"total_{at}": one for at, one in enumerate(totals)}
            keys = self._items + place * self._n_items, self._n_items
            found += _weighed_frames(self._own, of, keys, sums, room, self._shares)
        return found

    def _new_shares(self, rows: Ints, limbs: Mapping[str, list[Floats]]) -> dict[str, Ints]:
        """Return the sums of weights, where they are not those before."""
        if self._of is not None and np.array_equal(self._of[0], rows) and _same_limbs(self._of[1], limbs):
            return {}
        self._of, self._shares, self._totals = (rows, limbs), {}, []
        names = {"weight": "share", "squared": "square"}
        return {f"{names[of]}_{at}": self._sums(one[rows]) for of, own in limbs.items() for at, one in enumerate(own)}

    def _times(self, rows: Ints, limbs: Mapping[str, list[Floats]], values: Floats, which: Ints) -> list[Ints]:
        """Add up the values of each block, times each limb of its weight."""
        n, weights = len(values), limbs["weight"]
        if len(weights[0]) * n >= len(rows):
            given = values[which]
            return [self._sums(limb[rows] * given) for limb in weights]
        place = rows * n  # of all weights times all values
        place += which
        return [self._sums(np.multiply.outer(limb, values).ravel()[place]) for limb in weights]

    def _sums(self, values: Floats) -> Ints:
        sums = self._added(values)
        found: Ints = (sums if self._there is None else sums[self._there]).astype(np.int64)
        return found


def _same_limbs(one: Mapping[str, list[Floats]], other: Mapping[str, list[Floats]]) -> bool:
    pairs = [(own, other[name]) for name, own in one.items()]
    return all(len(x) == len(y) and all(map(np.array_equal, x, y)) for x, y in pairs)


def _weighed_frames(
    own: CountedCells,
    of: str,
    keys: tuple[Ints, int],
    sums: Mapping[str, Ints],
    room: int,
    known: dict[tuple[str, int], pl.Series],
) -> Iterator[pl.DataFrame]:
    """Yield weighed sums as tables of so many rows as the processor's cache holds; keys number systems and items.

    Shares that are not among the sums are ``known``.
    """
    every, n_items = keys
    for start in range(0, max(len(every), 1), AT_ONCE):  # of no rows one table of none
        rows = slice(start, start + AT_ONCE)
        key = every[rows]
        frame = {"about": own.about(of, key // n_items), "item": pl.Series(key % n_items)}
        for name in ("share", "square", "total", *(("higher",) if of == "pairs" else ())):
            limbs = [one[rows] for other, one in sums.items() if other.startswith(f"{name}_")]
            times = own.times if name == "total" else 1
            if not limbs:
                frame[name] = known[name, start]
            elif own.complete:
                frame[name] = _rounded(limbs, room, times)
            else:
                frame[name] = _joined(limbs, room, times)
        known |= {(name, start): frame[name] for name in ("share", "square")}
        yield pl.DataFrame(frame)


def _values(of: str, own: CountedCells, unit: str) -> Iterator[tuple[Ints, Ints, Ints, dict[str, Floats], Ints | None]]:
    """Yield what values are about, by whom and about which item, what is weighed of them, and how it is looked up."""
    cells = own.cells
    if of == "scores":
        yield cells.system, cells.column(unit), cells.item, {"total": own.values}, own.which
        return
    for part in own.differences.parts():
        first, second, which = sides(part, own)
        value = first - second
        yield own.pair(part), getattr(part, unit), part.item, {"total": value, "higher": np.sign(value) + 1}, which


def _limbs(whole: Sequence[int], bits: int) -> list[Floats]:
    """Split whole numbers into floats of so many bits each, the lowest first."""
    places = range(0, max(whole).bit_length(), bits)
    return [np.array([own >> at & (1 << bits) - 1 for own in whole], dtype=np.float64) for at in places]


def _joined(limbs: list[Ints], bits: int, times: int) -> pl.Series:
    """Undo :func:`_limbs`, of sums, ``times`` over."""
    total = pl.Series(limbs[-1]).cast(pl.Int128)
    for limb in reversed(limbs[:-1]):
        total = total * pl.Series([1 << bits], dtype=pl.Int128) + pl.Series(limb)
    return total * pl.Series([times], dtype=pl.Int128) if times != 1 else total


def _rounded(limbs: list[Ints], bits: int, times: int) -> pl.Series:
    """Do the same, rounded to floats once: two limbs, which floats hold, are rounded when they are added."""
    if len(limbs) == 1 and times == 1:
        return pl.Series(limbs[0]).cast(pl.Float64)
    if len(limbs) == 2 and times == 1:
        return pl.Series(limbs[1] * 2.0**bits + limbs[0])
    return _joined(limbs, bits, times).cast(pl.Float64)


def _weighed(
    rows: Ints, values: Mapping[str, Floats], limbs: Mapping[str, list[Floats]]
) -> Iterator[tuple[str, Floats]]:
    """Yield weighed values, weights and squared weights; ``rows`` are those of the weights."""
    for place, limb in enumerate(limbs["weight"]):
        weight = limb[rows]
        yield f"share_{place}", weight
        for name, value in values.items():
            yield f"{name}_{place}", weight * value
    for place, limb in enumerate(limbs["squared"]):
        yield f"square_{place}", limb[rows]
