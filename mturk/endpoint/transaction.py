"""A transaction of the endpoint, with its time and the host's rules."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, Row, Table, insert, update

from mturk.fees import FeeRules

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """The host's settings."""

    fees: FeeRules = "none"
    lag: float = 0.0  # seconds until a new object shows in lists and can be changed; only for emulators
    private_hooks: bool = False  # whether events may be sent to private addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A database transaction at a point in time."""

    connection: Connection
    now: float  # seconds since 1970
    rules: HostRules

    def first(self, statement: Executable, **parameters: object) -> Row[Any] | None:
        """Return the first row of a result, or None."""
        return self.connection.execute(statement, parameters).first()

    def insert(self, table: Table, **values: object) -> None:
        """Insert a row."""
        self.connection.execute(insert(table).values(**values))

    def update(self, table: Table, *conditions: ColumnElement[bool], **values: object) -> int:
        """Update the rows that meet all conditions, and return their number."""
        return self.connection.execute(update(table).where(*conditions).values(**values)).rowcount


def new_id(first: str = "3", length: int = 30) -> str:
    """Return a random id of capital letters and digits.

    >>> len(new_id("A", 14))
    14
    """
    missing = length - len(first)
    number = secrets.randbelow(len(LETTERS) ** missing)  # one call for all letters: asking the system for each is slow
    letters = []
    for _ in range(missing):
        number, place = divmod(number, len(LETTERS))
        letters.append(LETTERS[place])
    return first + "".join(letters)
