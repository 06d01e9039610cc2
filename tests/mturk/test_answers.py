"""Answers: what was sent is read back as the same plain text, and what would hurt the reader is refused at once."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mturk.answers import NothingAnswered, render_answers
from spa.importers.mturk.answers import (
    ANSWERS_NAMESPACE,
    LARGEST_ANSWER,
    MOST_FIELDS,
    AnsweredField,
    AnswerRefused,
    answer_pairs,
    read_answers,
)
from spa.importers.mturk.safe_xml import FORBIDDEN, XMLRefused
from spa.widgets.payload import AnsweredTwice, payload_from_pairs

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
WHAT_XML_HOLDS = ANY_TEXT.filter(lambda text: not FORBIDDEN.search(text))
NAMES = WHAT_XML_HOLDS.filter(lambda name: name not in {"", "assignmentId", "hitId"})


def answers(inside: str) -> str:
    return f'<QuestionFormAnswers xmlns="{ANSWERS_NAMESPACE}">{inside}</QuestionFormAnswers>'


def answer(content: str, name: str = "q1") -> str:
    return f"<Answer><QuestionIdentifier>{name}</QuestionIdentifier>{content}</Answer>"


@given(st.dictionaries(NAMES, WHAT_XML_HOLDS | st.text("]>&<\r\n\t \"'"), min_size=1, max_size=8))
def test_any_text_that_xml_can_hold_comes_back(fields: dict[str, str]) -> None:
    assert answer_pairs(read_answers(render_answers(fields.items()))) == list(fields.items())


@given(st.lists(st.tuples(ANY_TEXT.filter(bool), ANY_TEXT), max_size=8))
def test_any_form_is_read_back_or_refused_as_empty(fields: list[tuple[str, str]]) -> None:
    """Whatever a worker types, the requester reads plain text; only forbidden characters change."""
    try:
        read = read_answers(render_answers(fields))
    except NothingAnswered:
        assert {name for name, _ in fields} <= {"assignmentId", "hitId"}
        return
    kept = [
        (FORBIDDEN.sub("\ufffd", n), FORBIDDEN.sub("\ufffd", v))
        for n, v in fields
        if n not in ("assignmentId", "hitId")
    ]
    gathered: dict[str, list[str]] = {}
    for name, value in kept:
        gathered.setdefault(name, []).append(value)
    assert answer_pairs(read) == [(name, "|".join(values)) for name, values in gathered.items()]


def test_markup_stays_text() -> None:
    hostile = "</FreeText></Answer><Answer><QuestionIdentifier>q2</QuestionIdentifier><FreeText>100"
    assert read_answers(render_answers([("q1", hostile), ("]]>", "<![CDATA[x]]>")])) == (
        AnsweredField(name="q1", text=hostile),
        AnsweredField(name="]]>", text="<![CDATA[x]]>"),
    )


@pytest.mark.parametrize("fields", [[], [("assignmentId", "3X")], [("assignmentId", "3X"), ("hitId", "3H")]])
def test_a_form_with_nothing_in_it_is_refused(fields: list[tuple[str, str]]) -> None:
    with pytest.raises(NothingAnswered):
        render_answers(fields)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([(f"q{n}", "1") for n in range(MOST_FIELDS + 1)], "2,001 fields"),
        ([("", "1")], "without a name"),
        ([("n" * 501, "1")], "501 characters"),
        ([("q", "&" * (LARGEST_ANSWER // 5))], "bytes of XML"),
    ],
)
def test_a_form_beyond_the_limits_is_refused(fields: list[tuple[str, str]], why: str) -> None:
    with pytest.raises(AnswerRefused, match=why):
        render_answers(fields)


def test_choices_and_files_of_old_forms_are_read() -> None:
    xml = answers(
        answer("<SelectionIdentifier>a</SelectionIdentifier><SelectionIdentifier>b</SelectionIdentifier>")
        + answer("<SelectionIdentifier>a</SelectionIdentifier><OtherSelectionText>else</OtherSelectionText>", "q2")
        + answer("<UploadedFileKey>k1</UploadedFileKey><UploadedFileSizeInBytes>12</UploadedFileSizeInBytes>", "q3")
        + answer("<FreeText/>", "q4")
        + answer("", "q5")
    )
    fields = read_answers(xml)
    assert fields[0] == AnsweredField(name="q1", selections=("a", "b"))
    assert fields[2] == AnsweredField(name="q3", file_key="k1", file_bytes=12)
    assert answer_pairs(fields) == [("q1", "a|b"), ("q2", "a|else"), ("q3", "k1"), ("q4", ""), ("q5", "")]


def test_a_name_that_occurs_twice_is_seen_by_the_survey() -> None:
    fields = read_answers(answers(answer("<FreeText>70</FreeText>") + answer("<FreeText>30</FreeText>")))
    assert payload_from_pairs(answer_pairs(fields)) == {"q1": AnsweredTwice(("70", "30"))}


def test_nothing_answered_is_no_field() -> None:
    assert read_answers("") == read_answers(" \n") == read_answers(answers("")) == ()


LAUGHS = (
    "<!DOCTYPE l [<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)) + "]>"
)
QUADRATIC = f"<!DOCTYPE l [<!ENTITY a '{'x' * 100_000}'>]>"
BOMBS = {
    "billion laughs": LAUGHS + answers(answer("<FreeText>&a11;</FreeText>")),
    "quadratic": QUADRATIC + answers(answer(f"<FreeText>{'&a;' * 100_000}</FreeText>")),
    "a file": '<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + answers(answer("<FreeText>&f;</FreeText>")),
    "another host": '<!DOCTYPE l SYSTEM "http://127.0.0.1:9/x.dtd">' + answers(answer("<FreeText>1</FreeText>")),
    "parameter entity": '<!DOCTYPE l [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;]>' + answers(""),
    "an unknown entity": answers(answer("<FreeText>&nbsp;</FreeText>")),
    "depth": answers("<a>" * 100_000 + "</a>" * 100_000),
    "elements": answers("<Answer/>" * 50_000),
    "size": answers(answer(f"<FreeText>{'x' * LARGEST_ANSWER}</FreeText>")),
    "attributes": answers("<Answer " + " ".join(f"a{n}='1'" for n in range(40_000)) + "/>"),
    "half a document": answers("").removesuffix("</QuestionFormAnswers>"),
    "NUL": answers(answer("<FreeText>\x00</FreeText>")),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_quickly(name: str) -> None:
    began = time.process_time()
    with pytest.raises((XMLRefused, AnswerRefused)) as refusal:
        read_answers(BOMBS[name])
    assert Decimal(time.process_time() - began) < 3
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "inside",
    [
        "<Other/>",
        "text<b/>",
        "<Answer><FreeText>1</FreeText></Answer>",
        answer("<FreeText>1</FreeText><FreeText>2</FreeText>"),
        answer("<FreeText>1</FreeText><SelectionIdentifier>2</SelectionIdentifier>"),
        answer("<FreeText>a<b>c</b></FreeText>"),
        answer("<UploadedFileSizeInBytes>many</UploadedFileSizeInBytes>"),
        answer("<FreeText>1</FreeText>", name=""),
        answer("<FreeText>1</FreeText>", name="n" * 501),
    ],
)
def test_what_the_schema_does_not_have_is_refused(inside: str) -> None:
    with pytest.raises(AnswerRefused):
        read_answers(answers(inside))


def test_another_schema_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="QuestionFormAnswers of"):
        read_answers(answers("").replace("2005-10-01", "2004-10-01"))
