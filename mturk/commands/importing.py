"""``spa mturk import``: convert results of earlier studies to tidy tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from spa.commands.mapping_option import MAPPING, FileOrPair, import_request
from spa.commands.options import INPUT, Aliased, json_option, out_folder_option

if TYPE_CHECKING:
    from spa.importers.mturk.tidying import TidyArchive
    from spa.responses.table_files import TableFormat
    from spa.responses.tidy_tables import Tables


@click.command(name="import", epilog="Example: spa mturk import Batch_*_results.csv --mapping old.toml --out tables")
@click.argument("results", nargs=-1, required=True, type=INPUT, metavar="FILE...")
@click.option(
    "--mapping",
    cls=Aliased,
    help="TOML file that maps the columns. Or OLD=NEW, a column and its name in tidy tables; repeatable.",
    **MAPPING,
)
@out_folder_option("Folder for the tables.", required=True)
@click.option("--format", "format_", type=click.Choice(["csv", "parquet", "jsonl"]), default="csv", show_default=True)
@click.option(
    "--key",
    type=INPUT,
    help="Secret key that pseudonymizes worker ids; created if missing. [default: pseudonyms.key beside MAPPING]",
)
@click.option("--keep-rejected", is_flag=True, help="Keep answers of rejected submissions, for --exclusions to name.")
@click.option("--encoding", metavar="NAME", help="Of tables that are not UTF-8 and do not say it: cp1252.")
@click.option(
    "--quotes", type=click.Choice(["csv", "text"]), help="Of tables: double quotes enclose cells, or are text."
)
@json_option
def import_(
    results: tuple[Path, ...],
    mapping: tuple[FileOrPair, ...],
    out: Path,
    format_: TableFormat,
    key: Path | None,
    keep_rejected: bool,
    encoding: str | None,
    quotes: Literal["csv", "text"] | None,
    as_json: bool,
) -> None:
    """Convert results of earlier studies to tidy tables that `spa report` reads.

    FILE is a results CSV from the requester site, a tab-separated file of its command-line tools, assignments as
    returned by the API (JSON or JSONL), or the XML of one answer. Worker ids are pseudonymized; with the same key
    a worker always gets the same code. Answers of rejected submissions go to the folder `rejected` in OUT.
    docs/hits.md shows a mapping.
    """
    from spa.importers.mturk.pairs import result_mapping
    from spa.importers.mturk.results import read_results
    from spa.importers.mturk.tidying import tidy
    from spa.importers.pseudonyms import default_key_path, load_key
    from spa.responses.table_files import write_tables
    from spa.tables.encodings import known_encoding
    from spa.tables.options import TableOptions

    request = import_request(results, mapping, {})
    options = TableOptions(encoding=None if encoding is None else known_encoding(encoding), quotes=quotes)
    notes: list[str] = []
    read = list(read_results(results, options, notes))
    found = result_mapping(request, read)
    secret = load_key(key or default_key_path(request.mapping or results[0]))
    made = tidy(read, found, secret.pseudonym, keep_rejected=keep_rejected)
    paths = write_tables(as_tables(made), out, format=format_)
    apart, folder = made.rejected or made, out / "rejected"
    if apart.exclusions or folder.exists():  # what an earlier import left there is not of these results
        write_tables(as_tables(apart), folder, format=format_)
    rejected = len(made.exclusions) + len(apart.exclusions)
    facts: dict[str, Any] = {
        "submissions": made.submissions,
        "repeated": made.repeated,
        "annotators": len(made.annotators),
        "missing": made.missing,
        "rejected": rejected,
        "notes": notes,
        "rejected_files": str(folder) if apart.exclusions else None,
        "files": [str(path) for path in paths],
    }
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    click.echo(
        f"{made.submissions} submissions by {len(made.annotators)} annotators ({made.repeated} duplicates skipped); "
        f"{made.missing} answers missing, {rejected} submissions rejected"
    )
    for note in notes:
        click.echo(note)
    if apart.exclusions:
        click.echo(f"rejected submissions: their answers are in {folder} not below (--keep-rejected has them there)")
    elif made.exclusions:
        click.echo(
            f"rejected submissions: their answers count unless the report gets --exclusions {_exclusions(paths)}"
        )
    if secret.created:
        click.echo(f"pseudonyms: key written to {secret.path}; keep it for further imports, and to yourself")
    for path in paths:
        click.echo(str(path))


def _exclusions(paths: Sequence[Path]) -> Path:
    return next(path for path in paths if path.stem == "exclusions")


def as_tables(made: TidyArchive) -> Tables:
    """Return rows as the tables of an export, with its columns."""
    import polars as pl

    from spa.responses.tidy_tables import ANNOTATORS, CHOICES, EXCLUSIONS, PREFERENCES, RATINGS, Tables

    def frame(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
        return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)

    return Tables(
        preferences=frame(made.preferences, dict(PREFERENCES)),
        ratings=frame(made.ratings, dict(RATINGS)),
        choices=frame(made.choices, dict(CHOICES)),
        annotators=frame(made.annotators, dict(ANNOTATORS)),
        exclusions=frame(made.exclusions, dict(EXCLUSIONS)),
    )
