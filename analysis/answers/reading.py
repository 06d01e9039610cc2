"""Files to frames of strings: CSV, Parquet or JSONL, each id as it is written ("001" stays "001")."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis.answers.conversion import tidy_names
from analysis.answers.documents import GROUPING
from analysis.statistics.coding import translate
from spa.errors import AnalysisError, ResponseError, shortened
from spa.responses.table_files import check_table_file, read_csv, read_csv_batches, read_json_lines

WIDE_COLUMN, WIDE = "score", 65_536  # a column of answers, and how many different ones are kept as categories
SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")
LINES_AT_ONCE = 100_000
ALWAYS_READ, ROWS_A_BYTE = 10_000_000, 1000  # rows that a Parquet file may claim, whatever its size and by its size


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """A file's rows as strings.

    ``first_row`` is what a reader calls the first row of answers: 2 under a CSV header, else 1.
    """

    place: str
    columns: tuple[str, ...]  # as the file names them
    fractional: frozenset[str] = frozenset()  # renamed, stored as fractional numbers
    frame: pl.DataFrame
    first_row: int
    sha256: str | None


class NoRows(AnalysisError):
    """A table has no row: as a part of a larger one it may be left out."""


def read_raw(path: Path, mapping: Mapping[str, str], known: frozenset[str], *, coded: bool = False) -> RawTable:
    """Read one file as strings, rename columns by ``mapping`` (old -> new) and keep the ``known`` ones.

    Of a Parquet file one column is read at a time, and only those that are known.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.jsonl``, ``.ndjson`` or ``.parquet`` file.
    mapping : mapping of str to str
        Column in the file -> column of the tidy table; names that this file lacks are left alone.
    known : frozenset of str
        Columns that the table may have; others are ignored.
    coded : bool
        Keep the strings as :func:`tidy_frame` does with ``coded``.

    Raises
    ------
    AnalysisError
        When the file cannot be read, has no rows, one column that holds separators, or a column twice.
    """
    with _translated(path) as (suffix, sha256):
        columns = known | {old for old, new in mapping.items() if new in known}
        source = READERS[suffix](path, columns, coded)
        return _raw_table(path, source, mapping, known, sha256=sha256, coded=coded)


def read_slices(
    path: Path, mapping: Mapping[str, str], known: frozenset[str], *, rows: int, coded: bool
) -> Iterator[RawTable]:
    """Yield a file as :func:`read_raw` reads it, about ``rows`` rows at a time."""
    with _translated(path) as (suffix, sha256):
        columns = known | {old for old, new in mapping.items() if new in known}
        first = 0
        for source in SLICES[suffix](path, columns, coded, rows):
            yield _raw_table(path, source, mapping, known, sha256=sha256, coded=coded, first=first)
            first += source.height


def _csv_slices(path: Path, columns: frozenset[str], coded: bool, rows: int) -> Iterator[_Columns]:
    for frame in read_csv_batches(path, rows=rows, coded=columns - {WIDE_COLUMN} if coded else ()):
        yield _in_memory(frame)


def _parquet_slices(path: Path, columns: frozenset[str], coded: bool, rows: int) -> Iterator[_Columns]:
    whole = _parquet(path, columns, coded)
    for first in range(0, whole.height or 1, rows):
        height = min(rows, whole.height - first)

        def column(name: str, first: int = first, height: int = height) -> pl.Series:
            found = pl.scan_parquet(path, glob=False).select(name).slice(first, height)
            return found.collect().to_series()

        yield _Columns(schema=whole.schema, height=height, column=column)


def _raw_table(
    path: Path,
    source: _Columns,
    mapping: Mapping[str, str],
    known: frozenset[str],
    *,
    sha256: str,
    coded: bool,
    first: int = 0,
) -> RawTable:
    names = tidy_names(source.schema, mapping, str(path))
    return RawTable(
        place=str(path),
        columns=tuple(source.schema),
        fractional=frozenset(names[old] for old, kind in source.schema.items() if kind.is_float()),
        frame=_tidy(source, str(path), mapping, known, coded=coded),
        first_row=first + (2 if path.suffix.lower() == ".csv" else 1),
        sha256=sha256,
    )


@contextmanager
def _translated(path: Path) -> Iterator[tuple[str, str]]:
    """Check what kind of file it is, yield that and the hash, and say in one line why a file cannot be read."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES and not os.path.exists(path):  # False of a name that is too long, too
        raise AnalysisError(f"{shortened(str(path))}: cannot be read: No such file or directory")
    if suffix not in SUFFIXES:
        raise AnalysisError(f"{path}: expected a file ending in {', '.join(SUFFIXES)}, got {shortened(repr(suffix))}")
    try:
        check_table_file(path)
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        yield suffix, sha256
    except ResponseError as error:
        raise AnalysisError(*error.problems) from error
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 160)
        raise AnalysisError(f"{path}: cannot be read as {suffix[1:]}: {reason}") from error
    except MemoryError as error:
        raise AnalysisError(f"{path}: expected a table that fits into memory, got one that does not") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Columns that are read on demand."""

    schema: Mapping[str, pl.DataType]
    height: int
    column: Callable[[str], pl.Series]


def _in_memory(frame: pl.DataFrame) -> _Columns:
    return _Columns(schema=frame.schema, height=frame.height, column=frame.get_column)


def _csv(path: Path, columns: frozenset[str], coded: bool) -> _Columns:
    return _in_memory(read_csv(path, coded=columns - {WIDE_COLUMN} if coded else ()))


def _parquet(path: Path, columns: frozenset[str], coded: bool) -> _Columns:
    height: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    if height > max(ALWAYS_READ, ROWS_A_BYTE * path.stat().st_size):  # reading it would end the process
        raise AnalysisError(f"{path}: expected as many rows as the file can hold, got a count of {height}")

    def column(name: str) -> pl.Series:
        read = pl.read_parquet(path, columns=[name], glob=False).to_series()
        if len(read) != height:
            raise AnalysisError(f"{path}: expected {height} rows, as the file says, got {len(read)} of {name}")
        return read

    schema = pl.scan_parquet(path, glob=False).collect_schema()
    return _Columns(schema=schema, height=height, column=column)


def _json_lines(path: Path, columns: frozenset[str], coded: bool) -> _Columns:
    """Read the keys in ``columns`` as texts; row ``n`` is line ``n``, a blank line a row of nulls."""
    schema: dict[str, pl.DataType] = {}
    frame = pl.concat(_json_frames(path, columns, LINES_AT_ONCE, schema), how="diagonal")
    return _Columns(schema=schema, height=frame.height, column=frame.get_column)


def _json_slices(path: Path, columns: frozenset[str], coded: bool, rows: int) -> Iterator[_Columns]:
    """Yield the same some lines at a time, each time with the keys that stand in these or before."""
    schema: dict[str, pl.DataType] = {}
    for frame in _json_frames(path, columns, rows, schema):
        yield _Columns(schema=dict(schema), height=frame.height, column=frame.get_column)


def _json_frames(
    path: Path, columns: frozenset[str], rows: int, schema: dict[str, pl.DataType]
) -> Iterator[pl.DataFrame]:
    """Yield lines as frames, and note all keys in ``schema``."""
    block: dict[str, list[str | None]] = {}
    number = done = 0

    def frame() -> pl.DataFrame:
        height = number - done
        filled = {name: block.get(name, []) for name in schema if name in columns}
        padded = {name: cells + [None] * (height - len(cells)) for name, cells in filled.items()}
        return pl.DataFrame(padded, dict.fromkeys(padded, pl.String))

    for number, record in read_json_lines(path):
        for name, value in record.items():
            if name not in schema:
                schema[name] = pl.String()
            if name in columns:
                cells = block.setdefault(name, [])
                if (absent := number - done - 1 - len(cells)) > 0:
                    cells.extend([None] * absent)
                if name in GROUPING and isinstance(value, list | dict):
                    value = None
                if not (value is None or isinstance(value, str)):
                    value = _text(value, f"{path}, line {number}: {name}")
                cells.append(value)
        if number - done >= rows and block:
            yield frame()
            block.clear()
            done = number
    if not number:
        raise NoRows(f"{path}: expected one JSON object a line, got an empty file")
    if number > done:
        yield frame()


def _text(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    raise AnalysisError(f"{place}: expected one value, got {'a list' if isinstance(value, list) else 'an object'}")


READERS: dict[str, Callable[[Path, frozenset[str], bool], _Columns]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
SLICES: dict[str, Callable[[Path, frozenset[str], bool, int], Iterator[_Columns]]] = {
    ".csv": _csv_slices,
    ".jsonl": _json_slices,
    ".ndjson": _json_slices,
    ".parquet": _parquet_slices,
}


def tidy_frame(
    frame: pl.DataFrame, place: str, mapping: Mapping[str, str], known: frozenset[str], *, coded: bool = False
) -> pl.DataFrame:
    """Rename and keep the known columns as strings; refuse a frame without rows.

    With ``coded`` the strings are of polars' categorical type, four bytes a row however long they are; a column of
    answers that holds too many different ones stays of strings.

    >>> tidy_frame(pl.DataFrame({"rater": ["001"], "x": [1]}), "f", {"rater": "id"}, frozenset({"id"})).to_dicts()
    [{'id': '001'}]
    """
    return _tidy(_in_memory(frame), place, mapping, known, coded=coded)


def _tidy(
    source: _Columns, place: str, mapping: Mapping[str, str], known: frozenset[str], *, coded: bool
) -> pl.DataFrame:
    names = tidy_names(source.schema, mapping, place)
    kept = {old: new for old, new in names.items() if new in known}
    kept = {old: new for old, new in kept.items() if new not in GROUPING or not source.schema[old].is_nested()}
    for old, new in kept.items():
        if source.schema[old].is_nested() or isinstance(source.schema[old], pl.Duration):
            got = "lists or objects" if source.schema[old].is_nested() else "durations"
            raise AnalysisError(f"{place}: expected one text or number a cell, got {got} in column {new}")
    if not source.height:
        raise NoRows(f"{place}: a header without rows; expected at least one answer")
    return pl.DataFrame(
        [
            (_coded(source.column(old), several=new == WIDE_COLUMN) if coded else _plain(source.column(old))).alias(new)
            for old, new in kept.items()
        ]
    )


def _plain(column: pl.Series) -> pl.Series:
    strings = column.cast(pl.String).str.strip_chars()
    empty = strings.str.len_bytes() == 0
    return strings.set(empty, None) if empty.any() else strings


def _coded(column: pl.Series, *, several: bool) -> pl.Series:
    """Return the strings of a column as categories, each different one cast and stripped once."""
    if not isinstance(column.dtype, pl.Categorical):
        few = not several or column.n_unique() <= WIDE
        if not few:
            return _plain(column)
        if column.dtype == pl.String or isinstance(column.dtype, pl.Enum):
            column = column.cast(pl.Categorical)
        else:
            seen = column.unique()
            column = column.replace_strict(seen, seen.cast(pl.String).cast(pl.Categorical), return_dtype=pl.Categorical)
    seen = column.unique(maintain_order=True).cast(pl.String)  # in order is faster
    if seen.equals(_plain(seen)):
        return column
    return translate(column, lambda strings: _plain(strings).cast(pl.Categorical))
