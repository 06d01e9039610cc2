"""Estimate and checklist of a session before it is published, from the study file, platform and survey server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2

from prolific.api.money import money
from prolific.api.problems import ProlificError, Unanswered, Unreachable
from prolific.draft import Groups, find_groups, make_body, make_filters
from prolific.estimate import StudyCostEstimate, make_estimate
from prolific.offer import LONGEST_MINUTES, SessionOffer, least_maximum
from prolific.prolific_study import ProlificStudy
from prolific.settings import ProlificTable
from prolific.study_body import ENTRY_PATH, PLACEHOLDERS
from spa.addresses import is_loopback
from spa.platforms.waves import room_for

ALLOWED = frozenset({"b", "i", "em", "strong", "s", "u", "h1", "h2", "ol", "ul", "li", "p"})
PERSONAL = re.compile(
    r"\b(e-?mail( address)?|phone number|full name|your name|home address|passport|social security)\b", re.I
)
COMFORTABLE = 3  # eligible people for each place
FEWEST_COUNTED = 25  # below this the platform counts 0
SECONDS = 10.0
UNSAID = "https://not-said.invalid"
State = Literal["ok", "problem", "unknown"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistItem:
    """One line of the checklist."""

    name: str
    state: State
    finding: str


def line(name: str, state: State, finding: str) -> ChecklistItem:
    """Return a line of the checklist."""
    return ChecklistItem(name=name, state=state, finding=finding)


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
        problem = (
            f"{money(have, offer.currency)} available, {money(need, offer.currency)} needed; add money to the wallet"
        )
    return check("balance", problem, f"{money(have, offer.currency)} covers {money(need, offer.currency)}")


def address_problem(public_url: str, fingerprint: str, *, allow_http: bool) -> str | None:
    """Return what is wrong with the survey server's public URL; ``None`` where it serves the study.

    The server must report the ``fingerprint`` of this store. ``allow_http`` accepts a URL on this machine, as for an
    emulator.
    """
    if urlsplit(public_url).scheme != "https" and not (allow_http and is_loopback(public_url)):
        return f"{public_url} is not https, and Prolific takes no other"
    base = public_url.rstrip("/")
    try:
        with httpx2.Client(timeout=SECONDS, trust_env=not is_loopback(public_url)) as client:
            health, entry = client.get(f"{base}/health"), client.get(f"{base}{ENTRY_PATH}/health")
    except httpx2.HTTPError as error:
        return f"{public_url} cannot be reached ({type(error).__name__}); is `spa serve` running there?"
    for name, answer in (("/health", health), (f"{ENTRY_PATH}/health", entry)):
        if answer.status_code != 200:
            return f"{base}{name} answers HTTP {answer.status_code}; expected `spa serve` of this study there"
    try:
        served, opened = health.json(), entry.json()
    except ValueError:
        return f"{base}/health is not that of `spa serve`"
    if not isinstance(served, dict) or served.get("fingerprint") != fingerprint:
        return f"{public_url} serves another study or another build of it"
    if not isinstance(opened, dict) or opened.get("verifies") is not True:
        return f"{public_url} cannot ask Prolific who comes; set PROLIFIC_API_TOKEN where `spa serve` runs"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """The estimated cost and the checklist of a session."""

    estimate: StudyCostEstimate
    lines: tuple[ChecklistItem, ...]
    eligible: int | None
    body: Mapping[str, Any]


def plan_session(prolific_study: ProlificStudy, session: int, public_url: str | None) -> SessionPlan:
    """Estimate costs and make the checklist; nothing is changed on the platform.

    ``public_url`` is that of the survey server, by default the study file's.
    """
    prolific_study.check_session(session)
    address = public_url or prolific_study.table.public_url
    workspace_id, project_problem, why_offline = _workspace(prolific_study)
    estimate = make_estimate(
        prolific_study.offer,
        prolific_study.table,
        prolific_study.client if why_offline is None else None,
        workspace_id=workspace_id,
        why_offline=why_offline,
        now=prolific_study.clock(),
    )
    groups, filters, filters_problem, eligible = Groups(), list[dict[str, Any]](), None, None
    if workspace_id is not None:
        try:
            groups = find_groups(prolific_study, workspace_id, session)
            filters = make_filters(prolific_study, workspace_id, groups, session)
            eligible = prolific_study.platform.audience.count(workspace_id, filters)
        except ProlificError as error:
            filters_problem = "; ".join(error.problems)
    body = make_body(prolific_study, address=address or UNSAID, filters=filters, groups=groups, session=session)
    local = prolific_study.access is not None and prolific_study.access.local
    study, offer, table = prolific_study.workspace.study, prolific_study.offer, prolific_study.table
    unreachable: str | None = "give --public-url or [prolific] public_url"
    if address is not None:
        unreachable = address_problem(address, prolific_study.store.fingerprint, allow_http=local)
    asked = workspace_id is not None
    consent = bool((study.consent.text or "").strip())
    name = prolific_study.internal_name(session)
    key_held = body["internal_name"] == name and name in body["metadata"]
    assigned = room_for(study, prolific_study.store)
    lines = (
        check("address", unreachable, "answers, and serves this study"),
        check_placeholders(body),
        check_codes(body),
        check_hourly_pay(offer, estimate),
        check_currency(offer, estimate),
        check_time(offer),
        check_places(offer, body, assigned),
        check("project", project_problem, "there is one", known=asked or project_problem is not None),
        check("filters", filters_problem, f"{len(body['filters'])}, resolved by name", known=asked),
        check_eligible(offer, eligible),
        check_earlier(table, session, excluded=groups.family is not None),
        check_balance(offer, estimate),
        check("description", "; ".join(description_problems(table.description)), "fit to be shown"),
        check("consent page", None if consent else "there is none; write [consent] text", "there is one"),
        check("study key", None if key_held else "internal_name or metadata lack it", name),
    )
    return SessionPlan(estimate=estimate, lines=lines, eligible=eligible, body=body)


def _workspace(prolific_study: ProlificStudy) -> tuple[str | None, str | None, str | None]:
    """Return the workspace's id, a problem with the project, and why the platform cannot be asked."""
    if prolific_study.client is None:
        return None, None, "PROLIFIC_API_TOKEN is not set"
    try:
        return prolific_study.client.workspace_of(prolific_study.table.project), None, None
    except (Unreachable, Unanswered) as error:
        return None, None, str(error)
    except ProlificError as error:
        return None, str(error), None
