"""``spa import``: answers collected with other tools."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import INPUT, Aliased, Command, out_folder_option
from spa.errors import shortened

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables
    from spa.responses.table_files import TableFormat

FORMATS = click.Choice(["csv", "parquet", "jsonl"])


def table_options(command: Command) -> Command:
    """Add the options that say how the tables are written."""
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
    scores: dict[str, float],
) -> None:
    """Read an output FOLDER of POTATO with all its parts and annotators.

    A numeric label is the score. Attention checks and pages are skipped; the order in which items were
    shown is read from annotation_order.txt.
    """
    from spa.importers.mapping import Potato, read_mapping
    from spa.importers.potato import read_potato

    made = read_potato(folder, read_mapping(mapping, Potato), scores)
    _write(made, out, format_, keep_ids=keep_ids, mapping=mapping, key=key)


@import_.command("csv", epilog="Example: spa import csv results.csv --mapping import.toml --out tables")
@click.argument("files", type=INPUT, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--mapping", cls=Aliased, aliases=("--map",), required=True, type=INPUT, help="TOML file: what the columns mean."
)
@table_options
def csv(
    files: tuple[Path, ...], mapping: Path, out: Path, format_: TableFormat, keep_ids: bool, key: Path | None
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
    _write(made, out, format_, keep_ids=keep_ids, mapping=mapping, key=key)


def _write(
    imported: ImportedTables, out: Path, format_: TableFormat, *, keep_ids: bool, mapping: Path, key: Path | None
) -> None:
    from spa.importers.pseudonyms import default_key_path, load_key
    from spa.importers.tables import with_pseudonyms, write_imported

    if keep_ids and key is not None:
        raise click.UsageError("--key makes pseudonyms, which --keep-ids leaves out; give one of them")
    secret = None if keep_ids else load_key(key or default_key_path(mapping))
    named = imported if secret is None else with_pseudonyms(imported, secret)
    written = write_imported(named, out, format=format_)
    for note in imported.notes:
        click.echo(note)
    for what, count in imported.skipped.items():
        click.echo(f"skipped: {count} of {what}")
    for table, (missing, answers) in imported.missing.items():
        if missing:
            click.echo(f"missing: {missing} of {answers} {table}")
    if secret is not None:
        made = "written to" if secret.created else "read from"
        click.echo(f"pseudonyms: key {made} {secret.path}; keep it for further imports, and to yourself")
    for path, rows in written.items():
        click.echo(f"{path}: {rows} rows")
    for table, count in imported.twice.items():
        click.echo(
            f"{table}: {count} {'answer is' if count == 1 else 'answers are'} the second of one annotator about the "
            "same, which spa report refuses; leave out rows that stand twice, or name what tells them apart"
        )
    if imported.twice:
        return
    options = {"annotators": "annotator-table"}
    tables = " ".join(f"--{options.get(path.stem, path.stem)} {shlex.quote(str(path))}" for path in written)
    click.echo(f"next: spa report {tables} --out report")
