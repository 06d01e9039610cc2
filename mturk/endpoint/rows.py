"""HITs, HIT types and assignments as rows; what a change of a HIT does to its requester's budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import insert, select, update

from mturk.endpoint.assignments import Assignment
from mturk.endpoint.events import tell
from mturk.endpoint.hits import ASSIGNABLE, REVIEWABLE, Hit, HitType
from mturk.endpoint.moment import Moment
from mturk.endpoint.money import reward_fee
from mturk.endpoint.refusals import absent
from mturk.endpoint.schema import assignments, hit_types, hits, requesters
from mturk.endpoint.system_types import asks_for_masters

HIT_FIELDS = tuple(field.name for field in fields(Hit))
ASSIGNMENT_FIELDS = tuple(field.name for field in fields(Assignment))
TYPE_FIELDS = tuple(field.name for field in fields(HitType))
HIT_COLUMNS = tuple(hits.c[name] for name in HIT_FIELDS)
ASSIGNMENT_COLUMNS = tuple(assignments.c[name] for name in ASSIGNMENT_FIELDS)
TYPE_COLUMNS = tuple(hit_types.c[name] for name in TYPE_FIELDS)


def hit_from(row: Sequence[Any]) -> Hit:
    """Return the record of a row of ``HIT_COLUMNS``."""
    return Hit(**dict(zip(HIT_FIELDS, row, strict=True)))


def assignment_from(row: Sequence[Any]) -> Assignment:
    """Return the record of a row of ``ASSIGNMENT_COLUMNS``."""
    return Assignment(**dict(zip(ASSIGNMENT_FIELDS, row, strict=True)))


def find_hit(moment: Moment, hit_id: str, *, requester_id: str | None = None) -> Hit:
    """Return a HIT, of this requester where one is given.

    Raises
    ------
    Refusal
        If there is none, or it is another requester's.
    """
    row = moment.connection.execute(select(*HIT_COLUMNS).where(hits.c.hit_id == hit_id)).first()
    if row is None or requester_id not in (None, row.requester_id):
        raise absent("HIT", hit_id)
    return hit_from(row)


def find_type(moment: Moment, hit_type_id: str, *, requester_id: str | None = None) -> HitType:
    """Return a HIT type, of this requester where one is given.

    Raises
    ------
    Refusal
        If there is none, or it is another requester's.
    """
    row = moment.connection.execute(select(*TYPE_COLUMNS).where(hit_types.c.hit_type_id == hit_type_id)).first()
    if row is None or requester_id not in (None, row.requester_id):
        raise absent("HITType", hit_type_id)
    return HitType(**dict(zip(TYPE_FIELDS, row, strict=True)))


def find_assignment(moment: Moment, assignment_id: str, *, requester_id: str | None = None) -> Assignment:
    """Return an assignment, of this requester's HITs where one is given.

    Raises
    ------
    Refusal
        If there is none, or it is another requester's.
    """
    query = select(*ASSIGNMENT_COLUMNS).where(assignments.c.assignment_id == assignment_id)
    row = moment.connection.execute(query).first()
    if row is None or requester_id not in (None, row.requester_id):
        raise absent("Assignment", assignment_id)
    return assignment_from(row)


def price(moment: Moment, kind: HitType, maximum: int) -> int:
    """Return what one assignment costs its requester, reward and fee, cents."""
    masters = asks_for_masters(json.loads(kind.requirements))
    return kind.reward + reward_fee(kind.reward, maximum=maximum, masters=masters, rules=moment.rules.fees)


def held(moment: Moment, hit: Hit, kind: HitType) -> int:
    """Return what a HIT may yet cost, cents."""
    return hit.payable * price(moment, kind, hit.maximum)


def save_hit(moment: Moment, before: Hit, after: Hit, *, kind: HitType, kind_after: HitType | None = None) -> Hit:
    """Write a HIT's next state, hold or free the money that it binds, and tell of what happened."""
    kind_after = kind_after or kind
    difference = held(moment, after, kind_after) - held(moment, before, kind)
    changed = {name: new for name in HIT_FIELDS if (new := getattr(after, name)) != getattr(before, name)}
    moment.connection.execute(
        update(hits).where(hits.c.number == before.number).values(**changed, status=after.status, due_at=after.due_at)
    )
    hold(moment, before.requester_id, difference)
    if before.status != after.status == REVIEWABLE:
        tell(moment, "HITReviewable", after)
    if before.status != after.status and after.disposed_at is not None:
        tell(moment, "HITDisposed", after)
    if after.expired and not before.expired and after.disposed_at is None:
        tell(moment, "HITExpired", after)
    if after.maximum > before.maximum or (before.status == REVIEWABLE and after.status == ASSIGNABLE):
        tell(moment, "HITExtended", after)
    return after


def add_assignment(moment: Moment, work: Assignment) -> None:
    """Write a new assignment."""
    values = {name: getattr(work, name) for name in ASSIGNMENT_FIELDS}
    moment.connection.execute(insert(assignments).values(**values, due_at=work.due_at))


def save_assignment(moment: Moment, before: Assignment, after: Assignment) -> None:
    """Write an assignment's next state."""
    changed = {name: new for name in ASSIGNMENT_FIELDS if (new := getattr(after, name)) != getattr(before, name)}
    moment.connection.execute(
        update(assignments)
        .where(assignments.c.assignment_id == before.assignment_id)
        .values(**changed, due_at=after.due_at)
    )


def hold(moment: Moment, requester_id: str, cents: int) -> None:
    """Hold more of a requester's budget, or free some."""
    if cents:
        moment.connection.execute(
            update(requesters).where(requesters.c.requester_id == requester_id).values(held=requesters.c.held + cents)
        )
