"""The mark by which whoever has counted visits knows that something changed in one that was counted for good.

A live study counts visits once and never again (:mod:`spa.responses.begun_order`). What undoes that is rare: somebody
is forgotten, simulated visits are deleted, a platform says that a visit is somebody else's or made after all, a place
without a limit of time is taken again. Each raises the mark in its own transaction, and everything is counted anew.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from spa.responses.database import note
from spa.responses.store_schema import meta

RECOUNTED = "recounted"  # the fact: how many times, a whole number
RESEATED = "reseated"  # another: how many times completed answers lost their place, or found one


def note_recount(connection: Connection) -> None:
    """Have everybody who has counted visits count them anew, once the caller's transaction is done."""
    _raise(connection, RECOUNTED)


def note_reseated(connection: Connection) -> None:
    """Say that completed answers are, or are no more, beside those that hold a place (``extra``)."""
    _raise(connection, RESEATED)


def _raise(connection: Connection, fact: str) -> None:
    known = connection.scalar(select(meta.c.value).where(meta.c.name == fact))
    note(connection, fact, str(int(known or 0) + 1))
