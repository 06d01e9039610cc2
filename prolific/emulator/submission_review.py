"""Reviewing submissions: approving, rejecting, and asking for a return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, StrictStr

from prolific.emulator import schema, studies, submissions
from prolific.emulator.errors import REQUIRED, EmulatorRequestError, invalid
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.study_body import RequestBody
from prolific.emulator.submissions import Submission

SHORTEST_REJECTION = 100  # characters
Category = Literal[
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT",
    "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
]  # fmt: skip


class DynamicPayment(RequestBody):
    """The share of the reward to pay, and a message."""

    percentage_of_reward: Annotated[int | float | None, Field(ge=8, le=99)] = None
    message_to_participant: StrictStr | None = None


class SubmissionTransitionBody(RequestBody):
    """A transition of a submission."""

    action: Literal["APPROVE", "COMPLETE", "REJECT", "RETURN", "START", "SCREEN_OUT", "UNREJECT", "UNRETURN"]
    message: StrictStr | None = None
    rejection_category: Category | None = None
    completion_code: StrictStr | None = None
    completion_code_data: DynamicPayment | None = None


class BulkBody(RequestBody):
    """Submissions to approve, by id or by study and participants."""

    submission_ids: list[StrictStr] | None = None
    study_id: StrictStr | None = None
    participant_ids: list[StrictStr] | None = None


def transition(tx: RequestTransaction, submission_id: str, asked: SubmissionTransitionBody) -> Submission:
    """Make a researcher's transition of a submission; idempotent."""
    row = submissions.find(tx, submission_id)
    match asked.action:
        case "APPROVE":
            return approve(tx, row)
        case "REJECT":
            return _reject(tx, row, asked)
        case "COMPLETE":
            return _complete(tx, row, asked)
        case "SCREEN_OUT":
            return _move(tx, row, "SCREENED OUT", {"ACTIVE", "AWAITING REVIEW"}, "become SCREENED OUT")
        case "UNREJECT" if tx.behaviour.researcher_may_unreject:
            return _move(tx, row, "AWAITING REVIEW", {"REJECTED"}, "become AWAITING REVIEW")
    raise EmulatorRequestError(403, f"You may not {asked.action} a submission")


def approve(tx: RequestTransaction, row: Submission) -> Submission:
    """Approve a submission and pay the reward."""
    reward = studies.find(tx, row.study_id).body["reward"]
    return _move(tx, row, "APPROVED", {"AWAITING REVIEW"}, "be approved", paid=reward)


def _reject(tx: RequestTransaction, row: Submission, asked: SubmissionTransitionBody) -> Submission:
    problems: dict[str, str | list[str]] = {}
    if asked.message is None or len(asked.message) < SHORTEST_REJECTION:
        problems["message"] = f"Ensure this field has at least {SHORTEST_REJECTION} characters."
    if asked.rejection_category is None:
        problems["rejection_category"] = REQUIRED
    if problems:
        raise invalid(**problems)
    review = {"message": asked.message, "rejection_category": asked.rejection_category}
    return _move(tx, row, "REJECTED", {"AWAITING REVIEW"}, "be rejected", review=review)


def _complete(tx: RequestTransaction, row: Submission, asked: SubmissionTransitionBody) -> Submission:
    study = studies.find(tx, row.study_id)
    own = [one for one in study.body["completion_codes"] if one["actor"] == "researcher"]
    code = next((one for one in own if one["code"] == asked.completion_code), None)
    if code is None:
        raise invalid(completion_code="no code of this study that a researcher may use")
    if row.status not in ("ACTIVE", "AWAITING REVIEW"):
        raise EmulatorRequestError(400, f"A submission that is {row.status} cannot be completed")
    row = tx.update(schema.submissions, row.id, entered_code=code["code"], completed_at=tx.now)
    if not any(action["action"] == "DYNAMIC_PAYMENT" for action in code["actions"]):
        return submissions.apply_code_actions(tx, row, code["actions"])
    share = asked.completion_code_data.percentage_of_reward if asked.completion_code_data else None
    if share is None:
        raise invalid(completion_code_data="percentage_of_reward is required")
    paid = round(study.body["reward"] * share / 100)
    row = tx.update(schema.submissions, row.id, paid=paid, reviewed_at=tx.now)
    return submissions.set_status(tx, row, "PARTIALLY APPROVED")


def _move(
    tx: RequestTransaction, row: Submission, status: str, coming_from: set[str], done: str, **changes: object
) -> Submission:
    """Change a submission's status; refuse from another status than ``coming_from``, with ``done`` in the message."""
    if row.status == status:
        return row
    if row.status not in coming_from:
        raise EmulatorRequestError(400, f"A submission that is {row.status} cannot {done}")
    row = tx.update(schema.submissions, row.id, reviewed_at=tx.now, **changes)
    return submissions.set_status(tx, row, status)


def ask_bulk_approval(tx: RequestTransaction, asked: BulkBody) -> None:
    """Schedule the approval of a list of submissions."""
    by_person = asked.study_id is not None or asked.participant_ids is not None
    if asked.submission_ids is not None and by_person and tx.behaviour.mixed_bulk_approval_refused:
        raise EmulatorRequestError(400, "Give submission_ids, or study_id with participant_ids, not both")
    if asked.submission_ids is not None:
        ids = asked.submission_ids
    elif asked.study_id is not None and asked.participant_ids is not None:
        ids = _by_person(tx, asked.study_id, asked.participant_ids)
    else:
        raise invalid(submission_ids=REQUIRED)
    for submission_id in ids:
        submissions.find(tx, submission_id)
    tx.schedule("approve", ids)


def _by_person(tx: RequestTransaction, study_id: str, people: Sequence[str]) -> list[str]:
    studies.find(tx, study_id)
    c = schema.submissions.c
    rows = tx.rows(schema.submissions, c.study_id == study_id, c.participant_id.in_(people))
    unknown = sorted(set(people) - {row.participant_id for row in rows})
    if unknown:
        raise invalid(participant_ids=[f"{person} did not take part" for person in unknown])
    return [row.id for row in rows]


def approve_each(tx: RequestTransaction, submission_ids: Sequence[str]) -> None:
    """Approve those of a list that wait for review, and silently ignore the others."""
    for submission_id in submission_ids:
        row = submissions.find(tx, submission_id)
        if row.status == "AWAITING REVIEW":
            approve(tx, row)


def ask_to_return(tx: RequestTransaction, submission_id: str, reasons: Sequence[str]) -> Submission:
    """Ask a participant to return their submission, which only they can do."""
    row = submissions.find(tx, submission_id)
    if row.status not in ("ACTIVE", "AWAITING REVIEW", "TIMED-OUT"):
        raise EmulatorRequestError(400, f"A submission that is {row.status} cannot be asked for")
    if not reasons:
        raise invalid(request_return_reasons=REQUIRED)
    text = "Please return your submission: " + "; ".join(reasons)
    tx.insert(schema.messages, recipient_id=row.participant_id, study_id=row.study_id, body=text, sent_at=tx.now)
    return tx.update(schema.submissions, row.id, return_requested=tx.now)
