"""Files to frames of strings: CSV, Parquet or JSONL, each id as it is written ("001" stays "001")."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analysis.coding import translate
from spa.errors import AnalysisError

WIDE_COLUMN, WIDE = "score", 65_536  # a column of answers, and how many different ones are kept as categories
SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """A file's rows as strings.

    ``first_row`` is what a reader calls the first row of answers: 2 under a CSV header, else 1.
    """

    place: str
    columns: tuple[str, ...]  # as the file names them
    frame: pl.DataFrame
    first_row: int
    sha256: str | None


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
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise AnalysisError(f"{path}: a table is a file ending in {', '.join(SUFFIXES)}, got {path.suffix!r}")
    if not path.is_file():
        raise AnalysisError(f"{path}: no such file")
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        source = _parquet(path) if suffix == ".parquet" else _in_memory(_read(path, suffix))
        tidy = _tidy(source, str(path), mapping, known, coded=coded)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise AnalysisError(f"{path}: not UTF-8 (byte {error.start}); save the table as UTF-8") from error
    except pl.exceptions.PolarsError as error:
        raise AnalysisError(f"{path}: {_reason(error)}") from error
    except (csv.Error, json.JSONDecodeError) as error:
        raise AnalysisError(f"{path}: cannot be read as {suffix[1:]}: {error}") from error
    first_row = 2 if suffix == ".csv" else 1
    return RawTable(
        place=str(path),
        columns=tuple(source.schema),
        frame=tidy,
        first_row=first_row,
        sha256=sha256,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Columns that are read when they are asked for."""

    schema: Mapping[str, pl.DataType]
    height: int
    column: Callable[[str], pl.Series]


def _in_memory(frame: pl.DataFrame) -> _Source:
    return _Source(schema=frame.schema, height=frame.height, column=frame.get_column)


def _parquet(path: Path) -> _Source:
    return _Source(
        schema=pl.scan_parquet(path, glob=False).collect_schema(),
        height=pl.scan_parquet(path, glob=False).select(pl.len()).collect().item(),
        column=lambda name: pl.read_parquet(path, columns=[name], glob=False).to_series(),
    )


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
    source: _Source, place: str, mapping: Mapping[str, str], known: frozenset[str], *, coded: bool
) -> pl.DataFrame:
    names = {name: mapping.get(name, name) for name in source.schema}
    doubled = sorted(name for name, times in Counter(names.values()).items() if times > 1)
    if doubled:
        came = f"columns {', '.join(names)}"
        raise AnalysisError(f"{place}: column {', '.join(doubled)} stands there twice ({came}); rename or --map one")
    kept = {old: new for old, new in names.items() if new in known}
    nested = [new for old, new in kept.items() if source.schema[old].is_nested()]
    if nested:
        raise AnalysisError(f"{place}: column {', '.join(nested)} holds lists or objects; one value a cell is wanted")
    if not source.height:
        raise AnalysisError(f"{place}: a header without rows; at least one answer is wanted")
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
    seen = column.unique().cast(pl.String)
    if seen.equals(_plain(seen)):
        return column
    return translate(column, lambda strings: _plain(strings).cast(pl.Categorical))


def _read(path: Path, suffix: str) -> pl.DataFrame:
    if suffix == ".csv":
        _check_header(path)
        return pl.read_csv(path, infer_schema=False, glob=False)
    with path.open(encoding="utf-8") as stream:
        first = stream.readline()
    if not first.strip():
        raise AnalysisError(f"{path}: empty; one JSON object a line is wanted")
    json.loads(first, object_pairs_hook=lambda pairs: _refuse_doubled([key for key, _ in pairs], path))
    return pl.read_ndjson(path, infer_schema_length=None)


def _check_header(path: Path) -> None:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header = next(csv.reader(stream), [])
    if not header:
        raise AnalysisError(f"{path}: empty; a header and one row an answer are wanted")
    separators = [name for sign, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")) if sign in header[0]]
    if len(header) == 1 and separators:
        raise AnalysisError(
            f"{path}: columns must be separated by commas, this file has {separators[0]}: {header[0]!r}; "
            "save it again as comma-separated"
        )
    _refuse_doubled(header, path)


def _refuse_doubled(names: list[str], path: Path) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise AnalysisError(f"{path}: column {', '.join(doubled)} stands in the header twice; remove or rename one")


def _reason(error: pl.exceptions.PolarsError) -> str:
    text = str(error)
    if "invalid utf-8" in text:
        return "not UTF-8; save the table as UTF-8"
    if "more fields than defined" in text:
        return "a row has more fields than the header; a text that holds a comma must stand in double quotes"
    if "could not parse" in text:
        return 'a double quote opens a field and never closes; write " inside a field as ""'
    lines = text.strip().splitlines()
    return f"cannot be read: {lines[0] if lines else type(error).__name__}"
