"""The checklist before a study is published: each line is in order, a problem, or not known."""

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


def line(name: str, state: State, finding: str) -> ChecklistItem:
    """Return a line of the checklist."""
    return ChecklistItem(name=name, state=state, told=finding)


def check(name: str, problem: str | None, good: str, *, known: bool = True) -> ChecklistItem:
    """Return a line that is a problem, ``good``, or not ``known`` because the platform was not asked."""
    if not known:
        return line(name, "unknown", "the platform was not asked")
    return line(name, "problem" if problem else "ok", problem or good)


def check_placeholders(body: Mapping[str, Any]) -> ChecklistItem:
    """Check that the study's URLs name participant, study and submission."""
    addresses = [entry["external_url"] for entry in body.get("access_details", ())]
    addresses = addresses or [body.get("external_study_url", "")]
    lost = [name for name in PLACEHOLDERS for url in addresses if f"{name}={{{{%{name}%}}}}" not in url]
    return check("placeholders", ", ".join(lost) and f"missing: {', '.join(lost)}", "all three are there")


def check_codes(body: Mapping[str, Any]) -> ChecklistItem:
    """Check that every outcome has a code of its own that does something."""
    entries: Sequence[Mapping[str, Any]] = body["completion_codes"]
    values = [entry["code"] for entry in entries]
    problem = None
    if len(set(values)) != len(values):
        problem = "two outcomes have the same code"
    elif not all(entry["actions"] for entry in entries):
        problem = "a code has no action"
    return check("codes", problem, f"{len(values)} outcomes, each with its own code and action")


def check_hourly_pay(offer: SessionOffer, estimate: StudyCostEstimate) -> ChecklistItem:
    """Check the hourly pay against the platform's minimum."""
    rates = estimate.rates
    finding = f"{money(round(offer.hourly), offer.currency)} an hour"
    if rates is None:
        return line("hourly pay", "unknown", f"{finding}; the rates are not known")
    if offer.hourly < rates.minimum:
        least = -(-rates.minimum * offer.minutes // 60)
        return line(
            "hourly pay",
            "problem",
            f"{finding} is below the minimum of {money(rates.minimum, offer.currency)}; pay at least "
            f"{money(int(least), offer.currency)} for {offer.minutes:g} minutes",
        )
    if offer.hourly < rates.recommended:
        finding += f", below the recommended {money(rates.recommended, offer.currency)}"
    return line("hourly pay", "ok" if estimate.rates_from_platform else "unknown", finding)


def check_currency(offer: SessionOffer, estimate: StudyCostEstimate) -> ChecklistItem:
    """Check that the workspace pays in the study's currency."""
    pays_in = None if estimate.balance is None else estimate.balance.currency
    if not pays_in:
        return line("currency", "unknown", f"{offer.currency}; the workspace was not asked")
    problem = None
    if pays_in != offer.currency:
        problem = f"[people] currency is {offer.currency}, the workspace pays in {pays_in}"
    return check("currency", problem, offer.currency)


def check_time(offer: SessionOffer) -> ChecklistItem:
    """Check the time limit against the platform's bounds."""
    least = least_maximum(offer.minutes)
    problem = None
    if offer.maximum_minutes < least:
        problem = (
            f"{offer.maximum_minutes:g} minutes; Prolific requires at least {least:.1f} for {offer.minutes:g} estimated"
        )
    elif offer.maximum_minutes > LONGEST_MINUTES:
        problem = f"{offer.maximum_minutes:g} minutes; it must be under a day"
    return check("time allowed", problem, f"{offer.maximum_minutes:g} minutes, least {least:.1f}")


def check_places(offer: SessionOffer, body: Mapping[str, Any], assigned: int) -> ChecklistItem:
    """Check that the store's assignments have places for everybody: ``assigned`` in all."""
    given = body.get("access_details")
    problem = None
    if assigned < offer.most * offer.sessions:
        problem = (
            f"{offer.most} places x {offer.sessions} sessions, but the store has room for {assigned}; build "
            "with more annotators"
        )
    elif given is not None and sum(entry["total_allocation"] for entry in given) != offer.places:
        problem = f"the places of [[people.groups]] do not add up to {offer.places}"
    return check("places", problem, f"{offer.most}, and assignments for all of them")


def check_eligible(offer: SessionOffer, eligible: int | None) -> ChecklistItem:
    """Check that enough participants pass the filters; ``None`` where the platform did not count them."""
    if eligible is None:
        return line("eligible people", "unknown", "the platform was not asked")
    finding = f"fewer than {FEWEST_COUNTED}" if eligible == 0 else str(eligible)
    if eligible < COMFORTABLE * offer.most:
        return line(
            "eligible people",
            "problem",
            f"{finding} for {offer.most} places; expected {COMFORTABLE * offer.most}: ask for less",
        )
    return line("eligible people", "ok", f"{finding} for {offer.most} places")


def check_earlier(table: ProlificTable, session: int, *, excluded: bool) -> ChecklistItem:
    """Check whether earlier participants are excluded, as by a participant group that exists already."""
    if session > 1:
        return line("earlier participants", "ok", f"only who completed session {session - 1} is asked")
    if not table.exclude_earlier:
        return line("earlier participants", "ok", "may take part again: exclude_earlier = false")
    if excluded:
        return line("earlier participants", "ok", "left out by participant group")
    return line("earlier participants", "unknown", "their group is made by `spa prolific create`")


def check_balance(offer: SessionOffer, estimate: StudyCostEstimate) -> ChecklistItem:
    """Check that the workspace's balance covers a session."""
    if estimate.balance is None or estimate.total is None:
        return line("balance", "unknown", "the platform was not asked")
    need = estimate.total // offer.sessions
    have = estimate.balance.available
    problem = None
    if have < need:
        problem = f"{money(have, offer.currency)} available, {money(need, offer.currency)} needed; top the wallet up"
    return check("balance", problem, f"{money(have, offer.currency)} covers {money(need, offer.currency)}")
