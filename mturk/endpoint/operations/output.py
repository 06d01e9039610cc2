"""Records as the protocol writes them."""

from __future__ import annotations

import json
from typing import Any

from mturk.endpoint.assignments import REJECTED, HitAssignment
from mturk.endpoint.hits import HitType, HostedHit
from mturk.endpoint.money import format_money


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
