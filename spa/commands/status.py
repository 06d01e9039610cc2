"""``spa status``: the progress of a study with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import json_option, print_json, rehearsal_option, store_option, study_argument
from spa.commands.terminal import console

if TYPE_CHECKING:
    from spa.responses.status import Status, VisitCounts


@click.command(epilog="Example: spa status my-study/study.toml")
@study_argument
@store_option
@rehearsal_option
@click.option(
    "--codes", is_flag=True, help="Also show the completion code of each outcome; anybody who knows one can claim pay."
)
@json_option
def status(study: Path, store: str | None, rehearsal: bool, codes: bool, as_json: bool) -> None:
    """Show the progress of STUDY: places, dropouts, outcomes, minutes, hourly pay, and what a live study decided.

    Signs of careless answering are counted; a sign excludes nobody and changes no pay.
    """
    import time
    from dataclasses import asdict

    from spa.careless import signs_found
    from spa.commands.live_lines import live_lines
    from spa.commands.workspace import open_answers
    from spa.live import live_states
    from spa.records.platforms import LINK
    from spa.responses.pauses import PAUSED_LINE, paused_since
    from spa.responses.status import summarise_visits
    from spa.responses.unplayable_clips import unplayable_clips, unplayable_line

    with open_answers(study, store, rehearsal=rehearsal, read_only=not codes, quiet=as_json) as workspace:
        found = summarise_visits(
            workspace.store.visits.of_people(),
            assignments=workspace.store.assignments.for_people,
            people=workspace.study.people,
            now=time.time(),
        )
        sources = dict.fromkeys(line.source for line in found.lines) or {LINK: None}
        known = {source: workspace.store.visits.outcome_codes(source) for source in sources} if codes else {}
        paused = paused_since(workspace.store)
        signs = signs_found(workspace.study, workspace.store, workspace.form)
        unplayable = unplayable_clips(workspace.study, workspace.store)
        states, title = live_states(workspace.study, workspace.store), workspace.study.title
    if as_json:
        more: dict[str, object] = {"unplayable_clips": unplayable} if unplayable else {}
        more |= {"live": [asdict(state) | {"enough": state.enough} for state in states]} if states else {}
        more |= {"codes": known} if codes else {}
        amounts = {name: getattr(found, name) for name in ("pay", "hourly_pay", "planned_hourly_pay")}
        money = {name: None if amount is None else str(amount) for name, amount in amounts.items()}
        since = {} if paused is None else {"paused_since": paused}
        careless = {"counts": list(map(asdict, signs.counts)), "shown": list(map(asdict, signs.shown))}
        print_json(asdict(found) | money | since | {"careless_signs": careless} | more)
        return
    counts = f"{found.completed} of {found.places} submitted, {found.at_work} in progress, {found.free} free"
    click.echo(f"{title}: {counts}")
    if paused is not None:
        click.echo(PAUSED_LINE)
    _show_lines(found.lines)
    for line in _pace_lines(found):
        click.echo(line)
    for line in signs.words:
        click.echo(line)
    if (of_clips := unplayable_line(unplayable)) is not None:
        click.echo(of_clips)
    for state in states:
        for line in live_lines(workspace.study, state):
            click.echo(line)
    for source, each in known.items():
        click.echo(f"codes for {source}: " + ", ".join(f"{outcome} {code}" for outcome, code in each.items()))


def _show_lines(lines: tuple[VisitCounts, ...]) -> None:
    from rich import box
    from rich.table import Table

    from spa.responses.status import COUNT_WORDS, COUNTED

    if not lines:
        click.echo("No visits yet.")
        return
    columns = [name for name in COUNTED if name in ("begun", "completed") or any(getattr(each, name) for each in lines)]
    grouped = any(line.people_group is not None for line in lines)
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("source", *(("group",) if grouped else ())):
        table.add_column(title)
    for name in columns:
        table.add_column(COUNT_WORDS[name], justify="right")
    for line in lines:
        group = [] if not grouped else [_group(line)]
        table.add_row(line.source, *group, *(str(getattr(line, name)) for name in columns))
    console().print(table)


def _group(line: VisitCounts) -> str:
    if line.people_group is None:
        return "-"
    return line.people_group if line.places is None else f"{line.people_group} ({line.places} places)"


def _pace_lines(found: Status) -> list[str]:
    from datetime import datetime

    lines = []
    if found.median_minutes is not None:
        planned = "" if found.planned_minutes is None else f"; {found.planned_minutes:g} as announced"
        lines.append(f"median of {found.median_minutes:.1f} minutes{planned}")
    if found.hourly_pay is not None:
        planned = "" if found.planned_hourly_pay is None else f"; {found.planned_hourly_pay} as planned"
        lines.append(f"{found.hourly_pay} {found.currency} an hour at the median{planned}")
    if found.expected_end is not None and found.completed < found.places:
        end = datetime.fromtimestamp(found.expected_end).astimezone()
        lines.append(f"expected to be complete by {end:%Y-%m-%d %H:%M %Z}")
    if found.stalled is not None:
        lines.append(found.stalled)
    return lines
