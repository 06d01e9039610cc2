"""Granting qualifications to workers, taking them back, and answering workers who ask."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, func, insert, or_, select, update

from mturk.endpoint.errors import does_not_exist, invalid, refused
from mturk.endpoint.hits import DISPOSED
from mturk.endpoint.operations.call import Answer, OperationCall, one_page, refuse_unsupported
from mturk.endpoint.operations.workers import check_worker, leave_message
from mturk.endpoint.requirements import SYSTEM_TYPES
from mturk.endpoint.schema import (
    hit_types,
    hits,
    qualification_requests,
    qualification_types,
    qualifications,
    requirement_types,
)
from mturk.endpoint.transaction import Transaction, new_id
from mturk.endpoint.workers import grant_qualification


def associate(call: OperationCall) -> Answer:
    """Give a worker a qualification, or another value of it."""
    given = call.given
    kind = find_qualification_type(call, given["QualificationTypeId"])
    check_worker(call, given["WorkerId"])
    value = given.get("IntegerValue", 1)
    grant_qualification(call.tx, kind.qualification_type_id, given["WorkerId"], value)
    if given.get("SendNotification", True):
        leave_message(call, given["WorkerId"], kind.name, "You were given this qualification.")
    return {}


def disassociate(call: OperationCall) -> Answer:
    """Revoke a worker's qualification."""
    given = call.given
    kind = find_qualification_type(call, given["QualificationTypeId"])
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
    kind = find_qualification_type(call, call.given["QualificationTypeId"])
    return {"Qualification": _write_qualification(_find(call, kind.qualification_type_id, call.given["WorkerId"]))}


def list_workers(call: OperationCall) -> Answer:
    """List workers who have a qualification or, where that is asked for, had it."""
    kind = find_qualification_type(call, call.given["QualificationTypeId"])
    query = select(qualifications.c.number.label("place"), qualifications).where(
        qualifications.c.qualification_type_id == kind.qualification_type_id,
        qualifications.c.status == call.given.get("Status", "Granted"),
    )
    return one_page(call, query, qualifications.c.number, _write_qualification, "Qualifications")


def list_requests(call: OperationCall) -> Answer:
    """List what workers have requested and nobody has answered."""
    query = _own_requests(call).where(qualification_requests.c.status == "Pending")
    if "QualificationTypeId" in call.given:
        kind = find_qualification_type(call, call.given["QualificationTypeId"])
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


def _own_requests(call: OperationCall) -> Select[Any]:
    own = qualification_types.c.qualification_type_id == qualification_requests.c.qualification_type_id
    query = select(qualification_requests.c.number.label("place"), qualification_requests)
    return query.join(qualification_types, own).where(qualification_types.c.requester_id == call.requester_id)


def _find_request(call: OperationCall) -> Row[Any]:
    request_id = call.given["QualificationRequestId"]
    query = _own_requests(call).where(qualification_requests.c.request_id == request_id)
    row = call.tx.connection.execute(query).first()
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


def _write_qualification(row: Row[Any]) -> Answer:
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


FOUNDED = 1_120_000_000.0  # seconds since 1970: a date for types that nobody created


def create_type(call: OperationCall) -> Answer:
    """Create a qualification type; its name is unique among its requester's."""
    given = call.given
    refuse_unsupported(given)
    name = given["Name"]
    if not given["Description"]:
        raise invalid("Description", "expected at least 1 character, got none")
    known = call.tx.connection.execute(
        select(qualification_types.c.qualification_type_id, qualification_types.c.deleted_at).where(
            qualification_types.c.requester_id == call.requester_id, qualification_types.c.name == name
        )
    ).all()
    for row in known:
        if row.deleted_at is None or in_use(call.tx, row.qualification_type_id):
            raise refused(
                "QualificationTypeAlreadyExists",
                f"You have already created a QualificationType with this name: {row.qualification_type_id}.",
            )
    type_id = new_id()
    call.tx.connection.execute(
        insert(qualification_types).values(
            qualification_type_id=type_id,
            requester_id=call.requester_id,
            name=name,
            description=given["Description"],
            keywords=given.get("Keywords"),
            status=given["QualificationTypeStatus"],
            retry_delay=given.get("RetryDelayInSeconds"),
            auto_granted=given.get("AutoGranted", False),
            auto_granted_value=given.get("AutoGrantedValue", 1),
            created_at=call.now,
        )
    )
    return {"QualificationType": _write_type(find_qualification_type(call, type_id))}


def get_type(call: OperationCall) -> Answer:
    """Return a qualification type."""
    type_id = call.given["QualificationTypeId"]
    if type_id in SYSTEM_TYPES:
        return {"QualificationType": _write_system(type_id)}
    return {"QualificationType": _write_type(find_qualification_type(call, type_id))}


def update_type(call: OperationCall) -> Answer:
    """Change a qualification type; its name and keywords stay."""
    given = call.given
    refuse_unsupported(given)
    row = find_qualification_type(call, given["QualificationTypeId"])
    names = {
        "Description": "description",
        "QualificationTypeStatus": "status",
        "RetryDelayInSeconds": "retry_delay",
        "AutoGranted": "auto_granted",
        "AutoGrantedValue": "auto_granted_value",
    }
    changes = {column: given[name] for name, column in names.items() if name in given}
    if changes:
        call.tx.connection.execute(
            update(qualification_types).where(qualification_types.c.number == row.number).values(**changes)
        )
    return {"QualificationType": _write_type(find_qualification_type(call, row.qualification_type_id))}


def delete_type(call: OperationCall) -> Answer:
    """Delete a qualification type, the HIT types that ask for it, and refuse what workers have requested.

    Qualifications that were granted stay for HITs that are out; the name is free when no such HIT is left.
    """
    row = find_qualification_type(call, call.given["QualificationTypeId"])
    connection = call.tx.connection
    type_id = row.qualification_type_id
    connection.execute(
        update(qualification_types).where(qualification_types.c.number == row.number).values(deleted_at=call.now)
    )
    connection.execute(
        update(qualification_requests)
        .where(qualification_requests.c.qualification_type_id == type_id, qualification_requests.c.status == "Pending")
        .values(status="Rejected", reason="The qualification type was deleted.", answered_at=call.now)
    )
    asking = select(requirement_types.c.hit_type_id).where(requirement_types.c.qualification_type_id == type_id)
    connection.execute(update(hit_types).where(hit_types.c.hit_type_id.in_(asking)).values(deleted_at=call.now))
    return {}


def list_types(call: OperationCall) -> Answer:
    """List this requester's types and, unless it shall be theirs or requestable, those of the endpoint.

    Other requesters' types are not shown.
    """
    given = call.given
    query = select(qualification_types.c.number.label("place"), qualification_types).where(
        qualification_types.c.requester_id == call.requester_id,
        qualification_types.c.deleted_at.is_(None),
        qualification_types.c.created_at <= call.visible_until,
    )
    wanted = given.get("Query", "").strip().casefold()
    if wanted:
        texts = (qualification_types.c.name, qualification_types.c.description, qualification_types.c.keywords)
        query = query.where(or_(*(func.lower(text).contains(wanted, autoescape=True) for text in texts)))
    if given["MustBeRequestable"]:
        query = query.where(qualification_types.c.status == "Active")
    answer = one_page(call, query, qualification_types.c.number, _write_type, "QualificationTypes")
    theirs_only = given.get("MustBeOwnedByCaller", False) or given["MustBeRequestable"]
    if not theirs_only and answer["NextToken"] is None:  # the endpoint's own close the last page
        answer["QualificationTypes"] += [
            _write_system(type_id)
            for type_id, known in SYSTEM_TYPES.items()
            if wanted in f"{known.name} {known.description}".casefold()
        ]
        answer["NumResults"] = len(answer["QualificationTypes"])
    return answer


def find_qualification_type(call: OperationCall, type_id: str) -> Row[Any]:
    """Return a requester's own qualification type.

    Raise MTurkRequestError if there is none, it was deleted, or it is somebody else's.
    """
    row = call.tx.connection.execute(
        select(qualification_types).where(
            qualification_types.c.qualification_type_id == type_id,
            qualification_types.c.requester_id == call.requester_id,
            qualification_types.c.deleted_at.is_(None),
        )
    ).first()
    if row is None:
        raise does_not_exist("QualificationType", type_id)
    return row


def in_use(tx: Transaction, type_id: str) -> bool:
    """Whether a HIT that is not disposed of asks for a qualification type."""
    query = (
        select(hits.c.number)
        .join(requirement_types, requirement_types.c.hit_type_id == hits.c.hit_type_id)
        .where(requirement_types.c.qualification_type_id == type_id, hits.c.status != DISPOSED)
    )
    return tx.connection.execute(query.limit(1)).first() is not None


def _write_type(row: Row[Any]) -> Answer:
    return {
        "QualificationTypeId": row.qualification_type_id,
        "CreationTime": row.created_at,
        "Name": row.name,
        "Description": row.description,
        "Keywords": row.keywords,
        "QualificationTypeStatus": row.status,
        "RetryDelayInSeconds": row.retry_delay,
        "IsRequestable": row.status == "Active",
        "AutoGranted": row.auto_granted,
        "AutoGrantedValue": row.auto_granted_value if row.auto_granted else None,
    }


def _write_system(type_id: str) -> Answer:
    known = SYSTEM_TYPES[type_id]
    return {
        "QualificationTypeId": type_id,
        "CreationTime": FOUNDED,
        "Name": known.name,
        "Description": known.description,
        "QualificationTypeStatus": "Active",
        "IsRequestable": False,
        "AutoGranted": False,
    }
