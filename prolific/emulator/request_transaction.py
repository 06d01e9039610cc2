"""One request's share of the emulated platform, and the settings of its store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from prolific.emulator import schema
from prolific.emulator.behaviour import Behaviour


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTransaction:
    """One request's share of the platform: its transaction, its moment, and how the platform behaves."""

    connection: Connection
    now: float  # seconds since 1970, by the emulated clock
    request: int  # how many requests have come, this one included
    behaviour: Behaviour

    def at(self, moment: float) -> RequestTransaction:
        """Return the same transaction at another time: things fall due in their order, not when somebody looks."""
        return replace(self, now=moment)


def setting(connection: Connection, name: str) -> Any:
    """Return a setting of the store."""
    return connection.scalar(select(schema.settings.c.value).where(schema.settings.c.name == name))


def save_setting(connection: Connection, name: str, value: Any) -> None:
    """Save a setting of the store."""
    statement = upsert(schema.settings).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def save_behaviour(tx: RequestTransaction, behaviour: Behaviour) -> None:
    """Save how the platform behaves from the next request on."""
    save_setting(tx.connection, "behaviour", behaviour.model_dump(mode="json"))


def save_row(connection: Connection, table: Any, row_id: str, **values: Any) -> None:
    """Change the row of an id."""
    connection.execute(update(table).where(table.c.id == row_id).values(**values))
