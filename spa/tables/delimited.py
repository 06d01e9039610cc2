"""Delimited text: CSV files read as texts, mistakes named by their lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from spa.errors import NoRows, TableError, shortened
from spa.files import csv_mistake
from spa.tables.formulas import unguarded
from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted, in_memory
from spa.tables.text_files import check_table_file, utf8_lines

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
HEADER_ROWS = 2  # what a reader calls the row below the header


def open_delimited(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Read a file of delimited text."""
    return _source(read_csv(path, coded=wanted.coded, guarded=wanted.guarded), path, HEADER_ROWS)


def delimited_slices(path: Path, wanted: Wanted, options: TableOptions, rows: int) -> Iterator[Source]:
    """Yield the same about ``rows`` rows at a time."""
    first = HEADER_ROWS
    for frame in read_csv_batches(path, rows=rows, coded=wanted.coded, guarded=wanted.guarded):
        yield _source(frame, path, first)
        first += frame.height


def _source(frame: pl.DataFrame, path: Path, first_row: int) -> Source:
    """Return a frame of texts as a source; an empty cell holds nothing, in quotes, too."""
    source = in_memory(frame, str(path), first_row=first_row)
    return replace(source, values=lambda name: [value or None for value in source.values(name)])


def read_csv(path: Path, *, coded: Container[str] = (), guarded: bool = True) -> pl.DataFrame:
    """Read a CSV file as texts, as they are written; empty cells are null.

    Where cells are ``guarded``, the apostrophe before a formula is taken off (:mod:`spa.tables.formulas`). A blank line
    is a row of nulls. Columns named in ``coded`` are of polars' categorical type: four bytes a row. Raise TableError
    where the file is no CSV with commas, a header of different names, and as many values in each line.
    """
    (frame,) = read_csv_batches(path, coded=coded, guarded=guarded)
    return frame


def read_csv_batches(
    path: Path, *, rows: int | None = None, coded: Container[str] = (), guarded: bool = True
) -> Iterator[pl.DataFrame]:
    """Yield a CSV file as :func:`read_csv` reads it, about ``rows`` rows at a time; without a row, one empty frame."""
    check_table_file(path)
    uneven_checked = False
    try:
        first = pl.read_csv(path, infer_schema=False, has_header=False, n_rows=1, glob=False)
        if not any(first.row(0)):
            _refuse_uneven(path)
        _check_header(path, ["" if name is None else name for name in first.row(0)])
        types = {name: pl.Categorical() for name in first.row(0) if name in coded}
        for frame in _csv_frames(path, types, rows):
            if not uneven_checked and _may_be_uneven(frame):
                _refuse_uneven(path)
                uneven_checked = True
            yield unguarded(frame) if guarded else frame
    except pl.exceptions.NoDataError as error:
        raise NoRows(f"{path}: expected a header and rows, got an empty file") from error
    except pl.exceptions.PolarsError as error:
        _refuse_uneven(path)
        found = shortened(str(error).partition("\n")[0], 160)
        raise TableError(f"{path}: expected CSV, got a mistake: {found}") from error
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error


def _csv_frames(path: Path, types: Mapping[str, pl.DataType], rows: int | None) -> Iterator[pl.DataFrame]:
    if rows is None:
        yield pl.read_csv(path, infer_schema=False, schema_overrides=types, glob=False)
        return
    lazy = pl.scan_csv(path, infer_schema=False, schema_overrides=types, glob=False)
    batches = lazy.collect_batches(chunk_size=rows, maintain_order=True)
    found = False
    for frame in batches:
        if frame.height:
            found = True
            yield frame
    if not found:
        yield lazy.collect()


def _may_be_uneven(frame: pl.DataFrame) -> bool:
    """Return whether a line may be too short, which polars fills with nulls."""
    last = pl.col(frame.columns[-1])
    return frame.filter(last.is_null() & pl.any_horizontal(pl.all().is_not_null())).height > 0


def _check_header(path: Path, header: list[str]) -> None:
    if any("\0" in name for name in header):
        raise TableError(f"{path}, line 1: expected UTF-8, got a NUL byte; save the file as UTF-8")
    if any("\r" in name for name in header):
        raise TableError(f"{path}: expected lines that end in LF, got CR only; save the file with LF or CRLF")
    if len(header) == 1:
        _refuse_separator(path, header[0])
    doubled = sorted(name for name, times in Counter(header).items() if name and times > 1)
    if doubled:
        raise TableError(
            f"{path}: column {shortened(', '.join(doubled))} stands in the header twice; remove or rename one"
        )


def _refuse_separator(path: Path, header: str) -> None:
    found = next((name for sign, name in SEPARATORS.items() if sign in header), None)
    if found is not None:
        raise TableError(
            f"{path}: columns must be separated by commas, this file has {found}: {shortened(repr(header))}; "
            "save it again as comma-separated"
        )


def _refuse_uneven(path: Path) -> None:
    """Name the first line that has other values than the header, or a quote that is out of place."""
    for number, line in utf8_lines(path):
        if number == 1 and "," not in line:
            _refuse_separator(path, line.strip())
    with path.open(encoding="utf-8-sig", newline="") as stream:
        mistake = csv_mistake(stream)
    if mistake is not None:
        raise TableError(f"{path}, {mistake}")
