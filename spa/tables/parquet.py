"""Parquet files: one column is read at a time, and only those that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from spa.errors import TableError, shortened
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted
from spa.tables.typed_columns import json_values, kind_read, plain_column

ALWAYS_READ, ROWS_A_BYTE = 10_000_000, 1000  # rows that a file may claim, whatever its size and by its size


def open_parquet(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the schema; columns when they are asked for."""
    height: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    if height > max(ALWAYS_READ, ROWS_A_BYTE * path.stat().st_size):  # reading it would end the process
        raise TableError(f"{path}: expected as many rows as the file can hold, got a count of {height}")

    def column(name: str) -> pl.Series:
        read = pl.read_parquet(path, columns=[name], glob=False).to_series()
        if len(read) != height:
            raise TableError(f"{path}: expected {height} rows, as the file says, got {len(read)} of {name}")
        return read

    return _source(path, height, column)


def _source(path: Path, height: int, column: Callable[[str], pl.Series], first_row: int = 1) -> Source:
    """Return columns as they are stored as those of a source."""
    schema = pl.scan_parquet(path, glob=False).collect_schema()

    def whole(name: str) -> pl.Series:
        try:
            return column(name)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # the schema alone was read before
            reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 160)
            raise TableError(
                f"{path}, {shortened(name, 40)}: cannot be read as parquet: {reason}; make or download it again"
            ) from error

    return Source(
        place=str(path),
        schema={name: kind_read(kind) for name, kind in schema.items()},
        height=height,
        first_row=first_row,
        column=lambda name: plain_column(whole(name), str(path), first_row),
        values=lambda name: json_values(whole(name), str(path), first_row),
    )


def parquet_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same about ``rows`` rows at a time."""
    whole = open_parquet(path, wanted, options)
    for first in range(0, whole.height or 1, rows):
        height = min(rows, whole.height - first)

        def column(name: str, first: int = first, height: int = height) -> pl.Series:
            found = pl.scan_parquet(path, glob=False).select(name).slice(first, height)
            return found.collect().to_series()

        yield _source(path, height, column, first + 1)
