"""``spa pause`` and ``spa resume``: let nobody new in for a while."""

from __future__ import annotations

from pathlib import Path

import click

from spa.commands.options import json_option, print_result, store_option, study_argument


@click.command(epilog="Example: spa pause my-study/study.toml")
@study_argument
@store_option
@json_option
def pause(study: Path, store: str | None, as_json: bool) -> None:
    """Let nobody new into STUDY by links and panels; people at work finish. `spa resume` ends it.

    A running `spa serve` heeds it at once. Platforms are paused where they recruit: `spa prolific stop
    --pause`.
    """
    import time

    from spa.commands.workspace import open_workspace
    from spa.responses.pauses import pause as pause_study

    with open_workspace(study, store) as workspace:
        since = pause_study(workspace.store, now=time.time())
        at_work = sum(not visit.finished and not visit.released for visit in workspace.store.visits.of_people())
    lines = [f"paused since {_written(since)}: nobody new comes in by links and panels; people at work: {at_work}"]
    print_result({"paused_since": since, "at_work": at_work}, [*lines, "`spa resume` lets people in."], as_json=as_json)


@click.command(epilog="Example: spa resume my-study/study.toml")
@study_argument
@store_option
@json_option
def resume(study: Path, store: str | None, as_json: bool) -> None:
    """Let people into STUDY again after `spa pause`."""
    from spa.commands.workspace import open_workspace
    from spa.responses.pauses import resume as resume_study

    with open_workspace(study, store) as workspace:
        since = resume_study(workspace.store)
    line = "not paused" if since is None else f"people come in again; it was paused since {_written(since)}"
    print_result({"was_paused_since": since}, [line], as_json=as_json)


def _written(seconds: float) -> str:
    from datetime import datetime

    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M %Z}"
