"""Opens a file with a table, whatever its format: one module a format, one registry."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from spa.errors import TableError, shortened
from spa.tables.delimited import delimited_slices, open_delimited
from spa.tables.json_lines import json_lines_slices, open_json_lines
from spa.tables.options import TableOptions
from spa.tables.parquet import open_parquet, parquet_slices
from spa.tables.selection import arranged, needed
from spa.tables.source import Source, Wanted
from spa.tables.text_files import check_table_file

Open = Callable[[Path, Wanted, TableOptions], Source]
Slices = Callable[[Path, Wanted, TableOptions, int], Iterator[Source]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A format of files: how its files' names end, and what reads them whole and in slices of some rows."""

    suffixes: tuple[str, ...]
    open: Open
    slices: Slices


FORMATS = (
    FileFormat(suffixes=(".csv",), open=open_delimited, slices=delimited_slices),
    FileFormat(suffixes=(".jsonl", ".ndjson"), open=open_json_lines, slices=json_lines_slices),
    FileFormat(suffixes=(".parquet",), open=open_parquet, slices=parquet_slices),
)
SUFFIXES = tuple(suffix for one in FORMATS for suffix in one.suffixes)


def open_table(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Open a file, with the columns, rows and records that the options make of it.

    Parameters
    ----------
    path : Path
        Its name ends in one of ``SUFFIXES``.
    wanted : Wanted
        Columns that the reader asks for; sources of other columns may be left unread.
    options : TableOptions
        What the columns are called, which rows stay.

    Raises
    ------
    TableError
        When the file cannot be read, or does not hold what the options name.
    """
    with reading(path) as format:
        return arranged(format.open(path, needed(wanted, options), options), wanted, options)


def open_slices(path: Path, wanted: Wanted, options: TableOptions, *, rows: int) -> Iterator[Source]:
    """Yield a file as :func:`open_table` opens it, about ``rows`` rows at a time."""
    with reading(path) as format:
        for source in format.slices(path, needed(wanted, options), options, rows):
            yield arranged(source, wanted, options)


@contextmanager
def reading(path: Path) -> Iterator[FileFormat]:
    """Yield the format of a file, and say in one line why it cannot be read."""
    suffix = path.suffix.lower()
    found = next((one for one in FORMATS if suffix in one.suffixes), None)
    if found is None and not os.path.exists(path):  # False of a name that is too long, too
        raise TableError(f"{shortened(str(path))}: cannot be read: No such file or directory")
    if found is None:
        raise TableError(f"{path}: expected a file ending in {', '.join(SUFFIXES)}, got {shortened(repr(suffix))}")
    try:
        check_table_file(path)
        yield found
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 160)
        raise TableError(f"{path}: cannot be read as {suffix[1:]}: {reason}") from error
    except MemoryError as error:
        raise TableError(f"{path}: expected a table that fits into memory, got one that does not") from error
