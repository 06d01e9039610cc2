"""``spa import``: answers collected with other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import Command
from spa.errors import shortened

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables
    from spa.responses.table_files import TableFormat

FORMATS = click.Choice(["csv", "parquet", "jsonl"])
IN = click.Path(path_type=Path)


def table_options(command: Command) -> Command:
    """Add the options that say how the tables are written."""
    command = click.option("--keep-ids", is_flag=True, help="Keep the annotators' ids.")(command)
    command = click.option("--format", "format_", type=FORMATS, default="csv", show_default=True)(command)
    return click.option("--out", required=True, type=IN, help="Folder for the tables.")(command)


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


@click.group("import", epilog="Example: spa import potato annotations --map import.toml --out tables")
def import_() -> None:
    """Convert answers collected elsewhere to tidy tables for `spa report`.

    Annotators are renamed annotator-1, annotator-2, ... unless --keep-ids is given.
    """


@import_.command(epilog="Example: spa import potato annotations --map import.toml --out tables")
@click.argument("folder", type=IN)
@click.option("--map", "mapping", required=True, type=IN, help="TOML file with systems, criteria, skip, llms.")
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
    folder: Path, mapping: Path, out: Path, format_: TableFormat, keep_ids: bool, scores: dict[str, float]
) -> None:
    """Read an output FOLDER of POTATO with all its parts and annotators.

    A numeric label is the score. Attention checks and pages are skipped; the order in which items were
    shown is read from annotation_order.txt.
    """
    from spa.importers.mapping import Potato, read_mapping
    from spa.importers.potato import read_potato

    _write(read_potato(folder, read_mapping(mapping, Potato), scores), out, format_, keep_ids)


@import_.command("csv", epilog="Example: spa import csv results.csv --map import.toml --out tables")
@click.argument("file", type=IN)
@click.option("--map", "mapping", required=True, type=IN, help="TOML: annotator, item, keep, [[questions]].")
@table_options
def csv(file: Path, mapping: Path, out: Path, format_: TableFormat, keep_ids: bool) -> None:
    """Read a CSV FILE with one row per annotator (and item) and one column per question."""
    from spa.importers.mapping import Wide, read_mapping
    from spa.importers.wide import read_wide

    _write(read_wide(file, read_mapping(mapping, Wide)), out, format_, keep_ids)


def _write(imported: ImportedTables, out: Path, format_: TableFormat, keep_ids: bool) -> None:
    from spa.importers.tables import with_pseudonyms, write_imported

    for path, rows in write_imported(imported if keep_ids else with_pseudonyms(imported), out, format=format_).items():
        click.echo(f"{path}: {rows} rows")
    for what, count in imported.skipped.items():
        click.echo(f"skipped: {count} of {what}")
