"""Qualification types, granting and revoking qualifications, and workers' requests for them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, func, or_, select

from mturk.endpoint.errors import does_not_exist, invalid, refused, wrong_state
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
from mturk.endpoint.transaction import new_id
from mturk.endpoint.workers import grant_qualification

FOUNDED = 1_120_000_000.0  # seconds since 1970: creation time of the endpoint's own types


def associate(call: OperationCall) -> Answer:
    """Grant a qualification to a worker, or change its value."""
    given, kind = call.parameters, _named_type(call)
    check_worker(call, given["WorkerId"])
    grant_qualification(call.tx, kind.qualification_type_id, given["WorkerId"], given.get("IntegerValue", 1))
    if given.get("SendNotification", True):
        leave_message(call, given["WorkerId"], kind.name, "You were given this qualification.")
    return {}


def disassociate(call: OperationCall) -> Answer:
    """Revoke a worker's qualification."""
    row = _find(call)
    if row.status != "Granted":
        raise refused("InvalidQualificationState", f"The qualification of worker {row.worker_id} was revoked before.")
    own = qualifications.c.number == row.number
    call.tx.update(qualifications, own, status="Revoked", reason=call.parameters.get("Reason"))
    return {}


def get_score(call: OperationCall) -> Answer:
    """Return a worker's qualification of a type."""
    return {"Qualification": _write_qualification(_find(call))}


def list_workers(call: OperationCall) -> Answer:
    """List the workers with a qualification or, on request, those whose qualification was revoked."""
    kind, c = _named_type(call), qualifications.c
    status = call.parameters.get("Status", "Granted")
    query = select(qualifications).where(c.qualification_type_id == kind.qualification_type_id, c.status == status)
    return one_page(call, "Qualifications", query, c.number, _write_qualification)


def list_requests(call: OperationCall) -> Answer:
    """List pending requests of workers."""
    query = _own_requests(call).where(qualification_requests.c.status == "Pending")
    if "QualificationTypeId" in call.parameters:
        type_id = _named_type(call).qualification_type_id
        query = query.where(qualification_requests.c.qualification_type_id == type_id)
    return one_page(call, "QualificationRequests", query, qualification_requests.c.number, _write_request)


def accept_request(call: OperationCall) -> Answer:
    """Grant a requested qualification."""
    row = _find_request(call)
    value = call.parameters.get("IntegerValue", 1)
    grant_qualification(call.tx, row.qualification_type_id, row.worker_id, value)
    _answer(call, row, "Granted", None)
    return {}


def reject_request(call: OperationCall) -> Answer:
    """Reject a request; the worker sees the reason."""
    _answer(call, _find_request(call), "Rejected", call.parameters.get("Reason"))
    return {}


def _find(call: OperationCall) -> Row[Any]:
    type_id, worker_id = _named_type(call).qualification_type_id, call.parameters["WorkerId"]
    own = (qualifications.c.qualification_type_id == type_id, qualifications.c.worker_id == worker_id)
    row = call.tx.first(select(qualifications).where(*own))
    if row is None:
        why = f"You requested a Qualification that does not exist: worker {worker_id} has none of type {type_id}."
        raise refused("QualificationDoesNotExist", why)
    return row


def _own_requests(call: OperationCall) -> Select[Any]:
    own = qualification_types.c.qualification_type_id == qualification_requests.c.qualification_type_id
    query = select(qualification_requests).join(qualification_types, own)
    return query.where(qualification_types.c.requester_id == call.requester_id)


def _find_request(call: OperationCall) -> Row[Any]:
    request_id = call.parameters["QualificationRequestId"]
    row = call.tx.first(_own_requests(call).where(qualification_requests.c.request_id == request_id))
    if row is None:
        raise does_not_exist("QualificationRequest", request_id[:64])
    if row.status != "Pending":
        raise wrong_state("QualificationRequest", request_id, row.status, ["Pending"])
    return row


def _answer(call: OperationCall, row: Row[Any], status: str, reason: str | None) -> None:
    own = qualification_requests.c.number == row.number
    call.tx.update(qualification_requests, own, status=status, reason=reason, answered_at=call.now)


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


def create_type(call: OperationCall) -> Answer:
    """Create a qualification type; its name is unique among its requester's."""
    given = call.parameters
    refuse_unsupported(given)
    name = given["Name"]
    if not given["Description"]:
        raise invalid("Description", "expected at least 1 character, got none")
    c = qualification_types.c
    known = select(qualification_types).where(c.requester_id == call.requester_id, c.name == name)
    for row in call.tx.connection.execute(known).all():
        if row.deleted_at is None or _in_use(call, row.qualification_type_id):
            why = f"You have already created a QualificationType with this name: {row.qualification_type_id}."
            raise refused("QualificationTypeAlreadyExists", why)
    type_id = new_id()
    call.tx.insert(
        qualification_types,
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
    return {"QualificationType": _write_type(find_qualification_type(call, type_id))}


def get_type(call: OperationCall) -> Answer:
    """Return a qualification type."""
    type_id = call.parameters["QualificationTypeId"]
    return {"QualificationType": _write_system(type_id) if type_id in SYSTEM_TYPES else _write_type(_named_type(call))}


def update_type(call: OperationCall) -> Answer:
    """Change a qualification type, except its name and keywords."""
    refuse_unsupported(call.parameters)
    row = _named_type(call)
    names = {
        "Description": "description",
        "QualificationTypeStatus": "status",
        "RetryDelayInSeconds": "retry_delay",
        "AutoGranted": "auto_granted",
        "AutoGrantedValue": "auto_granted_value",
    }
    changes = {column: call.parameters[name] for name, column in names.items() if name in call.parameters}
    if changes:
        call.tx.update(qualification_types, qualification_types.c.number == row.number, **changes)
    return {"QualificationType": _write_type(_named_type(call))}


def delete_type(call: OperationCall) -> Answer:
    """Delete a qualification type and the HIT types that require it, and reject pending requests.

    Granted qualifications still count for published HITs; the name can be used again when no such HIT is left.
    """
    row, c = _named_type(call), qualification_requests.c
    type_id = row.qualification_type_id
    call.tx.update(qualification_types, qualification_types.c.number == row.number, deleted_at=call.now)
    rejection = {"status": "Rejected", "reason": "The qualification type was deleted.", "answered_at": call.now}
    pending = (c.qualification_type_id == type_id, c.status == "Pending")
    call.tx.update(qualification_requests, *pending, **rejection)
    asking = select(requirement_types.c.hit_type_id).where(requirement_types.c.qualification_type_id == type_id)
    call.tx.update(hit_types, hit_types.c.hit_type_id.in_(asking), deleted_at=call.now)
    return {}


def list_types(call: OperationCall) -> Answer:
    """List this requester's types and, unless the filters exclude them, those of the endpoint.

    Other requesters' types are not shown.
    """
    given, c = call.parameters, qualification_types.c
    own = (c.requester_id == call.requester_id, c.deleted_at.is_(None), c.created_at <= call.visible_until)
    query = select(qualification_types).where(*own)
    query_text = given.get("Query", "").strip().casefold()
    if query_text:
        texts = (c.name, c.description, c.keywords)
        query = query.where(or_(*(func.lower(text).contains(query_text, autoescape=True) for text in texts)))
    if given["MustBeRequestable"]:
        query = query.where(c.status == "Active")
    answer = one_page(call, "QualificationTypes", query, c.number, _write_type)
    theirs_only = given.get("MustBeOwnedByCaller", False) or given["MustBeRequestable"]
    if not theirs_only and answer["NextToken"] is None:  # the endpoint's own close the last page
        answer["QualificationTypes"] += [
            _write_system(type_id)
            for type_id, known in SYSTEM_TYPES.items()
            if query_text in f"{known.name} {known.description}".casefold()
        ]
        answer["NumResults"] = len(answer["QualificationTypes"])
    return answer


def find_qualification_type(call: OperationCall, type_id: str) -> Row[Any]:
    """Return a requester's own qualification type that was not deleted."""
    c = qualification_types.c
    own = (c.qualification_type_id == type_id, c.requester_id == call.requester_id, c.deleted_at.is_(None))
    row = call.tx.first(select(qualification_types).where(*own))
    if row is None:
        raise does_not_exist("QualificationType", type_id)
    return row


def _named_type(call: OperationCall) -> Row[Any]:
    return find_qualification_type(call, call.parameters["QualificationTypeId"])


def _in_use(call: OperationCall, type_id: str) -> bool:
    """Return whether a HIT that is not deleted requires a qualification type."""
    query = (
        select(hits.c.number)
        .join(requirement_types, requirement_types.c.hit_type_id == hits.c.hit_type_id)
        .where(requirement_types.c.qualification_type_id == type_id, hits.c.status != DISPOSED)
    )
    return call.tx.first(query.limit(1)) is not None


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
