"""``spa prolific collect``, ``reconcile``, ``journal`` and ``hooks``."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prolific.commands.shared import public_url_option, study_options
from spa.commands.options import (
    StudyLocation,
    every_option,
    json_option,
    print_json,
    print_result,
    store_option,
    study_argument,
)

if TYPE_CHECKING:
    from prolific.collecting import SessionReconciliation
    from spa.journal import JournalEntry
FACTS = {"amount": "bonuses_amount", "fees": "fees_amount", "vat": "vat_amount", "total": "total_amount"}


@click.command(epilog="Example: spa prolific collect my-study/study.toml --every 60")
@study_options
@every_option("the study is completed")
@json_option
def collect(location: StudyLocation, every: float | None, as_json: bool) -> None:
    """Update STUDY from Prolific: verify participants, free abandoned places and compare submissions.

    Answers are already in the store; this determines which of them count. Participants are excluded from later studies
    of the family. Nobody is paid.
    """
    from prolific.collecting import collect_session
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location) as prolific_study:
        prolific_study.need_study(1)
        while True:
            found = [collect_session(prolific_study, session) for session in prolific_study.created()]
            _print_collected(found, as_json=as_json)
            states = [prolific_study.platform.studies.fetch(one.study_id).status for one in found]
            if every is None or all(state == "COMPLETED" for state in states):
                break
            prolific_study.sleep(every)
    if not as_json:
        click.echo(f"Next: spa prolific reconcile {location.study}; spa prolific approve {location.study}")


@click.command(epilog="Example: spa prolific reconcile my-study/study.toml")
@study_options
@json_option
def reconcile(location: StudyLocation, as_json: bool) -> None:
    """List the differences between Prolific's submissions to STUDY and the store, each with a remedy."""
    from prolific.collecting import look_at_all
    from prolific.prolific_study import open_prolific_study

    with open_prolific_study(location) as prolific_study:
        found = look_at_all(prolific_study)
    if as_json:
        print_json(
            [{"session": one.session, "differences": [asdict(each) for each in one.differences]} for one in found]
        )
        return
    for one in found:
        click.echo(
            f"session {one.session}: {len(one.records)} submissions on Prolific, "
            f"{len(one.visits)} visits in the store, {len(one.differences)} differences"
        )
        for each in one.differences:
            click.echo(
                f"  {each.kind}: submission {each.submission_id}, participant {each.participant_id}, "
                f"{each.on_platform} on Prolific, {each.here} in the store"
            )
            click.echo(f"    {each.remedy}")


def _print_collected(found: list[SessionReconciliation], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "session": one.session,
                    "submissions": dict(Counter(record.status for record in one.records)),
                    "completed_here": sum(visit.completed for visit in one.visits),
                    "verified": one.verified,
                    "refuted": one.refuted,
                    "released": one.released + one.overdue,
                    "excluded": one.excluded,
                    "differences": dict(Counter(each.kind for each in one.differences)),
                }
                for one in found
            ]
        )
        return
    for one in found:
        counts = Counter(record.status for record in one.records)
        statuses = ", ".join(f"{name} {n}" for name, n in sorted(counts.items())) or "no submissions yet"
        click.echo(
            f"session {one.session}: {statuses}; completed in the store: {sum(visit.completed for visit in one.visits)}"
        )
        if one.verified or one.refuted:
            click.echo(f"  verified: {one.verified}; not participants of this study on Prolific: {one.refuted}")
        if one.released or one.overdue:
            click.echo(f"  places freed: {one.released + one.overdue}")
        if one.excluded:
            click.echo(f"  newly excluded from later studies of the family: {one.excluded}")
        kinds = Counter(each.kind for each in one.differences)
        if kinds:
            click.echo("  differences: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())))


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
        calls = [call for call in Journal(workspace.store).every(KIND) if not only_open or call.outcome == STARTED]
    if as_json:
        print_json(
            [
                {
                    "key": call.key,
                    "attempt": call.attempt,
                    "begun_at": call.begun_at,
                    "outcome": call.outcome,
                    "request": json.loads(call.request),
                    "facts": dict(call.facts),
                    "response": call.response,
                    **_amounts(call, workspace.study.people.currency),
                }
                for call in calls
            ]
        )
        return
    for call in calls:
        begun = datetime.datetime.fromtimestamp(call.begun_at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"{begun}  {call.outcome:<10} {call.key} (attempt {call.attempt})")
        if call.response:
            click.echo(f"    {call.response}")
    if not calls:
        click.echo("no such calls")


def _amounts(call: JournalEntry, currency: str) -> dict[str, Any]:
    """Return the amounts of a call in major units with their currency; ``request`` and ``facts`` have cents."""
    from prolific.api.money import amount_text

    request: dict[str, Any] = json.loads(call.request)
    bonuses = request.get("amounts") or {line["name"]: line["amount"] for line in request.get("bonuses", ())}
    amounts: dict[str, Any] = {key: amount_text(call.facts[name]) for name, key in FACTS.items() if name in call.facts}
    if "reward" in request:
        amounts["reward_amount"] = amount_text(request["reward"])
    if bonuses:
        amounts["bonus_amounts"] = {name: amount_text(amount) for name, amount in bonuses.items()}
    if screened_out := dict(_screened_out(request)):
        amounts["screened_out_amounts"] = {code: amount_text(amount) for code, amount in screened_out.items()}
    return {"currency": currency, **amounts} if amounts else {}


def _screened_out(request: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the codes of a study that pay those screened out, and how many cents."""
    for entry in request.get("completion_codes", ()):
        for action in entry["actions"]:
            if "fixed_screen_out_reward" in action:
                yield entry["code"], action["fixed_screen_out_reward"]


@click.command(epilog="Example: spa prolific hooks my-study/study.toml --public-url https://survey.example.org")
@study_options
@public_url_option
@click.option("--remove", is_flag=True, help="End the subscriptions.")
@click.option("--new-secret", is_flag=True, help="Replace the signing secret of all webhooks in the workspace.")
@json_option
def hooks(location: StudyLocation, public_url: str | None, remove: bool, new_secret: bool, as_json: bool) -> None:
    """Subscribe the survey server of STUDY to Prolific's webhooks and confirm the subscriptions.

    Webhooks free abandoned places sooner; without them, `spa prolific collect` does so. --json prints subscriptions
    (event type -> URL) and ended (a number).
    """
    from prolific.prolific_study import open_prolific_study
    from prolific.webhooks import check_address, subscribe, unsubscribe

    with open_prolific_study(location, alone=True) as prolific_study:
        address = prolific_study.survey_address(public_url)
        check_address(address)
        if remove:
            ended = unsubscribe(prolific_study, address)
            print_result({"subscriptions": {}, "ended": ended}, [f"subscriptions ended: {ended}"], as_json=as_json)
            return
        made = {one.event_type: one.target_url for one in subscribe(prolific_study, address, new_secret=new_secret)}
    lines = [f"{event} -> {url}" for event, url in made.items()]
    print_result({"subscriptions": made, "ended": 0}, lines, as_json=as_json)
