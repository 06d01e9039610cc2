"""Reads output files (JSONL, CSV, Parquet) into rows of text, each with its place."""

from __future__ import annotations

import io
import json
import os.path
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from spa.errors import StudyError
from spa.files import csv_mistake, json_object, unique_keys

SUFFIXES = (".jsonl", ".csv", ".parquet")
# Control characters but tab and line ends, halves of surrogate pairs, and the two non-characters
# that no XML or HTML document may hold. Joiners and direction marks are part of ordinary writing.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_END = re.compile("\r\n?")
IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
REPLACEMENT = "\ufffd"


class Number(str):
    """A number of a JSON file, as it was written there ("1.0" stays "1.0")."""

    __slots__ = ()


Value = str | None


@dataclass(frozen=True, slots=True)
class OutputFileRow:
    """One row of an output file: the columns asked for, and where it stands."""

    file: Path
    number: int  # line of a JSONL file, data row of the others; from 1
    values: dict[str, Value]

    @property
    def place(self) -> str:
        """Return "outputs.jsonl line 3" or "outputs.csv row 3"."""
        return f"{display_path(self.file)} {'line' if self.file.suffix.lower() == '.jsonl' else 'row'} {self.number}"


def display_path(path: Path) -> str:
    """Return a path as a reader knows it: from the working directory where it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def display_files(paths: Iterable[Path]) -> str:
    """Return paths as a reader knows them, the first few of many."""
    listed = [display_path(path) for path in paths]
    return ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")


def is_control(character: str) -> bool:
    """Return whether a character cannot be shown on a page or sent to a service."""
    return _CONTROL.match(character) is not None


def is_image(start: bytes) -> bool:
    """Return by its first bytes whether a file is a PNG, JPEG, GIF or WebP image."""
    return start.startswith(IMAGE_STARTS) or (start.startswith(b"RIFF") and start[8:12] == b"WEBP")


def cleaned(text: str) -> str:
    r"""Return the text with one kind of line end, and U+FFFD for every character that cannot be shown.

    >>> ascii(cleaned("a\r\nb\x00c"))
    "'a\\nb\\ufffdc'"
    """
    return _CONTROL.sub(REPLACEMENT, _LINE_END.sub("\n", text))


def decoded(place: str, content: bytes) -> str:
    """Return UTF-8 text, with or without a byte order mark.

    Raise StudyError where it is no UTF-8, with the line; or if it looks like UTF-16.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]:
        raise StudyError(
            f"{place}: expected UTF-8, got UTF-16; save the file as UTF-8, or run `iconv -f UTF-16 -t UTF-8 OLD > NEW`"
        )
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"{place} line {line}: expected UTF-8, got the byte 0x{content[error.start]:02x}; save the file as UTF-8"
        ) from error


def read_rows(path: Path, columns: Sequence[str]) -> list[OutputFileRow]:
    """Read the named columns of one output file.

    Other columns are ignored. Rows are in the order of the file; numbers as written, empty values ``None``. Raise
    StudyError where the file cannot be read or lacks a column.
    """
    place = display_path(path)
    if path.suffix.lower() not in SUFFIXES:
        got = path.suffix or "no suffix"
        raise StudyError(f"{place}: expected a file ending in {', '.join(SUFFIXES)}, got {got}; convert it")
    if not os.path.isfile(path):  # unlike Path.is_file, it takes any name
        got = "a directory" if os.path.isdir(path) else "nothing"
        raise StudyError(f"{place}: expected a file, got {got}; check [outputs] files")
    try:
        if path.suffix.lower() == ".jsonl":
            rows, found = _read_jsonl(path, columns)
        else:
            read = _read_csv if path.suffix.lower() == ".csv" else _read_parquet
            rows, found = read(path, columns)
    except OSError as error:
        raise StudyError(f"{place}: expected a readable file, got {error.strerror}") from error
    if not rows:
        raise StudyError(f"{place}: expected rows of outputs, got none; write the systems' outputs there")
    missing = [column for column in columns if column not in found]
    if missing:
        raise _missing_columns(path, missing, found)
    return rows


def _missing_columns(path: Path, missing: Sequence[str], found: Sequence[str]) -> StudyError:
    listed = ", ".join(f'"{name}"' for name in found[:20]) + (", ..." if len(found) > 20 else "") or "none"
    hint = "name the columns in [outputs] (item, system, output, sample, item_text, layout)"
    if len(found) == 1 and any(separator in found[0] for separator in ";\t|"):
        hint = "the file seems to have another separator; save it with commas"
    expected = ", ".join(f'"{name}"' for name in missing)
    return StudyError(
        f"{display_path(path)}: expected column{'s' * (len(missing) > 1)} {expected}, got columns {listed}; {hint}"
    )


def _read_jsonl(path: Path, columns: Sequence[str]) -> tuple[list[OutputFileRow], list[str]]:
    # Numbers keep their spelling, so that ids do not change; NaN is how some tools write "nothing".
    decoder = json.JSONDecoder(
        object_pairs_hook=unique_keys, parse_int=Number, parse_float=Number, parse_constant=lambda _: None
    )
    rows: list[OutputFileRow] = []
    problems: list[str] = []
    found: dict[str, None] = {}
    name = display_path(path)
    for number, line in enumerate(decoded(name, path.read_bytes()).split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{name} line {number}"
        try:
            entry = json_object(line.strip(" \t\r"), decoder)
        except ValueError as error:
            problems.append(f"{place}: {error}; correct the line")
            continue
        found.update(dict.fromkeys(entry))
        values = {column: entry.get(column) for column in columns}
        problems += _not_text(place, values)
        rows.append(OutputFileRow(path, number, values))
        if len(problems) > 20:
            problems.append(f"{name}: more mistakes follow; correct these first")
            break
    if problems:
        raise StudyError(*problems)
    return rows, list(found)


def _not_text(place: str, values: dict[str, Any]) -> Iterator[str]:
    for column, value in values.items():
        if not (value is None or isinstance(value, str)):
            kind = {bool: "true or false", list: "a list", dict: "an object"}[type(value)]
            yield f'{place}: "{column}": expected text, got {kind}; write it as text in quotes'


def _read_csv(path: Path, columns: Sequence[str]) -> tuple[list[OutputFileRow], list[str]]:
    place = display_path(path)
    text = decoded(place, path.read_bytes())
    try:
        # Everything is text: an inferred type would turn the id "001" into 1. The header is read as a
        # row, because polars renames a header that stands twice.
        frame = pl.read_csv(text.encode(), infer_schema=False, has_header=False)
    except pl.exceptions.PolarsError as error:
        if not text.strip():
            mistake = "expected a header and rows of outputs, got an empty file; write the systems' outputs there"
            raise StudyError(f"{place}: {mistake}") from error
        if (uneven := csv_mistake(io.StringIO(text, newline=""))) is not None:
            raise StudyError(f"{place} {uneven}") from error
        found = str(error).splitlines()[0][:160]
        raise StudyError(f"{place}: expected CSV, got a malformed file: {found}; correct it") from error
    header = [str(name or "") for name in frame.row(0)] if frame.height else []
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise StudyError(f"{place}: expected each column once, got {', '.join(twice)} twice; rename one")
    present = [column for column in columns if column in header]
    series = [frame.to_series(header.index(column)).to_list()[1:] for column in present]
    rows = [
        OutputFileRow(path, number, {column: value or None for column, value in zip(present, values, strict=True)})
        for number, values in enumerate(zip(*series, strict=True), start=1)
    ]
    return (rows if present else [OutputFileRow(path, 1, {})] if frame.height > 1 else []), header


def _read_parquet(path: Path, columns: Sequence[str]) -> tuple[list[OutputFileRow], list[str]]:
    place = display_path(path)
    try:
        header = list(pl.scan_parquet(path, glob=False).collect_schema())
        present = [column for column in columns if column in header]
        frame = pl.read_parquet(path, columns=present, glob=False)
    except pl.exceptions.PolarsError as error:
        raise StudyError(
            f"{place}: expected Parquet, got a malformed file: {str(error).splitlines()[0][:160]}; correct it"
        ) from error
    problems = [
        f'{place}: column "{name}": expected text or numbers, got {kind}; write it as text'
        for name, kind in frame.schema.items()
        if not (kind.is_numeric() or kind in (pl.String, pl.Categorical, pl.Enum, pl.Null))
    ]
    if problems:
        raise StudyError(*problems)
    kinds = frame.schema
    frame = frame.select(pl.all().cast(pl.String))
    rows = []
    for number, values in enumerate(frame.iter_rows(), start=1):
        made = {
            name: Number(value) if value is not None and kinds[name].is_numeric() else value
            for name, value in zip(present, values, strict=True)
        }
        rows.append(OutputFileRow(path, number, made))
    return (rows if present else [OutputFileRow(path, 1, {})] if header else []), header
