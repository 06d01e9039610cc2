"""Approving, rejecting, and what becomes of a HIT that is finished."""

from __future__ import annotations

from mturk.endpoint.hits import disposed, in_review
from mturk.endpoint.operations.call import Answer, OperationCall
from mturk.endpoint.repository import find_hit, find_type, save_hit
from mturk.endpoint.review import approve, reject


def approve_assignment(call: OperationCall) -> Answer:
    """Approve an assignment, or one that was rejected where that is asked for."""
    approve(
        call.tx,
        call.given["AssignmentId"],
        requester_id=call.requester_id,
        feedback=call.given.get("RequesterFeedback"),
        override=call.given.get("OverrideRejection", False),
    )
    return {}


def reject_assignment(call: OperationCall) -> Answer:
    """Reject an assignment."""
    given = call.given
    reject(call.tx, given["AssignmentId"], requester_id=call.requester_id, feedback=given["RequesterFeedback"])
    return {}


def update_review_status(call: OperationCall) -> Answer:
    """Mark a HIT as being reviewed, or as not being."""
    hit = find_hit(call.tx, call.given["HITId"], requester_id=call.requester_id)
    after = in_review(hit, not call.given.get("Revert", False), call.now)
    save_hit(call.tx, hit, after, kind=find_type(call.tx, hit.hit_type_id))
    return {}


def delete_hit(call: OperationCall) -> Answer:
    """Dispose of a HIT that is finished and reviewed."""
    hit = find_hit(call.tx, call.given["HITId"], requester_id=call.requester_id)
    after = disposed(hit, call.now)
    save_hit(call.tx, hit, after, kind=find_type(call.tx, hit.hit_type_id))
    return {}
