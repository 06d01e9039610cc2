"""One validation for people and LLMs: what arrived for a question becomes a ``Response`` or a ``Missing``.

A page sends strings, an LLM sends JSON numbers or strings; both are read by the same rules,
nothing is guessed, and what arrived is kept verbatim beside what it was read as.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from spa.records.form import Answer, Question
from spa.records.submission import Missing, Response
from spa.widgets import Widget, fields_of, widget_of
from spa.widgets.payload import NO_ANSWER, AnsweredTwice, UnreadableAnswer, object_schema, quoted, verbatim


def parse_answers(questions: Iterable[Question], payload: Mapping[str, object]) -> tuple[Response | Missing, ...]:
    """Parse a payload into one ``Response`` or ``Missing`` a question, in the order of the questions."""
    found = [(question, widget_of(question.answer)) for question in questions]
    return tuple([_parse(one, widget, widget.sent(one.answer, one.question_id, payload)) for one, widget in found])


def unknown_keys(questions: Iterable[Question], payload: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields of a payload that answer none of the questions, in the order sent."""
    known = {name for question in questions for name in (question.question_id, *fields_of(question).values())}
    return tuple(name for name in payload if name not in known)


def parse_answer(question: Question, raw: object) -> Response | Missing:
    """Parse what arrived for one question.

    Parameters
    ----------
    question : Question
        What was asked; its ``answer`` says what is accepted.
    raw : object
        A string, a JSON value, ``AnsweredTwice``, or ``None`` where nothing arrived.

    Returns
    -------
    Response or Missing
        A ``Response`` with a preference probability, a rating, the chosen option's value or an order; a
        ``Missing`` with its reason for anything else.
    """
    return _parse(question, widget_of(question.answer), raw)


def _parse(question: Question, widget: Widget[Any], raw: object) -> Response | Missing:
    if raw is None:
        return Missing(question_id=question.question_id, target=question.target, reason=NO_ANSWER, raw=None)
    text = verbatim(raw)
    try:
        if isinstance(raw, AnsweredTwice):
            raise UnreadableAnswer(f"answered twice: got {quoted(raw)}")
        value = widget.read(question.answer, raw)
    except UnreadableAnswer as reason:
        return Missing(
            question_id=question.question_id, target=question.target, reason=str(reason), raw=text, level=reason.level
        )
    return Response(question_id=question.question_id, target=question.target, value=value, raw=text)


def answer_schema(questions: Iterable[Question]) -> dict[str, Any]:
    """Build the JSON Schema (2020-12) of a payload that answers every question.

    Every value that the schema allows is parsed to a ``Response``. All fields are required and
    no others allowed, as strict structured output of chat endpoints wants it.
    """
    made: dict[int, dict[str, Any]] = {}  # by the identity of an answer, of which a form has few
    properties = {}
    for question in questions:
        answer = question.answer
        if id(answer) not in made:
            made[id(answer)] = _schema_of(answer)
        properties[question.question_id] = made[id(answer)]
    return object_schema(properties)


@lru_cache(maxsize=1024)  # most questions of a study are answered alike; nobody changes a schema that is made
def _schema_of(answer: Answer) -> dict[str, Any]:
    return widget_of(answer).schema(answer)
