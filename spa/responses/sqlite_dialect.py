"""SQLite for SQLAlchemy as all databases of a process speak it: what a statement compiles to is kept for all of them.

An engine keeps it for itself alone, so that each store that is opened compiles the same statements anew: half of what
its short transactions take.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Pool, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.util import LRUCache

COMPILED: LRUCache[Any, Any] = LRUCache(1000)  # by dialect and statement; safe to use from several threads


class SharedSQLite(SQLiteDialect_pysqlite):
    """A dialect that equals all others of its kind, so that what was compiled for one is found by each."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register("sqlite.shared", __name__, SharedSQLite.__name__)


def sqlite_engine(connect: Callable[[], sqlite3.Connection], poolclass: type[Pool], **pool: int) -> Engine:
    """Return an engine with connections of one's own making."""
    known = {"compiled_cache": COMPILED}
    return create_engine("sqlite+shared://", creator=connect, poolclass=poolclass, execution_options=known, **pool)


def create_tables(connection: Connection, metadata: MetaData, *, checkfirst: bool = False) -> None:
    """Create all tables in a new file, or in another database, where ``checkfirst`` passes over those that exist.

    Listeners hear of a file's tables when all are there.
    """
    if connection.dialect.name != "sqlite":
        metadata.create_all(connection, checkfirst=checkfirst)
        return
    for statement in _creating(metadata):
        connection.exec_driver_sql(statement)
    for table in metadata.sorted_tables:
        table.dispatch.after_create(table, connection, checkfirst=False)


@cache
def _creating(metadata: MetaData) -> tuple[str, ...]:
    dialect, made = SharedSQLite(), list[str]()
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=dialect)))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        made += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    return tuple(made)
