"""What this endpoint leaves out: each is refused by name, with what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mturk.endpoint.errors import not_supported
from mturk.endpoint.operations.call import Answer, OperationCall

UNSUPPORTED: Mapping[str, tuple[str, str]] = {  # parameter: what it is, what to do instead
    "AssignmentReviewPolicy": ("AssignmentReviewPolicy", "list the assignments and approve or reject them yourself"),
    "HITReviewPolicy": ("HITReviewPolicy", "list the assignments, compare them and extend the HIT yourself"),
    "HITLayoutId": ("HITLayoutId", "send the whole page as Question, an HTMLQuestion"),
    "HITLayoutParameters": ("HITLayoutParameters", "fill in the page yourself and send it as Question"),
    "Test": (
        "a qualification test",
        "leave out Test and grant the qualification by hand, or ask the questions in a HIT of their own",
    ),
    "AnswerKey": ("AnswerKey", "score the answers yourself and grant with AssociateQualificationWithWorker"),
    "TestDurationInSeconds": ("TestDurationInSeconds", "leave it out together with Test"),
}


def refuse_unsupported(given: Mapping[str, Any]) -> None:
    """Refuse parameters that are left out.

    Raises
    ------
    Refusal
        Naming the first of them.
    """
    for name, (what, instead) in UNSUPPORTED.items():
        if name in given:
            raise not_supported(what, instead)


def get_file_upload_url(call: OperationCall) -> Answer:
    """Refuse: only native forms upload files, and those are left out."""
    raise not_supported("GetFileUploadURL", "let an ExternalQuestion's own server take files")


def list_review_policy_results(call: OperationCall) -> Answer:
    """Refuse: there are no review policies."""
    raise not_supported("ListReviewPolicyResultsForHIT", "use ListAssignmentsForHIT and judge the answers yourself")
