"""Participants, the filters by which studies select them, and participant groups."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from prolific.emulator import schema
from prolific.emulator.errors import EmulatorRequestError, invalid, not_found
from prolific.emulator.request_transaction import RequestTransaction, iso_time, save_setting, setting

STUDY_LISTS = ("previous_studies_allowlist", "previous_studies_blocklist")
GROUP_LISTS = ("participant_group_allowlist", "participant_group_blocklist")
PERSON_LISTS = ("custom_allowlist", "custom_blocklist")
COUNTED_FROM = 25  # fewer people than this are counted as none

Filters = Sequence[Mapping[str, Any]]


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Return the filters that the platform offers, by id, with numbered choices."""
    text = files("prolific.emulator").joinpath("filters.toml").read_text("utf-8")
    known: dict[str, dict[str, Any]] = {}
    for filter_id, entry in tomllib.loads(text).items():
        choices = entry.pop("choices", None)
        if isinstance(choices, list):
            entry["choices"] = {str(number): choice for number, choice in enumerate(choices)}
        elif choices is not None:
            entry["choices"] = choices
        known[filter_id] = {"filter_id": filter_id, "description": "", **entry}
    return known


def offered(tx: RequestTransaction) -> dict[str, dict[str, Any]]:
    """Return the filters of the catalogue and those added."""
    return {**catalogue(), **(setting(tx.connection, "filters") or {})}


def add_filter(
    tx: RequestTransaction, names: Sequence[str], choices: Sequence[str], lowest: Any, highest: Any
) -> list[str]:
    """Add a filter, or choices to an existing one, where they are missing; return what was added.

    ``names`` are titles or ids that the filter may have; the last is the title of a new one. Without ``choices`` it is
    a range, by default from ``lowest`` to ``highest``.
    """
    known = offered(tx)
    folded = {name.casefold() for name in names}
    found = next(
        (one for one in known.values() if {one["filter_id"].casefold(), one["title"].casefold()} & folded), None
    )
    added = []
    if found is None:
        filter_id = re.sub(r"[^a-z0-9]+", "-", names[-1].casefold()).strip("-")
        found = {"filter_id": filter_id, "description": "", "title": names[-1], "question": names[-1]}
        if choices:
            found |= {"type": "select", "data_type": "ChoiceID", "choices": {}}
        else:
            ends = {"min": 0 if lowest is None else lowest, "max": 10_000 if highest is None else highest}
            found |= {"type": "range", "data_type": "date" if isinstance(ends["min"], str) else "float", **ends}
        added.append(names[-1])
    if found["type"] == "select":
        present = {name.casefold() for name in found["choices"].values()}
        missing = [name for name in choices if name.casefold() not in present]
        start = len(found["choices"])
        more = {str(start + number): name for number, name in enumerate(missing)}
        found = {**found, "choices": {**found["choices"], **more}}
        added += [f"{found['title']}: {name}" for name in missing]
    if added:
        own = setting(tx.connection, "filters") or {}
        save_setting(tx.connection, "filters", {**own, found["filter_id"]: found})
    return added


def check_filters(tx: RequestTransaction, filters: Filters) -> None:
    """Refuse filters and choices that do not exist."""
    problems = [problem for one in filters if (problem := _problem(tx, one))]
    if problems:
        raise invalid(filters=problems)


def _problem(tx: RequestTransaction, one: Mapping[str, Any]) -> str | None:
    filter_id, chosen = one["filter_id"], one.get("selected_values")
    known = offered(tx).get(filter_id)
    if known is None:
        return f"Filter with id {filter_id} does not exist"
    if (known["type"] == "select") != (chosen is not None):
        return f"{filter_id} is a filter of type {known['type']}"
    if known["type"] == "range":
        return _range_problem(filter_id, known, one["selected_range"])
    if not chosen:
        return f"{filter_id}: expected one selected value or more"
    if filter_id in GROUP_LISTS:
        selectable = set(tx.connection.scalars(select(schema.groups.c.id)))
    elif filter_id in STUDY_LISTS:
        selectable = set(tx.connection.scalars(select(schema.studies.c.id)))
    elif filter_id in PERSON_LISTS:
        selectable = set(tx.connection.scalars(select(schema.participants.c.id)))
    else:
        selectable = set(known["choices"])
    unknown = [value for value in chosen if value not in selectable]
    return f"{filter_id}: {', '.join(unknown)} cannot be selected" if unknown else None


def _range_problem(filter_id: str, known: Mapping[str, Any], selected: Mapping[str, Any]) -> str | None:
    ends = [end for end in (selected.get("lower"), selected.get("upper")) if end is not None]
    if known["data_type"] != "date" and not all(isinstance(end, (int, float)) for end in ends):
        return f"{filter_id}: expected numbers"
    outside = [end for end in ends if not known["min"] <= end <= known["max"]]
    if outside:
        return f"{filter_id}: expected {known['min']} to {known['max']}, got {outside[0]}"
    if len(ends) == 2 and ends[0] > ends[1]:
        return f"{filter_id}: the lower end is above the upper"
    return None


def is_eligible(tx: RequestTransaction, filters: Filters, person_id: str, attributes: Mapping[str, Any]) -> bool:
    """Return whether a participant passes every filter; without the attribute they do not pass a filter on it."""
    return all(_passes(tx, one, person_id, attributes) for one in filters)


def _passes(tx: RequestTransaction, one: Mapping[str, Any], person_id: str, attributes: Mapping[str, Any]) -> bool:
    filter_id: str = one["filter_id"]
    chosen: list[str] = one.get("selected_values") or []
    if filter_id in PERSON_LISTS:
        return (person_id in chosen) == filter_id.endswith("allowlist")
    if filter_id in GROUP_LISTS:  # groups are read as they are now
        c = schema.members.c
        inside = select(c.group_id).where(c.group_id.in_(chosen), c.participant_id == person_id)
        return (tx.connection.scalar(inside.limit(1)) is not None) == filter_id.endswith("allowlist")
    if filter_id in STUDY_LISTS:
        if filter_id.endswith("blocklist"):
            return True  # read when the study was published: see ``excluded``
        return person_id in took_part(tx, chosen)
    value = attributes.get(filter_id)
    if value is None:
        return False
    if one.get("selected_values") is not None:
        return bool(set(chosen) & set(value if isinstance(value, list) else [value]))
    lower, upper = one["selected_range"].get("lower"), one["selected_range"].get("upper")
    return bool((lower is None or value >= lower) and (upper is None or value <= upper))


def took_part(tx: RequestTransaction, study_ids: Sequence[str]) -> set[str]:
    """Return the participants with a submission in any of the studies."""
    c = schema.submissions.c
    return set(tx.connection.scalars(select(c.participant_id).where(c.study_id.in_(study_ids))))


def excluded(tx: RequestTransaction, filters: Filters) -> list[str]:
    """Return the participants whom blocklists of earlier studies exclude at this moment."""
    blocked = [one["selected_values"] for one in filters if one["filter_id"] == "previous_studies_blocklist"]
    return sorted(took_part(tx, [study_id for chosen in blocked for study_id in chosen]))


def eligible(tx: RequestTransaction, filters: Filters) -> list[str]:
    """Return the ids of all participants who pass the filters, without test participants."""
    gone = set(excluded(tx, filters))
    rows = tx.rows(schema.participants, schema.participants.c.email.is_(None))
    return [row.id for row in rows if row.id not in gone and is_eligible(tx, filters, row.id, row.attributes)]


def add_participant(
    tx: RequestTransaction,
    attributes: Mapping[str, Any],
    *,
    email: str | None = None,
    participant_id: str | None = None,
) -> str:
    """Create a participant and return their id."""
    unknown = set(attributes) - set(offered(tx))
    if unknown:
        raise invalid(attributes=[f"no filter asks for {name}" for name in sorted(unknown)])
    if participant_id is not None and tx.rows(schema.participants, schema.participants.c.id == participant_id):
        raise EmulatorRequestError(409, "This person has joined already")
    given = {} if participant_id is None else {"id": participant_id}
    return str(tx.insert(schema.participants, **given, email=email, attributes=dict(attributes)).id)


def fitting(filters: Filters) -> dict[str, Any]:
    """Return attributes with which a participant passes the filters."""
    attributes: dict[str, Any] = {}
    for one in filters:
        if one["filter_id"] in (*STUDY_LISTS, *GROUP_LISTS, *PERSON_LISTS):
            continue
        if one.get("selected_values"):
            attributes[one["filter_id"]] = [one["selected_values"][0]]
        else:
            ends = (one["selected_range"].get("lower"), one["selected_range"].get("upper"))
            attributes[one["filter_id"]] = next(end for end in ends if end is not None)
    return attributes


def find_group(tx: RequestTransaction, group_id: str) -> Row[Any]:
    """Return a participant group, or refuse the request."""
    row = tx.find(schema.groups, group_id, "Participant group")
    if row.deleted and not tx.behaviour.deleted_groups_look_alive:
        raise not_found("Participant group", group_id)
    return row


def group_members(tx: RequestTransaction, group_id: str) -> list[dict[str, Any]]:
    """Return the members of a group as the platform lists them."""
    c = schema.members.c
    rows = tx.connection.execute(select(schema.members).where(c.group_id == group_id).order_by(c.since))
    return [{"participant_id": row.participant_id, "datetime_created": iso_time(row.since)} for row in rows]


def add_member(tx: RequestTransaction, group_id: str, participant_id: str) -> None:
    """Add a participant to a group; idempotent."""
    statement = upsert(schema.members).values(group_id=group_id, participant_id=participant_id, since=tx.now)
    tx.connection.execute(statement.on_conflict_do_nothing())


def remove_member(tx: RequestTransaction, group_id: str, participant_id: str) -> None:
    """Remove a participant from a group."""
    c = schema.members.c
    tx.connection.execute(delete(schema.members).where(c.group_id == group_id, c.participant_id == participant_id))
