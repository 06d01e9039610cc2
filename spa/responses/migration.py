"""Migrate stores of earlier releases; the old tables are kept.

The present tables are made and filled from the old ones column by column, by name, in one transaction, so that an
interruption leaves the old store or the new one. An SQLite file is copied beside itself first, and nobody else may
have it open meanwhile; PostgreSQL moves the old tables into a schema of their own.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, Table, cast, func, insert, inspect, select, text, update

from spa.errors import ResponseError
from spa.responses import database
from spa.responses.database import Target
from spa.responses.log_mark import COMPLETE
from spa.responses.sqlite_dialect import create_tables

LOCK = 7_302_114_560  # of PostgreSQL, so that one process at a time migrates
log = logging.getLogger(__name__)
Former = Mapping[str, Table]  # the old tables by their names


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The tables of one kind of store, and how they are filled from those of its earlier versions.

    Columns that are new must take NULL or have a server default. ``derive`` runs after the rows were copied
    and works out what an earlier version did not keep, or kept in another form.
    """

    version: int
    metadata: MetaData
    facts: Table  # with the columns name and value
    fact: str  # the name of the version among them
    dropped: tuple[str, ...] = ()  # tables that only earlier versions had
    derive: Callable[[Connection, int, Former], None] = lambda *_: None  # the rows stay as they were copied

    def is_current(self, version: str | None, name: str) -> bool:
        """Return whether a store is of this version; one that cannot be migrated is a ``ResponseError``."""
        expected = f"{name}: expected a store of version {self.version} or earlier"
        if version is None or not version.isdecimal():
            got = "none" if version is None else f"{version[:20]!r}"
            raise ResponseError(f"{expected}, got {got}; name a store that spa-eval made")
        if int(version) > self.version:
            raise ResponseError(f"{expected}, got version {version[:20]} of a newer spa-eval; upgrade spa-eval")
        return int(version) == self.version

    def version_of(self, connection: Connection) -> str | None:
        """Return the version of a store."""
        return connection.scalar(select(self.facts.c.value).where(self.facts.c.name == self.fact))


def migrate(where: Target, schema: Schema, *, wait: float) -> None:
    """Make a store of an earlier version one of the present; does nothing where another process has done it.

    Raise ResponseError if somebody else has it open for longer than ``wait`` seconds, or it cannot be written.
    """
    with database.database_errors(f"{where.name}: migrating it to version {schema.version}"):
        if where.path is not None:
            done = _migrate_file(where.path, schema, wait)
        else:
            done = _migrate_server(where, schema, wait)
    if done is not None:
        log.warning("migrated store %s from version %s to %s; the old one is kept as %s", where.name, *done)


def _migrate_file(path: Path, schema: Schema, wait: float) -> tuple[str, int, str] | None:
    with database.exclusive_connection(path, wait=wait) as connection:
        found = str(schema.version_of(connection))
        if schema.is_current(found, str(path)):
            return None
        copy = _copy(connection, path, found)
        connection.exec_driver_sql("ATTACH ? AS former", (f"{database.address(copy)}?immutable=1",))
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        for name in _tables(connection, schema, "main"):
            connection.exec_driver_sql(f'DROP TABLE main."{name}"')
        _fill(connection, schema, int(found), "former")
        connection.exec_driver_sql(f"PRAGMA main.user_version = {COMPLETE}")  # nobody else has it open
        connection.exec_driver_sql("COMMIT")
    return found, schema.version, str(copy)


def _copy(connection: Connection, path: Path, version: str) -> Path:
    names = (f"{path.stem}.version-{version}{'' if again == 1 else f'.{again}'}{path.suffix}" for again in count(1))
    copy = next(place for place in map(path.with_name, names) if not os.path.lexists(place))
    with database.created_file(copy) as temporary, closing(sqlite3.connect(temporary)) as backup:
        driver: Any = connection.connection.driver_connection
        driver.backup(backup)
        backup.execute(f"PRAGMA user_version = {COMPLETE}")
    return copy


def _migrate_server(where: Target, schema: Schema, wait: float) -> tuple[str, int, str] | None:
    engine = database.open_engine(where, read_only=False, wait=wait)
    if engine.dialect.name != "postgresql":
        raise ResponseError(f"{where.name}: expected SQLite or PostgreSQL to migrate a store in; build a new store")
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})
            found = str(schema.version_of(connection))
            if schema.is_current(found, where.name):
                return None
            connection.execute(text(f"SET LOCAL lock_timeout = {round(1000 * wait)}"))
            taken = inspect(connection).get_schema_names()
            names = (f"version_{found}{'' if again == 1 else f'_{again}'}" for again in count(1))
            former = next(name for name in names if name not in taken)
            moved = list(_tables(connection, schema, None))
            connection.exec_driver_sql(f"CREATE SCHEMA {former}")
            for name in moved:
                connection.exec_driver_sql(f'ALTER TABLE "{name}" SET SCHEMA {former}')
            _fill(connection, schema, int(found), former)
    finally:
        engine.dispose()
    return found, schema.version, f"schema {former} of the same database"


def _tables(connection: Connection, schema: Schema, within: str | None) -> Iterator[str]:
    there = inspect(connection).get_table_names(schema=within)
    yield from (name for name in (*schema.metadata.tables, *schema.dropped) if name in there)


def _fill(connection: Connection, schema: Schema, version: int, former: str) -> None:
    create_tables(connection, schema.metadata)
    reflected = MetaData()
    only = list(_tables(connection, schema, former))
    reflected.reflect(connection, schema=former, only=only, resolve_fks=False)
    old = {name: reflected.tables[f"{former}.{name}"] for name in only}
    for table in schema.metadata.sorted_tables:
        if table.name in old:
            shared = [column for column in table.columns if column.name in old[table.name].c]
            rows = select(*(_read_as(column, old[table.name].c[column.name]) for column in shared))
            connection.execute(insert(table).from_select([column.name for column in shared], rows))
    schema.derive(connection, version, old)
    for table in schema.metadata.sorted_tables:
        if connection.dialect.name == "postgresql" and table.autoincrement_column is not None:
            _go_on_counting(connection, table, table.autoincrement_column)
    own = schema.facts.c.name == schema.fact
    connection.execute(update(schema.facts).where(own).values(value=str(schema.version)))


def _read_as(column: Column[Any], old: Column[Any]) -> Any:
    """Read a column that was text where the present one keeps bytes."""
    if isinstance(column.type, String) or not isinstance(old.type, String):
        return old
    return cast(old, column.type) if old.table.schema == "former" else func.convert_to(old, "UTF8")


def _go_on_counting(connection: Connection, table: Table, column: Column[Any]) -> None:
    counter = func.pg_get_serial_sequence(table.name, column.name)
    connection.execute(select(func.setval(counter, func.coalesce(func.max(column), 0) + 1, False)))
