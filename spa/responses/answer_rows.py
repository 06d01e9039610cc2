"""Answers as rows of the store and back again, without loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select

from spa.forms.form import (
    CheckTarget,
    ChoiceTarget,
    ConfirmationTarget,
    ExplanationTarget,
    InterviewTarget,
    PreferenceTarget,
    RankingTarget,
    RatingTarget,
    ScreeningTarget,
    SpanTarget,
    Target,
)
from spa.responses.leases import PROBE, condition_from_json
from spa.responses.outcomes import CLAIMED, NO_CONSENT, WITHDRAWN
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import answers, submissions, to_bytes
from spa.responses.submission import Missing, Response, Submission

KINDS: dict[str, type[Target]] = {
    "preference": PreferenceTarget,
    "rating": RatingTarget,
    "choice": ChoiceTarget,
    "ranking": RankingTarget,
    "spans": SpanTarget,
    "check": CheckTarget,
    "screening": ScreeningTarget,
    "confirmation": ConfirmationTarget,
    "interview": InterviewTarget,
    "explanation": ExplanationTarget,
}
KIND_OF = {target_type: kind for kind, target_type in KINDS.items()}
_COLUMNS = tuple(column.name for column in answers.columns)
_SUBMITTED = [each.name for each in fields(Submission) if each.name not in ("answers", "asked")]
_INSERT = PreparedStatement(insert(answers))
_NAMES = {target_type: tuple(sorted(each.name for each in fields(target_type))) for target_type in KINDS.values()}


@lru_cache(maxsize=16_384)  # systems, items and criteria meet in the same targets on many forms
def target_to_json(target: Target) -> str:
    """Write a target as canonical JSON."""
    target_type = type(target)
    return _SHAPES[target_type] % tuple([_to_json(getattr(target, name)) for name in _NAMES[target_type]])


def _to_json(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if type(value) is int:
        return str(value)
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) in KIND_OF:
        return target_to_json(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


_SHAPES = {  # the JSON of each kind with %s for its values; keys are sorted, and "about" comes before all
    target_type: "{" + ",".join([f'"about":"{kind}"', *(f'"{name}":%s' for name in _NAMES[target_type])]) + "}"
    for kind, target_type in KINDS.items()
}


@lru_cache(maxsize=16_384)
def target_from_json(text: str) -> Target:
    """Read what :func:`target_to_json` wrote."""
    return _target_of(json.loads(text))


def _target_of(record: dict[str, Any]) -> Target:
    target_type = KINDS[record.pop("about")]
    if target_type is ScreeningTarget:
        record["eligible"] = tuple(record["eligible"])
    if target_type is ExplanationTarget:
        record["of"] = _target_of(record["of"])
    if target_type is RankingTarget:
        record |= {name: tuple(record[name]) for name in ("labels", "samples")}
    return target_type(**record)


def save_answers(connection: Connection, visit: int, given: Sequence[Response | Missing]) -> None:
    """Write the answers of a visit, which is named by its number."""
    if given:
        _INSERT.run_many(connection, _COLUMNS, [answer_to_row(one, visit, place) for place, one in enumerate(given)])


def read_submissions(
    connection: Connection, *, after: int, limit: int, probes: bool = False
) -> list[tuple[int, Submission]]:
    """Read the next completed visits, each with its number; those that try a rater out only where asked for."""
    tried_out = submissions.c.source == PROBE
    query = (
        select(submissions)
        .where(
            submissions.c.completed_at.is_not(None),
            submissions.c.outcome.not_in((NO_CONSENT, WITHDRAWN)),  # these left no answers
            or_(submissions.c.external_id.is_(None), ~submissions.c.external_id.startswith(CLAIMED)),
            submissions.c.number > after,
            tried_out if probes else ~tried_out,
        )
        .order_by(submissions.c.number)
        .limit(limit)
    )
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


def answer_from_row(row: Row[Any]) -> Response | Missing:
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
