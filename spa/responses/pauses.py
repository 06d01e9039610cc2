"""Whether a study is paused: nobody new comes in by links and panels, and whoever is at work finishes."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from spa.responses.database import Database
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import meta

PAUSED = "paused_since"  # a fact of the store: seconds since 1970; empty once it goes on
PAUSED_LINE = "paused: nobody new comes in by links and panels until `spa resume`"
_PAUSED = PreparedStatement(select(meta.c.value).where(meta.c.name == bindparam("fact")))


def is_paused(connection: Connection) -> bool:
    """Return whether the study is paused, inside the caller's transaction."""
    return any(value for (value,) in _PAUSED.rows(connection, fact=PAUSED))


def paused_since(store: Database) -> float | None:
    """Return since when the study is paused, in seconds since 1970; ``None`` if it is not."""
    since = store.meta(PAUSED)
    return float(since) if since else None


def pause(store: Database, *, now: float) -> float:
    """Let nobody new in, and return since when that is so."""
    since = paused_since(store)
    if since is None:
        store.set_meta(PAUSED, repr(now))
    return now if since is None else since


def resume(store: Database) -> float | None:
    """Let people in again, and return since when the study was paused; ``None`` if it was not."""
    since = paused_since(store)
    if since is not None:
        store.set_meta(PAUSED, "")
    return since
