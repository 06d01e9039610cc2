"""Keys of units, numbers that their ids have in every part of a table, and which combinations of ids there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from analysis.statistics.coding import FEW, Numbers, constant, fold, number, number_each, translate


def key_of(*columns: pl.Series) -> pl.Series:
    """Return a key of each row; an empty cell changes nothing, so that a column without any cell is like none."""
    key: pl.Series | None = None
    for seed, column in enumerate(columns):
        if column.null_count() == len(column):
            continue
        if len(column) <= FEW:
            own = _hashed(column.cast(pl.String), seed)
        else:
            strings = column if column.dtype == pl.Categorical() else column.cast(pl.String).cast(pl.Categorical)
            own = translate(strings, partial(_hashed, seed=seed))
        if seed:
            before = pl.Series(np.zeros(len(own), dtype=np.uint64)) if key is None else key
            both = pl.DataFrame([before.alias("key"), own.alias("own")])
            mixed = pl.when(pl.col("own") == 0).then("key").otherwise(pl.struct("key", "own").hash())
            own = both.select(mixed).to_series()
        key = own
    if key is None:
        return pl.Series(np.zeros(len(columns[0]), dtype=np.int64))
    return pl.Series(key.name, key.to_numpy().view(np.int64))


def coded_keys(*columns: pl.Series) -> tuple[Numbers | None, pl.Series]:
    """Return the number of each row's key among the different ones, and these; ``None`` where all rows have the same.

    >>> of, keys = coded_keys(pl.Series(["b", "a", "b"]))
    >>> of.tolist(), keys.equals(key_of(pl.Series(["b", "a"])))
    ([0, 1, 0], True)
    """
    given = [column for column in columns if column.null_count() < len(column)]
    if not given:
        return None, key_of(*(column.head(1) for column in columns))
    if len(columns) == 1:
        of, each = number_each(columns[0])
        return (None if len(each) < 2 else of), key_of(each)
    rows = fold(*(number(column) for column in given))
    return (None if len(rows) < 2 else rows.of), key_of(*(column[rows.first] for column in columns))


def _hashed(strings: pl.Series, seed: int) -> pl.Series:
    keys = strings.hash(seed)
    return keys.set(strings.is_null(), 0) if strings.has_nulls() else keys


def different_rows(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the different combinations of some columns; those with one value alone are not looked at again."""
    varied = [name for name in columns if rows.height < 2 or not constant(rows[name])]
    if not varied:
        return spelled_out(rows[[*columns]].head(1))
    found = rows[varied].unique()
    n = found.height
    return spelled_out(
        pl.DataFrame([found[name] if name in varied else rows[name].new_from_index(0, n) for name in columns])
    )


def spelled_out(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose categories are strings."""
    return pl.DataFrame([own.cast(pl.String) if isinstance(own.dtype, pl.Categorical) else own for own in frame])
