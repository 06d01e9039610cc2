"""The database transaction of one request, the settings of the store, and ids and times in the platform's format."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, bindparam, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from prolific.emulator import schema
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.errors import not_found

PATTERN = r"^[a-f\d]{24}$"
SETTING = select(schema.settings.c.value).where(schema.settings.c.name == bindparam("name"))
UPSERTED = upsert(schema.settings)
SAVED = UPSERTED.on_conflict_do_update(index_elements=["name"], set_={"value": UPSERTED.excluded.value})


def new_id() -> str:
    """Return a new id: 24 hexadecimal digits."""
    return secrets.token_hex(12)


def iso_time(seconds: float | None) -> str | None:
    """Return a time as the platform writes it.

    >>> iso_time(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTransaction:
    """The database transaction of one request, its time, and the platform's behaviour."""

    connection: Connection
    now: float  # seconds since 1970, by the emulated clock
    request: int  # how many requests have come, this one included
    behaviour: Behaviour

    def at(self, moment: float) -> RequestTransaction:
        """Return the same transaction at another time."""
        return replace(self, now=moment)

    def find(self, table: Table, row_id: str, name: str) -> Row[Any]:
        """Return the row of an id, or refuse the request with 404."""
        row = self.connection.execute(select(table).where(table.c.id == row_id)).one_or_none()
        if row is None:
            raise not_found(name, row_id)
        return row

    def rows(self, table: Table, *conditions: ColumnElement[bool], newest_first: bool = False) -> Sequence[Row[Any]]:
        """Return the rows that meet all conditions in the order in which they were made."""
        order = table.c.number.desc() if newest_first else table.c.number
        return self.connection.execute(select(table).where(*conditions).order_by(order)).all()

    def insert(self, table: Table, **values: Any) -> Row[Any]:
        """Insert a row, with a new id where it has one and none is given, and return it."""
        made = {"id": new_id()} if "id" in table.c else {}
        return self.connection.execute(insert(table).values(**{**made, **values}).returning(*table.c)).one()

    def update(self, table: Table, row_id: str, **values: Any) -> Row[Any]:
        """Change the row of an id and return it."""
        return self.connection.execute(
            update(table).where(table.c.id == row_id).values(**values).returning(*table.c)
        ).one()

    def schedule(self, kind: str, subject: Any) -> None:
        """Schedule a change after the platform's lag, or after some further requests."""
        due_at, due_request = self.now + self.behaviour.lag_seconds, self.request + self.behaviour.lag_requests
        self.insert(schema.jobs, kind=kind, subject=subject, due_at=due_at, due_request=due_request)

    def publish_event(self, workspace_id: str, event_type: str, resource_id: str, **facts: Any) -> None:
        """Queue a webhook event for every confirmed subscription."""
        c = schema.subscriptions.c
        subscribed = (c.workspace_id == workspace_id, c.event_type == event_type, c.enabled == 1)
        for subscription in self.rows(schema.subscriptions, *subscribed):
            self.insert(
                schema.events,
                subscription_id=subscription.id,
                created_at=self.now,
                updated_at=self.now,
                resource_id=resource_id,
                payload={"event_type": event_type, "resource_id": resource_id, **facts},
                status="PENDING",
                due_at=self.now,
            )


def fields(row: Row[Any], *names: str) -> dict[str, Any]:
    """Return some columns of a row by name."""
    return {name: getattr(row, name) for name in names}


def setting(connection: Connection, name: str) -> Any:
    """Return a setting of the store."""
    return connection.scalar(SETTING, {"name": name})


def save_setting(connection: Connection, name: str, value: Any) -> None:
    """Save a setting of the store."""
    connection.execute(SAVED, {"name": name, "value": value})
