"""``spa prolific collect`` and ``reconcile``: compare Prolific's submissions with the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from prolific.commands.shared import json_option, print_json, study_options
from spa.commands.options import StudyLocation, every_option

if TYPE_CHECKING:
    from prolific.collecting import SessionReconciliation


@click.command(epilog="Example: spa prolific collect my-study/study.toml --every 60")
@study_options
@every_option("the study is completed")
@json_option
def collect(location: StudyLocation, every: float | None, as_json: bool) -> None:
    """Update STUDY from Prolific: verify participants, free abandoned places and compare submissions.

    Answers are already in the store; this determines which of them count. Participants are excluded from later studies
    of the family. Nobody is paid.
    """
    from prolific.collecting import collect as bring_together
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location) as prolific_study:
        prolific_study.need_study(1)
        while True:
            found = [bring_together(prolific_study, session) for session in prolific_study.created()]
            _print_collected(found, as_json=as_json)
            states = [prolific_study.platform.studies.fetch(one.study_id).status for one in found]
            if every is None or all(state == "COMPLETED" for state in states):
                break
            prolific_study.sleep(every)
    if not as_json:
        click.echo(f"Next: spa prolific reconcile {location.study}; spa prolific approve {location.study}")


@click.command(epilog="Example: spa prolific reconcile my-study/study.toml")
@study_options
@json_option
def reconcile(location: StudyLocation, as_json: bool) -> None:
    """List the differences between Prolific's submissions to STUDY and the store, each with a remedy."""
    from prolific.collecting import look_at_all
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location) as prolific_study:
        found = look_at_all(prolific_study)
    if as_json:
        print_json(
            [{"session": one.session, "differences": [asdict(each) for each in one.differences]} for one in found]
        )
        return
    for one in found:
        click.echo(
            f"session {one.session}: {len(one.records)} submissions on Prolific, "
            f"{len(one.visits)} visits in the store, {len(one.differences)} differences"
        )
        for each in one.differences:
            click.echo(
                f"  {each.kind}: submission {each.submission_id}, participant {each.participant_id}, "
                f"{each.on_platform} on Prolific, {each.here} in the store"
            )
            click.echo(f"    {each.remedy}")


def _print_collected(found: list[SessionReconciliation], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "session": one.session,
                    "submissions": dict(Counter(record.status for record in one.records)),
                    "completed_here": sum(visit.completed for visit in one.visits),
                    "verified": one.verified,
                    "refuted": one.refuted,
                    "released": one.released + one.overdue,
                    "excluded": one.excluded,
                    "differences": dict(Counter(each.kind for each in one.differences)),
                }
                for one in found
            ]
        )
        return
    for one in found:
        counts = Counter(record.status for record in one.records)
        statuses = ", ".join(f"{name} {n}" for name, n in sorted(counts.items())) or "no submissions yet"
        click.echo(
            f"session {one.session}: {statuses}; completed in the store: {sum(visit.completed for visit in one.visits)}"
        )
        if one.verified or one.refuted:
            click.echo(f"  verified: {one.verified}; not participants of this study on Prolific: {one.refuted}")
        if one.released or one.overdue:
            click.echo(f"  places freed: {one.released + one.overdue}")
        if one.excluded:
            click.echo(f"  newly excluded from later studies of the family: {one.excluded}")
        kinds = Counter(each.kind for each in one.differences)
        if kinds:
            click.echo("  differences: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())))
