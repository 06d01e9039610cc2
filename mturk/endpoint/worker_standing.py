"""What a worker has of each qualification, and whether that lets them do something with a HIT type."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, bindparam, func, select

from mturk.endpoint.assignments import APPROVED, REJECTED, SUBMITTED
from mturk.endpoint.errors import refused
from mturk.endpoint.requirements import Action, Locale, QualificationValue, Requirement, guards, meets
from mturk.endpoint.schema import assignments, blocks, qualifications, workers
from mturk.endpoint.system_types import ADULT, ALL_MASTERS, LOCALE, NUMBER_APPROVED, PERCENT_APPROVED
from mturk.endpoint.transaction import Transaction

NOTHING = "[]"  # requirements, as JSON
ONE_WORKER = select(workers).where(workers.c.worker_id == bindparam("name"), workers.c.closed_at.is_(None))
BLOCKS = select(blocks.c.requester_id).where(blocks.c.worker_id == bindparam("name"))
GRANTED = select(qualifications.c.qualification_type_id, qualifications.c.value).where(
    qualifications.c.worker_id == bindparam("name"), qualifications.c.status == "Granted"
)
COUNTS = (
    select(assignments.c.status, func.count())
    .where(assignments.c.worker_id == bindparam("name"), assignments.c.status.in_((APPROVED, REJECTED, SUBMITTED)))
    .group_by(assignments.c.status)
)
FEW = 100  # submissions; with fewer a worker's share of approvals shows as 100 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker together with all that requirements may ask about them."""

    worker_id: str
    name: str
    held: dict[str, QualificationValue] = field(default_factory=dict)  # by qualification type
    blocked_by: frozenset[str] = frozenset()  # requesters


def find_worker(tx: Transaction, worker_id: str, *, requirements: str | None = None) -> Worker:
    """Return a worker; of what they have, nothing is looked up where ``requirements`` ask for nothing.

    Raises
    ------
    Refusal
        If there is none, or the host closed their account.
    """
    row = tx.connection.execute(ONE_WORKER, {"name": worker_id}).first()
    if row is None:
        raise refused("WorkerDoesNotExist", f"Worker {worker_id} does not exist.")
    held = {} if requirements == NOTHING else _held_by(tx, row)
    blocked_by = frozenset(tx.connection.scalars(BLOCKS, {"name": worker_id}))
    return Worker(worker_id=worker_id, name=row.name, held=held, blocked_by=blocked_by)


def _held_by(tx: Transaction, row: Row[Any]) -> dict[str, QualificationValue]:
    found = tx.connection.execute(GRANTED, {"name": row.worker_id})
    held: dict[str, QualificationValue] = {type_id: QualificationValue(number=value) for type_id, value in found}
    if row.country is not None:
        held[LOCALE] = QualificationValue(locale=Locale(country=row.country, subdivision=row.subdivision))
    if row.masters:
        held |= {type_id: QualificationValue() for type_id in ALL_MASTERS}
    held[ADULT] = QualificationValue(number=int(row.adult))
    approved, rejected, waiting = _counts(tx, row.worker_id)
    few = approved + rejected + waiting < FEW or not approved + rejected
    share = 100 if few else round(100 * approved / (approved + rejected))
    held[NUMBER_APPROVED] = QualificationValue(number=approved)
    held[PERCENT_APPROVED] = QualificationValue(number=share)
    return held


def unmet(worker: Worker, requirements: str | Iterable[Requirement], action: Action) -> tuple[Requirement, ...]:
    """Return the requirements that keep a worker from an action, of a HIT type's JSON or as records."""
    asked: Iterable[Any] = json.loads(requirements) if isinstance(requirements, str) else requirements
    return tuple(
        one for one in asked if guards(one, action) and not meets(one, worker.held.get(one["QualificationTypeId"]))
    )


def may(worker: Worker, requester_id: str, requirements: str, action: Action) -> bool:
    """Whether a worker may do something with HITs of a type; a block hides all HITs of its requester."""
    return requester_id not in worker.blocked_by and not unmet(worker, requirements, action)


def _counts(tx: Transaction, worker_id: str) -> tuple[int, int, int]:
    counts = {status: count for status, count in tx.connection.execute(COUNTS, {"name": worker_id})}
    return counts.get(APPROVED, 0), counts.get(REJECTED, 0), counts.get(SUBMITTED, 0)
