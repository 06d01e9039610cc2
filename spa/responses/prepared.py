"""Statements that every request runs: written as all others are, compiled once, run on the driver's own cursor.

The library's way from a statement to its rows costs more than the database's; for a handful of
statements it is cut short. Values go in and come out as the driver has them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler


class Prepared:
    """A statement with named parameters."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, SQLCompiler] = {}  # by the name of the database

    def rows(self, connection: Connection, **values: object) -> list[tuple[Any, ...]]:
        """Run the statement and return all its rows; an error is the one that the library would raise."""
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        given = {**compiled.params, **values}
        names = compiled.positiontup
        parameters: Any = given if names is None else [given[name] for name in names]
        if not connection.in_transaction():
            connection.begin()  # as the library would before its first statement
        driver = connection.connection
        cursor = driver.cursor()
        try:
            cursor.execute(compiled.string, parameters)
            return [] if cursor.description is None else list(cursor.fetchall())
        except dialect.loaded_dbapi.Error as error:
            if dialect.is_disconnect(error, driver, cursor):
                connection.invalidate(error)
            raise DBAPIError(compiled.string, None, error) from error
        finally:
            cursor.close()
