"""An endpoint: its store, clock and rules, transactions, and changes that fall due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from heapq import merge
from typing import TypeVar

from sqlalchemy import Connection, bindparam, select

from mturk.endpoint.assignments import ACCEPTED, abandoned
from mturk.endpoint.hits import disposed, expired, released
from mturk.endpoint.repository import find_assignment, find_hit, find_type, record_event, save_assignment, save_hit
from mturk.endpoint.review import approve_by_time
from mturk.endpoint.schema import assignments, hits
from mturk.endpoint.store import EndpointStore
from mturk.endpoint.transaction import HostRules, Transaction

T = TypeVar("T")
Clock = Callable[[], float]  # seconds since 1970
AT_ONCE = 500
DUE_ASSIGNMENTS = (
    select(assignments.c.due_at, assignments.c.assignment_id)
    .where(assignments.c.due_at <= bindparam("now"))
    .order_by(assignments.c.due_at, assignments.c.number)
    .limit(AT_ONCE)
)
DUE_HITS = (
    select(hits.c.due_at, hits.c.hit_id)
    .where(hits.c.due_at <= bindparam("now"))
    .order_by(hits.c.due_at, hits.c.number)
    .limit(AT_ONCE)
)


class MTurkService:
    """Runs work in transactions on a store, after the changes that have fallen due."""

    def __init__(self, store: EndpointStore, *, clock: Clock, rules: HostRules, alone: bool = True) -> None:
        self.store = store
        self.clock = clock
        self.rules = rules
        self.alone = alone

    def change_rules(self, **changes: object) -> None:
        """Change the rules."""
        self.rules = replace(self.rules, **changes)  # type: ignore[arg-type]

    def call(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a transaction and return its result when it is on disk."""
        return self.store.call(partial(self._in_transaction, work))

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` as :meth:`call` does, without blocking the event loop."""
        return await self.store.run(partial(self._in_transaction, work))

    def _in_transaction(self, work: Callable[[Transaction], T], connection: Connection) -> T:
        tx = Transaction(connection=connection, now=self.clock(), rules=self.rules)
        if self.alone:  # a command beside a server leaves to it what time does
            apply_due_changes(tx)
        return work(tx)


def apply_due_changes(tx: Transaction) -> None:
    """Apply all changes that are due, and those that become due thereby."""
    while due := _due(tx):
        for at, kind, name in due:
            if kind == "assignment":
                _assignment_is_due(tx, name, at)
            else:
                _hit_is_due(tx, name)


def _due(tx: Transaction) -> list[tuple[float, str, str]]:
    """Return due time, kind and id of due changes; if a list was cut off, only those before the cut."""
    works = [(at, "assignment", name) for at, name in tx.connection.execute(DUE_ASSIGNMENTS, {"now": tx.now})]
    finished = [(at, "hit", name) for at, name in tx.connection.execute(DUE_HITS, {"now": tx.now})]
    cut = min((found[-1][0] for found in (works, finished) if len(found) == AT_ONCE), default=tx.now)
    return [item for item in merge(works, finished) if item[0] <= cut]


def _assignment_is_due(tx: Transaction, assignment_id: str, at: float) -> None:
    work = find_assignment(tx, assignment_id)
    if work.due_at != at:
        return  # something earlier in this list changed it
    hit = find_hit(tx, work.hit_id)
    kind = find_type(tx, hit.hit_type_id)
    if work.status == ACCEPTED:
        save_assignment(tx, work, given := abandoned(work))
        save_hit(tx, hit, released(hit, at), kind=kind)
        record_event(tx, "AssignmentAbandoned", hit, given)
    else:
        approve_by_time(tx, work, hit, kind)


def _hit_is_due(tx: Transaction, hit_id: str) -> None:
    hit = find_hit(tx, hit_id)
    at = hit.due_at
    if at is not None and at <= tx.now:
        after = expired(hit) if not hit.expired and hit.expires_at <= at else disposed(hit, at)
        save_hit(tx, hit, after, kind=find_type(tx, hit.hit_type_id))
