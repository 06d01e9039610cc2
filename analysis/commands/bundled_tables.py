"""Tables from elsewhere for ``spa bundle``: which a user named, whether people are named in them, what goes in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from analysis.answers.columns import KNOWN
from analysis.answers.options import Reading
from analysis.answers.reading import EmptyTable, read_raw
from analysis.archive.contents import Contents
from analysis.archive.inputs import TABLES as TABLES_FOLDER
from analysis.archive.inputs import TableInputs, Verify, library_versions, write_inputs
from analysis.commands.making_again import Words, given_words, names_file, report_of_tables
from analysis.commands.named_files import ANSWERS, what_is_named
from analysis.commands.reading_options import reading_of
from analysis.commands.report import LARGE, TABLES
from spa.commands.options import given_options
from spa.errors import AnalysisError, shortened
from spa.tables.reading import table_stem, table_suffix

SOMEBODY = re.compile(  # an address, or an id by which Prolific or MTurk know a person
    r"[^\s@]+@[^\s@]+\.[a-z]{2,}|[0-9a-f]{24}|A[A-Z0-9]{12,14}", re.IGNORECASE
)
ABOUT = "a table that the report read"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTables:
    """Tables by name alone, or by an option, with the other options of ``spa report``."""

    named: tuple[Path, ...]
    options: Mapping[str, Any]


def tables_named(named: Sequence[Path], options: Mapping[str, Any]) -> NamedTables:
    """Return the tables that a user named: files, or those of a folder, by their names where these are ours."""
    if len(named) != 1 or not named[0].is_dir():
        return NamedTables(named=tuple(named), options=options)
    files = sorted(path for path in named[0].iterdir() if path.is_file() and table_suffix(path.name) is not None)
    by_kind: dict[str, list[Path]] = {}
    for path in files:
        if (kind := table_stem(path.name)) in TABLES and not _is_empty(path, kind):
            by_kind.setdefault(kind, []).append(path)
    if not {*ANSWERS} & by_kind.keys():
        if not files:
            raise click.UsageError(
                f"{shortened(str(named[0]))}: expected a study.toml or tables in the folder, got none"
            )
        return NamedTables(named=tuple(files), options=options)
    if twice := next((kind for kind, paths in by_kind.items() if len(paths) > 1), None):
        raise click.UsageError(f"{shortened(str(named[0]))}: expected one table called {twice}, got several; name them")
    found = {kind: tuple(map(str, paths)) if kind in LARGE else paths[0] for kind, paths in by_kind.items()}
    several = {kind: tuple(paths) for kind, paths in by_kind.items() if kind in ANSWERS and kind != "spans"}
    return NamedTables(named=(), options={**options, **found, **several})


def _is_empty(path: Path, kind: str) -> bool:
    """Return whether a table has a header alone, as an export of a study has one of each way of asking."""
    try:
        read_raw(path, Reading(), KNOWN[kind])
    except EmptyTable:
        return True
    except AnalysisError:
        return False  # its reader says what is wrong with it
    return False


def add_tables(contents: Contents, tables: NamedTables, report: Path, *, keep_ids: bool, verify: Verify) -> Path:
    """Make the report of tables and put both into an archive; return the newest of the files."""
    given = given_options(tables.options)
    kinds = [kind for kind in TABLES if kind in given]
    known = what_is_named(tables.named, kinds)
    if known.read_as is not None:
        raise click.UsageError(
            f"{shortened(str(tables.named[0]))}: expected tables, got answers as {known.read_as.key} keeps them; give "
            f"people pseudonyms first (spa import {known.read_as.key} FILE --out tables) and bundle that folder"
        )
    if not keep_ids:
        _refuse_people(known.tables(reading_of(given), err=True).files, given)
    files: list[Path] = []

    def put(path: str | Path) -> str:
        name = f"{TABLES_FOLDER}/{Path(path).name}"
        contents.add(name, Path(path), ABOUT)
        files.append(Path(path))
        return name

    named = tuple(put(path) for path in tables.named)
    words = tuple(
        (option, tuple(put(value) for value in values) if names_file(option) else values)
        for option, values in given_words(given)
    )
    inputs = TableInputs(versions=library_versions(), named=named, options=words, verify=verify)
    report_of_tables(*placed(inputs, contents.folder), report, verify=verify)
    write_inputs(contents, inputs)
    return max(files, key=lambda path: path.stat().st_mtime)


def placed(inputs: TableInputs, folder: Path) -> tuple[list[Path], Words]:
    """Return the tables and the words with the files of an archive where they lie."""
    words = tuple(
        (option, tuple(str(folder / value) for value in values) if names_file(option) else values)
        for option, values in inputs.options
    )
    return [folder / name for name in inputs.named], words


def _refuse_people(named: Mapping[str, Sequence[Path]], given: Mapping[str, Any]) -> None:
    """Raise AnalysisError where annotators seem to be called as a platform or their post calls them."""
    from analysis.answers.tables import read_tables

    paths: dict[str, Any] = dict(named)
    for kind in TABLES:
        if kind in given and kind != "outputs":
            value = given[kind]
            paths[kind] = tuple(map(Path, value if isinstance(value, tuple) else (value,)))
    tables = read_tables(paths, reading_of(given))
    for table in (*tables.answers().values(), tables.annotators):
        if table is None:
            continue
        for who in table["annotator_id"].cast(str).unique(maintain_order=True):
            if who is not None and SOMEBODY.fullmatch(who):
                raise AnalysisError(
                    f"annotator_id: expected pseudonyms, got what may be a person's id ({shortened(who, 4)}...); make "
                    "tables with `spa import csv FILE --mapping FILE --out tables` and bundle these, or say --keep-ids"
                )
