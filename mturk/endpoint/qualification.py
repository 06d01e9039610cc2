"""Granting qualifications, and what workers may ask for themselves."""

from __future__ import annotations

from sqlalchemy import insert, select, update

from mturk.endpoint.errors import does_not_exist, refused
from mturk.endpoint.schema import qualification_requests, qualification_types, qualifications
from mturk.endpoint.transaction import Transaction, new_id
from mturk.endpoint.worker_standing import find_worker


def grant_qualification(tx: Transaction, type_id: str, worker_id: str, value: int | None) -> None:
    """Give a worker a qualification; one that they have gets the new value, one that was revoked is granted again."""
    own = (qualifications.c.qualification_type_id == type_id, qualifications.c.worker_id == worker_id)
    values = {"status": "Granted", "value": value, "granted_at": tx.now, "reason": None}
    if not tx.connection.execute(update(qualifications).where(*own).values(**values)).rowcount:
        tx.connection.execute(
            insert(qualifications).values(qualification_type_id=type_id, worker_id=worker_id, **values)
        )


def request_qualification(tx: Transaction, worker_id: str, type_id: str) -> str:
    """Ask for a qualification as a worker does; return the request's id.

    Raises
    ------
    Refusal
        If the type cannot be requested, was requested before, or its delay is not over.
    """
    worker = find_worker(tx, worker_id)
    kind = tx.connection.execute(
        select(qualification_types).where(
            qualification_types.c.qualification_type_id == type_id, qualification_types.c.deleted_at.is_(None)
        )
    ).first()
    if kind is None or kind.requester_id in worker.blocked_by:
        raise does_not_exist("QualificationType", type_id)
    if kind.status != "Active":
        raise refused("InvalidQualificationTypeState", f"QualificationType {type_id} is Inactive.")
    if type_id in worker.held:
        raise refused("QualificationAlreadyExists", f"Worker {worker_id} has this qualification already.")
    _check_delay(tx, worker_id, type_id, kind.retry_delay)
    request_id = new_id()
    tx.connection.execute(
        insert(qualification_requests).values(
            request_id=request_id,
            qualification_type_id=type_id,
            worker_id=worker_id,
            requested_at=tx.now,
            status="Granted" if kind.auto_granted else "Pending",
            answered_at=tx.now if kind.auto_granted else None,
        )
    )
    if kind.auto_granted:
        grant_qualification(tx, type_id, worker_id, kind.auto_granted_value)
    return request_id


def _check_delay(tx: Transaction, worker_id: str, type_id: str, delay: int | None) -> None:
    last = tx.connection.execute(
        select(qualification_requests.c.requested_at, qualification_requests.c.status)
        .where(
            qualification_requests.c.worker_id == worker_id,
            qualification_requests.c.qualification_type_id == type_id,
        )
        .order_by(qualification_requests.c.number.desc())
        .limit(1)
    ).first()
    if last is None:
        return
    if last.status == "Pending":
        raise refused("InvalidQualificationRequestState", f"A request of worker {worker_id} for this type is pending.")
    if delay is None:
        raise refused("QualificationTypeDoesNotAllowRetake", "This qualification can be requested once only.")
    if tx.now < last.requested_at + delay:
        raise refused("QualificationTypeRetryDelayNotElapsed", "It is too early to request this qualification again.")
