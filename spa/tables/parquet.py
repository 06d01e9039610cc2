"""Parquet files: one column is read at a time, and only those that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from spa.errors import TableError
from spa.tables.bounds import check_height
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted
from spa.tables.typed_columns import typed_source


def open_parquet(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the schema; columns when they are asked for."""
    height: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    check_height(path, height)

    def column(name: str) -> pl.Series:
        read = pl.read_parquet(path, columns=[name], glob=False).to_series()
        if len(read) != height:
            raise TableError(f"{path}: expected {height} rows, as the file says, got {len(read)} of {name}")
        return read

    return _source(path, height, column)


def _source(path: Path, height: int, column: Callable[[str], pl.Series], first_row: int = 1) -> Source:
    """Return columns as they are stored as those of a source."""
    schema = pl.scan_parquet(path, glob=False).collect_schema()
    return typed_source(path, "parquet", schema, height, column, first_row)


def parquet_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same about ``rows`` rows at a time."""
    whole = open_parquet(path, wanted, options)
    for first in range(0, whole.height or 1, rows):
        height = min(rows, whole.height - first)

        def column(name: str, first: int = first, height: int = height) -> pl.Series:
            found = pl.scan_parquet(path, glob=False).select(name).slice(first, height)
            return found.collect().to_series()

        yield _source(path, height, column, first + 1)
