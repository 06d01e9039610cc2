"""One validation for people and LLMs: what arrived for a question becomes a ``Response`` or a ``Missing``.

A page sends strings, an LLM sends JSON numbers or strings; both are read by the same rules,
nothing is guessed, and what arrived is kept verbatim beside what it was read as.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from spa.forms.form import (
    Answer,
    AnswerOption,
    ConfirmAnswer,
    NumberAnswer,
    OptionsAnswer,
    OrderAnswer,
    Question,
    SpansAnswer,
    TextAnswer,
)
from spa.forms.spans import UnusableSpans, read_spans, sent_spans, spans_schema
from spa.responses.orders import SIGN, order_of, ranks_of
from spa.responses.submission import Missing, Response

NO_ANSWER = "no answer"
CONFIRMED = "yes"
SHOWN_CHARACTERS = 60  # of an unreadable answer, in its reason; the raw form is kept whole
LONGEST_NUMBER = 40  # characters
HALF = Decimal("0.5")
DIRECTION_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u061c\ufeff"))  # pasted along with right-to-left text
PERCENT_SIGNS = str.maketrans(dict.fromkeys("\u066a\uff05\ufe6a", "%"))
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AnsweredTwice:
    """What a payload holds for a field that was sent more than once."""

    values: tuple[object, ...]


class UnreadableAnswer(Exception):
    """The answer cannot be used; the message is the reason, ``level`` a number off the scale."""

    def __init__(self, reason: str, level: object = None) -> None:
        super().__init__(reason)
        self.level = None if level is None else str(level)


def payload_from_pairs(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Build a payload that remembers which fields were sent more than once.

    Takes the fields of a form post, or serves as ``object_pairs_hook`` of :func:`json.loads`.

    >>> payload_from_pairs([("q1", "70"), ("q2", "4"), ("q1", "30")])
    {'q1': AnsweredTwice(values=('70', '30')), 'q2': '4'}
    """
    gathered: dict[str, list[object]] = {}
    for name, value in pairs:
        gathered.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else AnsweredTwice(tuple(values)) for name, values in gathered.items()}


def parse_answers(questions: Iterable[Question], payload: Mapping[str, object]) -> tuple[Response | Missing, ...]:
    """Parse a payload into one ``Response`` or ``Missing`` a question, in the order of the questions."""
    return tuple([parse_answer(question, _sent(question, payload)) for question in questions])


def unknown_keys(questions: Iterable[Question], payload: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields of a payload that answer none of the questions, in the order sent."""
    known = {name for question in questions for name in (question.question_id, *question.fields.values())}
    return tuple(name for name in payload if name not in known)


def _sent(question: Question, payload: Mapping[str, object]) -> object:
    """Return what arrived for a question, of which a page may send parts in several fields."""
    if isinstance(question.answer, SpansAnswer):
        return sent_spans(question, payload)
    raw = payload.get(question.question_id)
    if raw is not None or not isinstance(question.answer, OrderAnswer):
        return raw
    return {label: payload[name] for label, name in question.fields.items() if name in payload} or None


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
    if raw is None:
        return Missing(question_id=question.question_id, target=question.target, reason=NO_ANSWER, raw=None)
    text = verbatim(raw)
    try:
        value = _read(question.answer, raw)
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
    return _object_schema(properties)


def verbatim(raw: object) -> str:
    """Return what arrived as text: a string as it is, any other JSON value as JSON."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, AnsweredTwice):
        return verbatim(list(raw.values))
    try:
        return json.dumps(raw, ensure_ascii=False, default=repr)
    except RecursionError:
        return "(nested too deeply to be written down)"
    except ValueError:  # Python writes no whole number of more than 4,300 digits in decimal
        return hex(raw) if isinstance(raw, int) else repr(type(raw))


def _read(answer: Answer, raw: object) -> float | str:
    if isinstance(raw, AnsweredTwice):
        raise UnreadableAnswer(f"answered twice: got {_quoted(raw)}")
    if isinstance(answer, TextAnswer):
        return _read_text(answer, raw)
    if isinstance(raw, str) and not _bare(raw):
        raise UnreadableAnswer(NO_ANSWER)
    match answer:
        case NumberAnswer():
            return _read_number(answer, raw)
        case OptionsAnswer():
            return _read_option(answer, raw)
        case OrderAnswer():
            return _read_order(answer, raw)
        case SpansAnswer():
            try:
                return read_spans(answer, raw)
            except UnusableSpans as reason:
                raise UnreadableAnswer(str(reason)) from None
        case ConfirmAnswer():
            if raw is True or (isinstance(raw, str) and _bare(raw) == CONFIRMED):
                return CONFIRMED
            raise UnreadableAnswer(f'expected "{CONFIRMED}", got {_quoted(raw)}')


def _read_text(answer: TextAnswer, raw: object) -> str:
    if not isinstance(raw, str):
        raise UnreadableAnswer(f"expected a text, got {_quoted(raw)}")
    if not raw.strip():
        if answer.required:
            raise UnreadableAnswer(NO_ANSWER)
        return ""
    if len(raw) > answer.longest:
        raise UnreadableAnswer(f"expected at most {answer.longest} characters, got {len(raw)}")
    return raw


def _read_number(answer: NumberAnswer, raw: object) -> float:
    plain = isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) <= LONGEST_NUMBER
    number = int(str(raw)) if plain else _as_number(raw, unit=answer.unit)  # most are plain
    if number is None or number != int(number) or not answer.low <= number <= answer.high:
        hint = " (70 means 70%)" if answer.unit == "%" and number is not None and 0 < number < 1 else ""
        raise UnreadableAnswer(
            f"expected a whole number from {answer.low} to {answer.high}, got {_quoted(raw)}{hint}", number
        )
    return int(number) / answer.scale  # whole by whole is rounded once, so 70/100 is the 0.7 that one would write


def _read_option(answer: OptionsAnswer, raw: object) -> float | str:
    if isinstance(raw, str) or (isinstance(raw, int) and not isinstance(raw, bool)):
        text = _bare(verbatim(raw))
        for option in answer.options:
            if text == option.value:
                return _value_of(option)
        for option in answer.options:
            if text == option.text.strip():
                return _value_of(option)
    number = _as_number(raw, unit="")
    if number is not None:
        by_number = {value: option for option in answer.options if (value := _numeric_value(option)) is not None}
        if number in by_number:
            return _value_of(by_number[number])
        if answer.half_points is not None and {number - HALF, number + HALF} <= by_number.keys():
            return _read_half_point(answer, by_number[number - HALF], by_number[number + HALF], raw)
    offered = ", ".join(f'"{option.value}"' for option in answer.options[:12])
    more = ", ..." if len(answer.options) > 12 else ""
    raise UnreadableAnswer(f"expected one of {offered}{more}, got {_quoted(raw)}", number)


def _read_order(answer: OrderAnswer, raw: object) -> str:
    """Read a rank for each label, or "A > B = C" with each label (or its text) once; nothing is filled in."""
    labels = [option.value for option in answer.options]
    if isinstance(raw, str):
        names = {name: option.value for option in answer.options for name in (option.value, option.text.strip())}
        named = [names.get(name) for name in SIGN.split(_bare(raw))[::2]]
        if sorted(map(str, named)) != sorted(labels):
            raise UnreadableAnswer(f'expected {", ".join(labels)}, each once, with ">" or "=", got {_quoted(raw)}')
        given = dict(zip(map(str, named), ranks_of(_bare(raw)).values(), strict=True))
        return order_of({label: given[label] for label in labels})
    if not isinstance(raw, dict) or not set(raw) <= set(labels):
        raise UnreadableAnswer(f"expected a rank for each of {', '.join(labels)}, got {_quoted(raw)}")
    if all(isinstance(rank, str) and not _bare(rank) for rank in raw.values()):
        raise UnreadableAnswer(NO_ANSWER)
    ranks: dict[str, int] = {}
    for label in labels:
        number = _as_number(raw.get(label), unit="")
        if number is None or number != int(number) or not 1 <= number <= len(labels):
            got = _quoted(raw[label]) if label in raw else "none"
            raise UnreadableAnswer(f"expected a rank from 1 to {len(labels)} for {label}, got {got}")
        ranks[label] = int(number)
    return order_of(ranks)


def _read_half_point(answer: OptionsAnswer, below: AnswerOption, above: AnswerOption, raw: object) -> float | str:
    if answer.half_points == "floor":
        return _value_of(below)
    if answer.half_points == "keep" and below.score is not None and above.score is not None:
        return (below.score + above.score) / 2
    raise UnreadableAnswer(
        f'expected "{below.value}" or "{above.value}", got {_quoted(raw)} (half points count as missing)',
        _as_number(raw, unit=""),
    )


def _value_of(option: AnswerOption) -> float | str:
    return option.value if option.score is None else float(option.score)


def _numeric_value(option: AnswerOption) -> Decimal | None:
    """Return the number that an option with a score is called by."""
    return None if option.score is None else _as_number(option.value, unit="")


def _as_number(raw: object, *, unit: str) -> Decimal | None:
    """Return a finite number written plainly, in the digits of any script; ``None`` for anything else."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int):
        return Decimal(raw)
    if isinstance(raw, float):
        return Decimal(repr(raw)) if math.isfinite(raw) else None
    if not isinstance(raw, str):
        return None
    text = _bare(raw)
    if len(text) > LONGEST_NUMBER:
        return None
    if unit:
        text = text.translate(PERCENT_SIGNS).removesuffix(unit).rstrip()
    # unicodedata.decimal knows the digits of every script and refuses superscripts: "10²" is not 102
    plain = text if text.isascii() else "".join(str(unicodedata.decimal(character, character)) for character in text)
    return Decimal(plain) if PLAIN_NUMBER.fullmatch(plain) else None


def _bare(text: str) -> str:
    """Return the text without the marks of writing direction and the white space around it."""
    return (text if text.isascii() else text.translate(DIRECTION_MARKS)).strip()


def _quoted(raw: object) -> str:
    """Return what arrived, short enough for a reason of one line and printable anywhere."""
    text = verbatim(raw)
    if len(text) > SHOWN_CHARACTERS:
        text = f"{text[:SHOWN_CHARACTERS]}..."
    return repr(text) if isinstance(raw, str) else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@lru_cache(maxsize=1024)  # most questions of a study are answered alike; nobody changes a schema that is made
def _schema_of(answer: Answer) -> dict[str, Any]:
    match answer:
        case NumberAnswer():
            return {"type": "integer", "minimum": answer.low, "maximum": answer.high}
        case OptionsAnswer():
            numbers = [_numeric_value(option) for option in answer.options]
            whole = [int(number) for number in numbers if number is not None and number == int(number)]
            if answer.half_points is not None and len(whole) == len(answer.options):
                return {"type": "integer", "enum": whole}
            return {"type": "string", "enum": [option.value for option in answer.options]}
        case OrderAnswer(options=options):
            rank = {"type": "integer", "minimum": 1, "maximum": len(options)}
            return _object_schema({option.value: rank for option in options})
        case ConfirmAnswer():
            return {"type": "boolean", "const": True}
        case TextAnswer():
            return {"type": "string"}
        case SpansAnswer():
            return spans_schema(answer)
