"""The qualifications that a worker holds, and those that they may ask for."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Row, select

from mturk.endpoint.schema import (
    hit_types,
    qualification_requests,
    qualification_types,
    qualifications,
    requirement_types,
)
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_standing import find_worker

MOST_OFFERED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerQualification:
    """A qualification that the worker holds."""

    name: str
    description: str
    value: int | None
    granted_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableQualification:
    """A qualification that the worker lacks; ``state`` is that of their last request, None where there is none."""

    qualification_type_id: str
    name: str
    description: str
    state: str | None
    reason: str | None
    may_ask: bool
    again_at: float | None


def held_by(tx: Transaction, worker_id: str) -> tuple[WorkerQualification, ...]:
    """Return what requesters granted to a worker, the latest first; what only marks them as taken part is left out."""
    rows = tx.connection.execute(
        select(
            qualification_types.c.qualification_type_id,
            qualification_types.c.name,
            qualification_types.c.description,
            qualifications.c.value,
            qualifications.c.granted_at,
        )
        .join(qualifications, qualifications.c.qualification_type_id == qualification_types.c.qualification_type_id)
        .where(
            qualifications.c.worker_id == worker_id,
            qualifications.c.status == "Granted",
            qualification_types.c.deleted_at.is_(None),
        )
        .order_by(qualifications.c.granted_at.desc())
    ).all()
    return tuple(
        WorkerQualification(name=r.name, description=r.description, value=r.value, granted_at=r.granted_at)
        for r in rows
    )


def offered_to(tx: Transaction, worker_id: str) -> tuple[AvailableQualification, ...]:
    """Return what a worker lacks and may ask for; types that HITs use to keep people out are not offered."""
    worker = find_worker(tx, worker_id)
    rows = tx.connection.execute(
        select(qualification_types)
        .where(qualification_types.c.status == "Active", qualification_types.c.deleted_at.is_(None))
        .order_by(qualification_types.c.number.desc())
        .limit(MOST_OFFERED)
    ).all()
    shown = [row for row in rows if row.qualification_type_id not in worker.held]
    shown = [row for row in shown if row.requester_id not in worker.blocked_by]
    excluding = _excluding(tx, [row.qualification_type_id for row in shown])
    return tuple(_offered(tx, worker_id, row) for row in shown if row.qualification_type_id not in excluding)


def _offered(tx: Transaction, worker_id: str, kind: Row[tuple[object, ...]]) -> AvailableQualification:
    last = tx.connection.execute(
        select(qualification_requests.c.requested_at, qualification_requests.c.status, qualification_requests.c.reason)
        .where(
            qualification_requests.c.worker_id == worker_id,
            qualification_requests.c.qualification_type_id == kind.qualification_type_id,
        )
        .order_by(qualification_requests.c.number.desc())
        .limit(1)
    ).first()
    again = None if last is None or kind.retry_delay is None else last.requested_at + kind.retry_delay
    settled = last is not None and last.status != "Pending"
    return AvailableQualification(
        qualification_type_id=kind.qualification_type_id,
        name=kind.name,
        description=kind.description,
        state=None if last is None else last.status,
        reason=None if last is None else last.reason,
        may_ask=last is None or (settled and again is not None and again <= tx.now),
        again_at=again if settled else None,
    )


def _excluding(tx: Transaction, type_ids: list[str]) -> set[str]:
    """Return those of the types that some HIT type wants people not to have."""
    if not type_ids:
        return set()
    rows = tx.connection.scalars(
        select(hit_types.c.requirements)
        .join(requirement_types, requirement_types.c.hit_type_id == hit_types.c.hit_type_id)
        .where(requirement_types.c.qualification_type_id.in_(type_ids))
        .distinct()
    )
    return {
        one["QualificationTypeId"]
        for requirements in rows
        for one in json.loads(requirements)
        if one["Comparator"] == "DoesNotExist"
    }
