"""What visits add to a live study, kept beside their answers, so that a server that starts reads few of them again.

Whoever reads visits (:mod:`analysis.live.visit_reader`) writes what came of it, in words of its own and under a version
that names all that it hangs on besides the visit. It follows from the answers at any time: the table is made with the
first entry, and nothing is lost with it. What the answers no longer say goes with them, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Column, Connection, MetaData, String, Table, Text, bindparam, delete, insert, inspect, select

from spa.responses.begun_order import counting_facts
from spa.responses.database import Database
from spa.responses.leases import lock_leases
from spa.responses.prepared_statements import PreparedStatement

_units = Table(
    "visit_units",
    MetaData(),
    Column("submission_id", String, primary_key=True),
    Column("version", String, nullable=False),
    Column("record", Text, nullable=False),  # JSON
)
_COLUMNS = tuple(column.name for column in _units.columns)
_OF_VERSION = PreparedStatement(
    select(_units.c.submission_id, _units.c.record).where(_units.c.version == bindparam("version"))
)
_DROP = PreparedStatement(delete(_units).where(_units.c.submission_id == bindparam("submission_id")))
_ADD = PreparedStatement(insert(_units))


def read_units(connection: Connection, version: str) -> dict[str, str]:
    """Return what is kept under a version, by submission id."""
    if not inspect(connection).has_table(_units.name):
        return {}
    return dict(_OF_VERSION.rows(connection, version=version))


def keep_units(store: Database, units: Mapping[str, str], version: str, *, recounts: int) -> bool:
    """Keep what visits add, by submission id, in the place of what was kept of them; return whether that was done.

    It is not where the store's mark of recounts (:mod:`spa.responses.recounts`) is another than when they were read:
    some of their answers may have been deleted since.
    """
    with store.transaction() as connection:
        lock_leases(connection)
        if counting_facts(connection).recounts != recounts:
            return False
        _units.create(connection, checkfirst=True)
        _DROP.run_many(connection, _COLUMNS[:1], [(name,) for name in units])
        _ADD.run_many(connection, _COLUMNS, [(name, version, record) for name, record in units.items()])
    return True


def drop_units(connection: Connection, submission_ids: Collection[str]) -> None:
    """Delete what is kept of visits whose answers change or go, inside the transaction that changes them."""
    if submission_ids and inspect(connection).has_table(_units.name):
        _DROP.run_many(connection, _COLUMNS[:1], [(name,) for name in submission_ids])
