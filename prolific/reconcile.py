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
    "data_without_completion": "wait; if it stays, send the address that hands the code in: `spa prolific message "
    '--difference data_without_completion --text "... {address}"`',
    "completion_without_data": "look into the server's log of that time, write to them; nothing to analyse: let them "
    "finish by their link, ask for a return, or approve with `spa prolific approve --also`",
    "code_claimed_without_answers": "not approved by itself: let them finish by their link, ask for a return "
    "(`spa prolific message --ask-return`), or propose a rejection as NO_DATA",
    "timed_out_but_answered": "the answers are kept; ask them to enter the code, which brings the submission back "
    '(`spa prolific message --difference timed_out_but_answered --text "... {address}"`), or pay by a bonus',
    "returned_after_answering": "the person took the answers back: kept as extra, left out of the analysis; no payment",
    "rejected_with_answers": "answers are there: was the rejection right? Prolific can undo it on request",
    "screened_out_with_answers": "answers are there: pay the difference by `spa prolific bonus`",
    "wrong_code": "the answers are there: approve; the record decides, not the code",
    "other_code": "the code of another outcome: the record decides; approve if the answers are complete",
    "no_code": "the answers are there: approve; the record decides, not the code",
    "not_returned": "asked to return, and may not be rejected: wait, remind them, or approve",
    "left_without_code": "the visit has ended here and is open there: wait until it times out, or ask for a return",
    "unverified": "came while the platform could not be asked: `spa prolific collect`",
    "false_claim": "not the platform's participant: the answers are kept as extra and left out of the analysis",
    "not_on_platform": "no such submission on the platform; its answers were not verified and do not count",
    "another_person": "the platform knows another participant under this submission; do not pay by our list",
    "late": "completed after the place had gone to somebody else: pay; kept as extra in the analysis",
    "twice": "the same participant has another submission of this session: look at both before approving",
    "unknown_status": "a status that this version does not know: look at it on Prolific; neither approved nor rejected "
    "from here",
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
    and left out of the analysis. A participant who answered late keeps the place.
    """
    reason = REASONS.get(record.status)
    visit = None if reason is None else store.visits.find(SOURCE, record.submission_id)
    if reason is None or visit is None or (visit.finished and reason != GAVE_BACK):
        return False
    return store.visits.release(visit.submission_id, reason, now=now, finished=reason == GAVE_BACK)
