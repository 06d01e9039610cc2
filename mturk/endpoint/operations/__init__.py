"""The operations of the protocol, by name: what was asked goes in, what is answered comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mturk.endpoint.operations import (
    bonuses,
    hits,
    notifications,
    qualification_types,
    qualifications,
    queries,
    reviews,
    unsupported,
    workers,
)
from mturk.endpoint.operations.call import Answer, OperationCall

OPERATIONS: Mapping[str, Callable[[OperationCall], Answer]] = {
    "AcceptQualificationRequest": qualifications.accept_request,
    "ApproveAssignment": reviews.approve_assignment,
    "AssociateQualificationWithWorker": qualifications.associate,
    "CreateAdditionalAssignmentsForHIT": hits.create_additional_assignments,
    "CreateHIT": hits.create_hit,
    "CreateHITType": hits.create_hit_type,
    "CreateHITWithHITType": hits.create_hit_with_type,
    "CreateQualificationType": qualification_types.create_type,
    "CreateWorkerBlock": workers.create_block,
    "DeleteHIT": reviews.delete_hit,
    "DeleteQualificationType": qualification_types.delete_type,
    "DeleteWorkerBlock": workers.delete_block,
    "DisassociateQualificationFromWorker": qualifications.disassociate,
    "GetAccountBalance": bonuses.get_balance,
    "GetAssignment": queries.get_assignment,
    "GetFileUploadURL": unsupported.get_file_upload_url,
    "GetHIT": queries.get_hit,
    "GetQualificationScore": qualifications.get_score,
    "GetQualificationType": qualification_types.get_type,
    "ListAssignmentsForHIT": queries.list_assignments,
    "ListBonusPayments": bonuses.list_bonuses,
    "ListHITs": queries.list_hits,
    "ListHITsForQualificationType": queries.list_hits_for_qualification_type,
    "ListQualificationRequests": qualifications.list_requests,
    "ListQualificationTypes": qualification_types.list_types,
    "ListReviewPolicyResultsForHIT": unsupported.list_review_policy_results,
    "ListReviewableHITs": queries.list_reviewable_hits,
    "ListWorkerBlocks": workers.list_blocks,
    "ListWorkersWithQualificationType": qualifications.list_workers,
    "NotifyWorkers": workers.notify_workers,
    "RejectAssignment": reviews.reject_assignment,
    "RejectQualificationRequest": qualifications.reject_request,
    "SendBonus": bonuses.send_bonus,
    "SendTestEventNotification": notifications.send_test_event,
    "UpdateExpirationForHIT": hits.update_expiration,
    "UpdateHITReviewStatus": reviews.update_review_status,
    "UpdateHITTypeOfHIT": hits.update_hit_type,
    "UpdateNotificationSettings": notifications.update_settings,
    "UpdateQualificationType": qualification_types.update_type,
}
