"""``spa prolific plan``: cost, pay and checklist, before anything is made."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from prolific.commands.shared import json_option, session_option, study_options, tell, tell_checklist, tell_json


@click.command(epilog="Example: spa prolific plan my-study/study.toml --public-url https://survey.example.org")
@study_options
@session_option
@click.option("--public-url", metavar="URL", help="Where people reach `spa serve`. [default: that of the study file]")
@json_option
def plan(
    study: Path, store: str | None, endpoint_url: str | None, session: int, public_url: str | None, as_json: bool
) -> None:
    """Say what STUDY costs and pays on Prolific and what is still missing; make nothing.

    Without a token the estimate is an offline one and says so.
    """
    from prolific.estimate import estimate_facts, estimate_lines
    from prolific.plan import plan_session
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(study, store, endpoint_url, offline=True) as prolific_study:
        prospect = plan_session(prolific_study, session, public_url)
        if as_json:
            tell_json(
                {
                    "estimate": estimate_facts(prospect.estimate),
                    "eligible": prospect.eligible,
                    "checklist": [asdict(line) for line in prospect.lines],
                }
            )
            return
        tell(
            f"{prolific_study.offer.title}, session {session}: plan",
            estimate_lines(prospect.estimate, prolific_study.offer),
        )
        tell_checklist(prospect.lines)
        click.echo(f"Next: spa prolific create {study}")
