"""How visits end: answers saved, places kept or given up. The functions run inside the caller's transaction."""

from __future__ import annotations

import time

from sqlalchemy import Connection, bindparam, delete, select, update

from spa.errors import ResponseError
from spa.records.submission import Submission
from spa.responses.admission import AdmissionRules
from spa.responses.answer_rows import save_answers
from spa.responses.begun_order import in_time
from spa.responses.capacity import deadline, free_seat, recount, seat_extra
from spa.responses.leases import Lease, known_lease, lock_leases
from spa.responses.outcomes import COMPLETED, LATE, NO_CONSENT, NOT_SUBMITTED, STANDBY, TIMED_OUT, Outcome
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.recounts import note_recount
from spa.responses.store_schema import payloads, submissions

EVERYBODY = AdmissionRules()
CLOCKS_DIFFER = 60.0  # seconds, by which those of several servers may
# Run for every visit of a rater: it ends one that is open and its annotator's
_COMPLETE = PreparedStatement(
    update(submissions)
    .where(
        submissions.c.submission_id == bindparam("visit"),
        submissions.c.assignment_id == bindparam("of_assignment"),
        submissions.c.annotator_id == bindparam("of_annotator"),
        submissions.c.outcome.is_(None),
        submissions.c.seat.is_not(None),
    )
    .values(
        outcome=COMPLETED,
        extra=False,
        completed_at=bindparam("now"),
        completion_code=bindparam("code"),
        seconds=bindparam("took"),
    )
    .returning(submissions.c.number)
)


def finish_visit(
    connection: Connection,
    submission: Submission,
    outcome: Outcome,
    code: str,
    *,
    now: float,
    rules: AdmissionRules = EVERYBODY,
) -> Lease:
    """Save the answers of a visit and how it ended; see ``StoredVisits.finish``."""
    own = submissions.c.submission_id == submission.submission_id
    number = connection.scalar(select(submissions.c.number).where(own).with_for_update())
    lease = known_lease(connection, submission.submission_id)
    if lease.finished:
        return lease
    if (lease.assignment_id, lease.annotator_id) != (submission.assignment_id, submission.annotator_id):
        raise ResponseError(
            f"submission {submission.submission_id!r} was leased for assignment "
            f"{lease.assignment_id!r} by annotator {lease.annotator_id!r}, got assignment "
            f"{submission.assignment_id!r} by {submission.annotator_id!r}"
        )
    seat, freed, reason = lease.seat, None, lease.release_reason
    if outcome == COMPLETED and not rules.late_counts and not in_time(lease, now):
        seat, freed, reason = None, lease.seat, LATE
    elif outcome == COMPLETED and lease.release_reason in (TIMED_OUT, STANDBY) and seat is None:
        seat = free_seat(connection, lease.assignment_id, rules.per_assignment)
    elif outcome != COMPLETED:
        seat, freed = None, lease.seat
    if outcome == NO_CONSENT:  # also where consent was given at first and then taken back
        connection.execute(delete(payloads).where(payloads.c.submission_id == submission.submission_id))
    else:
        save_answers(connection, number or 0, submission.answers)
    connection.execute(
        update(submissions)
        .where(own)
        .values(
            seat=seat,
            extra=outcome == COMPLETED and seat is None,
            outcome=outcome,
            release_reason=reason,
            completed_at=now,
            completion_code=code,
            seconds=submission.seconds,
        )
    )
    limit = deadline(lease.leased_at, lease.minutes_allowed)
    if limit is not None and limit - CLOCKS_DIFFER < now <= limit:  # another process may have passed over it
        note_recount(connection)
    if freed is not None:
        seat_extra(connection, lease.assignment_id, freed)
    if seat != lease.seat:
        recount(connection, lease.assignment_id)
    return known_lease(connection, submission.submission_id)


def confirm_visit(connection: Connection, lease: Lease, external_id: str, *, rules: AdmissionRules = EVERYBODY) -> None:
    """Let a visit that was only claimed count, by the platform's name of it; it takes a free place if it has none."""
    lock_leases(connection)
    seat, done = lease.seat, lease.outcome == COMPLETED
    if done and seat is None and lease.release_reason != LATE:
        seat = free_seat(connection, lease.assignment_id, rules.per_assignment)
    connection.execute(
        update(submissions)
        .where(submissions.c.submission_id == lease.submission_id)
        .values(external_id=external_id, seat=seat, extra=done and seat is None)
    )
    recount(connection, lease.assignment_id)
    if lease.release_reason == NOT_SUBMITTED:  # it was passed over
        note_recount(connection)


def complete_rater_visit(connection: Connection, submission: Submission, *, completion_code: str) -> str:
    """Save the answers of a rater's visit, once; returns the completion code of the first call."""
    now = time.time()
    for (number,) in _COMPLETE.rows(
        connection,
        visit=submission.submission_id,
        of_assignment=submission.assignment_id,
        of_annotator=submission.annotator_id,
        now=now,
        code=completion_code,
        took=submission.seconds,
    ):
        save_answers(connection, number, submission.answers)
        return completion_code
    ended = finish_visit(connection, submission, COMPLETED, completion_code, now=now)
    return str(ended.completion_code)
