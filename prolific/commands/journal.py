"""``spa prolific journal``: list the calls to Prolific and their outcomes."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import click

from prolific.commands.shared import json_option, tell_json
from spa.commands.options import store_option, study_argument


@click.command(epilog="Example: spa prolific journal my-study/study.toml --open")
@study_argument
@store_option
@click.option("--open", "only_open", is_flag=True, help="Only calls whose outcome is unknown.")
@json_option
def journal(study: Path, store: str | None, only_open: bool, as_json: bool) -> None:
    """List the calls for STUDY that created, changed or paid something on Prolific, with their outcomes.

    No token is needed. A call marked "started" got no answer; run its command again to resolve it.
    """
    from prolific.idempotent_calls import KIND
    from spa.commands.workspace import open_workspace
    from spa.journal import STARTED, Journal

    with open_workspace(study, store, read_only=True) as workspace:
        calls = [one for one in Journal(workspace.store).every(KIND) if not only_open or one.outcome == STARTED]
    if as_json:
        tell_json(
            [
                {
                    "key": one.key,
                    "attempt": one.attempt,
                    "begun_at": one.begun_at,
                    "outcome": one.outcome,
                    "request": json.loads(one.request),
                    "facts": dict(one.facts),
                    "response": one.response,
                }
                for one in calls
            ]
        )
        return
    for one in calls:
        begun = datetime.datetime.fromtimestamp(one.begun_at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"{begun}  {one.outcome:<10} {one.key} (attempt {one.attempt})")
        if one.response:
            click.echo(f"    {one.response}")
    if not calls:
        click.echo("no such calls")
