"""How many people hold a place of each assignment, kept beside the assignments so that it need not be counted anew.

Whatever gives, takes or ends a place calls :func:`recount` in the same transaction, after
:func:`spa.responses.leases.lock_leases`. It counts what is there instead of adding or subtracting one, so that
no order of events can lead it astray.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select, update

from spa.responses.prepared import PreparedStatement
from spa.responses.store_schema import places, submissions

PERSON = "person"  # seats of people, and of simulated annotators, who stand for people
OF_PEOPLE = submissions.c.seat.startswith(f"{PERSON} ")

_RECOUNT = PreparedStatement(
    update(places)
    .where(places.c.assignment_id == bindparam("of_assignment"))
    .values(
        people=select(func.count())
        .select_from(submissions)
        .where(submissions.c.assignment_id == places.c.assignment_id, OF_PEOPLE)
        .scalar_subquery()
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


def least_answered(connection: Connection, annotator_id: str, per_assignment: int) -> str | None:
    """Return the assignment with the fewest people who hold a place; ``None`` where all places are taken.

    Of several it is the one of lowest number, and never one that this person had.
    """
    found = _LEAST_ANSWERED.rows(connection, annotator=annotator_id, per_assignment=per_assignment)
    return found[0][0] if found else None
