"""What a worker may read of their own: work in hand, history, earnings, messages and qualifications."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Row, func, select, update

from mturk.endpoint.assignments import ACCEPTED, APPROVED, KNOWN_TO_REQUESTERS, REJECTED, SUBMITTED, HitAssignment
from mturk.endpoint.hits import HitType
from mturk.endpoint.repository import ASSIGNMENT_COLUMNS, TYPE_COLUMNS, TYPE_FIELDS, assignment_from
from mturk.endpoint.requirements import PERCENT_APPROVED
from mturk.endpoint.schema import (
    assignments,
    hit_types,
    hits,
    ledger,
    messages,
    qualification_requests,
    qualification_types,
    qualifications,
    requesters,
    requirement_types,
)
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.workers import find_worker

PER_PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedWork:
    """An assignment that was submitted."""

    title: str
    requester: str
    reward: int  # cents
    status: str
    submitted_at: float
    auto_approval_at: float
    feedback: str | None
    bonus: int  # cents


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEarnings:
    """What is owed to a worker, and what may yet be, cents."""

    rewards: int
    bonuses: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPayment:
    """A line of the ledger."""

    kind: str
    title: str
    cents: int
    reason: str | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RequesterMessage:
    """A message from a requester; ``read_at`` as it was before it was shown."""

    subject: str
    body: str
    requester: str
    sent_at: float
    read_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHistory:
    """How a worker's submissions fared; ``rate`` is what requirements see, percent."""

    submitted: int
    approved: int
    rejected: int
    rate: int


def held_assignment(tx: Transaction, worker_id: str, hit_id: str) -> str | None:
    """Return the assignment of a HIT that a worker holds, or None."""
    return tx.connection.scalar(
        select(assignments.c.assignment_id).where(
            assignments.c.hit_id == hit_id, assignments.c.worker_id == worker_id, assignments.c.status == ACCEPTED
        )
    )


def in_hand(tx: Transaction, worker_id: str) -> tuple[tuple[HitAssignment, HitType], ...]:
    """Return what a worker accepted and has not finished, what is due first at the head."""
    rows = tx.connection.execute(
        select(*ASSIGNMENT_COLUMNS, *TYPE_COLUMNS)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(assignments.c.worker_id == worker_id, assignments.c.status == ACCEPTED)
        .order_by(assignments.c.deadline)
    ).all()
    width = len(ASSIGNMENT_COLUMNS)
    return tuple(
        (assignment_from(row[:width]), HitType(**dict(zip(TYPE_FIELDS, row[width:], strict=True)))) for row in rows
    )


def history(tx: Transaction, worker_id: str, page: int) -> tuple[tuple[SubmittedWork, ...], int]:
    """Return a page of submitted work, the latest first, and the number of pages."""
    mine = (assignments.c.worker_id == worker_id, assignments.c.status.in_(KNOWN_TO_REQUESTERS))
    bonus = (
        select(func.coalesce(func.sum(ledger.c.cents), 0))
        .where(ledger.c.assignment_id == assignments.c.assignment_id, ledger.c.kind == "bonus")
        .scalar_subquery()
    )
    rows = tx.connection.execute(
        select(
            hit_types.c.title,
            requesters.c.name.label("requester"),
            hit_types.c.reward,
            assignments.c.status,
            assignments.c.submitted_at,
            assignments.c.auto_approval_at,
            assignments.c.feedback,
            bonus.label("bonus"),
        )
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .join(requesters, requesters.c.requester_id == assignments.c.requester_id)
        .where(*mine)
        .order_by(assignments.c.submitted_at.desc(), assignments.c.number.desc())
        .limit(PER_PAGE)
        .offset((page - 1) * PER_PAGE)
    )
    count = tx.connection.scalar(select(func.count()).select_from(assignments).where(*mine)) or 0
    # PostgreSQL adds integers up to a decimal.
    return tuple(SubmittedWork(**{**row._mapping, "bonus": int(row.bonus)}) for row in rows), pages_of(count)


def sums(tx: Transaction, worker_id: str) -> WorkerEarnings:
    """Return what the ledger owes a worker, and the rewards of what waits for review."""
    owed = {
        kind: int(cents)
        for kind, cents in tx.connection.execute(
            select(ledger.c.kind, func.sum(ledger.c.cents))
            .where(ledger.c.worker_id == worker_id)
            .group_by(ledger.c.kind)
        )
    }
    waiting = tx.connection.scalar(
        select(func.sum(hit_types.c.reward))
        .select_from(assignments)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(assignments.c.worker_id == worker_id, assignments.c.status == SUBMITTED)
    )
    return WorkerEarnings(rewards=owed.get("reward", 0), bonuses=owed.get("bonus", 0), waiting=int(waiting or 0))


def entries(tx: Transaction, worker_id: str, page: int) -> tuple[tuple[WorkerPayment, ...], int]:
    """Return a page of a worker's lines of the ledger, the latest first, and the number of pages."""
    rows = tx.connection.execute(
        select(ledger.c.kind, hit_types.c.title, ledger.c.cents, ledger.c.reason, ledger.c.at)
        .join(hits, hits.c.hit_id == ledger.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(ledger.c.worker_id == worker_id)
        .order_by(ledger.c.number.desc())
        .limit(PER_PAGE)
        .offset((page - 1) * PER_PAGE)
    )
    count = tx.connection.scalar(select(func.count()).select_from(ledger).where(ledger.c.worker_id == worker_id))
    return tuple(WorkerPayment(**row._mapping) for row in rows), pages_of(count or 0)


def read_messages(tx: Transaction, worker_id: str, page: int) -> tuple[tuple[RequesterMessage, ...], int]:
    """Return a page of messages, the latest first, and the number of pages; what is shown counts as read."""
    rows = tx.connection.execute(
        select(
            messages.c.number,
            messages.c.subject,
            messages.c.body,
            requesters.c.name.label("requester"),
            messages.c.sent_at,
            messages.c.read_at,
        )
        .join(requesters, requesters.c.requester_id == messages.c.requester_id)
        .where(messages.c.worker_id == worker_id)
        .order_by(messages.c.number.desc())
        .limit(PER_PAGE)
        .offset((page - 1) * PER_PAGE)
    ).all()
    new = [row.number for row in rows if row.read_at is None]
    if new:
        tx.connection.execute(update(messages).where(messages.c.number.in_(new)).values(read_at=tx.now))
    count = tx.connection.scalar(select(func.count()).select_from(messages).where(messages.c.worker_id == worker_id))
    shown = tuple(
        RequesterMessage(subject=r.subject, body=r.body, requester=r.requester, sent_at=r.sent_at, read_at=r.read_at)
        for r in rows
    )
    return shown, pages_of(count or 0)


def record(tx: Transaction, worker_id: str) -> WorkerHistory:
    """Return how a worker's submissions fared."""
    found = tx.connection.execute(
        select(assignments.c.status, func.count())
        .where(assignments.c.worker_id == worker_id, assignments.c.status.in_(KNOWN_TO_REQUESTERS))
        .group_by(assignments.c.status)
    )
    counts = {status: count for status, count in found}
    rate = find_worker(tx, worker_id).held[PERCENT_APPROVED].number
    return WorkerHistory(
        submitted=sum(counts.values()),
        approved=counts.get(APPROVED, 0),
        rejected=counts.get(REJECTED, 0),
        rate=100 if rate is None else rate,
    )


def pages_of(count: int) -> int:
    """Return how many pages a list of a length has, at least one.

    >>> pages_of(0), pages_of(25), pages_of(26)
    (1, 1, 2)
    """
    return max(1, -(-count // PER_PAGE))


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
