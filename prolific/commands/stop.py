"""``spa prolific stop``: stop, pause or resume recruitment."""

from __future__ import annotations

import click

from prolific.commands.shared import announce, session_option, study_options, yes_option
from spa.commands.options import StudyLocation


@click.command(epilog="Example: spa prolific stop my-study/study.toml --pause")
@study_options
@session_option
@click.option("--pause", is_flag=True, help="Pause recruitment; --resume continues it.")
@click.option(
    "--resume", is_flag=True, help="Resume after a pause, or refill places of returned or rejected submissions."
)
@yes_option("Stop permanently; this cannot be undone")
def stop(location: StudyLocation, session: int, pause: bool, resume: bool, yes: bool) -> None:
    """Stop, pause or resume recruitment for STUDY. Participants at work may finish and are paid."""
    from prolific.prolific_study import open_prolific_study
    from prolific.publishing import move_study

    if pause and resume:
        raise click.UsageError("expected either --pause or --resume, got both")
    with open_prolific_study(location, alone=True, announce=announce) as prolific_study:
        if not (pause or resume or yes):
            click.echo("Nothing was stopped; add --yes to stop permanently, or use --pause.")
            return
        record = move_study(prolific_study, session, "PAUSE" if pause else "START" if resume else "STOP")
        click.echo(f"session {session}: {record.status}")
