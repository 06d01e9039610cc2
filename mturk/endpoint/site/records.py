"""Queries for a worker's own pages: accepted HITs, history, earnings, messages and qualifications."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Row, Select, cast, func, select

from mturk.endpoint.assignments import ACCEPTED, APPROVED, KNOWN_TO_REQUESTERS, REJECTED, SUBMITTED, HitAssignment
from mturk.endpoint.hits import HitType
from mturk.endpoint.repository import ASSIGNMENT_COLUMNS, TYPE_COLUMNS, assignment_from, type_from
from mturk.endpoint.requirements import PERCENT_APPROVED
from mturk.endpoint.schema import (
    assignments,
    hit_types,
    hits,
    ledger,
    messages,
    qualification_types,
    qualifications,
    requesters,
    requirement_types,
)
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.workers import find_worker, last_request

PER_PAGE = 25
MOST_OFFERED = 200
Rows = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEarnings:
    """Amounts owed to a worker, and waiting for review, in cents."""

    rewards: int
    bonuses: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHistory:
    """Counts of a worker's submissions; ``rate`` is the approval rate in requirements, percent."""

    submitted: int
    approved: int
    rejected: int
    rate: int


def held_assignment(tx: Transaction, worker_id: str, hit_id: str) -> str | None:
    """Return the assignment of a HIT that a worker holds, or None."""
    c = assignments.c
    own = (c.hit_id == hit_id, c.worker_id == worker_id, c.status == ACCEPTED)
    return tx.connection.scalar(select(c.assignment_id).where(*own))


def in_hand(tx: Transaction, worker_id: str) -> tuple[tuple[HitAssignment, HitType], ...]:
    """Return the assignments that a worker holds, the earliest deadline first."""
    rows = tx.connection.execute(
        select(*ASSIGNMENT_COLUMNS, *TYPE_COLUMNS)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(assignments.c.worker_id == worker_id, assignments.c.status == ACCEPTED)
        .order_by(assignments.c.deadline)
    ).all()
    width = len(ASSIGNMENT_COLUMNS)
    return tuple((assignment_from(row[:width]), type_from(row[width:])) for row in rows)


def history(tx: Transaction, worker_id: str, page: int) -> tuple[Rows, int]:
    """Return a page of submitted work, the latest first, and the number of pages; reward and bonus in cents."""
    bonus = (
        select(cast(func.coalesce(func.sum(ledger.c.cents), 0), BigInteger))
        .where(ledger.c.assignment_id == assignments.c.assignment_id, ledger.c.kind == "bonus")
        .scalar_subquery()
    )
    c = assignments.c
    own = (c.status, c.submitted_at, c.auto_approval_at, c.feedback, bonus.label("bonus"))
    query = (
        select(hit_types.c.title, requesters.c.name.label("requester"), hit_types.c.reward, *own)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .join(requesters, requesters.c.requester_id == assignments.c.requester_id)
        .where(assignments.c.worker_id == worker_id, assignments.c.status.in_(KNOWN_TO_REQUESTERS))
        .order_by(assignments.c.submitted_at.desc(), assignments.c.number.desc())
    )
    return _page(tx, query, page)


def sums(tx: Transaction, worker_id: str) -> WorkerEarnings:
    """Return the sums of a worker's earnings."""
    total = select(ledger.c.kind, func.sum(ledger.c.cents)).where(ledger.c.worker_id == worker_id)
    owed = {kind: int(cents) for kind, cents in tx.connection.execute(total.group_by(ledger.c.kind))}
    waiting = tx.connection.scalar(
        select(func.sum(hit_types.c.reward))
        .select_from(assignments)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(assignments.c.worker_id == worker_id, assignments.c.status == SUBMITTED)
    )
    return WorkerEarnings(rewards=owed.get("reward", 0), bonuses=owed.get("bonus", 0), waiting=int(waiting or 0))


def entries(tx: Transaction, worker_id: str, page: int) -> tuple[Rows, int]:
    """Return a page of a worker's lines of the ledger, the latest first, and the number of pages."""
    query = (
        select(ledger.c.kind, hit_types.c.title, ledger.c.cents, ledger.c.reason, ledger.c.at)
        .join(hits, hits.c.hit_id == ledger.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(ledger.c.worker_id == worker_id)
        .order_by(ledger.c.number.desc())
    )
    return _page(tx, query, page)


def read_messages(tx: Transaction, worker_id: str, page: int) -> tuple[Rows, int]:
    """Return a page of messages, the latest first, and the number of pages; mark as read those returned as unread."""
    query = (
        select(messages, requesters.c.name.label("requester"))
        .join(requesters, requesters.c.requester_id == messages.c.requester_id)
        .where(messages.c.worker_id == worker_id)
        .order_by(messages.c.number.desc())
    )
    rows, pages = _page(tx, query, page)
    unread = [row.number for row in rows if row.read_at is None]
    if unread:
        tx.update(messages, messages.c.number.in_(unread), read_at=tx.now)
    return rows, pages


def record(tx: Transaction, worker_id: str) -> WorkerHistory:
    """Return the counts of a worker's submissions."""
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


def _page(tx: Transaction, query: Select[Any], page: int) -> tuple[Rows, int]:
    count = tx.connection.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    rows = tx.connection.execute(query.limit(PER_PAGE).offset((page - 1) * PER_PAGE)).all()
    return rows, max(1, -(-count // PER_PAGE))


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableQualification:
    """A qualification that the worker lacks; ``state`` is that of their last request, if any."""

    qualification_type_id: str
    name: str
    description: str
    state: str | None
    reason: str | None
    may_ask: bool
    again_at: float | None


def held_by(tx: Transaction, worker_id: str) -> Rows:
    """Return name, description, value and granted_at of what requesters granted to a worker, the latest first."""
    kind, own = qualification_types.c, qualifications.c
    return tx.connection.execute(
        select(kind.name, kind.description, own.value, own.granted_at)
        .join(qualifications, own.qualification_type_id == kind.qualification_type_id)
        .where(own.worker_id == worker_id, own.status == "Granted", kind.deleted_at.is_(None))
        .order_by(own.granted_at.desc())
    ).all()


def offered_to(tx: Transaction, worker_id: str) -> tuple[AvailableQualification, ...]:
    """Return the qualifications that a worker may request; types that HITs use to exclude workers are left out."""
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


def _offered(tx: Transaction, worker_id: str, kind: Row[Any]) -> AvailableQualification:
    last = last_request(tx, worker_id, kind.qualification_type_id)
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
    """Return the types that some HIT type requires workers not to have."""
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
