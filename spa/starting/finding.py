"""Finds the answers in files and folders, whatever their shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from spa.errors import StudyError, TableError
from spa.starting.folders import TEXTS, files_of, found_in_folders, line_sheets
from spa.starting.found import Found, OpenQuestion
from spa.starting.pairs import taken_apart
from spa.starting.rows import Given
from spa.starting.sheets import labelled, read_sheet
from spa.starting.tables import found_in_tables
from spa.starting.traces import traces_in
from spa.study.output_files import display_files
from spa.tables.options import TableOptions
from spa.tables.selection import chosen_problems
from spa.tables.source import Source


def find_answers(
    paths: Sequence[Path], given: Given, options: TableOptions, settle: Callable[[OpenQuestion], str]
) -> Found:
    """Return the systems' answers in files with tables, or folders with a file for each answer.

    Parameters
    ----------
    paths : sequence of Path
        Tables of any format of :mod:`spa.tables.reading`, folders of such, or folders of texts or images.
    given : Given
        What is known of the columns.
    options : TableOptions
        How tables are read.
    settle : callable
        Answers what is open.

    Raises
    ------
    StudyError
        In one line, where no study can be made of them, with what is missing.
    """
    tables, folders = files_of(paths)
    if folders:
        return found_in_folders(folders)
    if texts := [path for path in tables if path.suffix.lower() in TEXTS]:
        if len(texts) < len(tables):
            others = next(path for path in tables if path not in texts)
            raise StudyError(f"{display_files([others])}: expected text files or tables, got both; give one kind")
        return found_in_tables(line_sheets(texts), given, settle)
    read = [read_sheet(path, given.columns, options) for path in dict.fromkeys(tables)]
    chosen = [one for _, source in read for one in source.chosen]
    problems = [problem.with_option(f"--{problem.parameter}") for problem in chosen_problems(options, chosen)]
    if problems:
        raise StudyError(*problems)
    found = _traces([source for _, source in read], given, settle)
    if found is None:
        sheets = [sheet if given.systems else taken_apart(sheet) for sheet, _ in read]
        found = found_in_tables(labelled(sheets), given, settle)
    if not found.answers:
        raise StudyError(
            f"{display_files(tables)}: expected outputs, got empty cells only; name the column with --output"
        )
    return found


def _traces(sources: Sequence[Source], given: Given, settle: Callable[[OpenQuestion], str]) -> Found | None:
    """Return the answers in traces, of which all that is open is settled; ``None`` where the files hold none."""
    settled: dict[str, str] = {"system": given.systems[0]} if given.systems else {}
    try:
        found = traces_in(sources, settled=settled)
        while found is not None and (asked := [one for one in found.asked if one.key not in settled]):
            settled |= {one.key: settle(one) for one in asked}
            found = traces_in(sources, settled=settled)
    except TableError as error:
        raise StudyError(*error.problems) from error
    return found
