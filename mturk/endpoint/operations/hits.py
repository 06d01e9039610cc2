"""Creating, changing, reading and reviewing HITs and their assignments."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, Select, bindparam, select

from mturk.endpoint import hits as life
from mturk.endpoint import repository
from mturk.endpoint.assignments import KNOWN_TO_REQUESTERS, REJECTED, HitAssignment
from mturk.endpoint.errors import NOT_SUPPORTED, PREFIX, MTurkRequestError, does_not_exist, invalid, refused
from mturk.endpoint.hits import DISPOSED, REVIEWABLE, HitType, HostedHit
from mturk.endpoint.money import format_money, parse_money
from mturk.endpoint.operations.call import (
    Answer,
    OperationCall,
    earlier_result,
    one_page,
    refuse_duplicate,
    refuse_unsupported,
    remember,
)
from mturk.endpoint.operations.qualifications import find_qualification_type
from mturk.endpoint.protocol import AUTO_APPROVAL_DELAY
from mturk.endpoint.requirements import SYSTEM_TYPES, check_requirements
from mturk.endpoint.review import approve, check_funds, reject
from mturk.endpoint.schema import assignments, hit_types, hits, requirement_types
from mturk.endpoint.transaction import new_id
from mturk.questions import QuestionNotSupported, QuestionRefused, XMLRefused, read_question

SAME_TYPE = select(hit_types.c.hit_type_id).where(
    hit_types.c.requester_id == bindparam("requester"), hit_types.c.digest == bindparam("sum")
)
DELETED_AT = select(hit_types.c.deleted_at).where(hit_types.c.hit_type_id == bindparam("name"))


def get_hit(call: OperationCall) -> Answer:
    """Return a HIT, also a deleted one."""
    hit = call.hit()
    return {"HIT": write_hit(hit, repository.find_type(call.tx, hit.hit_type_id))}


def get_assignment(call: OperationCall) -> Answer:
    """Return a submitted assignment with its HIT."""
    work = call.assignment()
    hit = repository.find_hit(call.tx, work.hit_id)
    if work.status not in KNOWN_TO_REQUESTERS or hit.status == DISPOSED:
        raise does_not_exist("Assignment", work.assignment_id)
    return {"Assignment": write_assignment(work), "HIT": write_hit(hit, repository.find_type(call.tx, hit.hit_type_id))}


def list_hits(call: OperationCall) -> Answer:
    """List all HITs that are not deleted, the newest first."""
    return _list(call, _own(call))


def list_reviewable_hits(call: OperationCall) -> Answer:
    """List HITs that wait for review."""
    query = _own(call).where(hits.c.status == call.parameters.get("Status", REVIEWABLE))
    if "HITTypeId" in call.parameters:
        query = query.where(hits.c.hit_type_id == call.hit_type().hit_type_id)
    return _list(call, query)


def list_hits_for_qualification_type(call: OperationCall) -> Answer:
    """List HITs that require a qualification."""
    query = _own(call).join(requirement_types, requirement_types.c.hit_type_id == hits.c.hit_type_id)
    return _list(call, query.where(requirement_types.c.qualification_type_id == call.parameters["QualificationTypeId"]))


def list_assignments(call: OperationCall) -> Answer:
    """List the submitted assignments of a HIT, the oldest first."""
    hit, c = call.hit(), assignments.c
    if hit.status == DISPOSED:
        raise does_not_exist("HIT", hit.hit_id)
    submissions = (c.hit_id == hit.hit_id, c.turn.is_not(None), c.submitted_at <= call.visible_until)
    query = select(*repository.ASSIGNMENT_COLUMNS).where(*submissions)
    statuses = call.parameters.get("AssignmentStatuses")
    if statuses:
        query = query.where(c.status.in_(statuses))
    return one_page(call, "Assignments", query, c.turn, write_assignment)


def _own(call: OperationCall) -> Select[Any]:
    c = hits.c
    own = (c.requester_id == call.requester_id, c.status != DISPOSED, c.created_at <= call.visible_until)
    return select(*repository.HIT_COLUMNS).where(*own)


def _list(call: OperationCall, query: Select[Any]) -> Answer:
    kinds: dict[str, HitType] = {}

    def write(row: Row[Any]) -> Answer:
        hit = repository.hit_from(row[:-1])
        if hit.hit_type_id not in kinds:
            kinds[hit.hit_type_id] = repository.find_type(call.tx, hit.hit_type_id)
        return write_hit(hit, kinds[hit.hit_type_id])

    return one_page(call, "HITs", query, hits.c.number, write, descending=True)


def write_hit(hit: HostedHit, kind: HitType) -> dict[str, Any]:
    """Return a HIT with the properties of its type."""
    return {
        "HITId": hit.hit_id,
        "HITTypeId": hit.hit_type_id,
        "HITGroupId": kind.group_id,
        "CreationTime": hit.created_at,
        "Title": kind.title,
        "Description": kind.description,
        "Question": hit.question,
        "Keywords": kind.keywords or None,
        "HITStatus": hit.status,
        "MaxAssignments": hit.maximum,
        "Reward": format_money(kind.reward),
        "AutoApprovalDelayInSeconds": kind.auto_approval_delay,
        "Expiration": hit.expires_at,
        "AssignmentDurationInSeconds": kind.duration,
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": json.loads(kind.requirements),
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": hit.pending,
        "NumberOfAssignmentsAvailable": hit.available,
        "NumberOfAssignmentsCompleted": hit.completed,
    }


def write_assignment(work: HitAssignment | Row[Any]) -> dict[str, Any]:
    """Return a submitted assignment, also from its row."""
    return {
        "AssignmentId": work.assignment_id,
        "WorkerId": work.worker_id,
        "HITId": work.hit_id,
        "AssignmentStatus": work.status,
        "AutoApprovalTime": work.auto_approval_at,
        "AcceptTime": work.accepted_at,
        "SubmitTime": work.submitted_at,
        "ApprovalTime": work.approved_at,
        "RejectionTime": work.rejected_at if work.status == REJECTED else None,
        "Deadline": work.deadline,
        "Answer": work.answer,
        "RequesterFeedback": work.feedback,
    }


def create_hit_type(call: OperationCall) -> Answer:
    """Register a HIT type; the same seven properties give the same id."""
    return {"HITTypeId": _type_of(call).hit_type_id}


def create_hit(call: OperationCall) -> Answer:
    """Create a HIT, and its HIT type if that is new."""
    refuse_unsupported(call.parameters)
    _refuse_repeated(call)
    return _create(call, _type_of(call))


def create_hit_with_type(call: OperationCall) -> Answer:
    """Create a HIT of an existing HIT type."""
    refuse_unsupported(call.parameters)
    _refuse_repeated(call)
    return _create(call, _own_type(call, call.parameters["HITTypeId"]))


def create_additional_assignments(call: OperationCall) -> Answer:
    """Add assignments to a HIT."""
    refuse_duplicate(call, "extension")
    hit = _visible_hit(call)
    after = life.extended(hit, call.parameters["NumberOfAdditionalAssignments"], call.now)
    _save(call, hit, after, "extending the HIT")
    remember(call, "extension", hit.hit_id)
    return {}


def update_expiration(call: OperationCall) -> Answer:
    """Change a HIT's expiry; one in the past expires it at once."""
    at = float(call.parameters["ExpireAt"])
    hit = _visible_hit(call) if at > call.now else call.hit()
    return _save(call, hit, life.expiring(hit, at, call.now), "opening the HIT again")


def update_hit_type(call: OperationCall) -> Answer:
    """Give a HIT the properties of another HIT type."""
    hit = _visible_hit(call)
    kind = _own_type(call, call.parameters["HITTypeId"])
    return _save(call, hit, life.retyped(hit, kind.hit_type_id, call.now), "changing the HIT's type", kind)


def update_review_status(call: OperationCall) -> Answer:
    """Mark a HIT as being reviewed, or as not being."""
    hit = call.hit()
    return _save(call, hit, life.in_review(hit, not call.parameters.get("Revert", False), call.now))


def delete_hit(call: OperationCall) -> Answer:
    """Delete a HIT that is finished and reviewed."""
    hit = call.hit()
    return _save(call, hit, life.disposed(hit, call.now))


def _save(
    call: OperationCall, hit: HostedHit, after: HostedHit, what: str = "", kind_after: HitType | None = None
) -> Answer:
    """Save a HIT's next state; ``what`` names an action that may cost more and needs the budget for it."""
    kind = repository.find_type(call.tx, hit.hit_type_id)
    if what:
        cost = repository.held(call.tx, after, kind_after or kind) - repository.held(call.tx, hit, kind)
        check_funds(call.tx, call.requester_id, cost, what)
    repository.save_hit(call.tx, hit, after, kind=kind, kind_after=kind_after)
    return {}


def _create(call: OperationCall, kind: HitType) -> Answer:
    given = call.parameters
    if "Question" not in given:
        raise invalid("Question", "expected an HTMLQuestion or ExternalQuestion, got nothing")
    _check_question(given["Question"])
    hit = HostedHit(
        number=0,
        hit_id=new_id(),
        requester_id=call.requester_id,
        hit_type_id=kind.hit_type_id,
        question=given["Question"],
        annotation=given.get("RequesterAnnotation"),
        created_at=call.now,
        expires_at=call.now + given["LifetimeInSeconds"],
        maximum=given.get("MaxAssignments", 1),
        active_at=call.now,
    )
    cost = repository.held(call.tx, hit, kind)
    check_funds(call.tx, call.requester_id, cost, "this HIT")
    hit = repository.add_hit(call.tx, hit)
    repository.hold(call.tx, call.requester_id, cost)
    remember(call, "hit", hit.hit_id)
    repository.record_event(call.tx, "HITCreated", hit)
    return {"HIT": write_hit(hit, kind)}


def _check_question(xml: str) -> None:
    try:
        read_question(xml)
    except XMLRefused as error:
        raise MTurkRequestError("ParameterValidationError", PREFIX + "XMLParseError", f"Question: {error}") from error
    except QuestionNotSupported as error:
        raise MTurkRequestError("RequestError", NOT_SUPPORTED, str(error)) from error
    except QuestionRefused as error:
        raise invalid("Question", str(error)) from error


def _type_of(call: OperationCall) -> HitType:
    """Return the HIT type with the given properties; create it if it is new."""
    given = call.parameters
    requirements: list[dict[str, Any]] = given.get("QualificationRequirements", [])
    check_requirements(requirements)
    kind = HitType(
        hit_type_id="",
        group_id="",
        requester_id=call.requester_id,
        title=given["Title"],
        description=given["Description"],
        keywords=given.get("Keywords", ""),
        reward=parse_money(given["Reward"], "Reward"),
        duration=given["AssignmentDurationInSeconds"],
        auto_approval_delay=given.get("AutoApprovalDelayInSeconds", AUTO_APPROVAL_DELAY),
        requirements=json.dumps(requirements, sort_keys=True),
    )
    properties = ("title", "description", "keywords", "reward", "duration", "auto_approval_delay", "requirements")
    parts = [getattr(kind, name) for name in properties]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    known = call.tx.connection.scalar(SAME_TYPE, {"requester": call.requester_id, "sum": digest})
    if known is not None:
        return _own_type(call, known)
    _check_types_exist(call, requirements)
    kind = replace(kind, hit_type_id=new_id(), group_id=new_id())
    values = {name: getattr(kind, name) for name in repository.TYPE_FIELDS}
    call.tx.insert(hit_types, **values, digest=digest, created_at=call.now)
    for type_id in sorted({one["QualificationTypeId"] for one in requirements}):
        call.tx.insert(requirement_types, hit_type_id=kind.hit_type_id, qualification_type_id=type_id)
    return kind


def _check_types_exist(call: OperationCall, requirements: list[dict[str, Any]]) -> None:
    for number, asked in enumerate(requirements):
        type_id = asked["QualificationTypeId"]
        if type_id in SYSTEM_TYPES:
            continue
        if find_qualification_type(call, type_id).status != "Active":
            where = f"QualificationRequirements[{number}]"
            raise refused("InvalidQualificationTypeState", f"{where}: QualificationType {type_id} is Inactive.")


def _own_type(call: OperationCall, hit_type_id: str) -> HitType:
    kind = repository.find_type(call.tx, hit_type_id, requester_id=call.requester_id)
    if call.tx.connection.scalar(DELETED_AT, {"name": kind.hit_type_id}) is not None:
        raise does_not_exist("HITType", hit_type_id)
    return kind


def _refuse_repeated(call: OperationCall) -> None:
    made = earlier_result(call, "hit")
    if made is not None:
        why = f"The HIT with ID {made} already exists: it was created with the same UniqueRequestToken."
        raise refused("HitAlreadyExists", why)


def _visible_hit(call: OperationCall) -> HostedHit:
    hit = call.hit()
    if hit.created_at > call.visible_until:
        why = f"HIT {hit.hit_id} was created just now and cannot be changed yet; try again shortly."
        raise refused("InvalidHITState", why)
    return hit


def approve_assignment(call: OperationCall) -> Answer:
    """Approve an assignment, or override its rejection on request."""
    given, override = call.parameters, call.parameters.get("OverrideRejection", False)
    feedback = given.get("RequesterFeedback")
    approve(call.tx, given["AssignmentId"], requester_id=call.requester_id, feedback=feedback, override=override)
    return {}


def reject_assignment(call: OperationCall) -> Answer:
    """Reject an assignment."""
    given = call.parameters
    reject(call.tx, given["AssignmentId"], requester_id=call.requester_id, feedback=given["RequesterFeedback"])
    return {}
