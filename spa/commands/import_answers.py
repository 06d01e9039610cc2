"""``spa import``: answers collected with other tools."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import INPUT, Aliased, Command, json_option, out_folder_option, print_result
from spa.errors import shortened

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables
    from spa.responses.table_files import TableFormat

FORMATS = click.Choice(["csv", "parquet", "jsonl"])


def table_options(command: Command) -> Command:
    """Add the options that say how the tables are written, and how that is told."""
    command = json_option(command)
    command = click.option(
        "--key",
        type=INPUT,
        help="Secret key of the pseudonyms; created if missing. [default: pseudonyms.key beside MAPPING]",
    )(command)
    command = click.option("--keep-ids", is_flag=True, help="Keep the annotators' ids.")(command)
    command = click.option("--format", "format_", type=FORMATS, default="csv", show_default=True)(command)
    return out_folder_option("Folder for the tables.", required=True)(command)


def _scores(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    from spa.importers.tables import number_of

    scores: dict[str, float] = {}
    for text in given:
        label, _, number = text.rpartition("=")
        score = number_of(number.strip())
        if not label or score is None:
            raise click.BadParameter(f"expected LABEL=NUMBER, got {shortened(repr(text))}", context, option)
        if scores.setdefault(label, score) != score:
            raise click.BadParameter(f"{shortened(repr(label))} has two scores", context, option)
    return scores


@click.group("import", epilog="Example: spa import potato annotations --mapping import.toml --out tables")
def import_() -> None:
    """Convert answers collected elsewhere to tidy tables for `spa report`.

    Annotators get pseudonyms unless --keep-ids is given; with the same key, a person always gets the same one.

    --json prints files (rows of each), notes, skipped, missing, twice, key and key_created.
    """


@import_.command(epilog="Example: spa import potato annotations --mapping import.toml --out tables")
@click.argument("folder", type=INPUT)
@click.option(
    "--mapping",
    cls=Aliased,
    aliases=("--map",),
    required=True,
    type=INPUT,
    help="TOML file with systems, criteria, skip, llms.",
)
@table_options
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="LABEL=NUMBER",
    callback=_scores,
    help="Score of a label that is not a number; repeatable.",
)
def potato(
    folder: Path,
    mapping: Path,
    out: Path,
    format_: TableFormat,
    keep_ids: bool,
    key: Path | None,
    as_json: bool,
    scores: dict[str, float],
) -> None:
    """Read an output FOLDER of POTATO with all its parts and annotators.

    A numeric label is the score. Attention checks and pages are skipped; the order in which items were
    shown is read from annotation_order.txt.
    """
    from spa.importers.mapping import Potato, read_mapping
    from spa.importers.potato import read_potato

    made = read_potato(folder, read_mapping(mapping, Potato), scores)
    _write(made, out, format_, keep_ids=keep_ids, mapping=mapping, key=key, as_json=as_json)


@import_.command("csv", epilog="Example: spa import csv results.csv --mapping import.toml --out tables")
@click.argument("files", type=INPUT, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--mapping", cls=Aliased, aliases=("--map",), required=True, type=INPUT, help="TOML file: what the columns mean."
)
@table_options
def csv(
    files: tuple[Path, ...],
    mapping: Path,
    out: Path,
    format_: TableFormat,
    keep_ids: bool,
    key: Path | None,
    as_json: bool,
) -> None:
    """Read tables with one column per question.

    FILE is a table (CSV, JSONL, Parquet, ...) or a folder of tables; several are read as one. A row is what one
    annotator answered, of all items or of one; with `annotators` in the mapping each annotator has a column, with
    annotator = "{file}" a file.

    Keys of the mapping: annotator, item, sample, assignment, seconds, seconds_unit, kind_column, llms, people,
    keep, drop, missing, split, key, page_times, each, encoding, quotes, decimal, constants. Of a question: column (or
    annotators, and their group), kind (rating, preference, choice, rank, order), values; system, system_x,
    system_y, item and criterion, or system_column, ..., criterion_column; systems_in with separator, systems,
    labels, criteria, annotator, seconds, exposure, percent, scale, winner_is, start_column with ends, untouched.
    """
    from spa.importers.mapping import Wide, read_mapping
    from spa.importers.wide import read_wide

    made = read_wide(files, read_mapping(mapping, Wide), mapping)
    _write(made, out, format_, keep_ids=keep_ids, mapping=mapping, key=key, as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportAccount:
    """What an import wrote and what it left out."""

    files: dict[str, int]  # written -> rows
    notes: tuple[str, ...]
    skipped: dict[str, int]  # what -> rows
    missing: dict[str, dict[str, int]]  # table -> missing answers of all answers
    twice: dict[str, int]  # table -> answers that are the second of one annotator about the same
    key: str | None  # file of the pseudonyms' key
    key_created: bool

    def lines(self) -> Iterator[str]:
        """Yield the account as text, with the next command."""
        yield from self.notes
        for what, count in self.skipped.items():
            yield f"skipped: {count} of {what}"
        for table, counts in self.missing.items():
            if counts["missing"]:
                yield f"missing: {counts['missing']} of {counts['answers']} {table}"
        if self.key is not None:
            made = "written to" if self.key_created else "read from"
            yield f"pseudonyms: key {made} {self.key}; keep it for further imports, and to yourself"
        for file, rows in self.files.items():
            yield f"{file}: {rows} rows"
        for table, count in self.twice.items():
            yield (
                f"{table}: {count} {'answer is' if count == 1 else 'answers are'} the second of one annotator about "
                "the same, which spa report refuses; leave out rows that stand twice, or name what tells them apart"
            )
        if not self.twice:
            options = {"annotators": "annotator-table"}
            stems = [(Path(file).stem, shlex.quote(file)) for file in self.files]
            tables = " ".join(f"--{options.get(stem, stem)} {file}" for stem, file in stems)
            yield f"next: spa report {tables} --out report"


def _write(
    imported: ImportedTables,
    out: Path,
    format_: TableFormat,
    *,
    keep_ids: bool,
    mapping: Path,
    key: Path | None,
    as_json: bool,
) -> None:
    from spa.importers.pseudonyms import default_key_path, load_key
    from spa.importers.tables import with_pseudonyms, write_imported

    if keep_ids and key is not None:
        raise click.UsageError("--key makes pseudonyms, which --keep-ids leaves out; give one of them")
    secret = None if keep_ids else load_key(key or default_key_path(mapping))
    named = imported if secret is None else with_pseudonyms(imported, secret)
    written = write_imported(named, out, format=format_)
    account = ImportAccount(
        files={str(path): rows for path, rows in written.items()},
        notes=tuple(imported.notes),
        skipped=dict(imported.skipped),
        missing={
            table: {"missing": missing, "answers": answers} for table, (missing, answers) in imported.missing.items()
        },
        twice=dict(imported.twice),
        key=None if secret is None else str(secret.path),
        key_created=secret is not None and secret.created,
    )
    print_result(account, account.lines(), as_json=as_json)
