"""``spa prolific create``: create or update the draft, which is free and not visible to participants."""

from __future__ import annotations

import click

from prolific.commands.shared import announce, json_option, print_json, public_url_option, session_option, study_options
from spa.commands.options import StudyLocation


@click.command(epilog="Example: spa prolific create my-study/study.toml --public-url https://survey.example.org")
@study_options
@session_option
@public_url_option
@click.option("--try-out", is_flag=True, help="Open the draft to the account's test participants, free of charge.")
@json_option
def create(location: StudyLocation, session: int, public_url: str | None, try_out: bool, as_json: bool) -> None:
    """Create the draft of STUDY on Prolific, or update it from the study file; nothing is published.

    There is one draft per session, recognized by its internal name, however often the command is run.
    """
    from prolific.draft import make_body, make_draft, make_filters, make_groups
    from prolific.prolific_study import open_prolific_study
    from spa.errors import StudyError

    with open_prolific_study(location, alone=True, announce=announce) as prolific_study:
        address = public_url or prolific_study.table.public_url
        if address is None:
            raise StudyError(f"{location.study}: expected --public-url or [prolific] public_url, got neither")
        if session > prolific_study.offer.sessions:
            raise StudyError(
                f"{location.study}: [people] sessions is {prolific_study.offer.sessions}, got --session {session}"
            )
        workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
        groups = make_groups(prolific_study, workspace_id, session)
        filters = make_filters(prolific_study, workspace_id, groups, session)
        body = make_body(prolific_study, address=address, filters=filters, groups=groups, session=session)
        made, changed = make_draft(prolific_study, body, session)
        link = prolific_study.platform.studies.try_out(made.study_id) if try_out else None
    if as_json:
        print_json(
            {"study_id": made.study_id, "status": made.status, "internal_name": made.internal_name, "try_out": link}
        )
        return
    click.echo(
        f"{'created or updated' if changed else 'unchanged'}: {made.internal_name}, {made.status}, id {made.study_id}"
    )
    if link is not None:
        click.echo(f"link for a test participant: {link}")
    click.echo(f"Next: spa prolific publish {location.study}")
