"""Prolific's submissions in the terms of all platforms, remedies for differences, and releasing abandoned places."""

from __future__ import annotations

from collections.abc import Mapping

from prolific.api.records import (
    ACTIVE,
    AWAITING_REVIEW,
    KNOWN,
    PAID,
    REJECTED,
    RESERVED,
    RETURNED,
    SCREENED_OUT,
    TIMED_OUT,
    SubmissionRecord,
)
from prolific.study_ids import SOURCE
from spa.platforms.collecting import Kind, PlatformSubmission, SubmissionState
from spa.responses.outcomes import NOT_SUBMITTED
from spa.responses.outcomes import RETURNED as GAVE_BACK
from spa.responses.outcomes import TIMED_OUT as LATE
from spa.responses.store import Store

STATES: Mapping[str, SubmissionState] = {
    **dict.fromkeys(KNOWN, "processing"),
    **dict.fromkeys(PAID, "paid"),
    RESERVED: "at_work",
    ACTIVE: "at_work",
    AWAITING_REVIEW: "submitted",
    RETURNED: "returned",
    REJECTED: "rejected",
    TIMED_OUT: "timed_out",
    SCREENED_OUT: "screened_out",
}
NO_CODES = frozenset({"", "NOCODE"})
REMEDIES: Mapping[Kind, str] = {
    "data_without_completion": "wait; if it persists, send the address that submits the code: `spa prolific message "
    '--differing data_without_completion --text "... {address}"`',
    "completion_without_data": "nothing to analyse: check the server's log of that time and write to them; let them "
    "finish with their link, ask for a return, or approve with `spa prolific approve --also`",
    "code_claimed_without_answers": "not approved automatically: let them finish with their link, ask for a return "
    "(`spa prolific message --ask-return`), or propose a rejection as NO_DATA",
    "timed_out_but_answered": "the answers are kept; ask them to enter the code, which brings the submission back "
    '(`spa prolific message --differing timed_out_but_answered --text "... {address}"`), or pay by a bonus',
    "returned_after_answering": "the participant withdrew the answers: kept but excluded from the analysis; no payment",
    "rejected_with_answers": "the answers are in the store: was the rejection right? Prolific can undo it on request",
    "screened_out_with_answers": "the answers are in the store: pay the difference with `spa prolific bonus`",
    "wrong_code": "the answers are in the store: approve; the stored answers decide, not the code",
    "other_code": "the code of another outcome: the stored answers decide; approve if they are complete",
    "no_code": "the answers are in the store: approve; the stored answers decide, not the code",
    "not_returned": "asked to return the submission, which may not be rejected: wait, send a reminder, or approve",
    "left_without_code": "the visit ended here but is open on Prolific: wait until it times out, or ask for a return",
    "unverified": "not verified, because Prolific did not answer at that time: run `spa prolific collect`",
    "false_claim": "not a participant on Prolific: the answers are kept, but excluded from the analysis",
    "not_on_platform": "no such submission on Prolific; the answers were not verified and do not count",
    "another_person": "Prolific lists another participant under this submission; do not pay by the store's list",
    "late": "completed after the place was reassigned: pay; the answers are kept, but excluded from the analysis",
    "twice": "the same participant has another submission in this session: compare both before approving",
    "unknown_status": "a status unknown to this version, neither approved nor rejected here: check it on Prolific",
}
REASONS = {RETURNED: GAVE_BACK, TIMED_OUT: LATE, REJECTED: "rejected", SCREENED_OUT: "screened_out"}


def platform_submission(record: SubmissionRecord) -> PlatformSubmission:
    """Return a submission in the terms that all platforms share."""
    return PlatformSubmission(
        submission_id=record.submission_id,
        person=record.participant_id,
        status=record.status,
        state=STATES.get(record.status, "unknown"),
        code=None if record.code in NO_CODES else record.code,
    )


def release_gone(store: Store, record: SubmissionRecord, *, now: float) -> bool:
    """Release the place of a participant who has left according to the platform; return whether one became free.

    Answers are kept. Those of a participant who returned the submission after answering are withdrawn: kept as extra
    and left out of the analysis. The place belongs to whom the platform counts: who answered in time here and was timed
    out there, or answered late, has it again once the platform has the code, if it is free then.
    """
    visit = store.visits.find(SOURCE, record.submission_id)
    if visit is None:
        return False
    counted = STATES.get(record.status) in ("submitted", "paid")
    if counted and visit.completed and visit.release_reason in (NOT_SUBMITTED, LATE):
        store.visits.seat_again(visit.submission_id)
        return False
    reason = REASONS.get(record.status)
    if visit.completed and record.status == TIMED_OUT:
        return visit.seat is not None and store.visits.release(
            visit.submission_id, NOT_SUBMITTED, now=now, finished=True
        )
    if reason is None or (visit.finished and reason != GAVE_BACK):
        return False
    return store.visits.release(visit.submission_id, reason, now=now, finished=reason == GAVE_BACK)
