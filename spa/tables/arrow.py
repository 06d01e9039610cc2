"""Arrow files, as Feather and data sets of Hugging Face are stored: one with a table of contents, or a stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from spa.errors import TableError
from spa.tables.bounds import check_height
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted
from spa.tables.typed_columns import typed_source

STREAM = b"\xff\xff\xff\xff"  # how a stream begins, which has no table of contents and is read whole


def open_arrow(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the schema, and columns when they are asked for; a stream at once."""
    return _source(path, _frame(path))


def arrow_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same about ``rows`` rows at a time."""
    frame = _frame(path)
    height = _height(path, frame)
    for first in range(0, height or 1, rows):
        yield _source(path, frame.slice(first, rows), first + 1)


def _frame(path: Path) -> pl.LazyFrame:
    with path.open("rb") as file:
        is_stream = file.read(len(STREAM)) == STREAM
    return pl.read_ipc_stream(path).lazy() if is_stream else pl.scan_ipc(path, glob=False)


def _height(path: Path, frame: pl.LazyFrame) -> int:
    height: int = frame.select(pl.len()).collect().item()
    check_height(path, height)
    return height


def _source(path: Path, frame: pl.LazyFrame, first_row: int = 1) -> Source:
    height = _height(path, frame)

    def column(name: str) -> pl.Series:
        read = frame.select(pl.col([name])).collect().to_series()
        if len(read) != height:
            raise TableError(f"{path}: expected {height} rows, as the file says, got {len(read)} of {name}")
        return read

    return typed_source(path, "arrow", frame.collect_schema(), height, column, first_row)
