"""What happens by itself: promised work, places that run out, and approval after three weeks, each at its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import delete, select

from prolific.emulator import bonuses, reviewing, schema, studies, submissions
from prolific.emulator.request_transaction import RequestTransaction

DAY = 86_400.0
MINUTE = 60.0


def do_what_is_due(turn: RequestTransaction) -> None:
    """Do everything that fell due, the earliest first, as if somebody had looked at each moment."""
    while True:
        found = [*_due_jobs(turn), *_due_places(turn), *_due_reviews(turn)]
        if not found:
            return
        moment, kind, subject = min(found, key=lambda one: one[0])
        _do(turn.at(moment), kind, subject)


def _do(turn: RequestTransaction, kind: str, subject: Any) -> None:
    if kind == "place":
        submissions.time_out(turn, str(subject[0]))
        return
    if kind == "review":
        reviewing.approve(turn, submissions.find(turn, str(subject[0])))
        return
    job = subject
    turn.connection.execute(delete(schema.jobs).where(schema.jobs.c.number == job.number))
    match job.kind:
        case "publish":
            studies.become_active(turn, job.subject)
        case "approve":
            reviewing.approve_each(turn, job.subject)
        case "pay":
            bonuses.carry_out(turn, job.subject)
        case "leave_processing":
            submissions.leave_processing(turn, *job.subject)


Due = tuple[float, str, Any]


def _due_jobs(turn: RequestTransaction) -> Iterator[Due]:
    c = schema.jobs.c
    query = select(schema.jobs).where((c.due_at <= turn.now) | (c.due_request < turn.request)).order_by(c.number)
    for row in turn.connection.execute(query):
        yield min(row.due_at, turn.now), "job", row


def _due_places(turn: RequestTransaction) -> Iterator[Due]:
    c, s = schema.submissions.c, schema.studies.c
    query = (
        select(c.id, c.status, c.reserved_at, c.started_at, s.body)
        .join(schema.studies, s.id == c.study_id)
        .where(c.status.in_(submissions.OPEN))
    )
    for row in turn.connection.execute(query):
        if row.status == "RESERVED":
            end = row.reserved_at + turn.behaviour.reservation_seconds
        else:
            end = row.started_at + row.body["maximum_allowed_time"] * MINUTE
        if end <= turn.now:
            yield end, "place", row


def _due_reviews(turn: RequestTransaction) -> Iterator[Due]:
    c = schema.submissions.c
    wait = turn.behaviour.automatic_approval_days * DAY
    query = select(c.id, c.completed_at).where(c.status == "AWAITING REVIEW", c.completed_at <= turn.now - wait)
    for row in turn.connection.execute(query):
        yield row.completed_at + wait, "review", row
