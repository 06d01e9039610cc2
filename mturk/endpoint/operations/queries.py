"""Reading HITs and assignments."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Row, Select, select

from mturk.endpoint.assignments import KNOWN_TO_REQUESTERS, REJECTED, HitAssignment
from mturk.endpoint.errors import does_not_exist
from mturk.endpoint.hits import DISPOSED, REVIEWABLE, HitType, HostedHit
from mturk.endpoint.money import format_money
from mturk.endpoint.operations.call import Answer, OperationCall, one_page
from mturk.endpoint.repository import ASSIGNMENT_COLUMNS, HIT_COLUMNS, assignment_from, find_hit, find_type, hit_from
from mturk.endpoint.schema import assignments, hits, requirement_types


def get_hit(call: OperationCall) -> Answer:
    """Return a HIT, also one that is disposed of."""
    hit = call.hit()
    return {"HIT": write_hit(hit, find_type(call.tx, hit.hit_type_id))}


def get_assignment(call: OperationCall) -> Answer:
    """Return a submitted assignment with its HIT."""
    work = call.assignment()
    hit = find_hit(call.tx, work.hit_id)
    if work.status not in KNOWN_TO_REQUESTERS or hit.status == DISPOSED:
        raise does_not_exist("Assignment", work.assignment_id)
    return {"Assignment": write_assignment(work), "HIT": write_hit(hit, find_type(call.tx, hit.hit_type_id))}


def list_hits(call: OperationCall) -> Answer:
    """List all HITs that are not disposed of, the newest first."""
    return _list(call, _own(call))


def list_reviewable_hits(call: OperationCall) -> Answer:
    """List HITs that wait for their requester."""
    query = _own(call).where(hits.c.status == call.given.get("Status", REVIEWABLE))
    if "HITTypeId" in call.given:
        query = query.where(hits.c.hit_type_id == call.hit_type().hit_type_id)
    return _list(call, query)


def list_hits_for_qualification_type(call: OperationCall) -> Answer:
    """List HITs whose type asks for a qualification."""
    query = _own(call).join(requirement_types, requirement_types.c.hit_type_id == hits.c.hit_type_id)
    return _list(call, query.where(requirement_types.c.qualification_type_id == call.given["QualificationTypeId"]))


def list_assignments(call: OperationCall) -> Answer:
    """List what workers submitted of a HIT, in the order of submission."""
    hit, c = call.hit(), assignments.c
    if hit.status == DISPOSED:
        raise does_not_exist("HIT", hit.hit_id)
    submissions = (c.hit_id == hit.hit_id, c.turn.is_not(None), c.submitted_at <= call.visible_until)
    query = select(*ASSIGNMENT_COLUMNS).where(*submissions)
    statuses = call.given.get("AssignmentStatuses")
    if statuses:
        query = query.where(c.status.in_(statuses))
    return one_page(call, "Assignments", query, c.turn, lambda row: write_assignment(assignment_from(row[:-1])))


def _own(call: OperationCall) -> Select[Any]:
    c = hits.c
    own = (c.requester_id == call.requester_id, c.status != DISPOSED, c.created_at <= call.visible_until)
    return select(*HIT_COLUMNS).where(*own)


def _list(call: OperationCall, query: Select[Any]) -> Answer:
    kinds: dict[str, HitType] = {}

    def write(row: Row[Any]) -> Answer:
        hit = hit_from(row[:-1])
        if hit.hit_type_id not in kinds:
            kinds[hit.hit_type_id] = find_type(call.tx, hit.hit_type_id)
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


def write_assignment(work: HitAssignment) -> dict[str, Any]:
    """Return an assignment that was submitted."""
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
