"""The database transaction of one request, and the settings of the store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from prolific.emulator import schema
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.errors import not_found


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

    def insert(self, table: Table, **values: Any) -> Any:
        """Insert a row and return its primary key."""
        key = self.connection.execute(insert(table).values(**values)).inserted_primary_key
        return None if key is None else key[0]

    def update(self, table: Table, row_id: str, **values: Any) -> None:
        """Change the row of an id."""
        self.connection.execute(update(table).where(table.c.id == row_id).values(**values))

    def schedule(self, kind: str, subject: Any) -> None:
        """Schedule a change after the platform's lag, or after some further requests."""
        self.insert(
            schema.jobs,
            kind=kind,
            subject=subject,
            due_at=self.now + self.behaviour.lag_seconds,
            due_request=self.request + self.behaviour.lag_requests,
        )


def setting(connection: Connection, name: str) -> Any:
    """Return a setting of the store."""
    return connection.scalar(select(schema.settings.c.value).where(schema.settings.c.name == name))


def save_setting(connection: Connection, name: str, value: Any) -> None:
    """Save a setting of the store."""
    statement = upsert(schema.settings).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))
