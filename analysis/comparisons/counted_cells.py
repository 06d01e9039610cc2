"""Sums of cells whose scores have few decimals, in floats: to the last digit those of whole numbers of 128 bits.

Every sum is a whole number below 2^53. Of a million ratings of five systems it takes 0.2 s, grouping in polars 2.4 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

import numpy as np
import polars as pl

from analysis.comparisons.rating_cells import RatingCells, rating_differences
from analysis.statistics.cell_sums import BITS, ByNumber, WholeSums, numbered_keys, packed, unpacked
from analysis.statistics.coding import DENSE, Floats, Ints, all_differ
from analysis.statistics.differences import DifferencePart, Differences
from analysis.sums.adding import LISTED, PACKED, ROOM
from analysis.sums.grid import OVER, PART, TOGETHER, UNITS, Grid, Sums

FEW = 256  # values from the least to the largest score up to which what is added up is looked up by value
PROFILES = 4096  # possible scores of all systems side by side up to which all pairs are looked up together
DECIMALS = 4  # decimals of scores below which they are whole numbers of so small a part
POWERS = {"total": 1, "first": 1, "squares": 2, "first_squares": 2, "product": 2}
BESIDE = ("first", "first_squares", "product")  # of the ratings that lie side by side, by who gave them


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedCells:
    """Cells whose scores are whole numbers.

    Each ``value`` is ``times`` a multiple of the grid; ``place`` numbers group and criterion, ``base`` both together.
    Where scores lie close, ``values`` are all between the least and the largest, and ``which`` are their places among
    them; else each is its own, and ``which`` is ``None``. Where cells are ``complete``, as nothing is added to their
    sums, those by item are floats, rounded once.
    """

    cells: RatingCells
    grid: Grid
    place: tuple[int, int]
    value: Floats
    decimals: int
    times: int
    base: int
    values: Floats
    which: Ints | None
    complete: bool = False

    @cached_property
    def differences(self) -> Differences:
        """Of what lies side by side."""
        return rating_differences(self.cells)

    @cached_property
    def side_by_side(self) -> Ints | None:
        """Places of the scores of each system by block, shape (k, n_blocks), where every block has all systems."""
        k, system, block = len(self.cells.systems), self.cells.system, self.cells.block
        if self.which is None or k < 2 or len(system) % k:
            return None
        whole = np.all(system.reshape(-1, k) == np.arange(k)) and np.all(block[::k] == block[k - 1 :: k])
        return np.ascontiguousarray(self.which.reshape(-1, k).T) if whole else None

    def abouts(self, of: str) -> Ints:
        """Return the numbers in a criterion of the systems, or of the pairs of one before another."""
        k = len(self.cells.systems)
        if of == "scores":
            return np.arange(k)
        x, y = np.triu_indices(k, 1)
        number: Ints = x * k + y
        return number

    def about(self, of: str, place: Ints) -> pl.Series:
        """Return what stands at a place among those, numbered across groups and criteria."""
        k = len(self.cells.systems)
        return pl.Series(self.abouts(of)[place] + self.base * (k if of == "scores" else k**2))

    def pair(self, part: DifferencePart) -> Ints:
        """Return the place of each difference's pair among those."""
        k = len(self.cells.systems)
        place = np.zeros(k * k, dtype=np.int64)
        place[self.abouts("pairs")] = np.arange(k * (k - 1) // 2)
        found: Ints = place[part.x * k + part.y]
        return found

    def units(self) -> tuple[str, ...]:
        """Return by whom (of LLMs also in which assignment) and about which item scores are added up."""
        return ("annotator", *(("assignment",) if self.cells.llm else ()), "item")


def counted_cells(
    cells: RatingCells, grid: Grid, place: tuple[int, int], *, complete: bool = False
) -> CountedCells | None:
    """Return scores as whole numbers.

    ``None`` where sums may be no whole floats, or somebody answered about an item in several blocks or samples.
    """
    sizes = np.bincount(cells.block - cells.block.min())
    most = max(len(cells.value), int(np.sum(sizes * (sizes - 1)) // 2))
    for decimals in range(DECIMALS):
        value = np.rint(cells.value * 10.0**decimals if decimals else cells.value)
        if np.array_equal(value / 10.0**decimals if decimals else value, cells.value):
            low, high = int(value.min()), int(value.max())
            if most * (2 * float(max(-low, high))) ** 2 >= 2.0**BITS or not _once(cells):
                return None
            few = high - low < FEW
            return CountedCells(
                cells=cells,
                grid=grid,
                place=place,
                value=value,
                decimals=decimals,
                times=round(grid.factor[place] / 10.0**decimals),
                base=place[0] * len(grid.order.criteria) + place[1],
                values=np.arange(low, high + 1, dtype=np.float64) if few else value,
                which=(value - low).astype(np.int64) if few else None,
                complete=complete,
            )
    return None


def _once(cells: RatingCells) -> bool:
    """Tell whether every annotator answered about every item in one block, once about each output."""
    if cells.once:
        return True
    starts = np.flatnonzero(np.diff(cells.block, prepend=-1))
    return not cells.sampled and all_differ(cells.annotator[starts], cells.item[starts])


def counted_sums(own: CountedCells, *, by_item: bool = True) -> Sums:
    """Return what :func:`analysis.sums.adding.add_up` does of one group and criterion; O(cells + differences) time.

    But for clusters, in which each value is alone (:mod:`analysis.sums.clusters`), and without ``by_item`` for the
    sums by item, which have no rows then: :func:`item_sums` returns them.
    """
    cells, units = own.cells, own.units()
    sums, added = _scores_by(own, [unit for unit in units if by_item or unit != "item"])
    sums |= {"scores_counts": _counts(own)} | _pairs_by(own, added)
    for of in OVER:
        people = [one.clear() for one in sums[f"{of}_annotator"].iter_columns()]
        for unit in UNITS:
            there = [one for one in people if unit in TOGETHER.values() or one.name not in BESIDE]
            nobody = [one.alias(unit) if one.name == "annotator" else one for one in there]
            sums.setdefault(f"{of}_{unit}", pl.DataFrame(nobody))
    blocks = int(cells.block.max() - cells.block.min()) + 1
    layout = {"clusters": blocks, "blocks": blocks, "answers": len(cells.value)}
    placed = [pl.Series(name, np.array([one], dtype=np.int32)) for name, one in zip(PART, own.place, strict=True)]
    sums["layout"] = pl.DataFrame([*placed, *(pl.Series(name, np.array([one])) for name, one in layout.items())])
    return sums


def item_sums(own: CountedCells, of: str) -> pl.DataFrame:
    """Return the sums of scores, or of pairs, by item."""
    sums, added = _scores_by(own, ["item"])
    return (sums if of == "scores" else _pairs_by(own, added))[f"{of}_item"]


def _scores_by(own: CountedCells, units: Sequence[str]) -> tuple[Sums, dict[str, _Added]]:
    """Return the sums of scores by each unit, as tables and as those of pairs are made of them."""
    k, sums, added = len(own.cells.systems), Sums(), dict[str, _Added]()
    for unit in units:
        width = int(own.cells.column(unit).max()) + 1
        key, columns, options = _scores(own, unit, width)
        added[unit] = _Added(width=width, scores=columns, pairs=WholeSums(k * (k - 1) // 2 * width))
        sums |= _by_unit(own, "scores", unit, width, key, columns, options)
    return sums, added


def _pairs_by(own: CountedCells, added: Mapping[str, _Added]) -> Sums:
    """Add pairs up by each unit."""
    if own.side_by_side is not None:
        _add_side_by_side(own, own.side_by_side, added)
    for part in own.differences.parts() if own.side_by_side is None else ():
        (values, which), pair = _of_pairs(part, own), own.pair(part)
        for unit, one in added.items():
            one.pairs.add(pair * one.width + getattr(part, unit), _kept(values, unit), which=which)
    sums = Sums()
    for unit, one in added.items():
        sums |= _by_unit(own, "pairs", unit, one.width, *one.pairs.found())
    return sums


def _by_unit(
    own: CountedCells,
    of: str,
    unit: str,
    width: int,
    key: Ints,
    columns: Mapping[str, Ints],
    packed: Sequence[pl.Series] = (),
) -> Sums:
    """Return sums by unit, and those by annotator added up."""
    about = key // width
    found = {f"{of}_{unit}": _frame(own.about(of, about), columns, own, packed, {unit: pl.Series(key % width)})}
    if unit == "annotator":
        place, summed = _over_units(about, {name: one for name, one in columns.items() if name not in BESIDE})
        found[f"{of}_overall"] = _frame(own.about(of, place), summed, own)
    return found


def _scores(own: CountedCells, unit: str, width: int) -> tuple[Ints, dict[str, Ints], list[pl.Series]]:
    """Add scores up by system and unit; where values are few beside the scores, of how often each was given."""
    cells, size = own.cells, len(own.cells.systems) * width
    powers = {"total": own.values, "squares": own.values**2}
    if own.which is None or size * len(own.values) > DENSE * len(cells.value):
        sums = WholeSums(size)
        sums.add(cells.system * width + cells.column(unit), powers.items(), which=own.which)
        there, columns = sums.found()
        return there, columns, _packed(own, unit, there, width)
    n_values = len(own.values)
    if own.side_by_side is None:
        key = cells.system * width + cells.column(unit)
        times = np.bincount(own.which * size + key, minlength=n_values * size).reshape(n_values, size)
    else:  # system by system: tables that the processor's cache holds
        who = cells.column(unit)[:: len(cells.systems)]
        times = np.empty((n_values, size), dtype=np.int64)
        for system, scores in enumerate(own.side_by_side):
            own_times = np.bincount(scores * width + who, minlength=n_values * width)
            times[:, system * width : (system + 1) * width] = own_times.reshape(n_values, width)
    n = times.sum(axis=0)
    there = np.flatnonzero(n)
    if len(there) < size:
        n, times = n[there], times[:, there]
    columns = {name: _weighted(times, power) for name, power in powers.items()}
    return there, {"n": n, **columns}, _packed(own, unit, there, width, times)


def _weighted(times: Ints, values: Floats) -> Ints:
    """Add up whole values, each as often as it was given; ``times`` has a row a value."""
    total, product = np.zeros((2, times.shape[1]), dtype=np.int64)
    for value, row in zip(values.tolist(), times, strict=True):
        total += np.multiply(row, int(value), out=product)
    return total


def _kept(values: Mapping[str, Floats], unit: str) -> list[tuple[str, Floats]]:
    return [(name, one) for name, one in values.items() if unit in TOGETHER.values() or name not in BESIDE]


def _add_side_by_side(own: CountedCells, scores: Ints, added: Mapping[str, _Added]) -> None:
    """Add pairs up by the columns of the ``scores`` of whole blocks, without a row for each difference.

    What is about one system alone is known from the scores; of few possible scores of a block all pairs are looked up
    together.
    """
    k, n = len(scores), len(own.values)
    units = {unit: _blocks(own.cells.column(unit)[::k], one.width) for unit, one in added.items()}
    found: dict[str, dict[str, Ints]] = {unit: {} for unit in added}
    for group in [tuple(range(k))] if n**k <= PROFILES else combinations(range(k), 2):
        which, columns = scores[group[0]], dict[str, Floats]()
        for x in group[1:]:
            which = which * n + scores[x]
        values = np.meshgrid(*[own.values] * len(group), indexing="ij")
        for (x, first), (y, second) in combinations(zip(group, values, strict=True), 2):
            both = _beside(first.ravel(), second.ravel())
            columns |= {f"{name} {x} {y}": both[name] for name in ("product", "above", "tied")}
        for unit, sums in _by_blocks(units, columns, which).items():
            found[unit] |= sums
    for unit, one in added.items():
        total, squares = (one.scores[name].reshape(k, -1) for name in ("total", "squares"))
        for place, (x, y) in enumerate(combinations(range(k), 2)):
            product, above, tied = (found[unit][f"{name} {x} {y}"] for name in ("product", "above", "tied"))
            difference = {"total": total[x] - total[y], "squares": squares[x] + squares[y] - 2 * product}
            columns_of = {"n": units[unit].added.n, **difference, "above": above, "tied": tied}
            if unit in TOGETHER.values():
                columns_of |= {"first": total[x], "first_squares": squares[x], "product": product}
            one.pairs.put(units[unit].keys + place * one.width, columns_of)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Added:
    """Sums by unit, below ``width``: those of scores by system and unit, and of pairs."""

    width: int
    scores: Mapping[str, Ints]
    pairs: WholeSums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blocks:
    """Adds up by the unit of each block, numbered; ``keys`` are the units by number."""

    added: ByNumber
    keys: Ints


def _blocks(who: Ints, width: int) -> _Blocks:
    of, keys, size = numbered_keys(who, width)
    added = ByNumber(of, size)
    if keys is None and not added.n.all():
        keys = np.flatnonzero(added.n)
        number = np.zeros(size, dtype=np.int64)
        number[keys] = np.arange(len(keys))
        added = ByNumber(number[of], len(keys))
    return _Blocks(added=added, keys=np.arange(size) if keys is None else keys)


def _by_blocks(units: Mapping[str, _Blocks], columns: Mapping[str, Floats], which: Ints) -> dict[str, dict[str, Ints]]:
    """Add columns up by each unit; ``which`` is the place of each block's values in them."""
    found: dict[str, dict[str, Ints]] = {unit: {} for unit in units}
    for fields, values in packed(columns.items(), max(int(blocks.added.n.max()) for blocks in units.values())):
        each = values[which]
        for unit, blocks in units.items():
            found[unit] |= unpacked(fields, blocks.added(each), blocks.added.n)
    return found


def _over_units(place: Ints, columns: Mapping[str, Ints]) -> tuple[Ints, dict[str, Ints]]:
    """Add up by what values are about alone."""
    there = np.flatnonzero(np.bincount(place))
    return there, {name: np.bincount(place, own).astype(np.int64)[there] for name, own in columns.items()}


def _of_pairs(part: DifferencePart, own: CountedCells) -> tuple[dict[str, Floats], Ints | None]:
    """Return what is added up of the differences of a part, and where each one's stands if it is looked up."""
    first, second, which = sides(part, own)
    return _beside(first, second), which


def of_both(values: Floats) -> dict[str, Floats]:
    """Return what is added up of any two values."""
    return _beside(np.repeat(values, len(values)), np.tile(values, len(values)))


def _beside(first: Floats, second: Floats) -> dict[str, Floats]:
    difference = first - second
    return {
        "total": difference,
        "squares": difference * difference,
        "above": (difference > 0).astype(np.float64),
        "tied": (difference == 0).astype(np.float64),
        "first": first,
        "first_squares": first * first,
        "product": first * second,
    }


def sides(part: DifferencePart, own: CountedCells) -> tuple[Floats, Floats, Ints | None]:
    """Return both scores of each difference, or of any two values and which of these each difference has."""
    if own.which is None:
        return own.value[part.of], own.value[part.of_y], None
    n = len(own.values)
    return np.repeat(own.values, n), np.tile(own.values, n), own.which[part.of] * n + own.which[part.of_y]


def _frame(
    about: pl.Series,
    columns: Mapping[str, Ints],
    own: CountedCells,
    packed: Sequence[pl.Series] = (),
    unit: Mapping[str, pl.Series] = MappingProxyType({}),
) -> pl.DataFrame:
    """Return sums as a table of those that parts have."""
    found = {name: pl.Series(values) for name, values in columns.items()}
    scaled = _rounded if own.complete and "item" in unit else _multiplied
    for name in POWERS.keys() & columns.keys():
        found[name] = scaled(found[name], own.times ** POWERS[name])
    if "above" in found:
        found["answers"] = found["n"] * 2
    together = {"about": about, **unit, "squares": found["squares"], **{one.name: one for one in packed}}
    names = ("n", "total", "above", "tied", "answers", *BESIDE)
    return pl.DataFrame(together | {name: found[name] for name in names if name in found})


def _multiplied(whole: pl.Series, times: int) -> pl.Series:
    return whole.cast(pl.Int128) * pl.Series([times], dtype=pl.Int128)


def _rounded(whole: pl.Series, times: int) -> pl.Series:
    """Do the same, rounded to floats; of numbers that lie close once each."""
    values = whole.to_numpy()
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low >= len(values):
        return _multiplied(whole, times).cast(pl.Float64)
    each = _multiplied(pl.Series(np.arange(low, high + 1)), times).cast(pl.Float64).to_numpy()
    return pl.Series(each[values - low])


def _packed(own: CountedCells, unit: str, there: Ints, width: int, times: Ints | None = None) -> list[pl.Series]:
    """Return how often each option was given by system and unit, packed as those of parts.

    ``times`` says how often each value was, a row each, where that is known. Nothing is counted where there are no
    options, or some scores are means of repeats.
    """
    asked = own.grid.options
    packed = np.zeros((-(-(max(asked["option"].to_list(), default=-1) + 1) // PACKED), len(there)), dtype=np.int64)
    here = [asked[name].to_numpy() == number for name, number in zip(PART, own.place, strict=True)]
    options = asked["value"].to_numpy()[here[0] & here[1]]
    scaled = np.rint(options * 10.0**own.decimals)
    mine = np.flatnonzero(scaled / 10.0**own.decimals == options)  # others have more decimals than any score here
    whole = scaled[mine]
    if not len(mine) or not np.isin(_given(own, times), whole).all():
        counts = []
    elif times is not None:
        place = (whole - own.values[0]).astype(np.int64)
        given = (place >= 0) & (place < len(own.values))
        mine, counts = mine[given], [times[row] for row in place[given].tolist()]
    else:
        option = np.minimum(np.searchsorted(whole, own.values), len(whole) - 1)
        option = option if own.which is None else option[own.which]
        of, _, size = numbered_keys(own.cells.system * width + own.cells.column(unit), len(own.cells.systems) * width)
        each = np.bincount(of * len(mine) + option, minlength=size * len(mine)).reshape(size, -1)
        counts = [*(each[there] if len(there) < size else each).T]
    for number, column in zip(mine.tolist(), counts, strict=False):
        packed[number // PACKED] += column << ROOM * (number % PACKED)
    return [pl.Series(f"packed_{number}", one) for number, one in enumerate(packed)]


def _given(own: CountedCells, times: Ints | None) -> Floats:
    """Return the values that were given."""
    if own.which is None:
        return own.values
    return own.values[times.any(axis=1) if times is not None else np.bincount(own.which, minlength=len(own.values)) > 0]


def _counts(own: CountedCells) -> pl.DataFrame:
    """Count each score of each system, or where there are too many the scores of each system."""
    k, values, of = len(own.cells.systems), own.values, own.which
    if of is None:
        values, of = np.unique(own.value, return_inverse=True)
    few = len(values) <= LISTED
    width = len(values) if few else 1
    if few and own.side_by_side is not None:
        counts = np.concatenate([np.bincount(scores, minlength=width) for scores in own.side_by_side])
    else:
        counts = np.bincount(own.cells.system * width + (of if few else 0), minlength=k * width)
    key = np.flatnonzero(counts)
    score = values[key % width] if few else np.zeros(len(key))
    multiples = pl.Series(score.astype(np.int64) * own.times) if few else pl.Series([None] * len(key), dtype=pl.Int64)
    return pl.DataFrame({"about": own.base * k + key // width, "value": multiples, "n": counts[key]})
