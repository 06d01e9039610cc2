"""``spa export``: the answers of a study as tidy tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from spa.commands.options import (
    json_option,
    licence_option,
    out_folder_option,
    rehearsal_option,
    store_option,
    study_argument,
)
from spa.commands.workspace import open_answers
from spa.exporters import export_keys, exporter_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spa.commands.workspace import Workspace
    from spa.records.study import Study
    from spa.records.submission import Submission
    from spa.responses.table_files import Names, TableFormat

TABLE_FORMATS = ("csv", "parquet", "jsonl")


@click.command(epilog="Example: spa export my-study/study.toml --out tables --format parquet")
@study_argument
@out_folder_option("Folder for the tables.", required=True)
@click.option(
    "--format",
    "format_",
    type=click.Choice([*TABLE_FORMATS, *export_keys()]),
    default="csv",
    show_default=True,
    help="Tidy tables as files, or what another tool reads.",
)
@click.option(
    "--column-names",
    "names",
    type=click.Choice(["own", "r"]),
    default="own",
    show_default=True,
    help="Names of columns: our own, or such as R takes (repeat_, screening_ID); codebook.tsv has both.",
)
@licence_option
@click.option("--incomplete", is_flag=True, help="Include the finished pages of incomplete visits.")
@click.option("--raw", is_flag=True, help="Also write every LLM call, with request and response, to calls.jsonl.")
@store_option
@rehearsal_option
@json_option
def export(
    study: Path,
    out: Path,
    format_: str,
    names: str,
    licence: str,
    incomplete: bool,
    raw: bool,
    store: str | None,
    rehearsal: bool,
    as_json: bool,
) -> None:
    """Write the answers of STUDY as tidy tables, with the systems' names restored, or as another tool reads them.

    One row is one answer; an unusable answer has an empty value and a missing_reason. In CSV files,
    text that a spreadsheet would run as a formula is prefixed with an apostrophe. codebook.tsv names every column,
    its type, and its name and class in R.

    Other tools: arena (battles of each criterion), huggingface (a dataset folder with its card and --licence), inspect
    (records of precomputed_scores), mqm (marked errors as WMT's), shown (pages with everything that was shown, its
    files and the answers beside it). What a format cannot hold is one line.
    """
    import json

    from spa.exporters.export_format import StudyExport
    from spa.responses.conduct_evidence import conduct_asked
    from spa.responses.export import export_tables
    from spa.responses.set_apart import count_apart
    from spa.responses.table_files import write_codebook, write_tables
    from spa.study.outputs import load_outputs

    if names != "own" and format_ in export_keys():
        raise click.UsageError(f"--column-names {names}: expected --format {', '.join(TABLE_FORMATS)}, got {format_}")
    with open_answers(study, store, rehearsal=rehearsal, quiet=as_json) as workspace:
        partial = unfinished(workspace) if incomplete else ()
        conduct = conduct_asked(workspace.study, workspace.texts)
        tables = export_tables(workspace.store, incomplete=partial, form_of=workspace.forms_in_turn(), conduct=conduct)
        notes: list[str] = []
        rows: dict[Path, int | None]
        if format_ in export_keys():
            study_export = StudyExport(
                tables=tables,
                title=workspace.study.title,
                language=workspace.study.language,
                licence=licence,
                outputs=lambda: load_outputs(workspace.study),
            )
            other = exporter_of(format_)
            written = other.write(study_export, out)
            rows, notes = written.rows, [*other.left_out(tables), *written.notes]
        else:
            paths = write_tables(tables, out, format=cast("TableFormat", format_), names=cast("Names", names))
            rows = {path: tables.files[path.stem].height for path in paths}
            rows[write_codebook(tables, out)] = sum(len(table.columns) for table in tables.files.values())
        if raw:
            from spa.raters.request_log import write_calls

            path, calls = write_calls(workspace.store, out)
            rows[path] = calls
        notes = [*notes, *misleading_alone(workspace.study)]
        if (apart := count_apart(workspace.store)) > 0:
            notes = [*notes, f"{apart:,} visits of LLM raters are set apart (spa rate --again): on record, in no table"]
    if as_json:
        click.echo(json.dumps([{"file": str(path), "rows": count} for path, count in rows.items()], ensure_ascii=False))
        for note in notes:
            click.echo(note, err=True)
        return
    for path, count in rows.items():
        click.echo(str(path) if count is None else f"{path}: {count} rows")
    for note in notes:
        click.echo(note)
    if tables.annotators.height == 0:
        click.echo("No visit is complete yet; --incomplete exports what has been answered so far.")


def misleading_alone(study: Study) -> Iterator[str]:
    """Yield what a report of the study allows for and one of its tables cannot."""
    live = study.stopping.rule != "fixed"
    if live or (study.audit is not None and study.audit.in_waves):
        yield (
            f"Answers decided {'how many people were asked' if live else 'which forms people were given'}: "
            "`spa report STUDY` allows for that; p-values and means of these tables alone do not hold"
        )


def unfinished(workspace: Workspace) -> Iterator[Submission]:
    """Yield what people answered in visits that they did not complete, page by finished page."""
    from spa.responses.outcomes import COMPLETED, REPLACED
    from spa.server.form_progress import FormProgress

    for lease in workspace.store.visits.leases():
        if (lease.finished and not lease.claimed) or lease.annotator_kind == "llm" or lease.release_reason == REPLACED:
            continue
        payloads = workspace.store.visits.payloads(lease.submission_id)
        visit = FormProgress.from_payloads(workspace.form(lease.assignment_id), lease, payloads)
        pages = [page for page in visit.form.pages if page.page_id in visit.sent and not visit.gaps(page)]
        if not pages:
            continue
        answers = tuple(answer for page in pages for answer in visit.answers(page))
        yield replace(visit.submission(lease.leased_at, COMPLETED), answers=answers, seconds=None, outcome="incomplete")
