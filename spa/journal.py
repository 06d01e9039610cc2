"""The write-ahead record of calls that cost money or create something outside.

A call is on disk before it is made, and its outcome in the same transaction as whatever follows
from it. After a kill a call that began and did not finish is there to be seen: nobody knows
whether it took effect, so that it is never silently made again as the same attempt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sqlalchemy import Connection, Row, Select, bindparam, insert, select, update

from spa.errors import ResponseError
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store import Store
from spa.responses.store_schema import journal, to_bytes

STARTED = "started"
# Statements that are run for every call, built once
_BEGIN = PreparedStatement(
    insert(journal).values(
        {
            "outcome": STARTED,
            "facts": "{}",
            **{name: bindparam(name) for name in ("kind", "scope", "key", "attempt", "begun_at", "request")},
        }
    )
)
_FINISH = PreparedStatement(
    update(journal)
    .where(
        journal.c.kind == bindparam("of_kind"),
        journal.c.scope == bindparam("of_scope"),
        journal.c.key == bindparam("of_key"),
        journal.c.attempt == bindparam("of_attempt"),
        journal.c.outcome == STARTED,
    )
    .values({name: bindparam(name) for name in ("outcome", "response", "finished_at", "facts")})
    .returning(journal.c.number)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One call to something outside, before (``outcome`` "started") or after.

    ``kind`` is the bridge ("llm", a platform's, ...), ``scope`` what the call belongs to (a visit, a
    study), ``key`` what it is for: the same purpose has the same key, and ``attempt`` counts the calls
    made for it.
    """

    kind: str
    scope: str
    key: str
    attempt: int  # 1, 2, ...
    request: str  # what is sent, JSON, without secrets
    begun_at: float  # seconds since 1970
    outcome: str = STARTED
    response: str | None = None  # what arrived, verbatim; None where nothing did
    finished_at: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # tokens, cost, model, ...

    @property
    def seconds(self) -> float | None:
        """How long the call took."""
        return None if self.finished_at is None else self.finished_at - self.begun_at


class Journal:
    """The calls of one store. Methods that take a connection run inside the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, kind: str, scope: str, key: str, request: str) -> JournalEntry:
        """Write down that a call is about to be made; it is on disk when this returns."""
        with self._store.transaction() as connection:
            return begin(connection, kind, scope, key, request)

    def finish(self, call: JournalEntry, outcome: str, *, response: str | None = None, **facts: Any) -> JournalEntry:
        """Write down what came of a call; it is on disk when this returns."""
        with self._store.transaction() as connection:
            return finish(connection, call, outcome, response=response, facts=facts)

    def calls(self, kind: str, scope: str, key: str | None = None) -> tuple[JournalEntry, ...]:
        """Return the calls of one scope, and of one key where it is given, in the order in which they began."""
        query = _select().where(journal.c.kind == kind, journal.c.scope == scope)
        with self._store.reading() as connection:
            found = connection.execute(query if key is None else query.where(journal.c.key == key))
            return tuple(_call(row) for row in found)

    def every(self, kind: str) -> Iterator[JournalEntry]:
        """Yield all calls of a kind in the order in which they began."""
        for row in self._store.stream(_select().where(journal.c.kind == kind)):
            yield _call(row)

    def facts(self, kind: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield scope, outcome and facts of all calls of a kind, without what was sent and what arrived."""
        query = select(journal.c.scope, journal.c.outcome, journal.c.facts).where(journal.c.kind == kind)
        for row in self._store.stream(query):
            yield row.scope, row.outcome, cast(dict[str, Any], json.loads(row.facts))

    def unfinished(self, kind: str) -> tuple[JournalEntry, ...]:
        """Return the calls whose outcome is unknown."""
        with self._store.reading() as connection:
            found = connection.execute(_select().where(journal.c.kind == kind, journal.c.outcome == STARTED))
            return tuple(_call(row) for row in found)


def begin(
    connection: Connection, kind: str, scope: str, key: str, request: str, *, attempt: int | None = None
) -> JournalEntry:
    """Write down that a call is about to be made, as the next attempt of its key.

    ``attempt`` is its number where the caller has read all calls of the key; a number that is taken is
    refused by the database.
    """
    if attempt is None:
        own = journal.c.kind == kind, journal.c.scope == scope, journal.c.key == key
        last = connection.scalar(select(journal.c.attempt).where(*own).order_by(journal.c.attempt.desc()).limit(1))
        attempt = (last or 0) + 1
    call = JournalEntry(kind=kind, scope=scope, key=key, attempt=attempt, request=request, begun_at=time.time())
    _BEGIN.rows(
        connection,
        kind=kind,
        scope=scope,
        key=key,
        attempt=attempt,
        begun_at=call.begun_at,
        request=to_bytes(request),
    )
    return call


def calls_of(connection: Connection, kind: str, scopes: Sequence[str]) -> dict[str, tuple[JournalEntry, ...]]:
    """Return the calls of several scopes, by scope, in the order in which they began."""
    query = _select().where(journal.c.kind == kind, journal.c.scope.in_(scopes))
    gathered: dict[str, list[JournalEntry]] = {}
    for row in connection.execute(query):
        gathered.setdefault(row.scope, []).append(_call(row))
    return {scope: tuple(calls) for scope, calls in gathered.items()}


def finish(
    connection: Connection, call: JournalEntry, outcome: str, *, response: str | None, facts: Mapping[str, Any]
) -> JournalEntry:
    """Write down what came of a call, once; see :func:`keep`."""
    done = ended(call, outcome, response=response, facts=facts)
    keep(connection, done)
    return done


def ended(call: JournalEntry, outcome: str, *, response: str | None, facts: Mapping[str, Any]) -> JournalEntry:
    """Return a call with what came of it now; :func:`keep` writes it down."""
    return replace(call, outcome=outcome, response=response, finished_at=time.time(), facts=dict(facts))


def keep(connection: Connection, done: JournalEntry) -> None:
    """Write down a call that has ended, once.

    Raise ResponseError if the call was never begun, or has an outcome already.
    """
    changed = _FINISH.rows(
        connection,
        of_kind=done.kind,
        of_scope=done.scope,
        of_key=done.key,
        of_attempt=done.attempt,
        outcome=done.outcome,
        response=None if done.response is None else to_bytes(done.response),
        finished_at=done.finished_at,
        facts=json.dumps(done.facts, sort_keys=True, ensure_ascii=True),
    )
    if len(changed) != 1:
        raise ResponseError(
            f"journal: attempt {done.attempt} of {done.kind} {done.scope} {done.key} must be begun and not "
            "finished, got another state; is the same command running twice?"
        )


def _select() -> Select[Any]:
    return select(journal).order_by(journal.c.number)


def _call(row: Row[Any]) -> JournalEntry:
    known = {name: value for name, value in row._mapping.items() if name != "number"}
    return JournalEntry(**{**known, "facts": cast(dict[str, Any], json.loads(row.facts))})
