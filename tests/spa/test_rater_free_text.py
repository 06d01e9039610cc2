"""Free text is read as a careful person would read it: a corpus written by hand, and what no text may do."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.annotators.raters.endpoints.endpoint import Reply
from spa.annotators.raters.reading.settling import read_answers
from spa.forms.form import (
    AnswerOption,
    ChoiceTarget,
    ExplanationTarget,
    NumberAnswer,
    OptionsAnswer,
    PreferenceTarget,
    Question,
    RatingTarget,
    TextAnswer,
)
from spa.responses.submission import Missing, Response
from spa.study.raters import Way

CORPUS = [
    json.loads(line) for line in (Path(__file__).parent / "raw_answers.jsonl").read_text(encoding="utf-8").splitlines()
]
RATED = RatingTarget(label="A", item_id="i1", sample=1, criterion="c", elicitation="likert")
SHARE = PreferenceTarget(label_x="A", label_y="B", exposure=5, criterion="overall", asked_first=True)
PICKED = ChoiceTarget(label_x="A", label_y="B", item_id="i1", sample_x=1, sample_y=1, criterion="c")


def options(*pairs: tuple[str, str, float | None], half: bool = False) -> OptionsAnswer:
    made = tuple(AnswerOption(value=value, text=text, score=score) for value, text, score in pairs)
    return OptionsAnswer(options=made, half_points="keep" if half else None)


QUESTIONS = {
    "five": (options(*((str(n), str(n), float(n)) for n in range(1, 6)), half=True), RATED),
    "percent": (NumberAnswer(low=0, high=100, scale=100, low_text="no", high_text="yes", unit="%"), SHARE),
    "hundred": (NumberAnswer(low=0, high=100, scale=1, low_text="bad", high_text="good"), RATED),
    "choice": (
        options(("x", "System A", None), ("y", "System B", None), ("tie", "Both are equally good", None)),
        PICKED,
    ),
    "yesno": (options(("yes", "Yes", None), ("no", "No", None)), PICKED),
    "category": (options(("0", "0", 2.0), ("1", "1", 1.0), ("2 or more", "2 or more", 0.0)), RATED),
}


def read(asked: str, said: str, reading: str) -> Response | Missing:
    answer, target = QUESTIONS[asked]
    question = Question(question_id="q1", text="?", answer=answer, target=target)  # type: ignore[arg-type]
    way = Way(conversation="question", answer_format="text", reading=reading)  # type: ignore[arg-type]
    (found,) = read_answers([question], Reply(outcome="answered", text=said), way)
    return found


def agrees(asked: str, expected: str, found: Response | Missing) -> bool:
    if isinstance(found, Missing):
        return expected in found.reason
    if isinstance(found.value, str):
        return found.value == expected
    wanted = expected.replace(".", "", 1)
    return wanted.isdecimal() and found.value == float(expected) / (100 if asked == "percent" else 1)


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: f"{case['asked']} {case['reading']} {case['said'][:30]!r}")
def test_each_answer_of_the_corpus_is_read_as_a_person_reads_it(case: dict[str, str]) -> None:
    found = read(case["asked"], case["said"], case["reading"])
    assert agrees(case["asked"], case["expected"], found), found


def test_nothing_of_the_corpus_is_read_wrongly() -> None:
    """Precision of what is read, and the share that a strict reading leaves missing."""
    assert len(CORPUS) >= 200
    strict = [case for case in CORPUS if case["reading"] == "strict"]
    found = [(case, read(case["asked"], case["said"], "strict")) for case in strict]
    given = [(case, answer) for case, answer in found if isinstance(answer, Response)]
    right = [case for case, answer in given if agrees(case["asked"], case["expected"], answer)]
    assert len(right) == len(given)
    counted = Counter(type(answer).__name__ for _, answer in found)
    assert 0.2 < counted["Missing"] / len(strict) < 0.45  # the corpus holds many that must stay missing


@pytest.mark.parametrize("asked", list(QUESTIONS))
@given(said=st.text() | st.text(alphabet="0123456789 .-/%*orAB\n"))
def test_whatever_is_said_is_an_answer_of_the_scale_or_missing(asked: str, said: str) -> None:
    for reading in ("strict", "first_number"):
        found = read(asked, said, reading)
        if isinstance(found, Missing):
            assert found.reason
        elif isinstance(found.value, float):
            assert 0 <= found.value <= 100
        assert found.raw == (said or None) or found.raw in said or isinstance(found, Missing)


def test_an_explanation_is_the_whole_reply_and_the_rating_the_number_in_it() -> None:
    answer, target = QUESTIONS["five"]
    rating = Question(question_id="q2", text="?", answer=answer, target=target)  # type: ignore[arg-type]
    why = Question(question_id="q1", text="Why?", answer=TextAnswer(), target=ExplanationTarget(of=RATED))
    way = Way(conversation="question", answer_format="text", explain="before")
    said = "The plot is thin.\nRating: 2"
    explained, rated = read_answers([why, rating], Reply(outcome="answered", text=said), way)
    assert isinstance(explained, Response)
    assert isinstance(rated, Response)
    assert (explained.value, rated.value) == (said, 2.0)
