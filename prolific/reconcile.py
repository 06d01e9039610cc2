"""The platform's list against our own: every difference, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

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
from spa.responses.outcomes import COMPLETED, WITHDRAWN
from spa.responses.visits import PersonVisit

Kind = Literal[
    "data_without_completion",
    "completion_without_data",
    "code_claimed_without_answers",
    "timed_out_but_answered",
    "returned_after_answering",
    "rejected_with_answers",
    "screened_out_with_answers",
    "wrong_code",
    "other_code",
    "no_code",
    "not_returned",
    "left_without_code",
    "unverified",
    "false_claim",
    "not_on_platform",
    "another_person",
    "late",
    "twice",
    "unknown_status",
]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing on which the two lists do not agree."""

    kind: Kind
    submission_id: str  # the platform's
    participant_id: str
    on_platform: str  # its status there, "-" where it is not known
    here: str  # its outcome here, "open", "released", or "-"
    remedy: str


def reconcile(
    records: Iterable[SubmissionRecord],
    visits: Iterable[PersonVisit],
    *,
    codes: Mapping[str, str],
    found: Mapping[str, str | None],
) -> tuple[Difference, ...]:
    """Compare the submissions of one session's study with the visits that came from it.

    Parameters
    ----------
    records : iterable of SubmissionRecord
        All submissions of the study, as the platform lists them.
    visits : iterable of PersonVisit
        All visits of the session.
    codes : mapping
        Outcome -> its code.
    found : mapping
        The platform's submission -> what verifying it said ("verified", "unverified", "false").

    Returns
    -------
    tuple of Difference
        In the order of the platform's list, then those that are only here.
    """
    theirs = {record.submission_id: record for record in records}
    ours = {visit.external_id: visit for visit in visits if visit.external_id is not None}
    differences: list[Difference] = []
    for submission_id, record in theirs.items():
        visit = ours.get(submission_id)
        for kind in _kinds(record, visit, codes, found.get(submission_id)):
            differences.append(_difference(kind, submission_id, record, visit))
    for submission_id, visit in ours.items():
        if submission_id not in theirs and found.get(submission_id) != "verified":  # lists lag; one look did not
            kind = "false_claim" if found.get(submission_id) == "false" else "not_on_platform"
            differences.append(_difference(kind, submission_id, None, visit))
    differences += [_difference("twice", one.submission_id, one, ours.get(one.submission_id)) for one in _twice(theirs)]
    return tuple(differences)


def standing_here(visit: PersonVisit | None) -> str:
    """Return how a visit stands here, in a word."""
    if visit is None:
        return "-"
    return visit.outcome or ("released" if visit.released else "open")


def _kinds(
    record: SubmissionRecord, visit: PersonVisit | None, codes: Mapping[str, str], found: str | None
) -> Iterable[Kind]:
    if visit is not None and found == "false":
        yield "false_claim"
        visit = None
    elif visit is not None and visit.person is not None and visit.person != record.participant_id:
        yield "another_person"
        visit = None
    elif visit is not None and found == "unverified":
        yield "unverified"
    if record.status not in KNOWN:
        yield "unknown_status"
        return
    handed_in = record.status == AWAITING_REVIEW or record.status in PAID
    if visit is not None and visit.completed:
        yield from _with_answers(record, visit, codes)
    elif visit is not None and visit.outcome == WITHDRAWN:
        return
    elif visit is not None and visit.finished:
        if handed_in and record.code == codes[COMPLETED]:
            yield "code_claimed_without_answers"
        elif record.status == AWAITING_REVIEW and visit.outcome != "failed_checks":
            yield "not_returned"
        elif record.status in (ACTIVE, RESERVED):
            yield "left_without_code"
    elif handed_in:
        yield "code_claimed_without_answers" if record.code in codes.values() else "completion_without_data"


def _with_answers(record: SubmissionRecord, visit: PersonVisit, codes: Mapping[str, str]) -> Iterable[Kind]:
    alone: dict[str, Kind] = {
        ACTIVE: "data_without_completion",
        RESERVED: "data_without_completion",
        TIMED_OUT: "timed_out_but_answered",
        RETURNED: "returned_after_answering",
        REJECTED: "rejected_with_answers",
        SCREENED_OUT: "screened_out_with_answers",
    }
    if record.status in alone:
        yield alone[record.status]
        return
    if record.code is None or record.code in NO_CODES:
        yield "no_code"
    elif record.code != codes[COMPLETED]:
        yield "other_code" if record.code in codes.values() else "wrong_code"
    if visit.extra:
        yield "late"


def _twice(theirs: Mapping[str, SubmissionRecord]) -> list[SubmissionRecord]:
    seen: dict[str, list[SubmissionRecord]] = {}
    for record in theirs.values():
        if record.status == AWAITING_REVIEW or record.status in PAID:
            seen.setdefault(record.participant_id, []).append(record)
    return [record for same in seen.values() if len(same) > 1 for record in same]


def _difference(
    kind: Kind, submission_id: str, record: SubmissionRecord | None, visit: PersonVisit | None
) -> Difference:
    person = record.participant_id if record is not None else (visit.person if visit is not None else None)
    return Difference(
        kind=kind,
        submission_id=submission_id,
        participant_id=person or "-",
        on_platform="-" if record is None else record.status,
        here=standing_here(visit),
        remedy=REMEDIES[kind],
    )
