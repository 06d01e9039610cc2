"""The operations of the protocol by name, each a function from the call to the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mturk.endpoint.operations import call, hits, notifications, qualifications, workers
from mturk.endpoint.operations.call import Answer, OperationCall

OPERATIONS: Mapping[str, Callable[[OperationCall], Answer]] = {
    "AcceptQualificationRequest": qualifications.accept_request,
    "ApproveAssignment": hits.approve_assignment,
    "AssociateQualificationWithWorker": qualifications.associate,
    "CreateAdditionalAssignmentsForHIT": hits.create_additional_assignments,
    "CreateHIT": hits.create_hit,
    "CreateHITType": hits.create_hit_type,
    "CreateHITWithHITType": hits.create_hit_with_type,
    "CreateQualificationType": qualifications.create_type,
    "CreateWorkerBlock": workers.create_block,
    "DeleteHIT": hits.delete_hit,
    "DeleteQualificationType": qualifications.delete_type,
    "DeleteWorkerBlock": workers.delete_block,
    "DisassociateQualificationFromWorker": qualifications.disassociate,
    "GetAccountBalance": workers.get_balance,
    "GetAssignment": hits.get_assignment,
    "GetFileUploadURL": call.get_file_upload_url,
    "GetHIT": hits.get_hit,
    "GetQualificationScore": qualifications.get_score,
    "GetQualificationType": qualifications.get_type,
    "ListAssignmentsForHIT": hits.list_assignments,
    "ListBonusPayments": workers.list_bonuses,
    "ListHITs": hits.list_hits,
    "ListHITsForQualificationType": hits.list_hits_for_qualification_type,
    "ListQualificationRequests": qualifications.list_requests,
    "ListQualificationTypes": qualifications.list_types,
    "ListReviewPolicyResultsForHIT": call.list_review_policy_results,
    "ListReviewableHITs": hits.list_reviewable_hits,
    "ListWorkerBlocks": workers.list_blocks,
    "ListWorkersWithQualificationType": qualifications.list_workers,
    "NotifyWorkers": workers.notify_workers,
    "RejectAssignment": hits.reject_assignment,
    "RejectQualificationRequest": qualifications.reject_request,
    "SendBonus": workers.send_bonus,
    "SendTestEventNotification": notifications.send_test_event,
    "UpdateExpirationForHIT": hits.update_expiration,
    "UpdateHITReviewStatus": hits.update_review_status,
    "UpdateHITTypeOfHIT": hits.update_hit_type,
    "UpdateNotificationSettings": notifications.update_settings,
    "UpdateQualificationType": qualifications.update_type,
}
