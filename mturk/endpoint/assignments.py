"""The states of an assignment: pure functions from one state to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mturk.endpoint.errors import wrong_state

ACCEPTED, RETURNED, ABANDONED = "Accepted", "Returned", "Abandoned"
SUBMITTED, APPROVED, REJECTED = "Submitted", "Approved", "Rejected"
KNOWN_TO_REQUESTERS = (SUBMITTED, APPROVED, REJECTED)  # the others are in none of the requester's lists
OVERRIDE_WITHIN = 30 * 86_400.0  # seconds after submission in which a rejection may be reversed


@dataclass(frozen=True, slots=True, kw_only=True)
class HitAssignment:
    """An assignment: one worker's work on one HIT."""

    assignment_id: str
    hit_id: str
    requester_id: str
    worker_id: str
    status: str = ACCEPTED
    accepted_at: float
    deadline: float
    turn: int | None = None  # submissions of one HIT are counted from 1
    submitted_at: float | None = None
    auto_approval_at: float | None = None
    approved_at: float | None = None
    rejected_at: float | None = None
    closed_at: float | None = None
    answer: str | None = None
    feedback: str | None = None

    @property
    def due_at(self) -> float | None:
        """When the assignment expires or is approved automatically, seconds since 1970."""
        if self.status == ACCEPTED:
            return self.deadline
        return self.auto_approval_at if self.status == SUBMITTED else None


def submitted(held: HitAssignment, answer: str, *, turn: int, delay: int, now: float) -> HitAssignment:
    """Return the assignment submitted; refuse if it is not accepted, or its deadline has passed."""
    _held(held, now)
    return replace(held, status=SUBMITTED, answer=answer, turn=turn, submitted_at=now, auto_approval_at=now + delay)


def returned(held: HitAssignment, now: float) -> HitAssignment:
    """Return the assignment returned by the worker."""
    _held(held, now)
    return replace(held, status=RETURNED, closed_at=now)


def abandoned(held: HitAssignment) -> HitAssignment:
    """Return the assignment after its deadline."""
    return replace(held, status=ABANDONED, closed_at=held.deadline)


def approved(work: HitAssignment, *, feedback: str | None, override: bool, now: float) -> HitAssignment:
    """Return the assignment approved; refuse if it is approved, or rejected and may not be overridden."""
    if work.status == REJECTED and override:
        if work.submitted_at is None or now > work.submitted_at + OVERRIDE_WITHIN:
            why = "A rejection can be taken back within 30 days of the submission."
            raise wrong_state("Assignment", work.assignment_id, work.status, [SUBMITTED], why)
    elif work.status != SUBMITTED:
        why = "Set OverrideRejection to take a rejection back." if work.status == REJECTED else ""
        raise wrong_state("Assignment", work.assignment_id, work.status, [SUBMITTED], why)
    return replace(work, status=APPROVED, approved_at=now, feedback=work.feedback if feedback is None else feedback)


def rejected(work: HitAssignment, *, feedback: str, now: float) -> HitAssignment:
    """Return the assignment rejected; refuse if it does not wait for review."""
    if work.status != SUBMITTED:
        raise wrong_state("Assignment", work.assignment_id, work.status, [SUBMITTED])
    return replace(work, status=REJECTED, rejected_at=now, feedback=feedback)


def _held(work: HitAssignment, now: float) -> None:
    if work.status != ACCEPTED:
        raise wrong_state("Assignment", work.assignment_id, work.status, [ACCEPTED])
    if now >= work.deadline:
        raise wrong_state("Assignment", work.assignment_id, ABANDONED, [ACCEPTED], "Its time is over.")
