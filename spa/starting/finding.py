"""Finds the answers in files and folders, whatever their shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from spa.errors import StudyError
from spa.starting.folders import files_of, found_in_folders
from spa.starting.found import Found, OpenQuestion
from spa.starting.rows import Given
from spa.starting.sheets import labelled, read_sheet
from spa.starting.tables import found_in_tables
from spa.study.output_files import display_files
from spa.tables.options import TableOptions
from spa.tables.selection import chosen_problems


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
    read = [read_sheet(path, given.columns, options) for path in dict.fromkeys(tables)]
    chosen = [one for _, source in read for one in source.chosen]
    problems = [problem.with_option(f"--{problem.parameter}") for problem in chosen_problems(options, chosen)]
    if problems:
        raise StudyError(*problems)
    found = found_in_tables(labelled([sheet for sheet, _ in read]), given)
    if not found.answers:
        raise StudyError(
            f"{display_files(tables)}: expected outputs, got empty cells only; name the column with --output"
        )
    return found
