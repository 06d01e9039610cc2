"""Files to frames of strings: CSV, Parquet or JSONL, each id as it is written ("001" stays "001")."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from spa.errors import AnalysisError

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


def read_raw(path: Path, mapping: Mapping[str, str], known: frozenset[str]) -> RawTable:
    """Read one file as strings, rename columns by ``mapping`` (old -> new) and keep the ``known`` ones.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.jsonl``, ``.ndjson`` or ``.parquet`` file.
    mapping : mapping of str to str
        Column in the file -> column of the tidy table; names that this file lacks are left alone.
    known : frozenset of str
        Columns that the table may have; others are ignored.

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
        frame = _read(path, suffix)
        tidy = tidy_frame(frame, str(path), mapping, known)
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
        columns=tuple(frame.columns),
        frame=tidy,
        first_row=first_row,
        sha256=sha256,
    )


def tidy_frame(frame: pl.DataFrame, place: str, mapping: Mapping[str, str], known: frozenset[str]) -> pl.DataFrame:
    """Rename, keep the known columns as strings and drop blank lines; refuse a frame without rows.

    >>> tidy_frame(pl.DataFrame({"rater": ["001"], "x": [1]}), "f", {"rater": "id"}, frozenset({"id"})).to_dicts()
    [{'id': '001'}]
    """
    names = [mapping.get(name, name) for name in frame.columns]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        came = f"columns {', '.join(frame.columns)}"
        raise AnalysisError(f"{place}: column {', '.join(doubled)} stands there twice ({came}); rename or --map one")
    kept = frame.rename(dict(zip(frame.columns, names, strict=True))).select([name for name in names if name in known])
    nested = [name for name, dtype in kept.schema.items() if dtype.is_nested()]
    if nested:
        raise AnalysisError(f"{place}: column {', '.join(nested)} holds lists or objects; one value a cell is wanted")
    if frame.is_empty():
        raise AnalysisError(f"{place}: a header without rows; at least one answer is wanted")
    if len(kept.columns) == 0:
        return kept
    strings = kept.select(pl.all().cast(pl.String).str.strip_chars())
    return strings.with_columns(pl.when(pl.all().str.len_bytes() > 0).then(pl.all()).otherwise(None).name.keep())


def _read(path: Path, suffix: str) -> pl.DataFrame:
    if suffix == ".parquet":
        return pl.read_parquet(path)
    if suffix == ".csv":
        _check_header(path)
        return pl.read_csv(path, infer_schema=False)
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
