"""The emulated platform: its store, its clock, and changes that fall due.

Requests are processed one at a time, each in its own transaction: a refused request leaves no changes, and those of an
answered one survive a kill.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine, bindparam, delete, event, insert, select, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import QueuePool

from prolific.emulator import bonuses, schema, studies, submission_review, submissions
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.request_transaction import RequestTransaction, new_id, save_setting, setting
from spa.errors import PlatformError
from spa.responses.sqlite_dialect import create_tables, sqlite_engine

ClockMode = Literal["manual", "real"]
PAID_IN = 10_000_000  # cents in the wallet of a new store
LOCK_WAIT = 10.0
DAY = 86_400.0
MINUTE = 60.0
KEPT = select(schema.settings.c.name, schema.settings.c.value).where(
    schema.settings.c.name.in_(("requests", "behaviour"))
)
ENABLED = select(schema.subscriptions.c.id).where(schema.subscriptions.c.enabled == 1).limit(1)
JOBS_DUE = (
    select(schema.jobs)
    .where((schema.jobs.c.due_at <= bindparam("now")) | (schema.jobs.c.due_request < bindparam("request")))
    .order_by(schema.jobs.c.number)
)
PLACES = (
    select(
        *(schema.submissions.c[name] for name in ("id", "status", "reserved_at", "started_at")), schema.studies.c.body
    )
    .join(schema.studies, schema.studies.c.id == schema.submissions.c.study_id)
    .where(schema.submissions.c.status.in_(submissions.OPEN))
)
REVIEWS_DUE = select(schema.submissions.c.id, schema.submissions.c.completed_at).where(
    schema.submissions.c.status == "AWAITING REVIEW", schema.submissions.c.completed_at <= bindparam("moment")
)
Due = tuple[float, str, Any, int | None]  # when, what, of what, and the number of its job


class EmulatedPlatform:
    """An emulated platform and its store, an SQLite file that is created if missing.

    A manual ``clock`` stands still until it is advanced; a real one runs, and can be advanced, too. Without a ``token``
    any is accepted. ``project`` is the id of the project in a new store, by default random, and ``currency`` that of
    its workspace.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: ClockMode = "real",
        token: str | None = None,
        project: str | None = None,
        currency: str = "USD",
    ) -> None:
        self.path = path
        self.clock = clock
        self.token = token
        self.woken = threading.Event()  # set when something may have to be delivered
        self._lock = threading.RLock()
        self._engine = _open(path)
        with self._begin() as connection:
            _prepare(connection, path, project or new_id(), currency)
            self._now, self._ahead = (float(setting(connection, name)) for name in ("now", "ahead"))

    def time(self) -> float:
        """Return the platform's time, in seconds since 1970."""
        return self._now if self.clock == "manual" else time.time() + self._ahead

    @contextmanager
    def transaction(
        self, *, counts: bool = True, wakes: bool = True, applies_changes: bool = True
    ) -> Iterator[RequestTransaction]:
        """Yield a transaction that is committed on leaving.

        It ``counts`` as a request to the API, after some of which delayed work is done; it ``wakes`` the delivery of
        events; and it first ``applies_changes`` that are due, which stay when what follows is refused.
        """
        with self._lock:
            with self._begin() as connection:
                tx = self._transaction(connection, counts=counts)
                applied = applies_changes and apply_scheduled_changes(tx)
                if not applied:
                    yield tx
            if applied:
                with self._begin() as connection:
                    yield replace(tx, connection=connection)
        if wakes:
            self.woken.set()

    def advance(self, seconds: float) -> float:
        """Advance the clock, apply all changes that fall due, and return the new time."""
        with self._lock:
            manual = self.clock == "manual"
            now, ahead = self._now + (seconds if manual else 0), self._ahead + (0 if manual else seconds)
            with self._begin() as connection:
                save_setting(connection, "now", now)
                save_setting(connection, "ahead", ahead)
            self._now, self._ahead = now, ahead
            with self.transaction(counts=False) as tx:
                return tx.now

    def projects(self) -> dict[str, str]:
        """Return the ids of all projects, each with the currency in which its workspace pays."""
        project, workspace = schema.projects.c, schema.workspaces.c
        query = select(project.id, workspace.currency).where(project.workspace_id == workspace.id)
        with self._lock, self._begin() as connection:
            return {row.id: row.currency for row in connection.execute(query)}

    def is_subscribed_to(self) -> bool:
        """Return whether anybody gets events: without an enabled subscription none are made or delivered."""
        with self._lock, self._begin() as connection:
            return connection.scalar(ENABLED) is not None

    def close(self) -> None:
        """Close the store."""
        self._engine.dispose()

    def _transaction(self, connection: Connection, *, counts: bool) -> RequestTransaction:
        kept = {row.name: row.value for row in connection.execute(KEPT)}
        request = kept["requests"] + (1 if counts else 0)
        if counts:
            save_setting(connection, "requests", request)
        behaviour = Behaviour.model_validate(kept["behaviour"])
        return RequestTransaction(connection=connection, now=self.time(), request=request, behaviour=behaviour)

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except DatabaseError as error:
            raise _not_a_store(self.path, error.orig) from error


def _prepare(connection: Connection, path: Path, project: str, currency: str) -> None:
    known = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
    if known and "hook_subscriptions" not in known:
        raise _not_a_store(path, "another database")
    if known:
        schema.metadata.create_all(connection)
    else:
        create_tables(connection, schema.metadata)
    if setting(connection, "requests") is not None:
        return
    behaviour = Behaviour().model_dump(mode="json")
    for name, value in {"requests": 0, "ahead": 0.0, "now": time.time(), "behaviour": behaviour}.items():
        save_setting(connection, name, value)
    workspace = {"id": new_id(), "title": "Emulated workspace", "currency": currency, "paid_in": PAID_IN}
    connection.execute(insert(schema.workspaces).values(**workspace))
    named = {"id": project, "title": "Emulated project"}
    connection.execute(insert(schema.projects).values(workspace_id=workspace["id"], **named))
    save_setting(connection, "user", new_id())


def _not_a_store(path: Path, found: object) -> PlatformError:
    return PlatformError(f"{path}: expected the store of an emulated platform, got {found}; name another file")


def _open(path: Path) -> Engine:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise PlatformError(f"{path}: expected a file for the emulated platform's store in a folder that exists")
    path.touch(mode=0o600)

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing; a power cut may
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = sqlite_engine(connect, QueuePool, pool_size=2)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def apply_scheduled_changes(tx: RequestTransaction) -> bool:
    """Apply all changes that are due, the earliest first, each at its own time; tell whether there were any."""
    applied = False
    while True:
        found = [*_due_jobs(tx), *_due_places(tx), *_due_reviews(tx)]
        if not found:
            return applied
        applied = True
        moment, kind, subject, job = min(found, key=lambda one: one[0])
        if job is not None:
            tx.connection.execute(delete(schema.jobs).where(schema.jobs.c.number == job))
        _do(tx.at(moment), kind, subject)


def _do(tx: RequestTransaction, kind: str, subject: Any) -> None:
    match kind:
        case "place":
            submissions.time_out(tx, subject)
        case "review":
            submission_review.approve(tx, submissions.find(tx, subject))
        case "publish":
            studies.become_active(tx, subject)
        case "approve":
            submission_review.approve_each(tx, subject)
        case "pay":
            bonuses.mark_paid(tx, subject)
        case "leave_processing":
            submissions.leave_processing(tx, *subject)


def _due_jobs(tx: RequestTransaction) -> Iterator[Due]:
    for row in tx.connection.execute(JOBS_DUE, {"now": tx.now, "request": tx.request}):
        yield min(row.due_at, tx.now), row.kind, row.subject, row.number


def _due_places(tx: RequestTransaction) -> Iterator[Due]:
    for row in tx.connection.execute(PLACES):
        if row.status == "RESERVED":
            end = row.reserved_at + tx.behaviour.reservation_seconds
        else:
            end = row.started_at + row.body["maximum_allowed_time"] * MINUTE
        if end <= tx.now:
            yield end, "place", row.id, None


def _due_reviews(tx: RequestTransaction) -> Iterator[Due]:
    wait = tx.behaviour.automatic_approval_days * DAY
    for row in tx.connection.execute(REVIEWS_DUE, {"moment": tx.now - wait}):
        yield row.completed_at + wait, "review", row.id, None
