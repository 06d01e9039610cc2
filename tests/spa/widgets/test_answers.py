"""What people and LLMs may send for a question, and what becomes of everything else."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spa.elicitation.spa import PreferenceTarget
from spa.records.form import Answer, AnswerOption, Question
from spa.records.submission import Missing, Response
from spa.responses.answers import answer_schema, parse_answer, parse_answers, unknown_keys
from spa.widgets import ConfirmAnswer, NumberAnswer, OptionsAnswer
from spa.widgets.payload import AnsweredTwice, payload_from_pairs

TARGET = PreferenceTarget(label_x="A", label_y="B", exposure=5, criterion="overall", asked_first=True)
PERCENT = NumberAnswer(low=0, high=100, scale=100, low_text="", high_text="", unit="%")
RATING = NumberAnswer(low=0, high=100, scale=1, low_text="", high_text="")
FIVE = tuple(AnswerOption(value=str(n), text=f"{n} of 5", score=float(n)) for n in range(1, 6))
LIKERT = OptionsAnswer(options=FIVE, half_points="keep")
COUNTS = OptionsAnswer(
    options=tuple(AnswerOption(value=text, text=text, score=n) for n, text in enumerate(("0", "1", "2 or more")))
)
WINNER = OptionsAnswer(options=tuple(AnswerOption(value=v, text=f"text {v}") for v in ("x", "y", "tie")))
CONFIRM = ConfirmAnswer(text="I have read this")


def ask(answer: Answer, question_id: str = "q1") -> Question:
    return Question(question_id=question_id, text="?", answer=answer, target=TARGET)


def value_of(answer: Answer, raw: object) -> float | str:
    parsed = parse_answer(ask(answer), raw)
    assert isinstance(parsed, Response), parsed
    return parsed.value


def reason_of(answer: Answer, raw: object) -> str:
    parsed = parse_answer(ask(answer), raw)
    assert isinstance(parsed, Missing), parsed
    return parsed.reason


@pytest.mark.parametrize(
    "raw", ["70", " 70 ", "70 %", "70%", "70.0", "070", "٧٠", "٧٠٪", "۷۰", "７０％", "\u200f70\u200e", 70, 70.0]
)
def test_seventy_is_read_in_every_way_of_writing_it(raw: object) -> None:
    assert value_of(PERCENT, raw) == 0.7


NO_PERCENTAGES: tuple[object, ...] = (
    *("0.7", "-1", "101", "70-80", "70 80", "7 0", "seventy", "7e1", "7²", "½", "0x46", "7_0", "NaN", "inf", "70 % %"),
    *("%", "\x00", "\ud800", "9" * 100_000, 0.7, -1, 101, 10**5000, 1e300, math.nan, math.inf, True, False, [70], {}),
)


@pytest.mark.parametrize("raw", NO_PERCENTAGES, ids=lambda raw: type(raw).__name__)
def test_anything_else_is_missing_with_a_reason(raw: object) -> None:
    reason = reason_of(PERCENT, raw)
    assert reason.startswith("expected a whole number from 0 to 100, got ")
    assert len(reason) < 200


def test_a_probability_in_place_of_a_percentage_is_told_so() -> None:
    assert reason_of(PERCENT, "0.7") == "expected a whole number from 0 to 100, got '0.7' (70 means 70%)"
    assert reason_of(PERCENT, "70-80") == "expected a whole number from 0 to 100, got '70-80'"
    assert reason_of(RATING, "70%") == "expected a whole number from 0 to 100, got '70%'"


@pytest.mark.parametrize("raw", [None, "", "  ", "\u200f", "\n"])
@pytest.mark.parametrize("answer", [PERCENT, LIKERT, WINNER, CONFIRM])
def test_nothing_is_no_answer(answer: Answer, raw: object) -> None:
    assert reason_of(answer, raw) == "no answer"


def test_what_arrived_is_kept_whole() -> None:
    long = "I would say " + "so " * 10_000
    parsed = parse_answer(ask(PERCENT), long)
    assert isinstance(parsed, Missing)
    assert parsed.raw == long
    assert parse_answer(ask(PERCENT), 70.0).raw == "70.0"
    assert parse_answer(ask(PERCENT), " 70 %").raw == " 70 %"
    assert parse_answer(ask(PERCENT), [70, "é"]).raw == '[70, "é"]'


@given(st.integers(0, 100))
def test_a_percentage_is_divided_exactly(percent: int) -> None:
    assert value_of(PERCENT, str(percent)) == float(Decimal(percent) / 100)


@pytest.mark.parametrize("raw", ["4", 4, 4.0, "4.0", "4 of 5", " 4 ", "٤"])
def test_a_likert_answer_is_its_score(raw: object) -> None:
    assert value_of(LIKERT, raw) == 4.0


@pytest.mark.parametrize("raw", ["4.3", "0", "6", 0.5, 5.5, "4.", "four", True, ["4"], "4/5"])
def test_no_other_number_is_a_likert_answer(raw: object) -> None:
    assert reason_of(LIKERT, raw).startswith('expected one of "1", "2", "3", "4", "5", got ')


def test_half_points_do_as_the_study_says() -> None:
    def with_half_points(what: Any) -> OptionsAnswer:
        return OptionsAnswer(options=FIVE, half_points=what)

    assert value_of(with_half_points("keep"), "4.5") == 4.5
    assert value_of(with_half_points("floor"), 4.5) == 4.0
    assert reason_of(with_half_points("missing"), "4.5") == (
        'expected "4" or "5", got \'4.5\' (half points count as missing)'
    )
    assert reason_of(with_half_points(None), 4.5).startswith("expected one of")


def test_counts_and_choices() -> None:
    assert value_of(COUNTS, "2 or more") == 2.0
    assert value_of(COUNTS, 1) == 1.0
    assert reason_of(COUNTS, 2).startswith("expected one of")  # the score of "2 or more" is no way of saying it
    assert value_of(WINNER, "x") == "x"
    assert value_of(WINNER, "text tie") == "tie"
    assert reason_of(WINNER, "X").startswith('expected one of "x", "y", "tie"')


def test_a_box_is_ticked_or_not() -> None:
    assert value_of(CONFIRM, "yes") == "yes"
    assert value_of(CONFIRM, True) == "yes"
    assert reason_of(CONFIRM, "on") == "expected \"yes\", got 'on'"
    assert reason_of(CONFIRM, False) == 'expected "yes", got false'


def test_a_field_sent_twice_is_not_guessed_at() -> None:
    payload = payload_from_pairs([("q1", "70"), ("q2", "4"), ("q1", "30")])
    first, second = parse_answers([ask(PERCENT), ask(LIKERT, "q2")], payload)
    assert isinstance(first, Missing)
    assert first.reason == 'answered twice: got ["70", "30"]'
    assert isinstance(second, Response)
    twice = json.loads('{"q1": 70, "q1": 30}', object_pairs_hook=payload_from_pairs)
    assert twice == {"q1": AnsweredTwice((70, 30))}


def test_unknown_fields_are_named() -> None:
    assert unknown_keys([ask(PERCENT)], {"q1": "70", "q9": "x", "": "y"}) == ("q9", "")


KINDS: list[Answer] = [PERCENT, RATING, LIKERT, COUNTS, WINNER, CONFIRM]
QUESTIONS = [ask(answer, f"q{number}") for number, answer in enumerate(KINDS)]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=2)
)


def test_the_schema_is_strict() -> None:
    schema = answer_schema(QUESTIONS)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["required"] == [question.question_id for question in QUESTIONS]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["q0"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert schema["properties"]["q2"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["properties"]["q4"] == {"type": "string", "enum": ["x", "y", "tie"]}


def allowed_by(rule: dict[str, Any]) -> list[object]:
    """Return all values that the schema of one question allows, numbers also as floats."""
    if "minimum" in rule:
        whole = list(range(rule["minimum"], rule["maximum"] + 1))
        return [*whole, *map(float, whole)]
    values = rule.get("enum", [rule.get("const")])
    return [*values, *(float(value) for value in values if type(value) is int)]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question.answer).__name__)
def test_all_that_the_schema_allows_is_read(question: Question) -> None:
    rule = answer_schema([question])["properties"][question.question_id]
    for value in allowed_by(rule):
        jsonschema.validate(value, rule)
        assert isinstance(parse_answer(question, value), Response)


@settings(max_examples=100)
@given(st.sampled_from(QUESTIONS), JSON_VALUES)
def test_every_value_is_read_or_missing(question: Question, raw: object) -> None:
    """What was accepted is accepted again from the raw form that was kept, with the same value."""
    parsed = parse_answer(question, raw)
    if isinstance(parsed, Missing):
        assert parsed.reason
        assert parsed.reason.isprintable()
    elif raw is not True:
        assert parse_answer(question, parsed.raw) == parsed
