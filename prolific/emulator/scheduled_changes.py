"""Changes that happen on their own: delayed work, time-outs, and approval after three weeks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import delete, select

from prolific.emulator import bonuses, schema, studies, submission_review, submissions
from prolific.emulator.request_transaction import RequestTransaction

DAY = 86_400.0
MINUTE = 60.0


def apply_scheduled_changes(tx: RequestTransaction) -> None:
    """Apply all changes that are due, the earliest first, each at its own time."""
    while True:
        found = [*_due_jobs(tx), *_due_places(tx), *_due_reviews(tx)]
        if not found:
            return
        moment, kind, subject, job = min(found, key=lambda one: one[0])
        if job is not None:
            tx.connection.execute(delete(schema.jobs).where(schema.jobs.c.number == job))
        _do(tx.at(moment), kind, subject)


def _do(tx: RequestTransaction, kind: str, subject: Any) -> None:
    match kind:
        case "place":
            submissions.time_out(tx, subject)
        case "review":
            submission_review.approve(tx, submissions.find(tx, subject))
        case "publish":
            studies.become_active(tx, subject)
        case "approve":
            submission_review.approve_each(tx, subject)
        case "pay":
            bonuses.mark_paid(tx, subject)
        case "leave_processing":
            submissions.leave_processing(tx, *subject)


Due = tuple[float, str, Any, int | None]  # when, what, of what, and the number of its job


def _due_jobs(tx: RequestTransaction) -> Iterator[Due]:
    c = schema.jobs.c
    for row in tx.rows(schema.jobs, (c.due_at <= tx.now) | (c.due_request < tx.request)):
        yield min(row.due_at, tx.now), row.kind, row.subject, row.number


def _due_places(tx: RequestTransaction) -> Iterator[Due]:
    c, s = schema.submissions.c, schema.studies.c
    query = (
        select(c.id, c.status, c.reserved_at, c.started_at, s.body)
        .join(schema.studies, s.id == c.study_id)
        .where(c.status.in_(submissions.OPEN))
    )
    for row in tx.connection.execute(query):
        if row.status == "RESERVED":
            end = row.reserved_at + tx.behaviour.reservation_seconds
        else:
            end = row.started_at + row.body["maximum_allowed_time"] * MINUTE
        if end <= tx.now:
            yield end, "place", row.id, None


def _due_reviews(tx: RequestTransaction) -> Iterator[Due]:
    c = schema.submissions.c
    wait = tx.behaviour.automatic_approval_days * DAY
    query = select(c.id, c.completed_at).where(c.status == "AWAITING REVIEW", c.completed_at <= tx.now - wait)
    for row in tx.connection.execute(query):
        yield row.completed_at + wait, "review", row.id, None
