"""What time does alone: assignments are abandoned or approved, HITs expire and are disposed of."""

from __future__ import annotations

from heapq import merge

from sqlalchemy import bindparam, select

from mturk.endpoint.assignments import ACCEPTED, abandoned
from mturk.endpoint.events import record_event
from mturk.endpoint.hits import HostedHit, disposed, expired, released
from mturk.endpoint.repository import find_assignment, find_hit, find_type, save_assignment, save_hit
from mturk.endpoint.review import approve_by_time
from mturk.endpoint.schema import assignments, hits
from mturk.endpoint.transaction import Transaction

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


def apply_due_changes(tx: Transaction) -> None:
    """Carry out all that was due until now; what that makes due in turn is carried out too."""
    while due := _due(tx):
        for at, kind, name in due:
            if kind == "assignment":
                _assignment_is_due(tx, name, at)
            else:
                _hit_is_due(tx, name)


def _due(tx: Transaction) -> list[tuple[float, str, str]]:
    """Return when, what and its id; of two lists cut off at a length, only what comes before the cut."""
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
    if at is None or at > tx.now:
        return
    kind = find_type(tx, hit.hit_type_id)
    save_hit(tx, hit, _after(hit, at), kind=kind)


def _after(hit: HostedHit, at: float) -> HostedHit:
    return expired(hit) if not hit.expired and hit.expires_at <= at else disposed(hit, at)
