"""Participant groups: lists of people that filters and codes name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, delete, func, select
from sqlalchemy.dialects.sqlite import insert as upsert

from prolific.emulator import schema
from prolific.emulator.errors import EmulatorRequestError, not_found
from prolific.emulator.ids import iso_time, new_id
from prolific.emulator.request_transaction import RequestTransaction

Group = Row[Any]


def find(tx: RequestTransaction, group_id: str) -> Group:
    """Return a group, or refuse."""
    row = tx.find(schema.groups, group_id, "Participant group")
    if row.deleted and not tx.behaviour.deleted_groups_look_alive:
        raise not_found("Participant group", group_id)
    return row


def create(
    tx: RequestTransaction, workspace_id: str, name: str, description: str | None, people: Sequence[str]
) -> Group:
    """Keep a new group."""
    group_id = new_id()
    tx.insert(schema.groups, id=group_id, workspace_id=workspace_id, name=name, description=description)
    add(tx, group_id, people)
    return find(tx, group_id)


def add(tx: RequestTransaction, group_id: str, people: Sequence[str]) -> None:
    """Add people who exist to a group; whoever is in it stays."""
    c = schema.participants.c
    known = set(tx.connection.scalars(select(c.id).where(c.id.in_(list(people)))))
    unknown = sorted(set(people) - known)
    if unknown:
        raise EmulatorRequestError(400, {"participant_ids": [f"no participant {person}" for person in unknown]})
    for person in people:
        add_member(tx, group_id, person)


def add_member(tx: RequestTransaction, group_id: str, participant_id: str) -> None:
    """Add one person to a group."""
    statement = upsert(schema.members).values(group_id=group_id, participant_id=participant_id, since=tx.now)
    tx.connection.execute(statement.on_conflict_do_nothing())


def remove_member(tx: RequestTransaction, group_id: str, participant_id: str) -> None:
    """Remove one person from a group."""
    c = schema.members.c
    tx.connection.execute(delete(schema.members).where(c.group_id == group_id, c.participant_id == participant_id))


def members(tx: RequestTransaction, group_id: str) -> list[dict[str, Any]]:
    """Return who is in a group as the platform lists them."""
    c = schema.members.c
    rows = tx.connection.execute(select(schema.members).where(c.group_id == group_id).order_by(c.since))
    return [{"participant_id": row.participant_id, "datetime_created": iso_time(row.since)} for row in rows]


def shown(tx: RequestTransaction, row: Group) -> dict[str, Any]:
    """Return a group as the platform shows it."""
    c = schema.members.c
    size = tx.connection.scalar(select(func.count()).where(c.group_id == row.id))
    return {
        "id": row.id,
        "name": row.name,
        "project_id": None,
        "workspace_id": row.workspace_id,
        "organisation_id": None,
        "description": row.description,
        "participant_count": size,
        "is_deleted": bool(row.deleted) and not tx.behaviour.deleted_groups_look_alive,
        "feeder_studies": [],
    }
