"""Workers: their accounts, which the host creates, and their qualifications."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Row, bindparam, func, select

from mturk.endpoint.assignments import APPROVED, REJECTED, SUBMITTED
from mturk.endpoint.errors import does_not_exist, refused
from mturk.endpoint.hits import HitType
from mturk.endpoint.requirements import (
    ADULT,
    ALL_MASTERS,
    LOCALE,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
    Action,
    Locale,
    QualificationValue,
    Requirement,
    guards,
    meets,
)
from mturk.endpoint.schema import (
    assignments,
    blocks,
    qualification_requests,
    qualification_types,
    qualifications,
    workers,
)
from mturk.endpoint.transaction import Transaction, new_id
from spa.errors import PlatformError

CODE = re.compile(r"[A-Z0-9]{2}", re.ASCII)
WORKER_ID = re.compile(r"A[A-Z0-9]{1,63}", re.ASCII)
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
class KnownWorker:
    """A worker's account."""

    worker_id: str
    name: str
    country: str | None = None
    subdivision: str | None = None
    masters: bool = False
    adult: bool = False
    closed_at: float | None = None


def add_worker(
    tx: Transaction,
    name: str,
    *,
    country: str | None = None,
    subdivision: str | None = None,
    masters: bool = False,
    adult: bool = False,
    worker_id: str | None = None,
) -> KnownWorker:
    """Create a worker; raise PlatformError if the name, country or id is invalid, or the id is taken."""
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise PlatformError(f"worker: expected a name of 1 to 200 printable characters, got {name[:40]!r}")
    for what, code in (("country", country), ("subdivision", subdivision)):
        if code is not None and CODE.fullmatch(code) is None:
            raise PlatformError(f"worker {name}: expected a {what} such as US or CA, got {code!r}")
    if subdivision is not None and country is None:
        raise PlatformError(f"worker {name}: a subdivision needs its country")
    if worker_id is not None and WORKER_ID.fullmatch(worker_id) is None:
        raise PlatformError(f"worker {name}: expected an id of A and capital letters and digits, got {worker_id!r}")
    new = KnownWorker(
        worker_id=worker_id or new_id("A", 14),
        name=name,
        country=country,
        subdivision=subdivision,
        masters=masters,
        adult=adult,
    )
    if tx.connection.scalar(select(workers.c.number).where(workers.c.worker_id == new.worker_id)) is not None:
        raise PlatformError(f"worker {name}: the id {new.worker_id} is taken")
    tx.insert(workers, **asdict(new), created_at=tx.now)
    return new


def change_worker(tx: Transaction, worker_id: str, **changes: object) -> None:
    """Change a worker's account: country, subdivision, masters, adult, closed_at."""
    if not tx.update(workers, workers.c.worker_id == worker_id, **changes):
        raise PlatformError(f"worker {worker_id!r}: there is none; `spa mturk workers list` shows them")


def known_workers(tx: Transaction) -> tuple[KnownWorker, ...]:
    """Return all workers, the oldest account first."""
    query = select(*(workers.c[name] for name in KnownWorker.__slots__)).order_by(workers.c.number)
    return tuple(KnownWorker(**row._mapping) for row in tx.connection.execute(query))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker with their qualifications and blocks."""

    worker_id: str
    name: str
    held: dict[str, QualificationValue] = field(default_factory=dict)  # by qualification type
    blocked_by: frozenset[str] = frozenset()  # requesters


def find_worker(tx: Transaction, worker_id: str, *, requirements: str | None = None) -> Worker:
    """Return a worker with an open account; qualifications are not loaded if ``requirements`` are empty."""
    row = tx.first(ONE_WORKER, name=worker_id)
    if row is None:
        raise does_not_exist("Worker", worker_id)
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
    counts = {status: count for status, count in tx.connection.execute(COUNTS, {"name": row.worker_id})}
    approved, rejected, waiting = (counts.get(status, 0) for status in (APPROVED, REJECTED, SUBMITTED))
    few = approved + rejected + waiting < FEW or not approved + rejected
    share = 100 if few else round(100 * approved / (approved + rejected))
    held[NUMBER_APPROVED] = QualificationValue(number=approved)
    held[PERCENT_APPROVED] = QualificationValue(number=share)
    return held


def unmet(worker: Worker, requirements: str, action: Action) -> tuple[Requirement, ...]:
    """Return the requirements, given as JSON, that a worker must meet for an action and does not."""
    asked = json.loads(requirements)
    return tuple(
        one for one in asked if guards(one, action) and not meets(one, worker.held.get(one["QualificationTypeId"]))
    )


def may_discover(worker: Worker, kind: HitType) -> bool:
    """Return whether a worker may see HITs of a type; a requester's block hides all their HITs."""
    return kind.requester_id not in worker.blocked_by and not unmet(worker, kind.requirements, "Discover")


def grant_qualification(tx: Transaction, type_id: str, worker_id: str, value: int | None) -> None:
    """Grant a qualification to a worker, also again or with another value."""
    own = (qualifications.c.qualification_type_id == type_id, qualifications.c.worker_id == worker_id)
    values = {"status": "Granted", "value": value, "granted_at": tx.now, "reason": None}
    if not tx.update(qualifications, *own, **values):
        tx.insert(qualifications, qualification_type_id=type_id, worker_id=worker_id, **values)


def request_qualification(tx: Transaction, worker_id: str, type_id: str) -> str:
    """Request a qualification for a worker, again only after its delay; return the request's id."""
    worker, c = find_worker(tx, worker_id), qualification_types.c
    kind = tx.first(select(qualification_types).where(c.qualification_type_id == type_id, c.deleted_at.is_(None)))
    if kind is None or kind.requester_id in worker.blocked_by:
        raise does_not_exist("QualificationType", type_id)
    if kind.status != "Active":
        raise refused("InvalidQualificationTypeState", f"QualificationType {type_id} is Inactive.")
    if type_id in worker.held:
        raise refused("QualificationAlreadyExists", f"Worker {worker_id} has this qualification already.")
    _check_delay(tx, worker_id, type_id, kind.retry_delay)
    request_id = new_id()
    tx.insert(
        qualification_requests,
        request_id=request_id,
        qualification_type_id=type_id,
        worker_id=worker_id,
        requested_at=tx.now,
        status="Granted" if kind.auto_granted else "Pending",
        answered_at=tx.now if kind.auto_granted else None,
    )
    if kind.auto_granted:
        grant_qualification(tx, type_id, worker_id, kind.auto_granted_value)
    return request_id


def last_request(tx: Transaction, worker_id: str, type_id: str) -> Row[Any] | None:
    """Return a worker's latest request of a qualification type."""
    c = qualification_requests.c
    own = select(qualification_requests).where(c.worker_id == worker_id, c.qualification_type_id == type_id)
    return tx.first(own.order_by(c.number.desc()).limit(1))


def _check_delay(tx: Transaction, worker_id: str, type_id: str, delay: int | None) -> None:
    last = last_request(tx, worker_id, type_id)
    if last is None:
        return
    if last.status == "Pending":
        raise refused("InvalidQualificationRequestState", f"A request of worker {worker_id} for this type is pending.")
    if delay is None:
        raise refused("QualificationTypeDoesNotAllowRetake", "This qualification can be requested once only.")
    if tx.now < last.requested_at + delay:
        raise refused("QualificationTypeRetryDelayNotElapsed", "It is too early to request this qualification again.")
