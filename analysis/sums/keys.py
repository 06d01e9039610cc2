"""Keys of units: numbers that their ids have in every part of a table."""

from __future__ import annotations

from functools import partial

import polars as pl

from analysis.statistics.coding import FEW, Numbers, fold, number, number_each, translate


def key_of(*columns: pl.Series) -> pl.Series:
    """Return a key of each row; an empty cell changes nothing, so that a column without any cell is like none."""
    key = pl.zeros(len(columns[0]), dtype=pl.UInt64, eager=True)
    for seed, column in enumerate(columns):
        if column.null_count() == len(column):
            continue
        if len(column) <= FEW:
            own = _hashed(column.cast(pl.String), seed)
        else:
            strings = column if column.dtype == pl.Categorical() else column.cast(pl.String).cast(pl.Categorical)
            own = translate(strings, partial(_hashed, seed=seed))
        both = pl.DataFrame([key.alias("key"), own.alias("own")])
        mixed = pl.when(pl.col("own") == 0).then("key").otherwise(pl.struct("key", "own").hash())
        key = both.select(mixed).to_series() if seed else own
    return key.reinterpret(signed=True)


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
    return (None if len(rows) < 2 else rows.of), key_of(*(column.gather(rows.first) for column in columns))


def _hashed(strings: pl.Series, seed: int) -> pl.Series:
    return strings.hash(seed).set(strings.is_null(), 0)
