"""Capacity: how many people each assignment takes, who holds a seat of it, which is given out next.

A person holds a seat, ``person 1`` up to as many as the study wants for each assignment; the database refuses to
seat two people on one. Giving up a seat touches nothing that the person has sent. The table ``places`` keeps how
many seats of an assignment are held: whatever gives, takes or ends one calls :func:`recount`. All functions run
inside the caller's writing transaction, after :func:`spa.responses.leases.lock_leases`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, and_, bindparam, func, or_, select, update

from spa.responses.leases import Lease, give, lease_from_row, lease_of, select_leases
from spa.responses.outcomes import CLAIMED, COMPLETED, STANDBY, TIMED_OUT
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.recounts import note_recount, note_reseated
from spa.responses.store_schema import payloads, places, submissions

MINUTE = 60.0  # seconds
PERSON = "person"  # seats of people, and of simulated annotators, who stand for people
OF_PEOPLE = submissions.c.seat.startswith(f"{PERSON} ")


def people_seated(assignment_id: ColumnElement[str]) -> ScalarSelect[int]:
    """Return the query that counts who holds a place of an assignment, at work or done."""
    seated = submissions.c.assignment_id == assignment_id, OF_PEOPLE
    return select(func.count()).select_from(submissions).where(*seated).scalar_subquery()


_RECOUNT = PreparedStatement(
    update(places)
    .where(places.c.assignment_id == bindparam("of_assignment"))
    .values(people=people_seated(places.c.assignment_id))
)
_SEATS_TAKEN = PreparedStatement(
    select(submissions.c.seat).where(submissions.c.assignment_id == bindparam("of_assignment"), OF_PEOPLE)
)
_OVERDUE = PreparedStatement(
    select(submissions.c.submission_id).where(
        submissions.c.outcome.is_(None), submissions.c.released_at.is_(None), submissions.c.deadline < bindparam("now")
    )
)
_LEAST_ANSWERED = PreparedStatement(
    select(places.c.assignment_id)
    .where(
        places.c.people < bindparam("per_assignment"),
        places.c.assignment_id.not_in(
            select(submissions.c.assignment_id).where(submissions.c.annotator_id == bindparam("annotator"))
        ),
    )
    .order_by(places.c.people, places.c.number)  # as the index is: the first that fits ends the search
    .limit(1)
)


def recount(connection: Connection, assignment_id: str) -> None:
    """Note how many people hold a place of an assignment, at work or done."""
    _RECOUNT.rows(connection, of_assignment=assignment_id)


def count_free(connection: Connection, per_assignment: int) -> int:
    """Return how many places nobody holds."""
    free = select(func.sum(per_assignment - places.c.people)).where(places.c.people < per_assignment)
    return connection.scalar(free) or 0


def give_place(connection: Connection, lease: Lease) -> None:
    """Write a person's new visit, with the seat that it holds."""
    give(connection, lease)
    recount(connection, lease.assignment_id)


def free_seat(connection: Connection, assignment_id: str, per_assignment: int) -> str | None:
    """Return the first seat of an assignment that nobody holds; ``None`` where all are taken."""
    taken = {seat for (seat,) in _SEATS_TAKEN.rows(connection, of_assignment=assignment_id)}
    seats = (f"{PERSON} {number}" for number in range(1, per_assignment + 1))
    return next((seat for seat in seats if seat not in taken), None)


def least_answered(connection: Connection, annotator_id: str, per_assignment: int) -> tuple[str, str] | None:
    """Return an assignment and a seat of it for somebody who never had it; ``None`` where all are taken.

    The assignment is the one with the fewest people who hold a seat, at work or done; of several the
    one of lowest number.
    """
    for (found,) in _LEAST_ANSWERED.rows(connection, annotator=annotator_id, per_assignment=per_assignment):
        seat = free_seat(connection, found, per_assignment)
        return None if seat is None else (found, seat)
    return None


def release(connection: Connection, submission_id: str, reason: str, *, now: float, finished: bool = False) -> bool:
    """Give up the place of a visit and return whether one became free; see ``StoredVisits.release``."""
    lease = lease_of(connection, submission_id)
    if lease is None or lease.annotator_kind == "llm" or (lease.finished and not finished):
        return False
    if lease.completed_at is not None and now <= lease.completed_at:  # as if it had been given up before
        note_recount(connection)
    if lease.seat is None:
        # who was late and then left does not come back, nor take a place later; who left is not late afterwards
        if (not lease.finished or finished) and not (lease.released_at is not None and reason == TIMED_OUT):
            _set(connection, submission_id, release_reason=reason, released_at=lease.released_at or now)
        return False
    since = lease.released_at or now  # who was passed over, and seated again since, is not in time by leaving
    done = lease.outcome == COMPLETED
    _set(connection, submission_id, seat=None, released_at=since, release_reason=reason, extra=done)
    if done:
        note_reseated(connection)
    seat_extra(connection, lease.assignment_id, lease.seat)
    recount(connection, lease.assignment_id)
    return True


def overdue(now: float) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of open visits that hold a place, or wait for one, after their deadline."""
    return submissions.c.outcome.is_(None), submissions.c.released_at.is_(None), submissions.c.deadline < now


def release_overdue(connection: Connection, *, now: float) -> int:
    """Give up the places of all whose deadline has passed, and return how many these were."""
    late = _OVERDUE.rows(connection, now=now)
    for (submission_id,) in late:
        release(connection, submission_id, TIMED_OUT, now=now)
    return len(late)


def reclaim(
    connection: Connection, lease: Lease, per_assignment: int, *, now: float, minutes_to_begin: float | None = None
) -> Lease:
    """Give a visit its place back where that is still free; returns the visit as it then is.

    Whoever has sent nothing yet must begin within ``minutes_to_begin``.
    """
    if not lease.released:
        return lease
    seat = free_seat(connection, lease.assignment_id, per_assignment)
    if seat is None:
        return lease
    until = deadline(now, lease.minutes_allowed)
    if minutes_to_begin is not None and not has_begun(connection, lease.submission_id):
        until = first_deadline(now, lease.minutes_allowed, minutes_to_begin)
    held: dict[str, Any] = {"seat": seat, "released_at": None, "release_reason": None, "deadline": until}
    _set(connection, lease.submission_id, **held)
    recount(connection, lease.assignment_id)
    limit = deadline(lease.leased_at, lease.minutes_allowed)
    if limit is None or until is None or until <= limit:  # else a live study has passed over it for good
        note_recount(connection)
    return replace(lease, **held)


def assignment_to_stand_by(connection: Connection, annotator_id: str) -> str | None:
    """Return an assignment to answer beside its holder where all places are taken; ``None`` where all are done.

    It is the one whose holder is the likeliest to drop out, by the deadline, and nobody stands by yet. Who is done
    and not confirmed by the platform may have to go too.
    """
    open_ = submissions.c.outcome.is_(None)
    in_doubt = submissions.c.external_id.startswith(CLAIMED)
    had = select(submissions.c.assignment_id).where(submissions.c.annotator_id == annotator_id)
    waited = select(submissions.c.assignment_id).where(open_, submissions.c.release_reason == STANDBY)
    assignment = submissions.c.assignment_id
    found: str | None = connection.scalar(
        select(assignment)
        .where(OF_PEOPLE, or_(open_, in_doubt), assignment.not_in(had), assignment.not_in(waited))
        .order_by(submissions.c.deadline.is_(None), submissions.c.deadline, submissions.c.number)
        .limit(1)
    )
    return found


def displace(
    connection: Connection, annotator_id: str, among: Collection[str], *, group: str | None = None
) -> tuple[str, str] | None:
    """Take the place of one of these visits, for somebody who never had its assignment; ``None`` where none has one.

    Who loses it stands by: one who works goes on, answers that are complete are ``extra``. It is the visit that began
    last, before those that are complete, and with a ``group`` one of this quota group.
    """
    of_group = () if group is None else (submissions.c.people_group == group,)
    had = select(submissions.c.assignment_id).where(submissions.c.annotator_id == annotator_id)
    held = select_leases().where(
        submissions.c.submission_id.in_(list(among)), OF_PEOPLE, submissions.c.assignment_id.not_in(had), *of_group
    )
    latest = held.order_by(None).order_by(submissions.c.outcome.is_not(None), submissions.c.number.desc()).limit(1)
    row = connection.execute(latest).first() if among else None
    if row is None:
        return None
    lease = lease_from_row(row)
    done = lease.outcome == COMPLETED
    _set(connection, lease.submission_id, seat=None, release_reason=STANDBY, extra=done)
    if done:
        note_reseated(connection)
    recount(connection, lease.assignment_id)
    return lease.assignment_id, str(lease.seat)


def seat_again(connection: Connection, submission_id: str, per_assignment: int) -> bool:
    """Give a completed visit without a place one that is free; return whether it has one then."""
    lease = lease_of(connection, submission_id)
    if lease is None or not lease.completed or lease.seat is not None:
        return lease is not None and lease.seat is not None
    seat = free_seat(connection, lease.assignment_id, per_assignment)
    # without one it waits, as those do who stand by
    _set(connection, submission_id, seat=seat, extra=seat is None, release_reason=None if seat else STANDBY)
    note_reseated(connection)
    recount(connection, lease.assignment_id)
    return seat is not None


def seat_extra(connection: Connection, assignment_id: str, seat: str) -> None:
    """Give a free place to a person who completed this assignment without one, or else to one standing by.

    The caller calls :func:`recount` afterwards.
    """
    completed = submissions.c.extra, submissions.c.outcome == COMPLETED
    standing_by = submissions.c.outcome.is_(None), submissions.c.release_reason == STANDBY
    waiting = (
        submissions.c.assignment_id == assignment_id,
        submissions.c.seat.is_(None),
        submissions.c.release_reason.in_((TIMED_OUT, STANDBY)),
        or_(and_(*completed), and_(*standing_by)),
    )
    found = select_leases().where(*waiting).order_by(None)
    row = connection.execute(found.order_by(submissions.c.outcome.is_(None), submissions.c.number).limit(1)).first()
    if row is None:
        return
    lease = lease_from_row(row)
    if lease.finished:
        _set(connection, lease.submission_id, seat=seat, extra=False)
        note_reseated(connection)
    else:
        _set(connection, lease.submission_id, seat=seat, release_reason=None)


def deadline(now: float, minutes_allowed: float | None) -> float | None:
    """Return when a place that is given now is given up; ``None`` where it never is."""
    return None if minutes_allowed is None else now + MINUTE * minutes_allowed


def first_deadline(now: float, minutes_allowed: float | None, minutes_to_begin: float | None) -> float | None:
    """Return when a place that is given now is given up unless a page is answered; see :func:`keep_place`."""
    limits = [each for each in (minutes_allowed, minutes_to_begin) if each is not None]
    return deadline(now, min(limits, default=None))


def has_begun(connection: Connection, submission_id: str) -> bool:
    """Return whether anything was sent in a visit."""
    sent = select(payloads.c.number).where(payloads.c.submission_id == submission_id).limit(1)
    return connection.scalar(sent) is not None


def keep_place(connection: Connection, lease: Lease, minutes_to_begin: float, *, now: float) -> None:
    """Let a visit, of which something was sent for the first time, have its place for all the time that it may take."""
    until = deadline(lease.leased_at, lease.minutes_allowed)
    if lease.deadline is None or lease.deadline == until:
        return
    if lease.deadline > lease.leased_at + MINUTE * minutes_to_begin + 1:  # the place was taken a second time
        until = deadline(now, lease.minutes_allowed)
    _set(connection, lease.submission_id, deadline=until)


def _set(connection: Connection, submission_id: str, **values: object) -> None:
    connection.execute(update(submissions).where(submissions.c.submission_id == submission_id).values(**values))
