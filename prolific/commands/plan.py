"""``spa prolific plan``: estimate the cost and check what is missing."""

from __future__ import annotations

from dataclasses import asdict

import click

from prolific.commands.shared import (
    json_option,
    print_checklist,
    print_json,
    print_lines,
    public_url_option,
    session_option,
    study_options,
)
from spa.commands.options import StudyLocation


@click.command(epilog="Example: spa prolific plan my-study/study.toml --public-url https://survey.example.org")
@study_options
@session_option
@public_url_option
@json_option
def plan(location: StudyLocation, session: int, public_url: str | None, as_json: bool) -> None:
    """Estimate the cost and hourly pay of STUDY on Prolific and list what is missing, without creating anything.

    Without an API token the estimate is made offline.
    """
    from prolific.estimate import estimate_facts, estimate_lines
    from prolific.plan import plan_session
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location, offline=True) as prolific_study:
        prospect = plan_session(prolific_study, session, public_url)
        if as_json:
            print_json(
                {
                    "estimate": estimate_facts(prospect.estimate),
                    "eligible": prospect.eligible,
                    "checklist": [asdict(line) for line in prospect.lines],
                }
            )
            return
        print_lines(
            f"{prolific_study.offer.title}, session {session}: plan",
            estimate_lines(prospect.estimate, prolific_study.offer),
        )
        print_checklist(prospect.lines)
        click.echo(f"Next: spa prolific create {location.study}")
