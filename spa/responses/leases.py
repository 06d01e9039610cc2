"""Who works on which assignment: one person each, and any number of raters.

The functions run inside the caller's writing transaction, so that two people who arrive at
the same moment are served one after the other.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select

from spa.errors import ResponseError
from spa.responses.store_schema import assignments, meta, submissions
from spa.responses.submission import AnnotatorKind, Asked

PERSON = "person"
RATER = "rater:"
PROBE = "probe"  # source of visits that try a rater out
PLACES = (
    submissions.c.submission_id,
    submissions.c.assignment_id,
    submissions.c.annotator_id,
    submissions.c.annotator_kind,
    submissions.c.source,
    submissions.c.asked,
    submissions.c.leased_at,
    submissions.c.completed_at,
    submissions.c.completion_code,
)


class NoneLeft(ResponseError):
    """Every assignment has been given out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An assignment in the hands of one annotator: a visit that may or may not be completed."""

    submission_id: str
    assignment_id: str
    annotator_id: str
    annotator_kind: AnnotatorKind
    source: str
    completed: bool
    completion_code: str | None
    leased_at: float  # seconds since 1970
    asked: Asked | None = None  # of a rater


def lease_from_row(row: Row[Any]) -> Lease:
    """Read a row of :func:`select_leases`."""
    return Lease(
        submission_id=row.submission_id,
        assignment_id=row.assignment_id,
        annotator_id=row.annotator_id,
        annotator_kind=row.annotator_kind,
        source=row.source,
        completed=row.completed_at is not None,
        completion_code=row.completion_code,
        leased_at=row.leased_at,
        asked=asked_from_json(row.asked),
    )


def select_leases() -> Select[Any]:
    """Select all leases in the order in which they were given."""
    return select(*PLACES).order_by(submissions.c.number)


def lock_leases(connection: Connection) -> None:
    """Let one transaction at a time give leases; SQLite's has the write lock already."""
    connection.execute(select(meta.c.value).where(meta.c.name == "schema").with_for_update())


def find_lease(connection: Connection, annotator_id: str) -> Lease | None:
    """Find the assignment that a person has already."""
    own = submissions.c.annotator_id == annotator_id, submissions.c.seat == PERSON
    row = connection.execute(select_leases().where(*own).limit(1)).first()
    return None if row is None else lease_from_row(row)


def lease_for_person(connection: Connection, annotator_id: str, *, source: str, annotator_kind: AnnotatorKind) -> Lease:
    """Give a person the free assignment of lowest number, or the one that they have already."""
    lease = find_lease(connection, annotator_id)
    if lease is not None:
        return lease
    taken = (
        select(submissions.c.number)
        .where(submissions.c.assignment_id == assignments.c.assignment_id, submissions.c.seat == PERSON)
        .exists()
    )
    free = connection.scalar(select(assignments.c.assignment_id).where(~taken).order_by(assignments.c.number).limit(1))
    if free is None:
        raise NoneLeft("every assignment has been given out; build more of them with `spa build STUDY --annotators N`")
    return _give(connection, f"s{secrets.token_hex(8)}", free, PERSON, annotator_id, annotator_kind, source)


def lease_for_rater(connection: Connection, rater_id: str, assignment_id: str, asked: Asked) -> Lease:
    """Give a rater an assignment that people may work on too, or the lease that it has already.

    Raises
    ------
    ResponseError
        If there is no such assignment, or the rater has it under the same name asked in another way.
    """
    seat = f"{RATER}{_seat_name(rater_id, asked)}"
    own = submissions.c.assignment_id == assignment_id, submissions.c.seat == seat
    row = connection.execute(select_leases().where(*own)).first()
    if row is not None:
        if asked_from_json(row.asked) != asked:
            what = f"rater {rater_id!r}" if asked.variant is None else f"variant {asked.variant!r} of {rater_id!r}"
            raise ResponseError(
                f"{what} has answered {assignment_id} with another model or other settings, and answers of two kinds "
                "under one name cannot be told apart; undo the change, or give it another id"
            )
        return lease_from_row(row)
    if connection.scalar(select(assignments.c.number).where(assignments.c.assignment_id == assignment_id)) is None:
        raise ResponseError(f"no assignment {assignment_id!r} in this store")
    visit = visit_of_rater(rater_id, assignment_id, asked)
    source = "rater" if asked.probe is None else PROBE
    return _give(connection, visit, assignment_id, seat, rater_id, "llm", source, asked)


def visit_of_rater(rater_id: str, assignment_id: str, asked: Asked) -> str:
    """Return the submission id of a rater's visit: rater, variant, repeat and assignment."""
    return f"{_seat_name(rater_id, asked)}/{assignment_id}"


def _seat_name(rater_id: str, asked: Asked) -> str:
    parts = [rater_id, asked.variant, str(asked.repeat), None if asked.probe is None else f"{PROBE} {asked.probe}"]
    return "/".join(part for part in parts if part is not None)


def completed_by_raters(connection: Connection) -> set[str]:
    """Return the submission ids of the visits that raters have completed."""
    done = submissions.c.seat.startswith(RATER), submissions.c.completed_at.is_not(None)
    return set(connection.scalars(select(submissions.c.submission_id).where(*done)))


def asked_to_json(asked: Asked | None) -> str | None:
    """Write how a rater was asked."""
    return None if asked is None else json.dumps(asdict(asked), sort_keys=True)


def asked_from_json(text: str | None) -> Asked | None:
    """Read what :func:`asked_to_json` wrote."""
    return None if text is None else Asked(**json.loads(text))


def _give(
    connection: Connection,
    submission_id: str,
    assignment_id: str,
    seat: str,
    annotator_id: str,
    annotator_kind: AnnotatorKind,
    source: str,
    asked: Asked | None = None,
) -> Lease:
    lease = Lease(
        submission_id=submission_id,
        assignment_id=assignment_id,
        annotator_id=annotator_id,
        annotator_kind=annotator_kind,
        source=source,
        completed=False,
        completion_code=None,
        leased_at=time.time(),
        asked=asked,
    )
    connection.execute(
        insert(submissions).values(
            submission_id=submission_id,
            assignment_id=assignment_id,
            seat=seat,
            annotator_id=annotator_id,
            annotator_kind=annotator_kind,
            source=source,
            asked=asked_to_json(asked),
            leased_at=lease.leased_at,
        )
    )
    return lease
