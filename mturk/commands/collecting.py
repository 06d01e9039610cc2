"""``spa mturk collect``, ``export``, ``dispose`` and ``journal``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mturk.commands.shared import format_time, hit_option, in_progress, study_options
from mturk.hit_study import open_hit_study
from spa.commands.options import StudyLocation, out_folder_option, print_result, yes_option

if TYPE_CHECKING:
    from mturk.collecting import HitCollection
    from mturk.hit_study import HitStudy


@click.command(epilog="Example: spa mturk collect my-study/study.toml --endpoint-url http://127.0.0.1:8470")
@study_options
@click.option("--everything", is_flag=True, help="Query every HIT, including those with nothing new.")
def collect(location: StudyLocation, everything: bool, as_json: bool) -> None:
    """Collect the submissions to STUDY; running it again collects only new ones.

    Answers are validated like those of the survey server. An unusable answer is stored as missing, with the reason
    and the original. Annotators who submitted are excluded from the study's other HITs.
    """
    from mturk.progress import hit_status_of

    with open_hit_study(location, changes=True) as hit_study:
        found = collect_submissions(hit_study, everything=everything, silent=as_json)
        hit_status = hit_status_of(hit_study)
    facts = asdict(found) | {"earliest_auto_approval": hit_status.earliest_auto_approval}
    lines = [
        f"{found.new} new submissions in {found.hits} HITs, {found.problems} with a problem; "
        f"{found.changed} reviewed since the last run",
        f"{found.excluded} annotators excluded from the family's other HITs",
        f"earliest automatic approval: {format_time(hit_status.earliest_auto_approval)}",
    ]
    if found.unsubmitted:
        lines.append(
            f"{found.unsubmitted} visits were completed on the survey server but not submitted at the endpoint: "
            "kept but excluded from the analysis; their places are free again"
        )
    if found.gone:
        lines.append(f"{len(found.gone)} HITs no longer exist at the endpoint; their collected answers are kept")
    print_result(facts, lines, as_json=as_json)


def collect_submissions(hit_study: HitStudy, *, everything: bool, silent: bool) -> HitCollection:
    """Collect while a progress bar is shown; return what was found."""
    from mturk.collecting import Collector
    from mturk.eligibility import find_family_type
    from spa.server.app import family_of

    with family_of(hit_study.workspace.study, hit_study.store) or nullcontext() as family:
        family_type = find_family_type(hit_study.endpoint, hit_study.family)
        collector = Collector(hit_study, family_type, family)
        steps = collector.collect(everything=everything)
        list(in_progress(steps, label="collecting", length=collector.count_due(), silent=silent))
    return collector.found


@click.command(epilog="Example: spa mturk export my-study/study.toml --out archive")
@study_options
@out_folder_option("Folder for the files.", required=True)
@click.option(
    "--with-worker-ids",
    "worker_ids",
    is_flag=True,
    help="Include the endpoint's worker ids instead of the study's annotator ids.",
)
def export(location: StudyLocation, out: Path, worker_ids: bool, as_json: bool) -> None:
    """Archive the HITs of STUDY and everything collected: two JSONL files and the results as CSV."""
    import time

    from mturk.archive_export import write_archive

    with open_hit_study(location, changes=True) as hit_study:
        done = write_archive(hit_study, out, worker_ids=worker_ids, now=time.time())
    facts = {"files": dict(done.files), "sha256": dict(done.checksums)}
    print_result(facts, [f"{path}: {count} rows" for path, count in done.files.items()], as_json=as_json)


@click.command(epilog="Example: spa mturk dispose my-study/study.toml --yes")
@study_options
@hit_option
@yes_option
def dispose(location: StudyLocation, named: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete the HITs of STUDY at the endpoint after they are collected, reviewed and archived."""
    from mturk import lifetimes

    with open_hit_study(location, changes=True) as hit_study:
        hits = lifetimes.choose_hits(hit_study, named)
        lifetimes.check_disposal(hit_study, hits)
        facts = {"hits": [hit.hit_id for hit in hits]}
        if not yes:
            print_result(facts, [f"{len(hits)} HITs would be deleted; add --yes."], as_json=as_json)
            return
        steps = lifetimes.dispose(hit_study, hits)
        done = list(in_progress(steps, label="deleting", length=len(hits), silent=as_json))
        print_result(facts, [f"{len(done)} HITs deleted; their collected answers are kept"], as_json=as_json)


@click.command(epilog="Example: spa mturk journal my-study/study.toml --open")
@study_options
@click.option("--open", "only_open", is_flag=True, help="Only calls whose outcome is unknown.")
def journal(location: StudyLocation, only_open: bool, as_json: bool) -> None:
    """List the calls for STUDY that created something or made a payment, with their outcomes.

    The endpoint is not contacted. To resolve an open call, run its command again.
    """
    import json

    from mturk.idempotent_calls import KIND
    from spa.commands.workspace import open_workspace
    from spa.journal import STARTED, Journal

    with open_workspace(location.study, location.store, read_only=True) as workspace:
        for call in Journal(workspace.store).every(KIND):
            if only_open and call.outcome != STARTED:
                continue
            note = call.facts.get("note", "")
            if as_json:
                facts = {name: getattr(call, name) for name in ("scope", "key", "attempt", "begun_at", "outcome")}
                click.echo(json.dumps({**facts, "note": note}, ensure_ascii=False))
                continue
            click.echo(
                f"{format_time(call.begun_at)}  {call.outcome:8}  {call.key} (attempt {call.attempt})  {note}".rstrip()
            )
