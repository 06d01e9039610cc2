"""Statements that every request runs: written as all others are, compiled once, run on the driver's own cursor.

The library's way from a statement to its rows costs more than the database's; for a handful of
statements it is cut short. Values go in and come out as the driver has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect, Executable
from sqlalchemy.exc import DBAPIError


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A statement in the words of one database."""

    text: str
    constants: Mapping[str, object]  # the values that the statement itself names
    names: Sequence[str] | None  # of the parameters in order, where the driver takes them without names


class Prepared:
    """A statement with named parameters."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, Compiled] = {}  # by the name of the database

    def rows(self, connection: Connection, **values: object) -> list[tuple[Any, ...]]:
        """Run the statement and return all its rows; an error is the one that the library would raise."""
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name) or self._compile(dialect)
        given = {**compiled.constants, **values}
        parameters: Any = given if compiled.names is None else [given[name] for name in compiled.names]
        if not connection.in_transaction():
            connection.begin()  # as the library would before its first statement
        driver = connection.connection
        cursor = driver.cursor()
        try:
            cursor.execute(compiled.text, parameters)
            return [] if cursor.description is None else list(cursor.fetchall())
        except dialect.loaded_dbapi.Error as error:
            if dialect.is_disconnect(error, driver, cursor):
                connection.invalidate(error)
            raise DBAPIError(compiled.text, None, error) from error
        finally:
            cursor.close()

    def _compile(self, dialect: Dialect) -> Compiled:
        found = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        compiled = Compiled(text=found.string, constants=found.params, names=found.positiontup)
        self._compiled[dialect.name] = compiled
        return compiled
