"""What ``spa report`` is given by name alone: a study, tables whose columns are recognised, or files of other tools."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from analysis.commands.reading_options import print_found
from spa.commands.options import DEFAULT_STUDY, study_file
from spa.errors import ResponseError, SpaError, TableError, shortened
from spa.importers import certain_format, certain_formats
from spa.importers.answer_format import AnswerFormat
from spa.records.system_roles import role_of

if TYPE_CHECKING:
    from analysis.answers.input_files import InputFile
    from analysis.answers.options import Reading

ANSWERS = ("preferences", "ratings", "choices", "orders", "gambles", "spans")
PART = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<n>\d{5})")
IMPORTED = "answers"  # folder of the report with the tables that files of another tool became


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTables:
    """Files by table, how they are read, and what goes into the results about it.

    ``noted`` adds that to the files that were read; ``printed`` was said already; ``made`` is the folder of tables that
    files of another tool became, ``made_from`` what errors say in its place.
    """

    files: Mapping[str, tuple[Path, ...]]
    reading: Reading
    noted: Callable[[Sequence[InputFile]], tuple[InputFile, ...]] = tuple
    printed: frozenset[str] = frozenset()
    made: Path | None = None
    made_from: str = ""

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name the files that were given in errors about tables that were made of them."""
        try:
            yield
        except SpaError as error:
            if self.made is None:
                raise
            raise error.called(f"{self.made}{os.sep}", self.made_from) from None

    def keep(self, report: Path) -> None:
        """Put the tables that were made for the time of the command beside the report that rests on them."""
        if self.made is not None:
            shutil.rmtree(report / IMPORTED, ignore_errors=True)
            shutil.copytree(self.made, report / IMPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A ``study``, or else ``files``: tables, or those of another tool's format ``read_as``."""

    study: Path | None = None
    files: tuple[Path, ...] = ()
    read_as: AnswerFormat | None = None

    def tables(self, reading: Reading, *, err: bool) -> FoundTables:
        """Return the tables in the files; print what they were taken for, where ``err`` to stderr."""
        if self.read_as is not None and not (self.read_as.recognised_by_columns and _of_columns(reading, self.files)):
            folder = click.get_current_context().with_resource(TemporaryDirectory())
            return _imported(self.read_as, self.files, reading, Path(folder), err=err)
        if not self.files:
            return FoundTables(files={}, reading=reading)
        from analysis.answers.recognised import recognise_tables

        try:
            found = recognise_tables(self.files, reading)
        except SpaError:
            for path in self.files:
                tool = certain_format(path)
                if tool is not None and tool.mapping is not None:
                    raise _needs_mapping(path, tool) from None
            raise
        print_found(found, err=err)
        return FoundTables(files=found.files, reading=found.reading, noted=found.noted, printed=found.notes())


def what_is_named(named: Sequence[Path], tables: Sequence[str]) -> Named:
    """Find out what was named beside the ``tables`` of options; ./study.toml where nothing was."""
    from analysis.parts.locations import is_in_parts
    from spa.tables.reading import OTHERWISE, table_suffix

    if not named and not {*ANSWERS} & {*tables}:
        if not tables and Path(DEFAULT_STUDY).is_file():
            return Named(study=Path(DEFAULT_STUDY))
        raise click.UsageError(
            f"expected a STUDY, files of answers, or at least one of {', '.join(f'--{name}' for name in ANSWERS)}"
        )
    read_as = _other_tool(named)
    if len(named) == 1 and read_as is None and (inside := _tables_of(named[0])):
        named = inside
    studies = [path for path in named if path.is_dir() or path.suffix == ".toml"] if read_as is None else []
    unknown = len(named) == 1 and table_suffix(named[0].name) is None and not is_in_parts(str(named[0]))
    ending = named[0].suffix.lower() if named else ""
    if unknown and ending in OTHERWISE and named[0].is_file() and read_as is None:
        raise click.UsageError(
            f"{shortened(str(named[0]), 120)}: expected a STUDY, or a table ending in .csv, .jsonl, .parquet or .xlsx; "
            f"{OTHERWISE[ending]}"
        )
    if len(named) == 1 and read_as is None and (studies or unknown):
        return Named(study=study_file(named[0]))
    if studies:
        raise click.UsageError(f"{shortened(str(studies[0]))}: expected one STUDY alone, or files of answers")
    if parts := [str(path) for path in named if read_as is None and is_in_parts(str(path))]:
        said = f"{shortened(parts[0])}: expected files; name a table in parts by its option, such as --ratings"
        raise click.UsageError(said)
    if also := [f"--{name}" for name in ANSWERS if named and name in tables]:
        raise click.UsageError(f"{also[0]}: not with {shortened(str(named[0]))}; name every table of answers alike")
    return Named(files=tuple(named), read_as=read_as)


def _tables_of(folder: Path) -> list[Path]:
    """Return the parts of one table in a folder: data-00000-of-00002.arrow, as data sets are saved.

    Raise UsageError where it holds no study, but other tables, or not all parts.
    """
    from spa.starting.folders import DESCRIBING
    from spa.tables.reading import table_stem, table_suffix

    if not folder.is_dir() or (folder / DEFAULT_STUDY).exists():
        return []
    inside = sorted(one for one in folder.iterdir() if table_suffix(one.name) and one.name not in DESCRIBING)
    parts = [found for one in inside if (found := PART.fullmatch(table_stem(one.name))) is not None]
    if inside and len(parts) == len(inside) == int(parts[0]["n"]) and len({found["name"] for found in parts}) == 1:
        return inside
    if inside:
        names = shortened(", ".join(one.name for one in inside), 100)
        raise click.UsageError(
            f"{shortened(str(folder), 120)}: expected {DEFAULT_STUDY}, or all parts of one table, got {names}; name "
            "the files of answers themselves"
        )
    return []


def _other_tool(named: Sequence[Path]) -> AnswerFormat | None:
    """Return the format of files that one tool alone writes; raise UsageError where only some are of it."""
    fits = [(path, None if _is_study(path) else _direct(path)) for path in named]
    first, read_as = next(((path, one) for path, one in fits if one is not None), (None, None))
    if read_as is None:
        return None
    several = read_as.source.endswith("...")
    for path, found in fits:
        if found is None or found.key != read_as.key or (path != first and not several):
            raise click.UsageError(
                f"{shortened(str(path))}: not with {shortened(str(first))}, whose answers are as {read_as.key} keeps "
                "them; convert each with `spa import` and give the tables"
            )
    return read_as


def _is_study(path: Path) -> bool:
    return path.suffix == ".toml" or not path.exists() or (path / DEFAULT_STUDY).is_file()


def _direct(path: Path) -> AnswerFormat | None:
    """Return the format of a file that no other tool writes, if it needs no mapping and its columns say too little.

    Raise UsageError where it needs a mapping and is a folder, which says nothing by its columns.
    """
    fitting = certain_formats(path)
    if len(fitting) > 1:
        tools = " or ".join(f"`spa import {one.key} {shortened(str(path), 60)} --out tables`" for one in fitting)
        raise click.UsageError(
            f"{shortened(str(path), 120)}: its format may be one of several; make tables of it with {tools}, or name "
            "it as a table, such as --ratings or --choices"
        )
    found = fitting[0] if fitting else None
    if found is None or (found.recognised_by_columns and path.is_file() and not _holds_own(found, path)):
        return None
    if found.mapping is not None and path.is_dir():
        raise _needs_mapping(path, found)
    return None if found.mapping is not None else found


def _of_columns(reading: Reading, files: Sequence[Path]) -> bool:
    """Whether options say how the columns of files are read, as they stand there."""
    rows = (reading.mapping, reading.constants, reading.keep, reading.drop, reading.values, reading.numbers)
    return any(rows) and all(path.is_file() for path in files)


def _holds_own(found: AnswerFormat, path: Path) -> bool:
    try:
        return found.own_values is not None and found.own_values(path)
    except TableError:
        return False  # of a table that cannot be read its reader says why


def _needs_mapping(path: Path, found: AnswerFormat) -> click.UsageError:
    where = shortened(str(path), 120)
    return click.UsageError(
        f"{where}: expected tables, got answers as {found.key} keeps them, which need a mapping; `spa import "
        f"{found.key} {where} --mapping import.toml --out tables` makes tables of them (or --map OLD=NEW; spa import "
        f"{found.key} --help)"
    )


def _imported(
    read_as: AnswerFormat, files: tuple[Path, ...], reading: Reading, folder: Path, *, err: bool
) -> FoundTables:
    from spa.commands.import_answers import import_answers

    request = read_as.request(*files)
    if read_as.item_option is not None and reading.item_from is not None:
        request = replace(request, options={**request.options, read_as.item_option: re.compile(reading.item_from)})
        reading = replace(reading, item_from=None)  # it is cut out already
    try:
        account = import_answers(read_as, request, folder)
    except SpaError as error:
        raise error.called(str(folder), f"{files[0].name}, read as {read_as.key}") from error
    click.echo(f"read as {read_as.key}: `spa import --from` takes another format", err=err)
    for line in account.of_reading():
        click.echo(line, err=err)
    counts = account.missing.values()
    if counts and all(one["missing"] == one["answers"] for one in counts):
        raise ResponseError(
            f"{shortened(str(files[0]), 120)}: expected answers, got {' and '.join(account.missing)} all missing; "
            f"column missing_reason of the tables says why: spa import {read_as.key} "
            f"{shlex.quote(shortened(str(files[0]), 120))} --out tables"
        )
    written = [Path(file) for file in account.files]
    names = ", ".join(f"{file.name} ({_hash(file)})" if file.is_file() else file.name for file in files)
    note = f"made from {names}, as {read_as.key} keeps answers"
    unranked = {file.stem: file for file in written if str(file.parent) == account.unranked}
    own = {file.stem: file for file in written if file.parent == folder}
    roles = dict(role for text in account.roles if (role := role_of(text)) is not None)
    return FoundTables(
        files={kind: (file, *([unranked[kind]] if kind in unranked else [])) for kind, file in own.items()},
        reading=replace(reading, system_roles={**roles, **reading.system_roles}),
        noted=lambda inputs: tuple(replace(one, notes=(note, *one.notes)) for one in inputs),
        printed=frozenset({note}),
        made=folder,
        made_from=f"{files[0].name}, read as {read_as.key}: ",
    )


def _hash(path: Path) -> str:
    with path.open("rb") as stream:
        return f"sha256 {hashlib.file_digest(stream, 'sha256').hexdigest()[:12]}"
