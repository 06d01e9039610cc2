"""Questions: what is made is read back the same, and what breaks a rule of the schema is refused by name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mturk.questions import (
    LARGEST_QUESTION,
    ExternalQuestion,
    HTMLQuestion,
    QuestionRefused,
    XMLRefused,
    question_size,
    read_question,
    render_question,
)
from spa.importers.mturk.safe_xml import FORBIDDEN, without_forbidden

WHAT_XML_HOLDS = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not FORBIDDEN.search(text))
HTML = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"


def html_question(content: str = "<HTMLContent>x</HTMLContent><FrameHeight>0</FrameHeight>", ns: str = HTML) -> str:
    return f'<HTMLQuestion xmlns="{ns}">{content}</HTMLQuestion>'


@given(WHAT_XML_HOLDS | st.text("]>[<!CDATA&;\r\n"), st.integers(0, 100_000))
def test_a_page_comes_back_as_it_went(text: str, height: int) -> None:
    """But for line ends, which XML and HTML both read as LF."""
    question = HTMLQuestion(html=f"<p>{text}</p>", frame_height=height)
    assert read_question(render_question(question)) == question
    assert question.html == f"<p>{text}</p>".replace("\r\n", "\n").replace("\r", "\n")


@given(WHAT_XML_HOLDS | st.text("]>"), st.sampled_from([0, 17, 100_000]))
def test_the_size_is_that_of_the_whole_xml_in_bytes(text: str, height: int) -> None:
    for question in (
        HTMLQuestion(html="x" + text, frame_height=height),
        ExternalQuestion(url="https://example.org/?a=1&b=%20'", frame_height=height),
    ):
        assert question_size(question) == len(render_question(question).encode())


def test_the_limit_counts_bytes_not_characters() -> None:
    room = LARGEST_QUESTION - question_size(HTMLQuestion(html="x")) + 1
    fits = HTMLQuestion(html="é" * (room // 2) + "x" * (room % 2))
    assert len(render_question(fits).encode()) == LARGEST_QUESTION
    assert read_question(render_question(fits)) == fits
    with pytest.raises(QuestionRefused, match=r"65,536 bytes .*ExternalQuestion"):
        render_question(HTMLQuestion(html=fits.html + "x"))
    with pytest.raises(XMLRefused, match="65,536 bytes"):
        read_question(render_question(fits).replace("<FrameHeight>", "<FrameHeight> "))


@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff", "\ud800"])
def test_a_character_that_xml_cannot_hold_is_named(character: str) -> None:
    with pytest.raises(QuestionRefused, match=f"character 3 of the page is U\\+{ord(character):04X}"):
        HTMLQuestion(html=f"<p>{character}</p>")
    assert render_question(HTMLQuestion(html=without_forbidden(f"<p>{character}</p>"))).count("\ufffd") == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/form?batch=7&x=1",
        "https://example.org:8443/a#b",
        "http://127.0.0.1:8000/m",
        "http://localhost/",
        "http://[::1]:90/",
        "https://192.0.2.7/",
        "https://xn--bcher-kva.example/a?t=%C3%A9&u=é",
        "https://7.example.org/",
    ],
)
def test_an_address_comes_back(url: str) -> None:
    xml = render_question(ExternalQuestion(url=url, frame_height=600))
    assert "&" not in xml.replace("&amp;", "")
    assert read_question(xml) == ExternalQuestion(url=url, frame_height=600)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://127.0.0.1.example.org/",
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org/",
        "https://",
        "https://me:secret@example.org/",
        "https://example.org/a b",
        "https://example.org:99999/",
        "https://[::1/",
        "https://example.org\\.example.net/",
        "https://example.org\\@example.net/",
        "https://%65xample.org/",
        "https://ｅxample.org/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://example.0x1/",
        "",
    ],
)
def test_an_address_that_no_worker_should_open_is_refused(url: str) -> None:
    with pytest.raises(QuestionRefused, match="ExternalURL") as refusal:
        ExternalQuestion(url=url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("xml", "why"),
    [
        (html_question(ns=HTML + "x"), "namespace"),
        (html_question(ns=""), "namespace"),
        (html_question("<HTMLContent>x</HTMLContent>"), "FrameHeight"),
        (html_question("<FrameHeight>0</FrameHeight><HTMLContent>x</HTMLContent>"), "then FrameHeight"),
        (html_question("<HTMLContent>x</HTMLContent><FrameHeight>tall</FrameHeight>"), "'tall'"),
        (html_question("<HTMLContent>x</HTMLContent><FrameHeight>-1</FrameHeight>"), "'-1'"),
        (html_question("<HTMLContent> </HTMLContent><FrameHeight>0</FrameHeight>"), "blank"),
        (
            html_question("<HTMLContent><![CDATA[<crowd-form>]]></HTMLContent><FrameHeight>0</FrameHeight>"),
            "plain <form>",
        ),
        ("<QuestionForm xmlns='x'/>", "HTMLQuestion"),
        ("<html/>", "'html'"),
    ],
)
def test_what_breaks_the_schema_is_refused_by_name(xml: str, why: str) -> None:
    with pytest.raises(QuestionRefused, match=re.escape(why)):
        read_question(xml)


@pytest.mark.parametrize("xml", ["", "plain", "<a>", "<!DOCTYPE a><a/>", "<a>\x00</a>", "<a/>\ud800"])
def test_what_is_no_xml_is_refused(xml: str) -> None:
    with pytest.raises(XMLRefused):
        read_question(xml)


def test_a_declaration_and_space_before_it_are_read() -> None:
    """Old scripts begin their XML on the second line of a quoted text, and some declare an encoding."""
    xml = f'\n  <?xml version="1.0" encoding="ISO-8859-1"?>\n{html_question().replace(">x<", ">né<")}'
    assert read_question(xml) == HTMLQuestion(html="né")
