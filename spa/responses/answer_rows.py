"""Answers as rows of the store and back again, without loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, insert, or_, select

from spa.elicitation import judgements
from spa.records.form import (
    CheckTarget,
    ConfirmationTarget,
    ExplanationTarget,
    InterviewTarget,
    Judgement,
    ScreeningTarget,
    Target,
)
from spa.records.submission import Missing, Response, Submission
from spa.responses.leases import APART, PROBE, condition_from_json
from spa.responses.outcomes import CLAIMED, NO_CONSENT, WITHDRAWN
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import answers, from_bytes, submissions, to_bytes

_SHAPES: dict[type[Any], tuple[tuple[str, ...], str]] = {}  # of each kind of target, when one is first written
OTHERS: dict[str, type[Target]] = {
    "check": CheckTarget,
    "screening": ScreeningTarget,
    "confirmation": ConfirmationTarget,
    "interview": InterviewTarget,
    "explanation": ExplanationTarget,
}
_COLUMNS = tuple(column.name for column in answers.columns)
_SUBMITTED = [each.name for each in fields(Submission) if each.name not in ("answers", "asked")]
_INSERT = PreparedStatement(insert(answers))
_COMPLETED = select(submissions).where(
    submissions.c.completed_at.is_not(None),
    submissions.c.outcome != NO_CONSENT,  # these two left no answers
    submissions.c.outcome != WITHDRAWN,
    submissions.c.source != APART,
    or_(submissions.c.external_id.is_(None), ~submissions.c.external_id.startswith(CLAIMED)),
)

_OF_VISIT = PreparedStatement(
    _COMPLETED.with_only_columns(
        submissions.c.number, submissions.c.asked, *(submissions.c[name] for name in _SUBMITTED)
    ).where(submissions.c.submission_id == bindparam("visit"))
)


class _Stored(NamedTuple):
    """A row of answers, without its key."""

    question_id: str
    target: str
    raw: str | None
    number: float | None
    choice: str | None
    missing_reason: str | None
    missing_level: str | None
    readings_differ: bool | None

    @classmethod
    def of(cls, row: Sequence[Any]) -> _Stored:
        """Read a row as the driver has it."""
        found = cls(*row)
        differ = found.readings_differ
        return found._replace(
            raw=None if found.raw is None else from_bytes(row[2]),
            missing_reason=None if found.missing_reason is None else from_bytes(row[5]),
            readings_differ=None if differ is None else bool(differ),
        )


_OF_SUBMISSION = PreparedStatement(
    select(*(answers.c[name] for name in _Stored._fields))
    .where(answers.c.submission == bindparam("number"))
    .order_by(answers.c.place)
)


@lru_cache(maxsize=16_384)  # systems, items and criteria meet in the same targets on many forms
def target_to_json(target: Target) -> str:
    """Write a target as canonical JSON."""
    shape = _SHAPES.get(type(target))
    if shape is None:
        shape = _SHAPES[type(target)] = _shape(type(target))
    names, form = shape
    return form % tuple([_to_json(getattr(target, name)) for name in names])


def _to_json(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if type(value) is int:
        return str(value)
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, Judgement):
        return target_to_json(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def _shape(target_type: type[Any]) -> tuple[tuple[str, ...], str]:
    """Return the fields of a target in order, and its JSON with %s for their values; "about" comes before all."""
    others = {other: kind for kind, other in OTHERS.items()}
    kind = target_type.kind if issubclass(target_type, Judgement) else others[target_type]
    names = tuple(sorted(each.name for each in fields(target_type)))
    return names, "{" + ",".join([f'"about":"{kind}"', *(f'"{name}":%s' for name in names)]) + "}"


@lru_cache(maxsize=16_384)
def target_from_json(text: str) -> Target:
    """Read what :func:`target_to_json` wrote."""
    return _target_of(json.loads(text))


def _target_of(record: dict[str, Any]) -> Target:
    kind = record.pop("about")
    target_type: type[Any] = OTHERS.get(kind) or judgements()[kind]
    if target_type is ExplanationTarget:
        record["of"] = _target_of(record["of"])
    parts = {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
    found: Target = target_type(**parts)
    return found


def save_answers(connection: Connection, visit: int, answers: Sequence[Response | Missing]) -> None:
    """Write the answers of a visit, which is named by its number."""
    if answers:
        _INSERT.run_many(connection, _COLUMNS, [answer_to_row(one, visit, place) for place, one in enumerate(answers)])


def read_submissions(
    connection: Connection, *, after: int, limit: int, probes: bool = False
) -> list[tuple[int, Submission]]:
    """Read the next completed visits, each with its number; those that try a rater out only where asked for."""
    tried_out = submissions.c.source == PROBE
    which = _COMPLETED.where(submissions.c.number > after, tried_out if probes else ~tried_out)
    return _read(connection, which.order_by(submissions.c.number).limit(limit))


def read_submission(connection: Connection, submission_id: str) -> Submission | None:
    """Read one completed visit; ``None`` of one that left no answers."""
    for number, asked, *facts in _OF_VISIT.rows(connection, visit=submission_id):
        rows = [_Stored.of(row) for row in _OF_SUBMISSION.rows(connection, number=number)]
        submitted = dict(zip(_SUBMITTED, facts, strict=True))
        submitted["extra"] = bool(submitted["extra"])  # as a driver has it
        return Submission(**submitted, answers=tuple(map(answer_from_row, rows)), asked=condition_from_json(asked))
    return None


def _read(connection: Connection, query: Select[Any]) -> list[tuple[int, Submission]]:
    visits = connection.execute(query).all()
    answered = _answers_of(connection, [visit.number for visit in visits])
    return [
        (
            visit.number,
            Submission(
                **{name: getattr(visit, name) for name in _SUBMITTED},
                answers=answered.get(visit.number, ()),
                asked=condition_from_json(visit.asked),
            ),
        )
        for visit in visits
    ]


def answer_to_row(answer: Response | Missing, submission: int, place: int) -> tuple[object, ...]:
    """Return the row of table ``answers`` that keeps one answer, as drivers take it, in the order of the columns."""
    raw = None if answer.raw is None else to_bytes(answer.raw)
    target = target_to_json(answer.target)
    begun, differ = (submission, place, answer.question_id, target, raw), answer.readings_differ
    if isinstance(answer, Missing):
        return *begun, None, None, to_bytes(answer.reason), answer.level, differ
    if isinstance(answer.value, str):
        return *begun, None, answer.value, None, None, differ
    return *begun, answer.value, None, None, None, differ


def answer_from_row(row: Any) -> Response | Missing:
    """Read what :func:`answer_to_row` wrote."""
    shared: dict[str, Any] = {
        "question_id": row.question_id,
        "target": target_from_json(row.target),
        "raw": row.raw,
        "readings_differ": row.readings_differ,
    }
    if row.missing_reason is not None:
        return Missing(reason=row.missing_reason, level=row.missing_level, **shared)
    return Response(value=row.choice if row.choice is not None else row.number, **shared)


def _answers_of(connection: Connection, visits: Sequence[int]) -> dict[int, tuple[Response | Missing, ...]]:
    query = select(answers).where(answers.c.submission.in_(visits)).order_by(answers.c.submission, answers.c.place)
    gathered: dict[int, list[Response | Missing]] = {}
    for row in connection.execute(query):
        gathered.setdefault(row.submission, []).append(answer_from_row(row))
    return {visit: tuple(found) for visit, found in gathered.items()}
