"""Qualification types of requesters, and those that are there from the start."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, func, insert, or_, select, update

from mturk.endpoint.errors import does_not_exist, invalid, refused
from mturk.endpoint.hits import DISPOSED
from mturk.endpoint.operations.call import Answer, OperationCall, one_page
from mturk.endpoint.operations.unsupported import refuse_unsupported
from mturk.endpoint.schema import hit_types, hits, qualification_requests, qualification_types, requirement_types
from mturk.endpoint.system_types import SYSTEM_TYPES
from mturk.endpoint.transaction import Transaction, new_id

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
    return {"QualificationType": _write(find_qualification_type(call.tx, type_id, call.requester_id))}


def get_type(call: OperationCall) -> Answer:
    """Return a qualification type."""
    type_id = call.given["QualificationTypeId"]
    if type_id in SYSTEM_TYPES:
        return {"QualificationType": _write_system(type_id)}
    return {"QualificationType": _write(find_qualification_type(call.tx, type_id, call.requester_id))}


def update_type(call: OperationCall) -> Answer:
    """Change a qualification type; its name and keywords stay."""
    given = call.given
    refuse_unsupported(given)
    row = find_qualification_type(call.tx, given["QualificationTypeId"], call.requester_id)
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
    return {"QualificationType": _write(find_qualification_type(call.tx, row.qualification_type_id, call.requester_id))}


def delete_type(call: OperationCall) -> Answer:
    """Delete a qualification type, the HIT types that ask for it, and refuse what workers have requested.

    Qualifications that were granted stay for HITs that are out; the name is free when no such HIT is left.
    """
    row = find_qualification_type(call.tx, call.given["QualificationTypeId"], call.requester_id)
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
    answer = one_page(call, query, qualification_types.c.number, _write, "QualificationTypes")
    theirs_only = given.get("MustBeOwnedByCaller", False) or given["MustBeRequestable"]
    if not theirs_only and answer["NextToken"] is None:  # the endpoint's own close the last page
        answer["QualificationTypes"] += [
            _write_system(type_id)
            for type_id, known in SYSTEM_TYPES.items()
            if wanted in f"{known.name} {known.description}".casefold()
        ]
        answer["NumResults"] = len(answer["QualificationTypes"])
    return answer


def find_qualification_type(tx: Transaction, type_id: str, requester_id: str) -> Row[Any]:
    """Return a requester's own qualification type.

    Raises
    ------
    Refusal
        If there is none, it was deleted, or it is somebody else's.
    """
    row = tx.connection.execute(
        select(qualification_types).where(
            qualification_types.c.qualification_type_id == type_id,
            qualification_types.c.requester_id == requester_id,
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


def _write(row: Row[Any]) -> Answer:
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
