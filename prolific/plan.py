"""Estimate and checklist of a session, from the study file and, where they can be reached, platform and server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from prolific import checklist
from prolific.api.problems import ProlificError, Unanswered, Unreachable
from prolific.checklist import ChecklistItem, check, description_problems
from prolific.draft import Groups, find_groups, make_body, make_filters
from prolific.estimate import StudyCostEstimate, make_estimate
from prolific.prolific_study import ProlificStudy
from prolific.study_body import ENTRY_PATH
from spa.addresses import is_loopback

SECONDS = 10.0


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


UNSAID = "https://not-said.invalid"


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
    assigned = len(prolific_study.store.assignments) * study.people.per_assignment
    lines = (
        check("address", unreachable, "answers, and serves this study"),
        checklist.check_placeholders(body),
        checklist.check_codes(body),
        checklist.check_hourly_pay(offer, estimate),
        checklist.check_currency(offer, estimate),
        checklist.check_time(offer),
        checklist.check_places(offer, body, assigned),
        check("project", project_problem, "there is one", known=asked or project_problem is not None),
        check("filters", filters_problem, f"{len(body['filters'])}, resolved by name", known=asked),
        checklist.check_eligible(offer, eligible),
        checklist.check_earlier(table, session, excluded=groups.family is not None),
        checklist.check_balance(offer, estimate),
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
