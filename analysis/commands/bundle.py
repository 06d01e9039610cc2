"""``spa bundle``: a report with all that it is made of as one archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from analysis.commands.making_again import OPTIONS, report_of_study
from analysis.commands.verifying import verify_options
from spa.commands.options import (
    NEW_FILE,
    given_options,
    json_option,
    licence_option,
    print_result,
    rehearsal_option,
    store_option,
    study_file,
)

if TYPE_CHECKING:
    from analysis.archive.contents import Contents
    from analysis.archive.inputs import Verify

OF_STUDY = ("metrics", "observed_power", "paper")  # options of spa report that a STUDY may have
REPORT, README = "report", "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """What an archive is called, and the day of its newest answer or table."""

    name: str
    newest: str


@click.command(
    epilog="""\b
Examples:
  spa bundle my-study/study.toml --out study.zip
  spa bundle my-study/study.toml --without-texts --out study.zip
  spa bundle --ratings ratings.csv --scale 1:5 --out ratings.zip
"""
)
@click.argument("named", type=click.Path(path_type=Path), metavar="[STUDY | FILE... | FOLDER]", nargs=-1)
@click.option("--out", type=NEW_FILE, required=True, help="New file for the archive, such as study.zip.")
@click.option("--without-texts", is_flag=True, help="Of a STUDY: leave out items, outputs and what annotators wrote.")
@click.option(
    "--datasheet",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Of a STUDY: what `spa heds` wrote, with what was filled in there.",
)
@click.option("--keep-ids", is_flag=True, help="Keep the annotators' ids.")
@licence_option
@click.option(
    "--published",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="Day of publication, as 2026-05-04.  [that of the newest answer or table]",
)
@store_option
@rehearsal_option
@verify_options
@json_option
def bundle(
    named: tuple[Path, ...],
    out: Path,
    without_texts: bool,
    datasheet: Path | None,
    keep_ids: bool,
    licence: str,
    published: datetime | None,
    store: str | None,
    rehearsal: bool,
    verify: Verify,
    no_verify: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write one archive for reviewers: report, results, tables, study, forms, plan, datasheet, versions.

    An RO-Crate in a zip file; the same input gives the same bytes. The tables are those that the report reads. Of a
    STUDY people stand under pseudonyms. FILEs, or those of a FOLDER without a study.toml, go in as they are, and take
    the options of `spa report`, the last ones below. Stores, keys, links and completion codes never go in.
    `spa replay` makes the report again.

    --json prints file, sha256 and files (names in the archive).
    """
    from analysis.archive import About, Contents, refuse_without_library, write_crate
    from analysis.archive.inputs import library_versions

    refuse_without_library()
    verify = "off" if no_verify else verify
    study = _study(named, options)
    with TemporaryDirectory(prefix="spa-bundle-") as folder, TemporaryDirectory(prefix="spa-report-") as made:
        contents, report = Contents(Path(folder)), Path(made) / REPORT
        if study is None:
            _refuse_for_tables({"--without-texts": without_texts, "--datasheet": datasheet, "--store": store})
            about = _of_tables(contents, named, options, report, keep_ids=keep_ids, verify=verify)
        else:
            about = _of_study(
                contents, study, report, options,
                store=store, rehearsal=rehearsal, texts=not without_texts, datasheet=datasheet, verify=verify,
                quiet=as_json,
            )  # fmt: skip
        digest = write_crate(
            contents,
            About(
                name=about.name,
                description=f"{about.name}: the report with what it is made of. See {README}.",
                published=about.newest if published is None else published.date().isoformat(),
                licence=licence,
                versions=library_versions(),
            ),
            out,
        )
        files = [*contents]
    lines = [f"wrote {out}: {len(files)} files, SHA-256 {digest}", f"`spa replay {out}` makes the report again"]
    print_result({"file": str(out), "sha256": digest, "files": files}, lines, as_json=as_json)


bundle.params += [one for one in OPTIONS if one.name not in {each.name for each in bundle.params}]


def _study(named: tuple[Path, ...], options: Mapping[str, Any]) -> Path | None:
    """Return the study that was named; nothing where tables were."""
    from analysis.commands.named_files import what_is_named
    from analysis.commands.report import TABLES

    given = [*given_options(options)]
    if len(named) == 1 and named[0].is_dir() and not study_file(named[0]).is_file():
        return None
    study = what_is_named(named, [name for name in given if name in TABLES]).study
    more = [name for name in given if name not in OF_STUDY]
    if study is not None and more:
        option = next(one.opts[0] for one in OPTIONS if one.name == more[0])
        raise click.UsageError(f"{option}: not with a STUDY, whose [analysis] section sets it")
    return study


def _refuse_for_tables(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise click.UsageError(f"{option}: expected a STUDY, got tables")


def _of_tables(
    contents: Contents,
    named: tuple[Path, ...],
    options: Mapping[str, Any],
    report: Path,
    *,
    keep_ids: bool,
    verify: Verify,
) -> Bundled:
    from analysis.commands.bundled_tables import add_tables, tables_named

    newest = add_tables(contents, tables_named(named, options), report, keep_ids=keep_ids, verify=verify)
    contents.add_folder(report, REPORT, "the report")
    contents.add(README, _readme(newest.stem), "what is in the archive")
    day = datetime.fromtimestamp(newest.stat().st_mtime, UTC).date()
    return Bundled(name=newest.stem, newest=day.isoformat())


def _of_study(
    contents: Contents,
    study: Path,
    report: Path,
    options: Mapping[str, Any],
    *,
    store: str | None,
    rehearsal: bool,
    texts: bool,
    datasheet: Path | None,
    verify: Verify,
    quiet: bool,
) -> Bundled:
    from analysis.answers.study_answers import gather_answers
    from analysis.archive.inputs import write_study
    from analysis.archive.study_files import add_documents, add_study, study_secrets, texts_of, without_words
    from spa.commands.workspace import open_answers

    with open_answers(study, store, rehearsal=rehearsal, quiet=quiet) as workspace:
        gathered = gather_answers(workspace, metrics=options["metrics"])
        gathered = gathered if texts else without_words(gathered)
        inputs = write_study(
            contents,
            gathered,
            observed_power=options["observed_power"],
            paper=options["paper"] or workspace.study.report.paper,
            verify=verify,
        )
        results = report_of_study(inputs, contents.folder, report)
        contents.add_folder(report, REPORT, "the report")
        add_study(contents, workspace, study, texts=texts)
        add_documents(contents, workspace, results, filled=datasheet)
        title = gathered.facts.title
        contents.add(README, _readme(title), "what is in the archive")
        contents.refuse_secrets(workspace.store.secrets() | study_secrets(workspace.study))
        if not texts:
            contents.refuse_texts(texts_of(workspace.outputs))
    return Bundled(name=title, newest=gathered.facts.last_answer or "1980-01-01")


def _readme(name: str) -> str:
    return f"""# {name}

`report/report.html` is the report, `report/results.json` its numbers; `tables/` has the answers that it rests on and
`inputs.json` how they were read and with which versions of libraries. Where a study was asked here, `study/` has its
file, `outputs.csv` its outputs, `forms/` a form as people and as LLMs get it and who saw what, `datasheet/` the
human-evaluation datasheet, `preregistration.json` the frozen plan. `ro-crate-metadata.json` lists every file with its
SHA-256.

`pip install spa-eval` and `spa replay ARCHIVE.zip` make the report again from this alone and say what differs.
"""
