"""Statements that every request runs: written as all others are, compiled once, run on the driver's own cursor.

The library's way from a statement to its rows costs more than the database's; for a handful of
statements it is cut short. Values go in and come out as the driver has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect, Executable
from sqlalchemy.exc import DBAPIError


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledStatement:
    """A statement in the words of one database."""

    text: str
    constants: Mapping[str, object]  # the values that the statement itself names
    names: Sequence[str] | None  # of the parameters in order, where the driver takes them without names


class PreparedStatement:
    """A statement with named parameters."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, CompiledStatement] = {}  # by the name of the database

    def rows(self, connection: Connection, **values: object) -> list[tuple[Any, ...]]:
        """Run the statement and return all its rows; an error is the one that the library would raise."""
        compiled = self._compiled_for(connection.dialect)
        given = {**compiled.constants, **values}
        parameters: Any = given if compiled.names is None else [given[name] for name in compiled.names]
        with _cursor(connection, compiled.text) as cursor:
            cursor.execute(compiled.text, parameters)
            return [] if cursor.description is None else list(cursor.fetchall())

    def run_many(self, connection: Connection, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Run the statement once for each row of values, which stand in the order of ``names``."""
        compiled = self._compiled_for(connection.dialect)
        given: Sequence[Any] = rows
        if compiled.names is None:
            given = [dict(zip(names, row, strict=True)) for row in rows]
        elif list(compiled.names) != list(names):
            places = [names.index(name) for name in compiled.names]
            given = [[row[place] for place in places] for row in rows]
        with _cursor(connection, compiled.text) as cursor:
            cursor.executemany(compiled.text, given)

    def _compiled_for(self, dialect: Dialect) -> CompiledStatement:
        found = self._compiled.get(dialect.name)
        if found is None:
            statement = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]
            found = CompiledStatement(text=statement.string, constants=statement.params, names=statement.positiontup)
            self._compiled[dialect.name] = found
        return found


@contextmanager
def _cursor(connection: Connection, text: str) -> Iterator[Any]:
    """Yield the driver's cursor in a transaction; what it complains of is raised as the library would."""
    if not connection.in_transaction():
        connection.begin()  # as the library would before its first statement
    dialect, driver = connection.dialect, connection.connection
    cursor = driver.cursor()
    try:
        yield cursor
    except dialect.loaded_dbapi.Error as error:
        if dialect.is_disconnect(error, driver, cursor):
            connection.invalidate(error)
        raise DBAPIError(text, None, error) from error
    finally:
        cursor.close()
