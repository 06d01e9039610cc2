"""What earlier versions of the store kept in another form, or did not keep.

Version 1 had the attempts of raters instead of a journal, and its first stores no personal tokens. Version 2 had a
journal, but seats without numbers, no outcomes, and tokens that were not tied to visits. Version 3 had no table
``places``. Versions 4 and 5 have the same tables, without ``adapted``. In version 6 people and LLMs saw an assignment
adapted alike. The first stores of 3 and 4 differ from the last in indexes and the order of columns.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, bindparam, func, insert, literal, select, update

from spa.forms.prompt_turns import WHOLE
from spa.responses.capacity import PERSON, people_seated
from spa.responses.leases import RATER
from spa.responses.migration import Former, Schema
from spa.responses.outcomes import COMPLETED
from spa.responses.store_schema import (
    SCHEMA_VERSION,
    adapted,
    assignments,
    from_bytes,
    journal,
    meta,
    metadata,
    places,
    submissions,
    tokens,
)
from spa.responses.tokens import keyed

CHUNK = 500  # rows read at once, so that memory stays flat


def _derive(connection: Connection, version: int, former: Former) -> None:
    if version < 2:
        _number_visits_of_raters(connection)
        _record_attempts(connection, former)
        if "personal" not in former["tokens"].c:
            # the first tokens were made with the assignments, as many as there are of these
            built = select(func.count()).select_from(assignments).scalar_subquery()
            connection.execute(update(tokens).where(tokens.c.number <= built).values(personal=True))
    if version < 3:
        connection.execute(update(submissions).where(submissions.c.seat == PERSON).values(seat=f"{PERSON} 1"))
        ended = submissions.c.completed_at.is_not(None)
        connection.execute(update(submissions).where(ended).values(outcome=COMPLETED))
        _tie_tokens_to_visits(connection)
    if version < 4:
        name = assignments.c.assignment_id
        counted = select(name, assignments.c.number, people_seated(name))
        connection.execute(insert(places).from_select(["assignment_id", "number", "people"], counted))
    if version == 6:
        by_llm = select(submissions.c.assignment_id).where(submissions.c.annotator_kind == "llm")
        seen = select(adapted.c.assignment_id, literal("llm"), adapted.c.left_out, adapted.c.dealt)
        names = ["assignment_id", "respondents", "left_out", "dealt"]
        connection.execute(insert(adapted).from_select(names, seen.where(adapted.c.assignment_id.in_(by_llm))))


def _number_visits_of_raters(connection: Connection) -> None:
    """Name the visits of raters as the first of several repeats; how they were asked is not known."""
    visit = submissions.c
    name = visit.annotator_id + "/1"
    named = {"seat": RATER + name, "submission_id": name + "/" + visit.assignment_id}
    connection.execute(update(submissions).where(visit.annotator_kind == "llm").values(named))


def _record_attempts(connection: Connection, former: Former) -> None:
    attempts = former["attempts"].c
    query = select(former["attempts"]).order_by(attempts.requested_at).execution_options(yield_per=CHUNK)
    for rows in connection.execute(query).partitions():
        calls = [
            {
                "kind": "llm",
                "scope": f"{row.rater_id}/1/{row.assignment_id}",
                "key": WHOLE,
                "attempt": row.attempt,
                "begun_at": row.requested_at,
                "outcome": row.outcome,
                "finished_at": None if row.seconds is None else row.requested_at + row.seconds,
                "facts": json.dumps(
                    {"completion_tokens": row.completion_tokens, "prompt_tokens": row.prompt_tokens}, sort_keys=True
                ),
                "request": from_bytes(row.request),
                "response": None if row.response is None else from_bytes(row.response),
            }
            for row in rows
        ]
        connection.execute(insert(journal), calls)


def _tie_tokens_to_visits(connection: Connection) -> None:
    """Note which visit a token opens: that of the person whom its keyed hash names."""
    secret = str(connection.scalar(select(meta.c.value).where(meta.c.name == "secret")))
    of_people = submissions.c.annotator_kind != "llm"
    query = select(submissions.c.annotator_id, submissions.c.submission_id).where(of_people)
    visits = {row.annotator_id: row.submission_id for row in connection.execute(query)}
    found = [
        {"of_token": token, "visit": visits[person]}
        for token in connection.scalars(select(tokens.c.token))
        if (person := keyed(secret, token)) in visits
    ]
    if found:
        opened = update(tokens).where(tokens.c.token == bindparam("of_token"))
        connection.execute(opened.values(submission_id=bindparam("visit")), found)


SCHEMA = Schema(
    version=SCHEMA_VERSION, metadata=metadata, facts=meta, fact="schema", dropped=("attempts",), derive=_derive
)
