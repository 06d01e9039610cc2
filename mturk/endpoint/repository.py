"""Reading and saving HITs, HIT types and assignments, with their events and effects on the requester's budget."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, Select, bindparam, insert, select, update

from mturk.endpoint.assignments import HitAssignment
from mturk.endpoint.errors import does_not_exist
from mturk.endpoint.hits import ASSIGNABLE, REVIEWABLE, HitType, HostedHit
from mturk.endpoint.money import reward_fee
from mturk.endpoint.requirements import asks_for_masters
from mturk.endpoint.schema import assignments, deliveries, hit_types, hits, notifications, requesters
from mturk.endpoint.transaction import Transaction, new_id

VERSION = "2006-05-05"
SUBSCRIBER = select(notifications.c.destination, notifications.c.event_types).where(
    notifications.c.hit_type_id == bindparam("name"), notifications.c.active
)


def record_event(tx: Transaction, event_type: str, hit: HostedHit, work: HitAssignment | None = None) -> None:
    """Queue an event if the HIT type's notifications are active and include its type."""
    row = tx.first(SUBSCRIBER, name=hit.hit_type_id)
    if row is None or event_type not in json.loads(row.event_types):
        return
    event = {"EventType": event_type, "HITTypeId": hit.hit_type_id, "HITId": hit.hit_id}
    if work is not None:
        event |= {"AssignmentId": work.assignment_id, "WorkerId": work.worker_id}
    queue_event(tx, hit.requester_id, row.destination, event)


def queue_event(tx: Transaction, requester_id: str, destination: str, event: dict[str, str]) -> None:
    """Queue an event for delivery."""
    event_id = new_id("E")
    event = {**event, "EventTimestamp": datetime.fromtimestamp(tx.now, UTC).isoformat(timespec="seconds")}
    body = {"EventDocVersion": VERSION, "EventDocId": event_id, "CustomerId": requester_id, "Events": [event]}
    tx.insert(
        deliveries,
        event_id=event_id,
        requester_id=requester_id,
        destination=destination,
        body=json.dumps(body),
        attempts=0,
        next_at=time.time(),  # of this machine, also where the endpoint's own clock is moved by hand
    )


HIT_FIELDS = tuple(field.name for field in fields(HostedHit))
ASSIGNMENT_FIELDS = tuple(field.name for field in fields(HitAssignment))
TYPE_FIELDS = tuple(field.name for field in fields(HitType))
HIT_COLUMNS = tuple(hits.c[name] for name in HIT_FIELDS)
ASSIGNMENT_COLUMNS = tuple(assignments.c[name] for name in ASSIGNMENT_FIELDS)
TYPE_COLUMNS = tuple(hit_types.c[name] for name in TYPE_FIELDS)


def _bound(fields: Sequence[str], *others: str, without: Sequence[str] = ()) -> dict[str, Any]:
    return {name: bindparam(name) for name in (*fields, *others) if name not in without}


# Prepared once: building a statement costs more than executing it.
ONE_HIT = select(*HIT_COLUMNS).where(hits.c.hit_id == bindparam("name"))
ONE_TYPE = select(*TYPE_COLUMNS).where(hit_types.c.hit_type_id == bindparam("name"))
ONE_ASSIGNMENT = select(*ASSIGNMENT_COLUMNS).where(assignments.c.assignment_id == bindparam("name"))
NEW_HIT = insert(hits).values(_bound(HIT_FIELDS, "status", "due_at", without=["number"]))
NEXT_HIT = update(hits).where(hits.c.number == bindparam("row_number"))
NEXT_HIT = NEXT_HIT.values(_bound(HIT_FIELDS, "status", "due_at", without=["number", "question"]))
NEW_ASSIGNMENT = insert(assignments).values(_bound(ASSIGNMENT_FIELDS, "due_at"))
NEXT_ASSIGNMENT = update(assignments).where(assignments.c.assignment_id == bindparam("row_name"))
NEXT_ASSIGNMENT = NEXT_ASSIGNMENT.values(_bound(ASSIGNMENT_FIELDS, "due_at", without=["assignment_id"]))
REQUESTER = update(requesters).where(requesters.c.requester_id == bindparam("whose"))
HOLD = REQUESTER.values(held=requesters.c.held + bindparam("cents"))
SPEND = REQUESTER.values(spent=requesters.c.spent + bindparam("cents"))


def hit_from(row: Sequence[Any]) -> HostedHit:
    """Return the record of a row of ``HIT_COLUMNS``."""
    return HostedHit(**dict(zip(HIT_FIELDS, row, strict=True)))


def assignment_from(row: Sequence[Any]) -> HitAssignment:
    """Return the record of a row of ``ASSIGNMENT_COLUMNS``."""
    return HitAssignment(**dict(zip(ASSIGNMENT_FIELDS, row, strict=True)))


def type_from(row: Sequence[Any]) -> HitType:
    """Return the record of a row of ``TYPE_COLUMNS``."""
    return HitType(**dict(zip(TYPE_FIELDS, row, strict=True)))


def _find(tx: Transaction, query: Select[Any], kind: str, name: str, requester_id: str | None) -> Row[Any]:
    """Return the row of an id; refuse if there is none, or it belongs to another requester."""
    row = tx.first(query, name=name)
    if row is None or requester_id not in (None, row.requester_id):
        raise does_not_exist(kind, name)
    return row


def find_hit(tx: Transaction, hit_id: str, *, requester_id: str | None = None) -> HostedHit:
    """Return a HIT, which must be this requester's if one is given."""
    return hit_from(_find(tx, ONE_HIT, "HIT", hit_id, requester_id))


def find_type(tx: Transaction, hit_type_id: str, *, requester_id: str | None = None) -> HitType:
    """Return a HIT type, which must be this requester's if one is given."""
    return type_from(_find(tx, ONE_TYPE, "HITType", hit_type_id, requester_id))


def find_assignment(tx: Transaction, assignment_id: str, *, requester_id: str | None = None) -> HitAssignment:
    """Return an assignment, which must be of this requester's HITs if one is given."""
    return assignment_from(_find(tx, ONE_ASSIGNMENT, "Assignment", assignment_id, requester_id))


def price(tx: Transaction, kind: HitType, maximum: int) -> int:
    """Return the reward and fee for one assignment, in cents."""
    masters = asks_for_masters(json.loads(kind.requirements))
    return kind.reward + reward_fee(kind.reward, maximum=maximum, masters=masters, rules=tx.rules.fees)


def held(tx: Transaction, hit: HostedHit, kind: HitType) -> int:
    """Return the amount on hold for a HIT, in cents."""
    return hit.payable * price(tx, kind, hit.maximum)


def add_hit(tx: Transaction, hit: HostedHit) -> HostedHit:
    """Insert a HIT and return it with its number."""
    values = {name: getattr(hit, name) for name in HIT_FIELDS if name != "number"}
    made = tx.connection.execute(NEW_HIT, values | {"status": hit.status, "due_at": hit.due_at})
    return replace(hit, number=int((made.inserted_primary_key or (0,))[0]))


def save_hit(
    tx: Transaction, before: HostedHit, after: HostedHit, *, kind: HitType, kind_after: HitType | None = None
) -> HostedHit:
    """Save a HIT's next state, adjust the amount on hold, and queue events."""
    kind_after = kind_after or kind
    difference = held(tx, after, kind_after) - held(tx, before, kind)
    values = {name: getattr(after, name) for name in HIT_FIELDS if name not in ("number", "question")}
    values |= {"row_number": before.number, "status": after.status, "due_at": after.due_at}
    tx.connection.execute(NEXT_HIT, values)
    hold(tx, before.requester_id, difference)
    if before.status != after.status == REVIEWABLE:
        record_event(tx, "HITReviewable", after)
    if before.status != after.status and after.disposed_at is not None:
        record_event(tx, "HITDisposed", after)
    if after.expired and not before.expired and after.disposed_at is None:
        record_event(tx, "HITExpired", after)
    if after.maximum > before.maximum or (before.status == REVIEWABLE and after.status == ASSIGNABLE):
        record_event(tx, "HITExtended", after)
    return after


def add_assignment(tx: Transaction, work: HitAssignment) -> None:
    """Insert an assignment."""
    values = {name: getattr(work, name) for name in ASSIGNMENT_FIELDS}
    tx.connection.execute(NEW_ASSIGNMENT, values | {"due_at": work.due_at})


def save_assignment(tx: Transaction, before: HitAssignment, after: HitAssignment) -> None:
    """Save an assignment's next state."""
    values = {name: getattr(after, name) for name in ASSIGNMENT_FIELDS if name != "assignment_id"}
    tx.connection.execute(NEXT_ASSIGNMENT, values | {"row_name": before.assignment_id, "due_at": after.due_at})


def hold(tx: Transaction, requester_id: str, cents: int) -> None:
    """Put cents of a requester's budget on hold, or release them if negative."""
    if cents:
        tx.connection.execute(HOLD, {"whose": requester_id, "cents": cents})
