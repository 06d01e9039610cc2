"""Arrow files, as Feather and data sets of Hugging Face are stored: one with a table of contents, or a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from spa.errors import TableError, shortened
from spa.tables.bounds import check_height, most_rows
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted
from spa.tables.typed_columns import typed_source

STREAM = b"\xff\xff\xff\xff"  # how a stream begins, which has no table of contents


def open_arrow(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read the schema, and columns when they are asked for; a stream at once, as far as a file of its size may go."""
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
    if not is_stream:
        return pl.scan_ipc(path, glob=False)
    with _whole(path):
        return pl.read_ipc_stream(path, n_rows=most_rows(path) + 1).lazy()


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say of a file that was cut off, or damaged, that it is not whole: polars calls it unreadable, or not there."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        got = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 100)
        raise TableError(
            f"{path}: expected a whole Arrow file, got one that breaks off or is damaged ({got}); make or download it "
            "again"
        ) from error


def _height(path: Path, frame: pl.LazyFrame) -> int:
    with _whole(path):
        height: int = frame.select(pl.len()).collect().item()
    check_height(path, height)
    return height


def _source(path: Path, frame: pl.LazyFrame, first_row: int = 1) -> Source:
    height = _height(path, frame)

    def column(name: str) -> pl.Series:
        with _whole(path):
            read = frame.select(pl.col([name])).collect().to_series()
        if len(read) != height:
            raise TableError(f"{path}: expected {height} rows, as the file says, got {len(read)} of {name}")
        return read

    return typed_source(path, "arrow", frame.collect_schema(), height, column, first_row)
