"""Free text is read as a careful person would read it: replies written by hand, and what no text may do.

A line of ``replies.jsonl`` says what is asked, how it is read, what the model said and what a careful person reads: a
value, "missing", or a part of the reason why it is missing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.reading import read_answers
from spa.records.form import Answer, AnswerOption, ExplanationTarget, Question, Target
from spa.records.raters import RaterProtocol
from spa.records.submission import Missing, Response
from spa.widgets import NumberAnswer, OptionsAnswer, TextAnswer

REPLIES = [
    json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text(encoding="utf-8").splitlines()
]
RATED = RatingTarget(label="A", item_id="i1", sample=1, criterion="likability", elicitation="likert")
SHARE = PreferenceTarget(label_x="A", label_y="B", exposure=5, criterion="overall", asked_first=True)
BACK = PreferenceTarget(label_x="B", label_y="A", exposure=5, criterion="overall", asked_first=False)
PICKED = ChoiceTarget(label_x="A", label_y="B", item_id="i1", sample_x=1, sample_y=1, criterion="c")
RATING = "How would you rate this text by System A with regard to likability?"
CHANCE = "From what you read, what is the chance (0 to 100 %) that {x} is better than {y}?"


def options(*pairs: tuple[str, str, float | None], half: bool = False, labels: tuple[str, ...] = ()) -> OptionsAnswer:
    named = [*labels, *[None] * len(pairs)]
    made = tuple(
        AnswerOption(value=value, text=text, score=score, label=label)
        for (value, text, score), label in zip(pairs, named, strict=False)
    )
    return OptionsAnswer(options=made, half_points="keep" if half else None)


def points(low: str, high: str, number: int = 5) -> OptionsAnswer:
    texts = [low, *map(str, range(2, number)), high]
    return options(*((str(n), text, float(n)) for n, text in enumerate(texts, start=1)), half=True)


def percent(low: str, high: str, sides: tuple[str, str] = ("A", "B")) -> NumberAnswer:
    return NumberAnswer(low=0, high=100, scale=100, low_text=low, high_text=high, unit="%", sides=sides)


def certain(x: str, y: str) -> NumberAnswer:
    ends = (f"0 %: certain that System {x} is no better", f"100 %: certain that System {x} is better")
    return percent(*ends, (x, y))


def winner(x: str, y: str, tie: str, labels: tuple[str, str] = ("A", "B")) -> OptionsAnswer:
    return options(("x", x, None), ("y", y, None), ("tie", tie, None), labels=labels)


QUESTIONS: dict[str, tuple[Answer, Target, str]] = {
    "five": (points("1 (very poor)", "5 (very good)"), RATED, RATING),
    "seven": (points("1 (lowest)", "7 (highest)", 7), RATED, RATING),
    "ten": (points("1 (lowest)", "10 (highest)", 10), RATED, RATING),
    "hundred": (
        NumberAnswer(low=0, high=100, scale=1, low_text="0 (lowest)", high_text="100 (highest)"),
        RATED,
        RATING,
    ),
    "percent": (certain("A", "B"), SHARE, CHANCE.format(x="System A", y="System B")),
    "percent_ba": (certain("B", "A"), BACK, CHANCE.format(x="System B", y="System A")),
    "choice": (winner("System A", "System B", "Both are equally good"), PICKED, "Which of the two texts is better?"),
    "yesno": (options(("Yes", "Yes", None), ("No", "No", None)), RATED, "Is there a wrong guideline?"),
    "agree": (
        options(("Agree", "Agree", 1), ("Agree in part", "Agree in part", 0.5), ("Disagree", "Disagree", 0)),
        RATED,
        "Do you agree?",
    ),
    "category": (options(("0", "0", 2.0), ("1", "1", 1.0), ("2 or more", "2 or more", 0.0)), RATED, "How many errors?"),
    "five_zh": (points("1（最低）", "5（最高）"), RATED, "您如何评价系统A的这篇短文的想象力？"),
    "percent_zh": (
        percent("0%：确信系统A并不更好", "100%：确信系统A更好"),
        SHARE,
        "根据您读到的内容，系统A比系统B更好的可能性有多大（0 到 100%）？",
    ),
    "choice_zh": (winner("系统A", "系统B", "两者一样好"), PICKED, "哪一篇更好？"),
    "five_ar": (points("1 (الأدنى)", "5 (الأعلى)"), RATED, "ما تقييمك لهذا النص من النظام A من حيث سعة الخيال؟"),
    "percent_ar": (
        percent("0%: يقين بأن النظام A ليس أفضل", "100%: يقين بأن النظام A أفضل"),
        SHARE,
        "بناءً على ما قرأت، ما احتمال (من 0 إلى 100%) أن يكون النظام A أفضل من النظام B؟",
    ),
    "choice_ar": (winner("النظام A", "النظام B", "لا فرق بينهما في الجودة"), PICKED, "أي النصين أفضل؟"),
}


def read(asked: str, said: str, reading: str) -> Response | Missing:
    answer, target, text = QUESTIONS[asked]
    question = Question(question_id="q1", text=text, answer=answer, target=target)
    protocol = RaterProtocol(conversation="question", answer_format="text", reading=reading)  # type: ignore[arg-type]
    (found,) = read_answers([question], LLMReply(outcome="answered", text=said), protocol)
    return found


def agrees(asked: str, expected: str, found: Response | Missing) -> bool:
    if isinstance(found, Missing):
        return expected == "missing" or expected in found.reason
    if isinstance(found.value, str):
        return found.value == expected or (asked == "yesno" and found.value.casefold() == expected)
    number = expected.replace(".", "", 1)
    wanted = float(expected) / (100 if asked.startswith("percent") else 1) if number.isdecimal() else None
    return wanted is not None and found.value == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: f"{case['asked']} {case['reading']} {case['said'][:30]!r}")
def test_no_answer_is_invented(case: dict[str, str]) -> None:
    found = read(case["asked"], case["said"], case["reading"])
    assert isinstance(found, Missing) or agrees(case["asked"], case["expected"], found), found


def test_few_answers_are_missed() -> None:
    """Of what a careful person reads, at most a twentieth, in every language and of every scale a sixth."""
    given = [case for case in REPLIES if case["expected"].replace(".", "").isdecimal() or len(case["expected"]) < 4]
    missed = [case for case in given if isinstance(read(case["asked"], case["said"], case["reading"]), Missing)]
    assert len(REPLIES) - len(given) >= 150
    assert len(given) >= 300
    assert len(missed) <= 0.05 * len(given), missed
    for asked in QUESTIONS:
        own = [case for case in given if case["asked"] == asked]
        assert sum(case["asked"] == asked for case in missed) <= len(own) / 6, asked


@pytest.mark.parametrize("between", ["点満点中", " üzerinden ", "-ből ", " kun ", " में से ", ", ", " ... "])
@pytest.mark.parametrize("reading", ["strict", "first_number"])
def test_high_end_before_a_number_is_never_the_answer(between: str, reading: str) -> None:
    """In whatever language: the later number, or missing."""
    for number in (1, 2, 3, 4):
        found = read("five", f"5{between}{number}", reading)
        assert isinstance(found, Missing) or found.value == number


def test_no_number_is_part_of_a_longer_one() -> None:
    """Arabic and Chinese numerals from 11 to 99 are themselves, or missing."""
    units = "واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة".split()
    tens = "عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون".split()
    han = "一二三四五六七八九"
    for number in range(11, 100):
        ten, one = divmod(number, 10)
        arabic = (units[one - 1] + (f" و{tens[ten - 2]}" if ten > 1 else " عشر")) if one else (tens[ten - 2])
        chinese = ("" if ten == 1 else han[ten - 1]) + "十" + (han[one - 1] if one else "")
        for asked, said in (("percent_ar", arabic), ("percent_zh", chinese), ("percent_zh", chinese + "分")):
            for reading in ("strict", "first_number"):
                found = read(asked, said, reading)
                assert getattr(found, "value", None) == pytest.approx(number / 100), said


def test_why_an_answer_is_missing_is_said() -> None:
    reasons = [case for case in REPLIES if len(case["expected"]) > 4 and case["expected"] != "missing"]
    for case in reasons:
        found = read(case["asked"], case["said"], case["reading"])
        assert agrees(case["asked"], case["expected"], found), (case, found)


@pytest.mark.parametrize("asked", list(QUESTIONS))
@given(said=st.text() | st.text(alphabet="0123456789 .-/%*orAB\n"))
def test_whatever_is_said_is_an_answer_of_the_scale_or_missing(asked: str, said: str) -> None:
    for reading in ("strict", "first_number", "paper"):
        found = read(asked, said, reading)
        if isinstance(found, Missing):
            assert found.reason
        elif isinstance(found.value, float):
            assert 0 <= found.value <= 100
        assert found.raw == (said or None) or found.raw in said or isinstance(found, Missing)


def test_free_text_explanation_and_rating() -> None:
    """An explanation is the whole reply and the rating the number in it."""
    answer, target, text = QUESTIONS["five"]
    rating = Question(question_id="q2", text=text, answer=answer, target=target)
    why = Question(question_id="q1", text="Why?", answer=TextAnswer(), target=ExplanationTarget(of=RATED))
    protocol = RaterProtocol(conversation="question", answer_format="text", explain="before")
    said = "The plot is thin.\nRating: 2"
    explained, rated = read_answers([why, rating], LLMReply(outcome="answered", text=said), protocol)
    assert isinstance(explained, Response)
    assert isinstance(rated, Response)
    assert (explained.value, rated.value) == (said, 2.0)


@pytest.mark.parametrize(
    ("said", "by_paper", "first_number"),
    [
        ("On a scale of 1-5, I would give it a score of 4 out of 5.", 4, 4),
        ("I rate it 4.5/5.", 4.5, 4.5),
        ("The meaning of news title 1 is kept in news title 2, so 3.", 3, 3),
        ("News Title 1 says more. 3", 1, 3),  # the string is "title 1"
        ("on a scale from 1 to 5 I give it 3", 1, 3),
        ("满分 5 分，我给 2 分", 5, 2),
        ("[q2] 4", 2, 4),
        ("我给四分", None, 4),
        ("Of 3 points, 2 stand out: 5", 3, 3),
        ("Nothing.", None, None),
    ],
)
def test_free_text_rule_of_the_paper(said: str, by_paper: float | None, first_number: float | None) -> None:
    """The rule of the paper removes four strings and first number whatever tells of a scale."""
    found = [getattr(read("five", said, reading), "value", None) for reading in ("paper", "first_number")]
    assert found == [by_paper, first_number]


@pytest.mark.parametrize(
    ("asked", "said", "level", "differ"),
    [
        ("five", "4", None, False),
        ("five", "It has 2 flaws. Rating: 4", None, True),
        ("five", "Rating: 7", "7", False),
        ("five", "4 or 5", "4 or 5", True),
        ("percent", "60-70%", "60 or 70", True),
        ("percent", "150", "150", False),
        ("choice", "System A or System B", "x or y", False),
        ("five", "Nice.", None, False),
    ],
)
def test_free_text_missing_level_and_readers(asked: str, said: str, level: str | None, differ: bool) -> None:
    """A missing answer tells its level and readers are compared."""
    found = read(asked, said, "strict")
    assert (getattr(found, "level", None), found.readings_differ) == (level, differ)
    assert read(asked, said, "first_number").readings_differ is differ


@pytest.mark.parametrize(
    ("labels", "said", "expected"),
    [
        (("A", "B"), "[[A]]", "x"),
        (("B", "A"), "[[A]]", "y"),
        (("B", "A"), "[[A>>B]]", "y"),
        (("B", "A"), "A < B", "x"),
        (("A", "C"), "[[C]]", "y"),
        (("A", "C"), "[[B]]", None),
        (("C", "D"), "[[A]]", None),
        (("D", "E"), "[[C]]", "tie"),
    ],
)
def test_a_verdict_is_about_the_labels_whichever_is_listed_first(
    labels: tuple[str, str], said: str, expected: str | None
) -> None:
    x, y = labels
    target = ChoiceTarget(label_x=x, label_y=y, item_id="i1", sample_x=1, sample_y=1, criterion="c")
    offered = winner(f"System {x}", f"System {y}", "Both are equally good", labels)
    question = Question(question_id="q1", text="Which is better?", answer=offered, target=target)
    protocol = RaterProtocol(conversation="question", answer_format="text", reading="strict")
    (found,) = read_answers([question], LLMReply(outcome="answered", text=said), protocol)
    assert getattr(found, "value", None) == expected


@pytest.mark.parametrize("said", ["both are bad", "Unentschieden", "égalité", "They are similar."])
def test_what_may_be_a_tie_is_missing_with_that_level(said: str) -> None:
    found = read("choice", said, "strict")
    assert isinstance(found, Missing)
    assert found.level == "tie"


def test_a_tie_that_is_not_offered_is_missing_with_that_level() -> None:
    offered = options(("x", "System A", None), ("y", "System B", None), labels=("A", "B"))
    question = Question(question_id="q1", text="Which is better?", answer=offered, target=PICKED)
    protocol = RaterProtocol(conversation="question", answer_format="text", reading="strict")
    (found,) = read_answers([question], LLMReply(outcome="answered", text="[[C]]"), protocol)
    assert isinstance(found, Missing)
    assert found.level == "tie"
