"""Visits of a rater that are set apart: kept with their answers and calls, out of every table, and asked anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, Text, exists, func, insert, literal, select, update
from sqlalchemy import cast as sql_cast

from spa.responses.leases import APART, ask_anew, condition_from_json, leases_named
from spa.responses.outcomes import COMPLETED
from spa.responses.store import Store
from spa.responses.store_schema import answers, journal, submissions

OUTCOME = "set apart"  # of a visit that is
MARK = "apart: "  # before the outcome of a call that was made for it
STARTED = "started"
JUDGED = (  # of an answer that is readable, and more than words of one's own
    answers.c.missing_reason.is_(None),
    ~answers.c.target.startswith('{"about":"explanation"', autoescape=True),
)


def set_apart(store: Store, submission_ids: Sequence[str], *, kind: str, every: bool) -> int:
    """Set apart those of a rater's visits that hold no answer, or ``every`` one; return how many.

    Calls of ``kind`` keep what was sent and what came, and count in no visit any more. A visit of which a call is
    under way stays as it is.
    """
    number = 0
    for start in range(0, len(submission_ids), 500):
        names = submission_ids[start : start + 500]
        with store.transaction() as connection:
            for name in _to_set_apart(connection, names, kind, every=every):
                _set_apart(connection, name, kind)
                number += 1
    return number


def count_apart(store: Store, annotator_id: str | None = None) -> int:
    """Return how many visits are set apart, of a rater or of all."""
    query = select(func.count()).select_from(submissions).where(submissions.c.source == APART)
    if annotator_id is not None:
        query = query.where(submissions.c.annotator_id == annotator_id)
    with store.reading() as connection:
        return connection.scalar(query) or 0


def silent_visits(store: Store, annotator_id: str) -> dict[str | None, int]:
    """Return how many visits each variant of a rater has completed without one readable judgement; 0 with any."""
    own = submissions.c.annotator_id == annotator_id, submissions.c.source == "rater"
    done = (*own, submissions.c.outcome == COMPLETED)
    counted = select(submissions.c.asked, func.count()).where(*done).group_by(submissions.c.asked)
    judged = select(answers.c.place).join(submissions, submissions.c.number == answers.c.submission)
    found: dict[str | None, int] = {}
    with store.reading() as connection:
        for asked, count in connection.execute(counted).all():
            variant = getattr(condition_from_json(asked), "variant", None)
            if found.get(variant, 1):
                readable = judged.where(*done, submissions.c.asked == asked, *JUDGED).limit(1)
                silent = connection.execute(readable).first() is None
                found[variant] = found.get(variant, 0) + count if silent else 0
    return found


def _to_set_apart(connection: Connection, names: Sequence[str], kind: str, *, every: bool) -> list[str]:
    called = journal.c.kind == kind, journal.c.scope == submissions.c.submission_id
    given = answers.c.submission == submissions.c.number, *JUDGED
    query = select(submissions.c.submission_id).where(
        submissions.c.submission_id.in_(names),
        ~exists().where(*called, journal.c.outcome == STARTED),
        submissions.c.outcome.is_not(None) | exists().where(*called, ~journal.c.outcome.startswith(MARK)),
    )
    if not every:
        query = query.where(~exists().where(*given))
    return list(connection.scalars(query.order_by(submissions.c.number)))


def _set_apart(connection: Connection, name: str, kind: str) -> None:
    """Give answers of a visit to a copy of it that no table shows; open the visit itself."""
    row = connection.execute(select(submissions).where(submissions.c.submission_id == name)).mappings().one()
    if row["outcome"] is not None:
        earlier = (
            submissions.c.source == APART,
            submissions.c.submission_id.startswith(f"{name} apart ", autoescape=True),
        )
        place = (connection.scalar(select(func.count()).select_from(submissions).where(*earlier)) or 0) + 1
        changed = {"submission_id": f"{name} apart {place}", "seat": None, "source": APART, "outcome": OUTCOME}
        kept = {key: value for key, value in row.items() if key != "number"} | changed
        copy = connection.scalar(insert(submissions).values(**kept).returning(submissions.c.number))
        connection.execute(update(answers).where(answers.c.submission == row["number"]).values(submission=copy))
    ask_anew(connection, replace(leases_named(connection, [name])[name], leased_at=time.time()))
    of_visit = journal.c.kind == kind, journal.c.scope == name
    open_ = ~journal.c.outcome.startswith(MARK), journal.c.outcome != STARTED
    marked = literal(MARK) + sql_cast(journal.c.outcome, Text)
    connection.execute(update(journal).where(*of_visit, *open_).values(outcome=marked))
