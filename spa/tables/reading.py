"""Opens a file with a table, whatever its format: one module a format, one registry.

Text files may be packed (:mod:`spa.tables.packing`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import polars as pl

from spa.errors import TableError, shortened, unreadable
from spa.tables.arrow import arrow_slices, open_arrow
from spa.tables.delimited import delimited_slices, open_delimited
from spa.tables.encodings import in_utf8
from spa.tables.json_files import json_slices, open_json
from spa.tables.json_lines import json_lines_slices, open_json_lines
from spa.tables.options import TableOptions
from spa.tables.packing import PACKINGS, packing_of, unpacked
from spa.tables.parquet import open_parquet, parquet_slices
from spa.tables.selection import arranged, needed
from spa.tables.source import Source, Wanted
from spa.tables.text_files import check_table_file
from spa.tables.workbooks import open_workbook, workbook_slices

Open = Callable[[Path, Wanted, TableOptions], Source]
Slices = Callable[[Path, Wanted, TableOptions, int], Iterator[Source]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A format of files: how its files' names end, and what reads them whole and in slices of some rows.

    Files of ``text`` may be packed, as their names' last ending says. What reads a format ``in_utf8`` is given
    a file in UTF-8, whatever encoding it was in.
    """

    suffixes: tuple[str, ...]
    text: bool = True
    in_utf8: bool = False
    open: Open
    slices: Slices


FORMATS = (
    FileFormat(suffixes=(".csv", ".tsv"), open=open_delimited, slices=delimited_slices),
    FileFormat(suffixes=(".json",), in_utf8=True, open=open_json, slices=json_slices),
    FileFormat(suffixes=(".jsonl", ".ndjson"), in_utf8=True, open=open_json_lines, slices=json_lines_slices),
    FileFormat(suffixes=(".parquet",), text=False, open=open_parquet, slices=parquet_slices),
    FileFormat(suffixes=(".arrow", ".feather"), text=False, open=open_arrow, slices=arrow_slices),
    FileFormat(suffixes=(".xlsx",), text=False, open=open_workbook, slices=workbook_slices),
)
SUFFIXES = tuple(suffix for one in FORMATS for suffix in one.suffixes)
OTHERWISE = {  # endings of tables in other formats -> how they become one that is read
    **dict.fromkeys((".pkl", ".pickle"), "write it as .parquet (pandas: to_parquet)"),
    **dict.fromkeys((".xls", ".ods", ".xlsm", ".numbers"), "save it as .xlsx"),
    **dict.fromkeys((".bz2", ".xz"), "unpack it first, or call it what it holds (.csv.xz)"),
    ".zip": "unpack it first (unzip FILE), or call it what it holds (.csv.zip)",
    **dict.fromkeys((".tar", ".tgz"), "unpack it first (tar xf FILE)"),
    ".7z": "unpack it first (7z x FILE)",
    **dict.fromkeys((".sav", ".zsav", ".por"), "save it as .csv (in SPSS, or in Python by pyreadstat)"),
    **dict.fromkeys((".dta", ".sas7bdat", ".xpt"), "save it as .csv (in Stata or SAS, or in Python by pandas)"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "save it as .csv (in R: write.csv)"),
    ".eval": "write it as JSON: inspect log convert FILE --to json --output-dir FOLDER",
}
ENDINGS = f"{', '.join(SUFFIXES)}, texts also in {', '.join(packing.suffix for packing in PACKINGS)}"


def table_suffix(name: str) -> str | None:
    """Return by which ending a file's name says that it holds a table; ``None`` if it does not.

    >>> table_suffix("Ratings.CSV"), table_suffix("parts/0.jsonl.gz"), table_suffix("report.html")
    ('.csv', '.jsonl.gz', None)
    """
    path = PurePath(name.lower())
    packing = packing_of(path)
    suffix = path.suffix if packing is None else PurePath(path.stem).suffix
    known = any(suffix in one.suffixes and (one.text or packing is None) for one in FORMATS)
    return f"{suffix}{'' if packing is None else packing.suffix}" if known else None


def table_stem(name: str) -> str:
    """Return a file's name without the ending that says that it holds a table.

    >>> table_stem("model-3.5.jsonl.gz"), table_stem("model-3.5.txt")
    ('model-3.5', 'model-3.5.txt')
    """
    return name[: -len(table_suffix(name) or "")] or name


def open_table(path: Path, wanted: Wanted, options: TableOptions) -> Source:
    """Open a file, with the columns, rows and records that the options make of it.

    Parameters
    ----------
    path : Path
        Of a name that :func:`table_suffix` knows.
    wanted : Wanted
        Columns that the reader asks for; sources of other columns may be left unread.
    options : TableOptions
        What the columns are called, which rows stay.

    Raises
    ------
    TableError
        When the file cannot be read, or does not hold what the options name.
    """
    with _inside(path, options) as (inside, format, notes):
        source = format.open(inside, needed(wanted, options), options)
        return arranged(_called(source, inside, path, notes), wanted, options)


def open_slices(path: Path, wanted: Wanted, options: TableOptions, *, rows: int) -> Iterator[Source]:
    """Yield a file as :func:`open_table` opens it, about ``rows`` rows at a time."""
    with _inside(path, options) as (inside, format, notes):
        for source in format.slices(inside, needed(wanted, options), options, rows):
            yield arranged(_called(source, inside, path, notes), wanted, options)


@contextmanager
def _inside(path: Path, options: TableOptions) -> Iterator[tuple[Path, FileFormat, tuple[str, ...]]]:
    """Yield the file that is to be read, its format and what is to be said; problems name the file asked for."""
    with reading(path) as format, ExitStack() as opened:
        inside, notes = path, tuple[str, ...]()
        if (packing := packing_of(path)) is not None:
            inside = opened.enter_context(unpacked(path, packing))
            opened.enter_context(_problems_called(inside, path))
            check_table_file(inside)
        if format.in_utf8:
            text = opened.enter_context(in_utf8(inside, options.encoding))
            inside = text.path
            if text.encoding is not None:
                notes = (f"read as {text.encoding}",)
            opened.enter_context(_problems_called(inside, path))
        yield inside, format, notes


@contextmanager
def _problems_called(inside: Path, path: Path) -> Iterator[None]:
    try:
        yield
    except TableError as error:
        raise error.called(str(inside), str(path)) from error


def _called(source: Source, inside: Path, path: Path, notes: tuple[str, ...]) -> Source:
    """Return what was read of a file as that of another, of which a reader knows, with what is to be said of that."""
    if inside == path:
        return source

    def column(name: str) -> pl.Series:
        with _problems_called(inside, path):
            return source.column(name)

    def values(name: str) -> list[object]:
        with _problems_called(inside, path):
            return source.values(name)

    return replace(source, place=str(path), column=column, values=values, notes=(*notes, *source.notes))


@contextmanager
def reading(path: Path) -> Iterator[FileFormat]:
    """Yield the format of a file, and say in one line why it cannot be read."""
    suffix = table_suffix(path.name)
    if suffix is None and not os.path.exists(path):  # False of a name that is too long, too
        raise TableError(f"{shortened(str(path))}: no such file; check its name")
    if suffix is None:
        do = f"; {OTHERWISE[path.suffix.lower()]}" if path.suffix.lower() in OTHERWISE else ""
        got = shortened(repr(path.suffix.lower()))
        raise TableError(f"{path}: expected a file ending in {ENDINGS}, got {got}{do}")
    found = next(one for one in FORMATS if f".{suffix.split('.')[1]}" in one.suffixes)
    try:
        check_table_file(path)
        yield found
    except OSError as error:
        raise TableError(unreadable(path, error)) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__, 160)
        raise TableError(f"{path}: cannot be read as {suffix[1:]}: {reason}") from error
    except MemoryError as error:
        raise TableError(f"{path}: expected a table that fits into memory, got one that does not") from error
