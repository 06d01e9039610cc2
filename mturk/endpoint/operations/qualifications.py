"""Granting qualifications to workers, taking them back, and answering workers who ask."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, select, update

from mturk.endpoint.errors import refused
from mturk.endpoint.operations.call import Answer, OperationCall, one_page
from mturk.endpoint.operations.qualification_types import find_qualification_type
from mturk.endpoint.operations.workers import check_worker, leave_message
from mturk.endpoint.qualification import grant_qualification
from mturk.endpoint.schema import qualification_requests, qualification_types, qualifications


def associate(call: OperationCall) -> Answer:
    """Give a worker a qualification, or another value of it."""
    given = call.given
    kind = find_qualification_type(call.tx, given["QualificationTypeId"], call.requester_id)
    check_worker(call, given["WorkerId"])
    value = given.get("IntegerValue", 1)
    grant_qualification(call.tx, kind.qualification_type_id, given["WorkerId"], value)
    if given.get("SendNotification", True):
        leave_message(call, given["WorkerId"], kind.name, "You were given this qualification.")
    return {}


def disassociate(call: OperationCall) -> Answer:
    """Revoke a worker's qualification."""
    given = call.given
    kind = find_qualification_type(call.tx, given["QualificationTypeId"], call.requester_id)
    row = _find(call, kind.qualification_type_id, given["WorkerId"])
    if row.status != "Granted":
        raise refused(
            "InvalidQualificationState", f"The qualification of worker {given['WorkerId']} was revoked before."
        )
    call.tx.connection.execute(
        update(qualifications)
        .where(qualifications.c.number == row.number)
        .values(status="Revoked", reason=given.get("Reason"))
    )
    return {}


def get_score(call: OperationCall) -> Answer:
    """Return what a worker has of a qualification type."""
    kind = find_qualification_type(call.tx, call.given["QualificationTypeId"], call.requester_id)
    return {"Qualification": _write(_find(call, kind.qualification_type_id, call.given["WorkerId"]))}


def list_workers(call: OperationCall) -> Answer:
    """List workers who have a qualification or, where that is asked for, had it."""
    kind = find_qualification_type(call.tx, call.given["QualificationTypeId"], call.requester_id)
    query = select(qualifications.c.number.label("place"), qualifications).where(
        qualifications.c.qualification_type_id == kind.qualification_type_id,
        qualifications.c.status == call.given.get("Status", "Granted"),
    )
    return one_page(call, query, qualifications.c.number, _write, "Qualifications")


def list_requests(call: OperationCall) -> Answer:
    """List what workers have requested and nobody has answered."""
    query = (
        select(qualification_requests.c.number.label("place"), qualification_requests)
        .join(
            qualification_types,
            qualification_types.c.qualification_type_id == qualification_requests.c.qualification_type_id,
        )
        .where(qualification_types.c.requester_id == call.requester_id, qualification_requests.c.status == "Pending")
    )
    if "QualificationTypeId" in call.given:
        kind = find_qualification_type(call.tx, call.given["QualificationTypeId"], call.requester_id)
        query = query.where(qualification_requests.c.qualification_type_id == kind.qualification_type_id)
    return one_page(call, query, qualification_requests.c.number, _write_request, "QualificationRequests")


def accept_request(call: OperationCall) -> Answer:
    """Grant what a worker requested."""
    row = _find_request(call)
    value = call.given.get("IntegerValue", 1)
    grant_qualification(call.tx, row.qualification_type_id, row.worker_id, value)
    _answer(call, row, "Granted", None)
    return {}


def reject_request(call: OperationCall) -> Answer:
    """Refuse what a worker requested; they see the reason."""
    _answer(call, _find_request(call), "Rejected", call.given.get("Reason"))
    return {}


def _find(call: OperationCall, type_id: str, worker_id: str) -> Row[Any]:
    row = call.tx.connection.execute(
        select(qualifications).where(
            qualifications.c.qualification_type_id == type_id, qualifications.c.worker_id == worker_id
        )
    ).first()
    if row is None:
        raise refused(
            "QualificationDoesNotExist",
            f"You requested a Qualification that does not exist: worker {worker_id} has none of type {type_id}.",
        )
    return row


def _find_request(call: OperationCall) -> Row[Any]:
    request_id = call.given["QualificationRequestId"]
    row = call.tx.connection.execute(
        select(qualification_requests)
        .join(
            qualification_types,
            qualification_types.c.qualification_type_id == qualification_requests.c.qualification_type_id,
        )
        .where(
            qualification_requests.c.request_id == request_id,
            qualification_types.c.requester_id == call.requester_id,
        )
    ).first()
    if row is None:
        raise refused("QualificationRequestDoesNotExist", f"QualificationRequest {request_id[:64]} does not exist.")
    if row.status != "Pending":
        raise refused(
            "InvalidQualificationRequestState",
            f"QualificationRequest {request_id} is currently in the state '{row.status}'. "
            "This operation can be called with a status of: Pending.",
        )
    return row


def _answer(call: OperationCall, row: Row[Any], status: str, reason: str | None) -> None:
    call.tx.connection.execute(
        update(qualification_requests)
        .where(qualification_requests.c.number == row.number)
        .values(status=status, reason=reason, answered_at=call.now)
    )


def _write(row: Row[Any]) -> Answer:
    return {
        "QualificationTypeId": row.qualification_type_id,
        "WorkerId": row.worker_id,
        "GrantTime": row.granted_at,
        "IntegerValue": row.value,
        "Status": row.status,
    }


def _write_request(row: Row[Any]) -> Answer:
    return {
        "QualificationRequestId": row.request_id,
        "QualificationTypeId": row.qualification_type_id,
        "WorkerId": row.worker_id,
        "SubmitTime": row.requested_at,
    }
