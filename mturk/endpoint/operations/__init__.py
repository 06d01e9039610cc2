"""The operations of the protocol, by name: what was asked goes in, what is answered comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mturk.endpoint.operations import (
    creating,
    finding,
    granting,
    left_out,
    notifying,
    paying,
    people,
    qualifying,
    reviewing,
)
from mturk.endpoint.operations.call import Answer, OperationCall

OPERATIONS: Mapping[str, Callable[[OperationCall], Answer]] = {
    "AcceptQualificationRequest": granting.accept_request,
    "ApproveAssignment": reviewing.approve_assignment,
    "AssociateQualificationWithWorker": granting.associate,
    "CreateAdditionalAssignmentsForHIT": creating.create_additional_assignments,
    "CreateHIT": creating.create_hit,
    "CreateHITType": creating.create_hit_type,
    "CreateHITWithHITType": creating.create_hit_with_type,
    "CreateQualificationType": qualifying.create_type,
    "CreateWorkerBlock": people.create_block,
    "DeleteHIT": reviewing.delete_hit,
    "DeleteQualificationType": qualifying.delete_type,
    "DeleteWorkerBlock": people.delete_block,
    "DisassociateQualificationFromWorker": granting.disassociate,
    "GetAccountBalance": paying.get_balance,
    "GetAssignment": finding.get_assignment,
    "GetFileUploadURL": left_out.get_file_upload_url,
    "GetHIT": finding.get_hit,
    "GetQualificationScore": granting.get_score,
    "GetQualificationType": qualifying.get_type,
    "ListAssignmentsForHIT": finding.list_assignments,
    "ListBonusPayments": paying.list_bonuses,
    "ListHITs": finding.list_hits,
    "ListHITsForQualificationType": finding.list_hits_for_qualification_type,
    "ListQualificationRequests": granting.list_requests,
    "ListQualificationTypes": qualifying.list_types,
    "ListReviewPolicyResultsForHIT": left_out.list_review_policy_results,
    "ListReviewableHITs": finding.list_reviewable_hits,
    "ListWorkerBlocks": people.list_blocks,
    "ListWorkersWithQualificationType": granting.list_workers,
    "NotifyWorkers": people.notify_workers,
    "RejectAssignment": reviewing.reject_assignment,
    "RejectQualificationRequest": granting.reject_request,
    "SendBonus": paying.send_bonus,
    "SendTestEventNotification": notifying.send_test_event,
    "UpdateExpirationForHIT": creating.update_expiration,
    "UpdateHITReviewStatus": reviewing.update_review_status,
    "UpdateHITTypeOfHIT": creating.update_hit_type,
    "UpdateNotificationSettings": notifying.update_settings,
    "UpdateQualificationType": qualifying.update_type,
}
