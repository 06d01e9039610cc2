"""Ids to whole numbers, once, so that all counting is done on integer arrays.

Not polars' group-by: of 1e6 rows in 200,000 cells of three columns :func:`fold` numbers every row in 9 ms, numpy's
``unique`` in 110 ms, polars in 100 to 210 ms; of 200 rows in 0.02, 0.02 and 0.4 ms (``tests/benchmarks``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

Number = TypeVar("Number", bound=np.generic)
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.integer[Any]]  # of any width
Floats = npt.NDArray[np.float64]
FEW = 1_000  # rows up to which polars takes longer for any step than Python for all of it
DENSE = 4  # possible combinations a row up to which rows are folded by counting instead of sorting
MARKED = 64  # possible combinations a row up to which each that occurs is marked
ROUNDED = 1e-12  # of the largest value: what a mean differs by from one that is equal in exact arithmetic
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
    if len(column) <= FEW and isinstance(column.dtype, pl.String | pl.Categorical):
        names = ["" if name is None else name for name in column.to_list()]
        place = {name: number for number, name in enumerate(dict.fromkeys([*order, *names]))}
        return Codes(ids=tuple(place), of=np.array([place[name] for name in names], dtype=np.int64))
    if not isinstance(column.dtype, pl.Categorical):
        column = column.cast(pl.String).fill_null("").cast(pl.Categorical)
    seen = _first_met(column)
    found = seen.cast(pl.String).fill_null("").to_list()
    if not order and len(found) > FEW and not (seen.has_nulls() and found.count("") > 1):
        return Codes(ids=tuple(found), of=_look_up(column, seen, np.arange(len(found))))
    ids = tuple(dict.fromkeys([*order, *found]))
    place = {name: number for number, name in enumerate(ids)}
    if len(found) == 1 and place[found[0]] == 0:
        return Codes(ids=ids, of=np.zeros(len(column), dtype=np.int64))
    return Codes(ids=ids, of=_look_up(column, seen, np.array([place[name] for name in found], dtype=np.int64)))


def number(column: pl.Series) -> Numbers:
    """Give each id of a column a number, without naming them; whole numbers that lie close keep their distances.

    >>> number(pl.Series([7, 5, 7])).tolist()
    [2, 0, 2]
    """
    if isinstance(column.dtype, pl.Categorical) and len(column) > FEW:
        column = column.to_physical()
        lowest, highest = cast("int", column.min() or 0), cast("int", column.max() or 0)
        if lowest == highest and column.null_count() in (0, len(column)):
            return np.zeros(len(column), dtype=np.int64)
        found: Numbers = column.fill_null(highest + 1).to_numpy()
        return found - np.uint32(lowest) if lowest else found
    if column.dtype.is_float() and (steps := _steps(column)) is not None:
        return steps
    if column.dtype.is_integer() and len(column) and not column.has_nulls():
        whole = column.to_numpy()
        low, high = int(whole.min()), int(whole.max())
        if high - low < DENSE * len(whole):
            return whole.astype(np.int64) - low if low else whole
    return code(column).of


class Different:
    """The different values of long columns, each looked for once.

    A column is known by where its cells lie in memory: what is found of it holds in any frame that shares them.

    >>> different, names = Different(), pl.Series(["b", "a", "b"] * 1000)
    >>> different.of(names).to_list()
    ['b', 'a']
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, pl.DataType], tuple[pl.Series, pl.Series]] = {}

    def of(self, column: pl.Series) -> pl.Series:
        """Return the different values in the order in which they first appear."""
        place = _place(column)
        if place is None:
            return _first_met(column)
        if place not in self._known:
            self.know(column, column.unique(maintain_order=True))
        return self._known[place][1]

    def known(self, column: pl.Series) -> pl.Series | None:
        """Return the different values where they were looked for already."""
        place = _place(column)
        return None if place is None or place not in self._known else self._known[place][1]

    def know(self, column: pl.Series, values: pl.Series) -> None:
        """Take the different values of a column, where these are known already."""
        place = _place(column)
        if place is not None:
            self._known[place] = column, values  # a column that is kept is where no other can be


def _first_met(column: pl.Series) -> pl.Series:
    """Return the different values of a column in the order in which they first appear."""
    if len(column) <= FEW and _is_named(column):
        return pl.Series(column.name, [*dict.fromkeys(column.to_list())], dtype=column.dtype)
    return column[:1] if constant(column) else column.unique(maintain_order=True)  # in order is faster


def _is_named(column: pl.Series) -> bool:
    """Return whether a column holds strings, which Python tells apart as polars does."""
    return isinstance(column.dtype, pl.String | pl.Categorical)


def _place(column: pl.Series) -> tuple[int, int, pl.DataType] | None:
    """Return where cells lie; ``None`` of few, of texts and of those that do not lie together."""
    if len(column) <= FEW or column.dtype == pl.String or column.null_count() or column.n_chunks() > 1:
        return None
    cells = column.to_physical().to_numpy(allow_copy=False)
    return cells.__array_interface__["data"][0], len(column), column.dtype


def number_each(column: pl.Series, different: Different | None = None) -> tuple[Numbers, pl.Series]:
    """Give each value of a column a number in the order in which they first appear; return these values, too.

    >>> of, each = number_each(pl.Series(["b", None, "b"]))
    >>> of.tolist(), each.to_list()
    ([0, 1, 0], ['b', None])
    """
    if len(column) <= FEW:
        place: dict[str | None, int] = {}
        of = [place.setdefault(name, len(place)) for name in column.cast(pl.String).to_list()]
        return np.array(of, dtype=np.min_scalar_type(len(place))), pl.Series(column.name, [*place], dtype=pl.String)
    if not isinstance(column.dtype, pl.Categorical):
        column = column.cast(pl.String).cast(pl.Categorical)
    seen = (different or Different()).of(column)
    if len(seen) == 1:
        return np.zeros(len(column), dtype=np.uint8), seen.cast(pl.String)
    return _look_up(column, seen, np.arange(len(seen), dtype=np.min_scalar_type(len(seen)))), seen.cast(pl.String)


def translate(
    column: pl.Series, change: Callable[[pl.Series], pl.Series], different: Different | None = None
) -> pl.Series:
    """Apply a function of strings to the distinct strings of a categorical column only.

    >>> translate(pl.Series(["1", None, "1"], dtype=pl.Categorical), lambda seen: seen.cast(pl.Int64)).to_list()
    [1, None, 1]
    """
    seen = (different or Different()).of(column)
    changed = change(seen.cast(pl.String))
    if len(seen) == 1:
        return pl.repeat(changed[0], len(column), dtype=changed.dtype, eager=True)
    if changed.dtype.is_numeric() and not changed.null_count():
        return pl.Series(_look_up(column, seen, changed.to_numpy()))
    return changed[_look_up(column, seen, np.arange(len(seen)))]


def constant(column: pl.Series) -> bool:
    """Return whether a column holds one value in every row, or none."""
    if 0 < len(column) <= FEW and _is_named(column):
        names = column.to_list()
        return names.count(names[0]) == len(names)
    whole = column.to_physical() if isinstance(column.dtype, pl.Categorical) else column
    if whole.null_count():
        return whole.null_count() == len(whole)
    return len(whole) > 0 and bool(whole.min() == whole.max())


def _look_up(column: pl.Series, seen: pl.Series, numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the number of each row; ``numbers`` are those of the distinct values ``seen``."""
    if len(column) <= FEW:
        place = {name: row for row, name in enumerate(seen.to_list())}
        few: npt.NDArray[Number] = numbers[np.array([place[name] for name in column.to_list()], dtype=np.int64)]
        return few
    physical, distinct = column.to_physical(), seen.to_physical()
    highest: Any = distinct.max()
    nothing = 0 if highest is None else int(highest) + 1
    if distinct.has_nulls():
        physical, distinct = physical.fill_null(nothing), distinct.fill_null(nothing)
    table = np.zeros(nothing + 1, dtype=numbers.dtype)
    table[distinct.to_numpy()] = numbers
    looked_up: npt.NDArray[Number] = table[physical.to_numpy()]
    return looked_up


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
        if self.first is self.of:  # each row is a fold of its own
            return values + 0.0
        if len(self) == len(values):
            alone: Floats = values[self.first] + 0.0
            return alone
        sums = np.bincount(self.of, weights=values, minlength=len(self))
        means: Floats = sums / np.bincount(self.of, minlength=len(self))
        return means


def fold(*columns: Numbers) -> Folded:
    """Find the rows that agree in all columns; folds are in the order of the columns' codes.

    O(n) where the combinations that could occur are few beside the rows, else O(n log n).

    >>> fold(np.array([1, 0, 1]), np.array([5, 5, 5])).of.tolist()
    [1, 0, 1]
    """
    key = join_keys(*columns)
    n = len(key)
    if n and np.all(key[1:] >= key[:-1]):  # in order already
        starts = np.empty(n, dtype=np.bool_)
        starts[0] = True
        np.not_equal(key[1:], key[:-1], out=starts[1:])
        if starts.all():
            of = np.arange(n)
            return Folded(of=of, first=of)
        of = np.cumsum(starts)
        of -= 1
        return Folded(of=of, first=np.flatnonzero(starts))
    if not n or key.min() < 0 or (size := int(key.max()) + 1) > DENSE * n:
        return _fold_by_sorting(key)
    narrow: type[np.signedinteger[Any]] = np.int32 if n < 2**31 else np.int64
    place = np.full(size, -1, dtype=narrow)
    place[key[::-1]] = np.arange(n - 1, -1, -1, dtype=narrow)  # what is written last stays: the first row
    occurs = place >= 0
    if occurs.all():
        return Folded(of=key, first=place.astype(np.int64))
    first = place[occurs].astype(np.int64)
    number = np.cumsum(occurs, dtype=narrow)
    of = number[key].astype(np.int64)
    of -= 1
    return Folded(of=of, first=first)


def all_differ(*columns: Numbers) -> bool:
    """Return whether no two rows agree in all columns.

    >>> all_differ(np.array([1, 0, 1]), np.array([5, 5, 4])), all_differ(np.array([1, 0, 1]))
    (True, False)
    """
    key = join_keys(*columns)
    if not len(key) or key.min() < 0 or (size := int(key.max()) + 1) > MARKED * len(key):
        ordered = np.sort(key)
        return not np.any(ordered[1:] == ordered[:-1])
    marked = np.zeros(size, dtype=np.bool_)
    marked[key] = True
    return int(np.count_nonzero(marked)) == len(key)


def tally(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the different rows of some columns, as they first appear, and how often each occurs (``n``).

    >>> tally(pl.DataFrame({"a": ["y", "x", "y"], "b": [1, 1, 1]}), "a", "b").rows()
    [('y', 1, 2), ('x', 1, 1)]
    """
    varied = [] if table.height <= FEW else [table[name] for name in columns if not constant(table[name])]
    numbers = [_steps(one) if one.dtype.is_float() else number(one) for one in varied]
    known = [one for one in numbers if one is not None]
    if table.height <= FEW or len(known) < len(numbers):
        return table.group_by(columns, maintain_order=True).agg(n=pl.len())
    if not varied:
        return table.select(columns)[:1].with_columns(n=pl.lit(table.height, dtype=pl.UInt32))
    key = join_keys(*known)
    if key.max() < len(key):
        place = np.zeros(int(key.max()) + 1, dtype=np.int64)
        place[key[::-1]] = np.arange(len(key) - 1, -1, -1)  # what is written last stays: the first row
        n = np.bincount(key)
        first, n = place[n > 0], n[n > 0]
    else:
        rows = fold(key)
        first, n = rows.first, np.bincount(rows.of, minlength=len(rows))
    order = np.argsort(first)
    return table.select(columns)[first[order]].with_columns(pl.Series("n", n[order], dtype=pl.UInt32))


def _steps(column: pl.Series) -> Ints | None:
    """Return by how much each number is above the least, where all are whole steps and lie close."""
    if len(column) <= FEW or column.has_nulls():
        return None
    values = column.to_numpy()
    low, high = values.min(), values.max()
    if not high - low < DENSE * len(values):
        return None
    steps = values - low
    whole = steps.astype(np.int64)
    return whole if np.array_equal(whole, steps) else None


def _fold_by_sorting(key: Ints) -> Folded:
    """Fold keys that are far apart: with the number of its row behind it, each is sorted as one number."""
    n = len(key)
    bits = n.bit_length()
    if not n or key.min() < 0 or int(key.max()) >= 1 << (62 - bits):
        _, first, of = np.unique(key, return_index=True, return_inverse=True)
        return Folded(of=of.astype(np.int64), first=first.astype(np.int64))
    rows, key = _sorted(key, bits)
    starts = np.empty(n, dtype=bool)
    starts[0] = True
    np.not_equal(key[1:], key[:-1], out=starts[1:])
    of = np.empty(n, dtype=np.int64)
    of[rows] = np.cumsum(starts) - 1
    return Folded(of=of, first=rows[starts])


def _sorted(key: Ints, bits: int) -> tuple[Ints, Ints]:
    """Sort keys of 0 or more, each with its row in so many bits behind it; return rows and keys."""
    packed = key << bits
    packed |= np.arange(len(key))
    packed.sort()
    rows = packed & ((1 << bits) - 1)
    packed >>= bits
    return rows, packed


def rows_in_order(*columns: Numbers) -> tuple[Ints, tuple[Ints, ...]] | None:
    """Return the rows in the order of the columns' codes, where no two agree in all of them; else nothing.

    Returns
    -------
    tuple of (array of int, tuple of array of int), or None
        The rows, and the columns as they are in this order: of a sorted key they are made faster than looked up.

    >>> rows_in_order(np.array([1, 0, 1]), np.array([5, 5, 4]))
    (array([1, 2, 0]), (array([0, 1, 1]), array([5, 4, 5])))
    """
    n, bits = len(columns[0]), len(columns[0]).bit_length()
    widths = [int(column.max()) + 1 if n else 1 for column in columns]
    if not n or math.prod(widths) >= 1 << (62 - bits) or min(column.min() for column in columns) < 0:
        return None
    key = join_keys(*columns)
    if np.all(key[1:] > key[:-1]):
        return np.arange(n), tuple(column.astype(np.int64, copy=False) for column in columns)
    rows, key = _sorted(key, bits)
    if not np.all(key[1:] > key[:-1]):
        return None
    ordered = []
    for width in reversed(widths[1:]):
        rest = key // width
        ordered.append(np.subtract(key, rest * width, out=key))
        key = rest
    return rows, (key, *reversed(ordered))


def join_keys(*columns: Numbers) -> Ints:
    """Give the rows that agree in all columns the same number, in the order of the columns' codes.

    >>> join_keys(np.array([1, 0, 1]), np.array([2, 2, 0])).tolist()
    [5, 2, 3]
    """
    key = columns[0].astype(np.int64, copy=False)
    for column in columns[1:]:
        width = int(column.max()) + 1 if len(column) else 1
        if width == 1 and not np.any(column):
            continue
        if len(key) and (int(key.max()) + 1) * width > 2**62:
            key = np.unique(key, return_inverse=True)[1]
        key = np.multiply(key, width, out=None if key is columns[0] else key)
        key += column
    return key


def number_together(x: Ints, y: Ints) -> tuple[int, tuple[Ints, Ints]]:
    """Give ids of two lists, each sorted and without doubles, common numbers: how many there are, and those of each.

    >>> n, places = number_together(np.array([1, 4]), np.array([2, 4]))
    >>> n, [place.tolist() for place in places]
    (3, [[0, 2], [1, 2]])
    """
    both = np.concatenate([x, y])
    order = np.argsort(both, kind="stable")  # two runs in order already, which are merged
    both = both[order]
    number = np.cumsum(np.concatenate([[False], both[1:] != both[:-1]]))
    place = np.empty(len(both), dtype=np.int64)
    place[order] = number
    return int(number[-1]) + 1 if len(both) else 0, (place[: len(x)], place[len(x) :])


def average_by(table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Average ``value`` over the rows that agree in some columns: a row each, sorted by them, an empty cell first.

    >>> rows = pl.DataFrame({"a": ["y", "x", "y"], "value": [1.0, 2.0, 2.0]})
    >>> average_by(rows, ["a"]).rows()
    [('x', 2.0), ('y', 1.5)]
    """
    table = table.select(*by, "value").sort("value")  # a sum is the same to the last bit, however the rows stand
    rows = fold(*(in_order(table[column]) for column in by))
    return table[rows.first].select(*by, pl.Series("value", rows.mean(table["value"].to_numpy())))


def in_order(column: pl.Series) -> Ints:
    """Give each value of a column its rank among the distinct ones, an empty cell the first.

    >>> in_order(pl.Series(["b", None, "a", "b"])).tolist()
    [2, 0, 1, 2]
    """
    if column.dtype.is_numeric():
        ranks = column.rank("dense").fill_null(0).to_numpy()
        return ranks.astype(np.int64)
    if len(column) <= FEW:
        names = ["" if name is None else name for name in column.cast(pl.String).to_list()]
        place = {name: number for number, name in enumerate(sorted({*names}))}
        return np.array([place[name] for name in names], dtype=np.int64)
    if not isinstance(column.dtype, pl.Categorical):
        column = column.cast(pl.String).cast(pl.Categorical)
    seen = column.unique(maintain_order=True)
    if len(seen) == 1:
        return np.zeros(len(column), dtype=np.int64)
    ranks = seen.cast(pl.String).fill_null("").rank("dense").to_numpy()
    return _look_up(column, seen, ranks.astype(np.int64) - 1)


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
    if not scale > 1e-280:  # beyond it the factor of the rounding overflows
        return values + 0.0
    rounded: Floats = np.round(values, digits - 1 - math.floor(math.log10(scale))) + 0.0  # + 0.0 turns -0 into 0
    return rounded


def at_target(value: float, target: float, *, scale: float) -> float:
    """Return ``target`` where a mean differs from it by no more than rounding: 1e-12 of its largest value.

    >>> at_target((0.1 + 0.2 - 0.3) / 3, 0.0, scale=0.3), at_target(1e-9, 0.0, scale=0.3)
    (0.0, 1e-09)
    """
    return target if abs(value - target) <= ROUNDED * scale else value


def scale_of(values: Floats) -> float:
    """Return the largest size among the values; 0 for none."""
    return float(max(values.max(), -values.min())) + 0.0 if len(values) else 0.0
