"""The body of the request that creates a study."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from prolific.api.money import cents
from prolific.offer import SessionOffer
from prolific.settings import OutcomeCode, ProlificTable
from spa.records.people import PeopleGroup

ENTRY_PATH = "/prolific"
PLACEHOLDERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
CODE_TYPES = {
    "completed": "COMPLETED",
    "screened_out": "OTHER",
    "no_consent": "NO_CONSENT",
    "failed_checks": "FAILED_ATTENTION_CHECK",
    "quota_full": "OTHER",
}


def study_body(
    offer: SessionOffer,
    table: ProlificTable,
    *,
    internal_name: str,
    address: str,
    codes: Mapping[str, str],
    filters: Sequence[Mapping[str, Any]],
    groups: Sequence[str] = (),
    done_group: str | None = None,
    people_groups: Sequence[PeopleGroup] = (),
) -> dict[str, Any]:
    """Return the body of the request that creates a study.

    Parameters
    ----------
    offer, table
        What the study file says.
    internal_name : str
        The name by which the study is found on the platform; also in its metadata.
    address : str
        Public address of the survey server.
    codes : mapping
        Outcome -> its random code.
    filters : sequence of mappings
        Resolved filters, with those of groups.
    groups : sequence of str
        Ids of participant groups that everybody is added to, whatever their outcome.
    done_group : str, optional
        Id of the participant group of those who completed this session.
    people_groups : sequence of PeopleGroup
        With taskflow, each gets an address and places of its own.
    """
    body: dict[str, Any] = {
        "name": offer.title,
        "internal_name": internal_name,
        "description": table.description,
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            _code(getattr(table.codes, outcome), outcome, code, [*groups, *_done(outcome, done_group)])
            for outcome, code in codes.items()
        ],
        "total_available_places": offer.places,
        "estimated_completion_time": _plain(offer.minutes),
        "maximum_allowed_time": _plain(offer.maximum_minutes),
        "reward": offer.reward,
        "device_compatibility": list(table.devices),
        "peripheral_requirements": list(table.peripherals),
        "filters": [dict(one) for one in filters],
        "project": table.project,
        "submissions_config": {"max_submissions_per_participant": 1},
        "study_labels": [table.label],
        "metadata": json.dumps({"key": internal_name}),
    }
    if table.content_warning is not None:
        body["content_warnings"] = [table.content_warning]
    if table.content_warning_details is not None:
        body["content_warning_details"] = table.content_warning_details
    if table.taskflow:
        body["access_details"] = [
            {"external_url": entry_url(address, group), "total_allocation": group.places} for group in people_groups
        ]
    else:
        body["external_study_url"] = entry_url(address)
    return body


def entry_url(public_url: str, group: PeopleGroup | None = None) -> str:
    """Return the URL at which participants arrive, with the three placeholders that the platform fills.

    >>> entry_url("https://example.org/").partition("?")[0]
    'https://example.org/prolific'
    """
    query = "&".join(f"{name}={{{{%{name}%}}}}" for name in PLACEHOLDERS)
    if group is not None and group.parameter is not None:
        query += f"&{quote(group.parameter, safe='')}={quote(group.values[0], safe='')}"
    return f"{public_url.rstrip('/')}{ENTRY_PATH}?{query}"


def _code(code: OutcomeCode, outcome: str, value: str, groups: Sequence[str]) -> dict[str, Any]:
    actions: list[dict[str, Any]] = []
    kind = CODE_TYPES[outcome]
    if code.action == "review":
        actions.append({"action": "MANUALLY_REVIEW"})
    elif code.action == "approve":
        actions.append({"action": "AUTOMATICALLY_APPROVE"})
    elif code.action == "return":
        actions.append({"action": "REQUEST_RETURN", "return_reason": code.reason})
    elif code.reward is not None:
        kind = "FIXED_SCREENOUT"
        actions.append(
            {
                "action": "FIXED_SCREEN_OUT_PAYMENT",
                "fixed_screen_out_reward": cents(code.reward),
                "slots": code.slots,
            }
        )
    actions += [{"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group} for group in groups]
    return {"code": value, "code_type": kind, "actions": actions, "actor": "participant"}


def _done(outcome: str, done_group: str | None) -> list[str]:
    return [done_group] if outcome == "completed" and done_group is not None else []


def _plain(minutes: float) -> int | float:
    return int(minutes) if float(minutes).is_integer() else minutes
