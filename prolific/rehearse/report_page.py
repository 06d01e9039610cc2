"""The report of a rehearsal: what happened, what it would have cost, and what remains to be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2

from prolific.rehearse.environment import TOKEN
from prolific.rehearse.participants import STORIES
from prolific.rehearse.scenario_runner import ScenarioRunner
from prolific.study_ids import SOURCE
from spa.errors import PlatformError
from spa.files import write_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """The bill of a rehearsal; amounts in cents, with the platform's fractions."""

    currency: str
    estimate: int | None  # the platform's calculator, before anything was published; of a live study its first wave
    fixed: int | None  # the same for all places that there may be
    most: int | None  # so many, of a live study
    rewards: Decimal
    fees: Decimal
    tax: Decimal
    bonuses: Decimal  # with their fees and tax
    studies: int  # one a session
    places: int  # of all studies
    paid: int  # submissions

    @property
    def total(self) -> Decimal:
        """Return the total cost of rewards, without bonuses."""
        return self.rewards + self.fees + self.tax

    @property
    def difference(self) -> Decimal | None:
        """Return the bill minus the estimate, in whole cents."""
        return None if self.estimate is None else (self.total - self.estimate).quantize(Decimal(1))

    @property
    def as_estimated(self) -> bool:
        """Whether the bill equals the estimate up to rounding or, of a live study, is not above the maximum."""
        if self.most is not None:
            return self.fixed is not None and self.total < self.fixed + 1
        return self.paid == self.places and self.difference is not None and abs(self.difference) < self.studies

    @property
    def explained(self) -> str:
        """Return why the bill equals or differs from the estimate."""
        if self.most is not None and self.fixed is not None:
            saved = (self.fixed - self.total).quantize(Decimal(1)) / 100
            less = f"{saved:.2f} {self.currency} below" if saved > 0 else "at the cost of"
            return f"it ended after {self.paid} of at most {self.most} places, {less} a study of fixed size"
        if self.estimate is None:
            return "there was no estimate to compare it with"
        if self.as_estimated:
            return "the bill equals the estimate"
        if self.paid > self.places:
            return f"{self.paid - self.places} more were paid than places planned: people who submitted late"
        if self.paid < self.places:
            return f"{self.places - self.paid} places were not filled"
        return "some were paid another amount, such as a fixed sum for being screened out"


def fetch_invoice(rehearsal: ScenarioRunner) -> Invoice:
    """Fetch the studies' costs from the platform, and return them with the first estimate."""
    stage, estimate = rehearsal.stage, rehearsal.estimates[0]
    total, at_most = estimate["total_amount"], estimate["most_total_amount"]
    studies = [crowd.study_id for crowd in rehearsal.crowds]
    parts = {"rewards": Decimal(0), "fees": Decimal(0), "tax": Decimal(0)}
    bonuses, paid = Decimal(0), 0
    headers = {"Authorization": f"Token {TOKEN}"}
    with httpx2.Client(base_url=stage.platform_url, headers=headers, timeout=60, trust_env=False) as client:
        for study_id in studies:
            cost = _get(client, f"/api/v1/studies/{study_id}/cost/")
            counts = _get(client, f"/api/v1/studies/{study_id}/submissions/counts/")
            paid += int(counts["APPROVED"]) + int(counts["PARTIALLY APPROVED"])
            for name in parts:
                parts[name] += Decimal(str(cost["rewards"][name]["amount"]))
                bonuses += Decimal(str(cost["bonuses"][name]["amount"]))
    return Invoice(
        currency=estimate["currency"],
        estimate=None if total is None else int(Decimal(total) * 100),
        fixed=None if at_most is None else int(Decimal(at_most) * 100),
        most=rehearsal.most,
        bonuses=bonuses,
        places=sum(int(stage.people.study(study_id)["places"]) for study_id in studies),
        paid=paid,
        studies=len(studies),
        **parts,
    )


def _get(client: httpx2.Client, path: str) -> Any:
    for _ in range(5):
        response = client.get(path)
        if response.status_code == 200:
            return response.json()
    raise PlatformError(f"{path}: expected the emulated platform's figures, got status {response.status_code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingTask:
    """A task before the real study, and its command if there is one."""

    text: str
    command: str = ""


def report_content(
    rehearsal: ScenarioRunner, bill: Invoice, *, title: str, original: Path, filled_in: Sequence[str]
) -> dict[str, Any]:
    """Return the content of the page."""
    people = rehearsal.stage.people
    submissions = [one for crowd in rehearsal.crowds for one in people.submissions(crowd.study_id)]
    turned_away: Counter[str] = Counter()
    for crowd in rehearsal.crowds:
        turned_away.update({_refusal_reason(reason): n for reason, n in crowd.turned_away.items()})
    return {
        "title": title,
        "places": bill.places // max(len(rehearsal.crowds), 1),
        "sessions": len(rehearsal.crowds),
        "came": len({one["participant_id"] for one in submissions}),
        "seed": rehearsal.plan.seed,
        "bill": bill,
        "fates": _scenario_rows(rehearsal, submissions),
        "asked_back": len(rehearsal.asked_back),
        "turned_away": sorted(turned_away.items()),
        "differences": _differences(rehearsal),
        "faults": [one for one in people.faults() if one["happened"]],
        "checks": _count_once_only(rehearsal),
        "to_do": left_to_do(rehearsal, original=original, filled_in=filled_in),
        "steps": rehearsal.script.steps,
    }


def write_page(path: Path, content: dict[str, Any]) -> None:
    """Write the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("prolific.rehearse", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    text = environment.get_template("rehearsal.html.j2").render(**content, money=_money)
    write_text(path, text)


def left_to_do(rehearsal: ScenarioRunner, *, original: Path, filled_in: Sequence[str]) -> list[RemainingTask]:
    """Return the tasks before the real study, in order."""
    name = str(original)
    url, prolific = "--public-url https://YOUR-ADDRESS", "spa prolific"
    fixed = rehearsal.most is None
    own = "Set [prolific] project to the id of your own project; its workspace pays."
    texts = [f"In {name}: {one}." for one in filled_in]
    texts.append(own if filled_in else "Check that [prolific] project is the project that pays.")
    if rehearsal.added_filters:
        added = ", ".join(rehearsal.added_filters)
        texts.append(f"Check that Prolific knows these names, which were added to the emulator: {added}.")
    texts += [f"The checklist reported a problem: {line['name']}: {line['finding']}." for line in rehearsal.accepted]
    steps = {
        **dict.fromkeys(texts, ""),
        "Build the store that real answers go to.": f"spa build {name}",
        "Take a token from the workspace's settings.": "export PROLIFIC_API_TOKEN=...",
        "Serve the forms where people reach them over https.": f"spa serve {name} {url}",
        "Check costs, pay and checklist again with the platform's own figures.": f"{prolific} plan {name} {url}",
        "Create the draft, and preview it on the platform as a participant sees it.": f"{prolific} create {name} {url}",
        **({"Publish a few places first, and check their times and answers before you add more.": ""} if fixed else {}),
        "Publish." if fixed else "Publish the first wave.": f"{prolific} publish {name} --yes",
        **({} if fixed else {"Open waves until it is decided.": f"{prolific} advance {name} --every 60 --yes --stop"}),
        "Within 21 days: collect, reconcile, approve. Prolific approves the rest automatically.": (
            f"{prolific} collect {name}"
        ),
    }
    return [RemainingTask(text=text, command=command) for text, command in steps.items()]


def _scenario_rows(rehearsal: ScenarioRunner, submissions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    met = {name: one for crowd in rehearsal.crowds for name, one in crowd.met.items()}
    visits = {one.external_id: one for one in rehearsal.stage.workspace.store.visits.of_people(SOURCE)}
    rows = []
    for scenario, (_, story) in STORIES.items():
        own = [one for one in submissions if met[one["participant_id"]].scenario == scenario]
        if not own:
            continue
        here: Counter[str] = Counter()
        for one in own:
            visit = visits.get(one["id"])
            outcome = "nothing" if visit is None else (visit.outcome or ("left" if visit.released else "open"))
            here[outcome + (", late (excluded)" if visit is not None and visit.extra else "")] += 1
        counts = {"platform": _format_counts(Counter(str(one["status"]) for one in own)), "store": _format_counts(here)}
        rows.append({"story": story, "submissions": len(own), **counts})
    return rows


def _differences(rehearsal: ScenarioRunner) -> list[dict[str, Any]]:
    found: Counter[tuple[str, str]] = Counter()
    for session in rehearsal.script.read("prolific", "reconcile", rehearsal.study):
        found.update((one["kind"], one["remedy"]) for one in session["differences"])
    return [
        {"kind": kind.replace("_", " "), "remedy": remedy, "number": number}
        for (kind, remedy), number in sorted(found.items())
    ]


def _count_once_only(rehearsal: ScenarioRunner) -> str:
    """Describe how many studies and bonus payments there are despite the faults."""
    drafts = len(rehearsal.crowds)
    payments = len(rehearsal.stage.people.payments())
    return (
        f"Despite the faults, {drafts} {'study was' if drafts == 1 else 'studies were'} created, "
        f"and {payments} {'bonus was' if payments == 1 else 'bonuses were'} paid, each once."
    )


def _refusal_reason(reason: str) -> str:
    return reason.strip('":{} \n').removesuffix(".") or "the study was closed to them"


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in sorted(counts.items()))


def _money(cents: Decimal | int | None) -> str:
    return "not known" if cents is None else f"{Decimal(cents) / 100:,.2f}"
