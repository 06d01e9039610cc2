"""What must be so before people are asked, each line seen to be so, to be wrong, or not known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Literal

from prolific.api.money import money
from prolific.estimate import StudyCostEstimate
from prolific.offer import LONGEST_MINUTES, SessionOffer, least_maximum
from prolific.settings import ProlificTable
from prolific.study_body import PLACEHOLDERS

ALLOWED = frozenset({"b", "i", "em", "strong", "s", "u", "h1", "h2", "ol", "ul", "li", "p"})
PERSONAL = re.compile(
    r"\b(e-?mail( address)?|phone number|full name|your name|home address|passport|social security)\b", re.I
)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED:
            self.problems.append(f"<{tag}> is not shown by Prolific")
        elif attrs:
            self.problems.append(f"<{tag}> may have no attributes")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def description_problems(description: str) -> list[str]:
    """Return what Prolific would strip or refuse in a description, one line each.

    >>> description_problems("<p>Read and <b>compare</b> texts.</p>")
    []
    >>> description_problems("<a href='x'>Tell us your e-mail address</a>")
    ['<a> is not shown by Prolific', 'it asks for "e-mail address", and personal data may not be asked for']
    """
    reader = _Reader()
    reader.feed(description)
    reader.close()
    text = " ".join(" ".join(reader.text).split())
    problems = list(dict.fromkeys(reader.problems))
    if not text:
        problems.append("it has no text")
    personal = PERSONAL.search(text)
    if personal:
        problems.append(f'it asks for "{personal[0]}", and personal data may not be asked for')
    return problems


State = Literal["ok", "problem", "unknown"]
COMFORTABLE = 3  # eligible people for each place
FEWEST_COUNTED = 25  # below this the platform counts 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistItem:
    """One line of the checklist."""

    name: str
    state: State
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistFacts:
    """What was found out about the study and the platform; ``None`` stands for not known."""

    body: Mapping[str, Any]
    filters_problem: str | None  # why names could not be resolved
    filters_known: bool
    address_problem: str | None
    project_known: bool
    project_problem: str | None
    account_currency: str | None
    eligible: int | None
    assignments: int  # places that the store's assignments have
    consent: bool
    group_excluded: bool
    session: int
    internal_name: str


def checklist(
    offer: SessionOffer, table: ProlificTable, estimate: StudyCostEstimate, seen: ChecklistFacts
) -> tuple[ChecklistItem, ...]:
    """Return the lines of the checklist, in the order in which they are looked at."""
    name = seen.internal_name
    key_held = seen.body["internal_name"] == name and name in seen.body["metadata"]
    return (
        _check("address", seen.address_problem, "answers, and serves this study"),
        _placeholders(seen),
        _codes(seen),
        _hourly(offer, estimate),
        _currency(offer, seen),
        _time(offer),
        _places(offer, seen),
        _check("project", seen.project_problem, "there is one", known=seen.project_known),
        _check(
            "filters",
            seen.filters_problem,
            f"{len(seen.body['filters'])}, resolved by name",
            known=seen.filters_known,
        ),
        _eligible(offer, seen),
        _earlier(table, seen),
        _balance(offer, estimate),
        _check("description", "; ".join(description_problems(table.description)), "fit to be shown"),
        _line("consent page", "ok" if seen.consent else "problem", "there is one" if seen.consent else NO_CONSENT),
        _check("study key", None if key_held else "internal_name or metadata lack it", name),
    )


NO_CONSENT = "there is none; write [consent] text"


def _line(name: str, state: State, finding: str) -> ChecklistItem:
    return ChecklistItem(name=name, state=state, told=finding)


def _check(name: str, problem: str | None, good: str, *, known: bool = True) -> ChecklistItem:
    if not known:
        return _line(name, "unknown", "the platform was not asked")
    return _line(name, "problem" if problem else "ok", problem or good)


def _placeholders(seen: ChecklistFacts) -> ChecklistItem:
    addresses = [entry["external_url"] for entry in seen.body.get("access_details", ())]
    addresses = addresses or [seen.body.get("external_study_url", "")]
    lost = [name for name in PLACEHOLDERS for url in addresses if f"{name}={{{{%{name}%}}}}" not in url]
    return _check("placeholders", ", ".join(lost) and f"missing: {', '.join(lost)}", "all three are there")


def _codes(seen: ChecklistFacts) -> ChecklistItem:
    entries: Sequence[Mapping[str, Any]] = seen.body["completion_codes"]
    values = [entry["code"] for entry in entries]
    problem = None
    if len(set(values)) != len(values):
        problem = "two outcomes have the same code"
    elif not all(entry["actions"] for entry in entries):
        problem = "a code has no action"
    return _check("codes", problem, f"{len(values)} outcomes, each with its own code and action")


def _hourly(offer: SessionOffer, estimate: StudyCostEstimate) -> ChecklistItem:
    rates = estimate.rates
    finding = f"{money(round(offer.hourly), offer.currency)} an hour"
    if rates is None:
        return _line("hourly pay", "unknown", f"{finding}; the rates are not known")
    if offer.hourly < rates.minimum:
        least = -(-rates.minimum * offer.minutes // 60)
        return _line(
            "hourly pay",
            "problem",
            f"{finding} is below the minimum of {money(rates.minimum, offer.currency)}; pay at least "
            f"{money(int(least), offer.currency)} for {offer.minutes:g} minutes",
        )
    if offer.hourly < rates.recommended:
        finding += f", below the recommended {money(rates.recommended, offer.currency)}"
    return _line("hourly pay", "ok" if estimate.rates_from_platform else "unknown", finding)


def _currency(offer: SessionOffer, seen: ChecklistFacts) -> ChecklistItem:
    if not seen.account_currency:
        return _line("currency", "unknown", f"{offer.currency}; the workspace was not asked")
    problem = None
    if seen.account_currency != offer.currency:
        problem = f"[people] currency is {offer.currency}, the workspace pays in {seen.account_currency}"
    return _check("currency", problem, offer.currency)


def _time(offer: SessionOffer) -> ChecklistItem:
    least = least_maximum(offer.minutes)
    problem = None
    if offer.maximum_minutes < least:
        problem = (
            f"{offer.maximum_minutes:g} minutes; Prolific requires at least {least:.1f} for {offer.minutes:g} estimated"
        )
    elif offer.maximum_minutes > LONGEST_MINUTES:
        problem = f"{offer.maximum_minutes:g} minutes; it must be under a day"
    return _check("time allowed", problem, f"{offer.maximum_minutes:g} minutes, least {least:.1f}")


def _places(offer: SessionOffer, seen: ChecklistFacts) -> ChecklistItem:
    given = seen.body.get("access_details")
    problem = None
    if seen.assignments < offer.most * offer.sessions:
        problem = (
            f"{offer.most} places x {offer.sessions} sessions, but the store has room for {seen.assignments}; build "
            "with more annotators"
        )
    elif given is not None and sum(entry["total_allocation"] for entry in given) != offer.places:
        problem = f"the places of [[people.groups]] do not add up to {offer.places}"
    return _check("places", problem, f"{offer.most}, and assignments for all of them")


def _eligible(offer: SessionOffer, seen: ChecklistFacts) -> ChecklistItem:
    if seen.eligible is None:
        return _line("eligible people", "unknown", "the platform was not asked")
    finding = f"fewer than {FEWEST_COUNTED}" if seen.eligible == 0 else str(seen.eligible)
    if seen.eligible < COMFORTABLE * offer.most:
        return _line(
            "eligible people",
            "problem",
            f"{finding} for {offer.most} places; expected {COMFORTABLE * offer.most}: ask for less",
        )
    return _line("eligible people", "ok", f"{finding} for {offer.most} places")


def _earlier(table: ProlificTable, seen: ChecklistFacts) -> ChecklistItem:
    if seen.session > 1:
        return _line("earlier participants", "ok", f"only who completed session {seen.session - 1} is asked")
    if not table.exclude_earlier:
        return _line("earlier participants", "ok", "may take part again: exclude_earlier = false")
    if seen.group_excluded:
        return _line("earlier participants", "ok", "left out by participant group")
    return _line("earlier participants", "unknown", "their group is made by `spa prolific create`")


def _balance(offer: SessionOffer, estimate: StudyCostEstimate) -> ChecklistItem:
    if estimate.balance is None or estimate.total is None:
        return _line("balance", "unknown", "the platform was not asked")
    need = estimate.total // offer.sessions
    have = estimate.balance.available
    problem = None
    if have < need:
        problem = f"{money(have, offer.currency)} available, {money(need, offer.currency)} needed; top the wallet up"
    return _check("balance", problem, f"{money(have, offer.currency)} covers {money(need, offer.currency)}")
