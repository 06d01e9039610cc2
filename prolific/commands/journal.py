"""``spa prolific journal``: list the calls to Prolific and their outcomes."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prolific.commands.shared import json_option, print_json
from spa.commands.options import store_option, study_argument

if TYPE_CHECKING:
    from spa.journal import JournalEntry

FACTS = {"amount": "bonuses_amount", "fees": "fees_amount", "vat": "vat_amount", "total": "total_amount"}


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
    from prolific.api.money import json_amount

    request: dict[str, Any] = json.loads(call.request)
    bonuses = request.get("amounts") or {line["name"]: line["amount"] for line in request.get("bonuses", ())}
    amounts: dict[str, Any] = {key: json_amount(call.facts[name]) for name, key in FACTS.items() if name in call.facts}
    if "reward" in request:
        amounts["reward_amount"] = json_amount(request["reward"])
    if bonuses:
        amounts["bonus_amounts"] = {name: json_amount(amount) for name, amount in bonuses.items()}
    if screened_out := dict(_screened_out(request)):
        amounts["screened_out_amounts"] = {code: json_amount(amount) for code, amount in screened_out.items()}
    return {"currency": currency, **amounts} if amounts else {}


def _screened_out(request: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the codes of a study that pay those screened out, and how many cents."""
    for entry in request.get("completion_codes", ()):
        for action in entry["actions"]:
            if "fixed_screen_out_reward" in action:
                yield entry["code"], action["fixed_screen_out_reward"]
