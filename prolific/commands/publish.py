"""``spa prolific publish``: publish the draft after an estimate and a checklist."""

from __future__ import annotations

import click

from prolific.commands.shared import (
    announce,
    print_checklist,
    print_lines,
    public_url_option,
    session_option,
    study_options,
    yes_option,
)
from spa.commands.options import StudyLocation


@click.command(epilog="Example: spa prolific publish my-study/study.toml --yes")
@study_options
@session_option
@public_url_option
@click.option("--despite", metavar="LINE", multiple=True, help="Publish despite this checklist item; repeatable.")
@yes_option("Publish and reserve the money for all places")
def publish(location: StudyLocation, session: int, public_url: str | None, despite: tuple[str, ...], yes: bool) -> None:
    """Publish the draft of STUDY after printing the estimated cost and the checklist."""
    from prolific.estimate import estimate_lines
    from prolific.plan import plan_session
    from prolific.prolific_study import open_prolific_study
    from prolific.publishing import check_ready, publish_study

    with open_prolific_study(location, alone=True, announce=announce) as prolific_study:
        study_id = prolific_study.need_study(session)
        record = prolific_study.platform.studies.fetch(study_id)
        if not record.draft:
            record = publish_study(prolific_study, session)  # resolves what an interrupted run left open
            click.echo(f"already published: {record.internal_name}, {record.status}")
            return
        prospect = plan_session(prolific_study, session, public_url)
        print_lines(
            f"{prolific_study.offer.title}, session {session}: to be published",
            estimate_lines(prospect.estimate, prolific_study.offer),
        )
        print_checklist(prospect.lines)
        check_ready(prolific_study, prospect, session, despite)
        if not yes:
            click.echo("Nothing was published; add --yes to publish.")
            return
        record = publish_study(prolific_study, session)
        click.echo(f"published: {record.internal_name}, {record.status}, {record.places} places")
        click.echo(f"Next: spa prolific status {location.study}")
