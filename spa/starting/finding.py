"""Finds the answers in files and folders, whatever their shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from spa.errors import StudyError, TableError
from spa.media import PLAIN, medium_of, medium_of_texts
from spa.starting.columns import OutputColumn
from spa.starting.folders import (
    OutputPaths,
    found_in_folders,
    line_sheets,
    may_hold_lines,
    paths_in,
    records_in,
)
from spa.starting.found import FoundOutputs, OpenQuestion
from spa.starting.input_rows import NamedColumns
from spa.starting.names import Role, place_in
from spa.starting.sheets import OutputSheet, aligned, labelled, read_sheets, record_sheets
from spa.starting.tables import found_in_tables
from spa.starting.traces import traces_in
from spa.study.output_files import display_files
from spa.tables.options import TableOptions
from spa.tables.selection import chosen_problems
from spa.tables.source import Source

SIDES = (("a", "b"), ("1", "2"), ("x", "y"), ("left", "right"), ("0", "1"))
PAIRED: tuple[Role, ...] = ("system", "output")


def taken_apart(sheet: OutputSheet) -> OutputSheet:
    """Return a sheet with a row for each of two answers, where columns name two systems and their outputs."""
    for sides in SIDES:
        stems = _stems(sheet, sides)
        if not any(place_in("system", stem) is not None for stem in stems):
            continue
        if not any(place_in("output", stem) is not None or place_in("prompt", stem) is not None for stem in stems):
            continue
        sided = {name for pair in stems.values() for name in pair}
        columns = {
            name: replace(column, cells=_doubled(column, column))
            for name, column in sheet.columns.items()
            if name not in sided
        }
        for stem, (first, second) in stems.items():
            both = sheet.columns[first], sheet.columns[second]
            columns[stem] = OutputColumn(name=stem, cells=_doubled(*both), description=f"from {first} and {second}")
        said = f"{sheet.file.name}: each row holds two answers ({', '.join(sorted(sided)[:6])})"
        numbers = [number for number in sheet.numbers for _ in sides]
        return replace(sheet, columns=columns, numbers=numbers, notes=(*sheet.notes, said))
    return sheet


def _stems(sheet: OutputSheet, sides: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """Return what columns are called without their side, where both sides are there."""
    by_name = {name.casefold(): name for name in sheet.columns}
    first = re.compile(rf"([_ -]){sides[0]}(?=$|[\[.])")
    found: dict[str, tuple[str, str]] = {}
    for key, name in by_name.items():
        if first.search(key) and (other := by_name.get(first.sub(rf"\g<1>{sides[1]}", key))):
            found[first.sub("", key)] = (name, other)
    return found


def _doubled(first: OutputColumn, second: OutputColumn) -> list[str | None]:
    return list(chain.from_iterable(zip(first.cells, second.cells, strict=True)))


def find_answers(
    paths: Sequence[Path], columns: NamedColumns, options: TableOptions, settle: Callable[[OpenQuestion], str]
) -> FoundOutputs:
    """Return the systems' answers in files with tables, or folders with a file for each answer.

    Parameters
    ----------
    paths : sequence of Path
        Tables of any format of :mod:`spa.tables.reading`, folders of such, or folders with a file for each output.
    columns : NamedColumns
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
    found = _found(paths, columns, options, settle)
    if columns.kind is None:
        found = _as_shown(found)
    return replace(found, within=dict(_files_within(found, [path if path.is_dir() else path.parent for path in paths])))


def _as_shown(found: FoundOutputs) -> FoundOutputs:
    """Return answers with the medium of which their texts, and those of the prompts, show signs."""
    prompts = {one.item: one.prompt for one in found.answers if one.prompt is not None}
    kind, item_kind = found.kind, found.item_kind
    took = list(found.took)
    if kind == PLAIN:
        kind, line = _signs("outputs", [one.output for one in found.answers])
        took += line
    if item_kind == PLAIN:
        item_kind, line = _signs("prompts", list(prompts.values()))
        took += line
    return replace(found, kind=kind, item_kind=item_kind, took=tuple(took))


def _files_within(found: FoundOutputs, folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the files that texts name, by their paths there, as far as they lie in or below one of the folders."""
    prompts = {one.item: one.prompt for one in found.answers if one.prompt is not None}
    for kind, texts in ((found.kind, (one.output for one in found.answers)), (found.item_kind, prompts.values())):
        medium = medium_of(kind)
        for text in texts if medium.holds is not None else ():
            try:
                named = medium.names_within(medium.takes(text))
            except ValueError:  # which the study will say
                continue
            for path in dict(named).values():
                inside = not path.startswith(("/", ".")) and ".." not in path.split("/") and "\0" not in path
                file = next((folder / path for folder in folders if inside and (folder / path).is_file()), None)
                if file is not None:
                    yield path, file


def _signs(name: str, texts: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    medium, signs = medium_of_texts(texts)
    if medium.key == PLAIN:
        return PLAIN, ()
    shown = f"{signs:,} of {len(texts):,} show its signs; --kind {PLAIN} shows them as they are written"
    return medium.key, (f"{name} are {medium.key}: {shown}",)


def _found(
    paths: Sequence[Path], given: NamedColumns, options: TableOptions, settle: Callable[[OpenQuestion], str]
) -> FoundOutputs:
    inside = paths_in(paths)
    if inside.folders:
        return found_in_folders(inside.folders)
    if texts := [path for path in inside.tables if may_hold_lines(path)]:
        if len(texts) < len(inside.tables):
            others = next(path for path in inside.tables if path not in texts)
            raise StudyError(f"{display_files([others])}: expected text files or tables, got both; give one kind")
        return found_in_tables(line_sheets(texts), given, settle)
    read, unread = _records(inside, options) or _read(inside, given, options)
    problems = chosen_problems(options, (one for _, source in read for one in source.chosen))
    if problems:
        raise StudyError(*(problem.with_option(f"--{problem.parameter}") for problem in problems))
    plain = given.item is None and given.output is None and not given.prompts
    found = _traces([source for _, source in read], given, settle) if plain else None
    if found is None:
        sheets = [sheet if given.systems else taken_apart(sheet) for sheet, _ in read]
        found = found_in_tables(labelled(sheets if given.columns else aligned(sheets)), given, settle)
    if not found.answers:
        files = display_files(inside.tables)
        raise StudyError(f"{files}: expected outputs, got empty cells only; name the column with --output")
    if aside := (*unread, *inside.aside):
        line = f"files that are no tables of outputs: {len(aside)} ({display_files(aside)})"
        found = replace(found, left_out=(*found.left_out, line))
    return found


def _records(inside: OutputPaths, options: TableOptions) -> tuple[list[tuple[OutputSheet, Source]], list[Path]] | None:
    """Return the sheets of files in folders that hold one record each; ``None`` where they are tables."""
    if options != TableOptions() or len(inside.in_folders) < len(inside.tables):
        return None
    files = records_in(inside.tables)
    sheets = None if files is None else record_sheets(files)
    return None if sheets is None else (sheets, [])


def _read(
    inside: OutputPaths, given: NamedColumns, options: TableOptions
) -> tuple[list[tuple[OutputSheet, Source]], list[Path]]:
    """Read files; those that only lay in a folder, and cannot be read, are returned as they are where others can."""
    read: list[tuple[OutputSheet, Source]] = []
    unread: list[Path] = []
    problems: list[str] = []
    for path in inside.tables:
        try:
            read += read_sheets(path, given.columns, options)
        except StudyError as error:
            if path not in inside.in_folders:
                raise
            unread.append(path)
            problems += error.problems
    if not read:
        raise StudyError(*problems[:1])
    return read, unread


def _traces(
    sources: Sequence[Source], given: NamedColumns, settle: Callable[[OpenQuestion], str]
) -> FoundOutputs | None:
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
