"""``spa prolific hooks``: subscribe the survey server to changes of submissions."""

from __future__ import annotations

import click

from prolific.commands.shared import public_url_option, study_options
from spa.commands.options import StudyLocation


@click.command(epilog="Example: spa prolific hooks my-study/study.toml --public-url https://survey.example.org")
@study_options
@public_url_option
@click.option("--remove", is_flag=True, help="End the subscriptions.")
@click.option("--new-secret", is_flag=True, help="Replace the signing secret of all webhooks in the workspace.")
def hooks(location: StudyLocation, public_url: str | None, remove: bool, new_secret: bool) -> None:
    """Subscribe the survey server of STUDY to Prolific's webhooks and confirm the subscriptions.

    Webhooks free abandoned places sooner; without them, `spa prolific collect` does so.
    """
    from prolific.prolific_study import open_prolific_study
    from prolific.webhooks import check_address, subscribe, unsubscribe

    with open_prolific_study(location, alone=True) as prolific_study:
        address = prolific_study.survey_address(public_url)
        check_address(address)
        if remove:
            click.echo(f"subscriptions ended: {unsubscribe(prolific_study, address)}")
            return
        for one in subscribe(prolific_study, address, new_secret=new_secret):
            click.echo(f"{one.event_type} -> {one.target_url}")
