"""``spa prolific stop``: end recruitment, or pause it and go on."""

from __future__ import annotations

from pathlib import Path

import click

from prolific.commands.shared import announce, session_option, study_options, yes_option


@click.command(epilog="Example: spa prolific stop my-study/study.toml --pause")
@study_options
@session_option
@click.option("--pause", is_flag=True, help="Only for now.")
@click.option("--resume", is_flag=True, help="Go on after a pause, or fill places that were returned or rejected.")
@yes_option("Stop for good, which cannot be undone")
def stop(
    study: Path, store: str | None, endpoint_url: str | None, session: int, pause: bool, resume: bool, yes: bool
) -> None:
    """Stop asking people for STUDY; who is at work may finish and is paid."""
    from prolific.prolific_study import open_prolific_study
    from prolific.publishing import move_study

    if pause and resume:
        raise click.UsageError("give one of --pause and --resume")
    with open_prolific_study(study, store, endpoint_url, alone=True, announce=announce) as prolific_study:
        if not (pause or resume or yes):
            click.echo("Nothing was stopped. A stop is for good: --yes to stop, --pause for now")
            return
        record = move_study(prolific_study, session, "PAUSE" if pause else "START" if resume else "STOP")
        click.echo(f"session {session}: {record.status}")
