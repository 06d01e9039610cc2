"""``spa mturk import``: archives of old studies as tidy tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mturk.archive_import.tidying import TidyArchive
    from spa.responses.table_files import TableFormat
    from spa.responses.tidy_tables import Tables


@click.command(name="import", epilog="Example: spa mturk import Batch_*_results.csv --mapping old.toml --out tables")
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(dir_okay=False, exists=True, path_type=Path), metavar="FILE..."
)
@click.option(
    "--mapping", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Which columns are which: TOML."
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder for the tables.")
@click.option("--format", "format_", type=click.Choice(["csv", "parquet", "jsonl"]), default="csv", show_default=True)
@click.option(
    "--key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Secret that turns worker ids into codes, made where absent. [default: MAPPING with the suffix .key]",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def import_(
    results: tuple[Path, ...], mapping: Path, out: Path, format_: TableFormat, key: Path | None, as_json: bool
) -> None:
    """Turn results of old studies into tidy tables that `spa report` reads.

    FILE is a result CSV of the requester site, a tab-separated file of its old tools, JSON or JSONL of
    assignments as the API returned them, or the XML of one answer. Worker ids become codes: the same key gives the
    same person the same code. docs/hits.md shows a mapping.
    """
    from mturk.archive_import.mapping import load_mapping
    from mturk.archive_import.results import read_results
    from mturk.archive_import.tidying import load_key, tidy
    from spa.responses.table_files import write_tables

    found = load_mapping(mapping)
    made = tidy(read_results(results), found, load_key(key or mapping.with_suffix(".key")))
    paths = write_tables(as_tables(made), out, format=format_)
    facts: dict[str, Any] = {
        "submissions": made.submissions,
        "repeated": made.repeated,
        "annotators": len(made.annotators),
        "missing": made.missing,
        "rejected": len(made.exclusions),
        "files": [str(path) for path in paths],
    }
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    click.echo(
        f"{made.submissions} submissions of {len(made.annotators)} annotators ({made.repeated} stood there twice); "
        f"{made.missing} answers missing with a reason, {len(made.exclusions)} submissions rejected"
    )
    for path in paths:
        click.echo(str(path))


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
