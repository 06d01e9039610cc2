"""The last page of a rehearsal: what happened, what it would have cost, and what is left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from prolific.rehearse.invoice import Invoice
from prolific.rehearse.participants import SCENARIO_TEXTS, SCENARIOS
from prolific.rehearse.scenario_runner import ScenarioRunner
from prolific.study_ids import SOURCE
from spa.files import written_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingTask:
    """One thing that is left to do, with the command where there is one."""

    told: str
    command: str = ""


def facts(
    rehearsal: ScenarioRunner, bill: Invoice, *, title: str, original: Path, filled_in: Sequence[str]
) -> dict[str, Any]:
    """Return everything that the page says."""
    people = rehearsal.stage.people
    submissions = [one for crowd in rehearsal.crowds for one in people.submissions(crowd.study_id)]
    turned_away: Counter[str] = Counter()
    for crowd in rehearsal.crowds:
        turned_away.update({_door(reason): n for reason, n in crowd.left_at_the_door.items()})
    return {
        "title": title,
        "places": bill.places // max(len(rehearsal.crowds), 1),
        "sessions": len(rehearsal.crowds),
        "came": len({one["participant_id"] for one in submissions}),
        "seed": rehearsal.casting.seed,
        "bill": bill,
        "fates": _fates(rehearsal, submissions),
        "asked_back": len(rehearsal.asked_back),
        "turned_away": sorted(turned_away.items()),
        "differences": _differences(rehearsal),
        "faults": [one for one in people.faults() if one["happened"]],
        "checks": _once(rehearsal),
        "to_do": left_to_do(rehearsal, original=original, filled_in=filled_in),
        "steps": rehearsal.script.steps,
    }


def write_page(path: Path, content: dict[str, Any]) -> None:
    """Write the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("prolific.rehearse", "templates"), autoescape=True, undefined=StrictUndefined
    )
    text = environment.get_template("rehearsal.html.j2").render(**content, money=_money)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def left_to_do(rehearsal: ScenarioRunner, *, original: Path, filled_in: Sequence[str]) -> list[RemainingTask]:
    """Return what has to be done before real people are asked, in order."""
    name = str(original)
    found = [RemainingTask(told=f"In {name}: {one}.") for one in filled_in]
    found.append(
        RemainingTask(told="Put the id of your own project into [prolific] project; money belongs to its workspace.")
        if filled_in
        else RemainingTask(told="See that [prolific] project is the project that is to pay.")
    )
    if rehearsal.invented:
        told = ", ".join(rehearsal.invented)
        found.append(
            RemainingTask(told=f"See that Prolific knows these names; the emulation had to be told them: {told}.")
        )
    found += [
        RemainingTask(told=f"The checklist was not content: {line['name']}: {line['told']}.")
        for line in rehearsal.accepted
    ]
    found += [
        RemainingTask(told="Build the store that real answers go to.", command=f"spa build {name}"),
        RemainingTask(told="Take a token from the workspace's settings.", command="export PROLIFIC_API_TOKEN=..."),
        RemainingTask(
            told="Serve the forms where people reach them over https.",
            command=f"spa serve {name} --public-url https://YOUR-ADDRESS",
        ),
        RemainingTask(
            told="Look at costs, pay and checklist once more, this time by the platform's own figures.",
            command=f"spa prolific plan {name} --public-url https://YOUR-ADDRESS",
        ),
        RemainingTask(
            told="Make the draft, and look at it on the platform as a participant sees it.",
            command=f"spa prolific create {name} --public-url https://YOUR-ADDRESS",
        ),
        RemainingTask(told="Publish a few places first, and look at their time and answers before you ask for more."),
        RemainingTask(told="Publish.", command=f"spa prolific publish {name} --yes"),
        RemainingTask(
            told="Within 21 days: collect, reconcile, approve. What nobody reviews is approved by itself.",
            command=f"spa prolific collect {name}",
        ),
    ]
    return found


def _fates(rehearsal: ScenarioRunner, submissions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    met = {name: one for crowd in rehearsal.crowds for name, one in crowd.met.items()}
    visits = {one.external_id: one for one in rehearsal.stage.workspace.store.visits(SOURCE)}
    rows = []
    for fate in SCENARIOS:
        own = [one for one in submissions if met[one["participant_id"]].fate == fate]
        if not own:
            continue
        here: Counter[str] = Counter()
        for one in own:
            visit = visits.get(one["id"])
            outcome = "nothing" if visit is None else (visit.outcome or ("left" if visit.released else "open"))
            here[outcome + (", extra" if visit is not None and visit.extra else "")] += 1
        there = Counter(str(one["status"]) for one in own)
        rows.append(
            {"story": SCENARIO_TEXTS[fate], "submissions": len(own), "platform": _told(there), "store": _told(here)}
        )
    return rows


def _differences(rehearsal: ScenarioRunner) -> list[dict[str, Any]]:
    found: Counter[tuple[str, str]] = Counter()
    for session in rehearsal.script.read("prolific", "reconcile", rehearsal.study):
        found.update((one["kind"], one["remedy"]) for one in session["differences"])
    return [
        {"kind": kind.replace("_", " "), "remedy": remedy, "number": number}
        for (kind, remedy), number in sorted(found.items())
    ]


def _once(rehearsal: ScenarioRunner) -> str:
    """Say how many drafts and payments there are after everything that went wrong."""
    drafts = len(rehearsal.crowds)
    payments = len(rehearsal.stage.people.payments())
    return (
        f"For all that, {drafts} {'study was' if drafts == 1 else 'studies were'} made, "
        f"and {payments} {'bonus was' if payments == 1 else 'bonuses were'} paid, each once."
    )


def _door(reason: str) -> str:
    return reason.strip('":{} \n').removesuffix(".") or "the study was closed to them"


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in sorted(counts.items()))


def _money(cents: Decimal | int | None) -> str:
    return "not known" if cents is None else f"{Decimal(cents) / 100:,.2f}"
