"""Values of counted cells by item, each times the weight of who gave it: exact sums of more bits than floats have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import polars as pl

from analysis.comparisons.counted_cells import CountedCells, of_both, sides
from analysis.statistics.cell_sums import BITS, WholeSums
from analysis.statistics.coding import Floats, Ints
from analysis.sums.adding import TOGETHER, Sums

AT_ONCE = 1 << 16  # rows of large sums that are put together from small ones at a time


def counted_weighed(own: CountedCells, weights: Mapping[str, pl.DataFrame]) -> Sums:
    """Return what :func:`analysis.sums.adding.add_weighed` does: sums by item, each value times its weight.

    Weights have more bits than floats: they are added up in parts of as many bits as sums have room for.
    """
    cells, found = own.cells, Sums()
    n_items, differences = int(cells.item.max()) + 1, 2 * float(np.abs(own.value).max())
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
            added, frames, known = WholeSums(len(abouts) * n_items), list[pl.DataFrame](), _Shares()
            for at, who, item, values, which in _values(of, own, unit):
                rows, key = row[at * width + who], item if isinstance(at, int) else at * n_items + item
                if rows.min(initial=0) < 0:
                    own_rows = np.flatnonzero(rows >= 0)
                    rows, key = rows[own_rows], key[own_rows]
                    values = values if which is not None else {name: one[own_rows] for name, one in values.items()}
                    which = which if which is None else which[own_rows]
                alike = isinstance(at, int) and known.are_of(rows, key)
                n_weights, n_values = len(first), len(values["total"])
                if which is not None and n_weights * n_values < len(rows):  # all weights times all values
                    values = {name: np.tile(one, n_weights) for name, one in values.items()}
                    rows, which = np.repeat(np.arange(n_weights), n_values), rows * n_values + which
                elif which is not None:
                    values, which = {name: one[which] for name, one in values.items()}, None
                columns = _weighed(rows, values, limbs, shares=not alike)
                if isinstance(at, int):
                    of_pair = WholeSums(n_items)
                    of_pair.add(key, columns, which=which)
                    there, sums = of_pair.found()
                    frames += _weighed_frames(own, of, (there + at * n_items, n_items), sums, room, known.columns)
                else:
                    added.add(key, columns, which=which)
            if not frames:
                key, sums = added.found()
                frames += _weighed_frames(own, of, (key, n_items), sums, room, {})
            found[f"{of}_weighed_item"] = pl.concat(frames)
    return found


@dataclass(slots=True)
class _Shares:
    """Weights and squared weights by item, added up: those of one pair are often those of the one before.

    ``columns``, by name and first row, are those ``of`` the rows of weights and their keys.
    """

    of: tuple[Ints, Ints] | None = None
    columns: dict[tuple[str, int], pl.Series] = field(default_factory=dict)

    def are_of(self, rows: Ints, key: Ints) -> bool:
        """Tell whether the columns are those of some rows; else forget them."""
        if self.of is not None and all(map(np.array_equal, self.of, (rows, key))):
            return True
        self.of, self.columns = (rows, key), {}
        return False


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
            frame[name] = _joined(limbs, room) if limbs else known[name, start]
        known |= {(name, start): frame[name] for name in ("share", "square")}
        frame["total"] = frame["total"] * pl.Series([own.times], dtype=pl.Int128)
        yield pl.DataFrame(frame)


def _values(
    of: str, own: CountedCells, unit: str
) -> Iterator[tuple[Ints | int, Ints, Ints, dict[str, Floats], Ints | None]]:
    """Yield what values are about, by whom and about which item, what is weighed of them, and how it is looked up.

    All about one system or pair together, where blocks are whole.
    """
    cells = own.cells
    k, scores = len(cells.systems), own.side_by_side
    if of == "scores" and scores is not None:
        for system, which in enumerate(scores):
            yield system, cells.column(unit)[::k], cells.item[::k], {"total": own.values}, which
        return
    if of == "scores":
        yield cells.system, cells.column(unit), cells.item, {"total": own.values}, own.which
        return
    if scores is not None:
        both = of_both(own.values)["total"]
        values = {"total": both, "higher": np.sign(both) + 1}
        for place, (x, y) in enumerate(combinations(range(k), 2)):
            which = scores[x] * len(own.values) + scores[y]
            yield place, cells.column(unit)[::k], cells.item[::k], values, which
        return
    for part in own.differences.parts():
        first, second, which = sides(part, own)
        value = first - second
        yield own.pair(part), getattr(part, unit), part.item, {"total": value, "higher": np.sign(value) + 1}, which


def _limbs(whole: Sequence[int], bits: int) -> list[Floats]:
    """Split whole numbers into floats of so many bits each, the lowest first."""
    places = range(0, max(whole).bit_length(), bits)
    return [np.array([own >> at & (1 << bits) - 1 for own in whole], dtype=np.float64) for at in places]


def _joined(limbs: list[Ints], bits: int) -> pl.Series:
    """Undo :func:`_limbs`, of sums."""
    total = pl.Series(limbs[-1]).cast(pl.Int128)
    for limb in reversed(limbs[:-1]):
        total = total * pl.Series([1 << bits], dtype=pl.Int128) + pl.Series(limb)
    return total


def _weighed(
    rows: Ints, values: Mapping[str, Floats], limbs: Mapping[str, list[Floats]], *, shares: bool
) -> Iterator[tuple[str, Floats]]:
    """Yield weighed values, with ``shares`` weights and squared weights, too; ``rows`` are those of the weights."""
    for place, limb in enumerate(limbs["weight"]):
        weight = limb[rows]
        if shares:
            yield f"share_{place}", weight
        for name, value in values.items():
            yield f"{name}_{place}", weight * value
    for place, limb in enumerate(limbs["squared"]) if shares else ():
        yield f"square_{place}", limb[rows]
