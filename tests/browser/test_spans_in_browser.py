"""Errors marked in a real browser: by keyboard, mouse and touch, in hostile and right-to-left texts, without script."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spa.elicitation.spans import SpanTarget
from spa.media import medium_of
from spa.records.form import AnswerOption, Exhibit, ExhibitsBlock, Form, Question, Segment
from spa.records.submission import Response
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.widgets import SpansAnswer
from spa.widgets.marks import MarkedSpan, spans_from_json
from tests.browser.chromium import PHONE, expect, open_context
from tests.browser.first_page import begin
from tests.browser.hand_made import HandMade
from tests.spa.web_forms import small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
ENGLISH = '🦆 One <b onclick="window.hurt = 1">two</b> three\nfour two 🦆 end.'
MARKDOWN = """# Plan

It is **very** *good* and costs $5; so $x^2 = 4$.

- first `code` word
- second [link](https://link.example)

| a | b |
|---|---|
| one | two |

```python
x = "<b>" & 1  # 🦆
```
"""
ARABIC = "الكلمة الأولى ثم الثانية"


def spans_form(text: str, medium: str = "text") -> Form:
    """Return a form of one page on which the errors of a text are marked, under two questions."""
    form = small_form()
    shown = Exhibit(
        exhibit_id="e1", caption="Writer A", label="A", item_id="i1", medium=medium, segments=(Segment(text=text),)
    )
    answer = SpansAnswer(
        text=medium_of(shown).reads(text),
        severities=tuple(AnswerOption(value=name, text=name, score=n) for name, n in (("minor", 1.0), ("major", 5.0))),
        categories=("fluency", "accuracy"),
        no_errors="No errors",
    )
    questions = tuple(
        Question(
            question_id=f"q{number}",
            text=f"Mark every error of kind {number}.",
            answer=answer,
            target=SpanTarget(label="A", item_id="i1", sample=1, criterion=f"c{number}"),
        )
        for number in (1, 2)
    )
    page = next(page for page in form.pages if page.kind == "rating")
    blocks = (ExhibitsBlock(heading=None, exhibits=(shown,)), *questions)
    pages = (replace(page, page_id="p1", blocks=blocks), replace(form.pages[-1], page_id="p2", audience="people"))
    return replace(form, pages=pages)


def stored(made: HandMade, form: Form) -> list[tuple[MarkedSpan, ...]]:
    """Return what the first page of the only visit holds, by question."""
    from spa.responses.answers import parse_answers

    (lease,) = made.store.visits.leases()
    sent = [json.loads(one.body) for one in made.store.visits.payloads(lease.submission_id) if one.page_id == "p1"]
    answers = parse_answers(form.pages[0].questions, sent[-1])
    assert all(isinstance(answer, Response) for answer in answers), answers
    return [spans_from_json(str(getattr(answer, "value", ""))).spans for answer in answers]


def press(tab: Tab, *keys: str) -> None:
    for key in keys:
        tab.keyboard.press(key)


def test_spans_by_keyboard_and_mouse(browser: Browser, tmp_path: Path) -> None:
    """Errors are marked by keyboard and mouse removed and shown again."""
    form = spans_form(ENGLISH)
    made = HandMade(tmp_path, form)
    with (
        made.store,
        serve_on_loopback(create_app(made)) as url,
        open_context(browser, forced_colors="active") as context,
    ):
        tab = context.new_page()
        begin(tab, f"{url}/a/{made.store.tokens()[0]}")
        first, second = tab.locator(".surface").all()
        first.focus()
        press(tab, "End", "ArrowLeft", "ArrowLeft", "Enter")  # the last duck, behind an astral character
        expect(tab.locator("#q1-question .span-tools")).to_be_visible()
        tab.locator("#q1-question select").select_option("accuracy")
        tab.locator("#q1-question .span-tools").get_by_text("major").click()
        press(tab, "Home", "ArrowRight", "Shift+ArrowRight", "Enter", "Tab", "Enter")
        expect(tab.locator("#q1-question .marks li")).to_have_count(2)
        tab.locator("#q1-question .marks button").first.click()
        first.dblclick(position={"x": 30, "y": 12})
        tab.locator("#q1-question .span-tools").get_by_text("minor").click()
        assert "wavy" in tab.locator(".error:not(.heavy)").evaluate("one => getComputedStyle(one).textDecorationStyle")
        assert "double" in tab.locator(".error.heavy").evaluate("one => getComputedStyle(one).textDecorationStyle")
        tab.locator("#q2").check()
        assert first.evaluate("one => one.textContent") == second.evaluate("one => one.textContent") == ENGLISH
        assert tab.evaluate("window.hurt === undefined && !document.querySelector('.surface b')")
        tab.locator("button.next").click()
        tab.wait_for_url("**/p/p2")
        marks, none = stored(made, form)
        assert [(one.text, one.severity, one.category) for one in marks] == [
            ("One", "minor", None),
            ("🦆", "major", "accuracy"),
        ]
        assert [one.start for one in marks] == [2, ENGLISH.rindex("🦆")]
        assert none == ()
        tab.locator("button.back").click()
        expect(tab.locator("#q1-question .marks li")).to_have_count(2)
        expect(tab.locator("#q2")).to_be_checked()


def test_a_text_from_right_to_left_is_marked_on_a_phone_by_touch(browser: Browser, tmp_path: Path) -> None:
    form = replace(spans_form(ARABIC), language="ar", right_to_left=True)
    made = HandMade(tmp_path, form, language="ar")
    settings: dict[str, Any] = {"viewport": PHONE, "has_touch": True}
    with made.store, serve_on_loopback(create_app(made)) as url, open_context(browser, **settings) as context:
        tab = context.new_page()
        begin(tab, f"{url}/a/{made.store.tokens()[0]}")
        tab.locator(".surface").first.evaluate(
            "one => getSelection().setBaseAndExtent(one.firstChild, 7, one.firstChild, 14)"  # as handles do
        )
        tab.locator("#q1-question .span-tools").get_by_text("major").tap()
        tab.locator(".surface").nth(1).focus()
        press(tab, "ArrowLeft", "ArrowLeft", "Enter")  # on to the second word
        tab.locator("#q2-question .span-tools").get_by_text("minor").tap()
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.locator("button.next").tap()
        tab.wait_for_url("**/p/p2")
        assert [[one.text for one in spans] for spans in stored(made, form)] == [["الأولى"], ["الأولى"]]


def test_without_script_each_severity_has_a_list(browser: Browser, tmp_path: Path) -> None:
    form = spans_form(ENGLISH)
    made = HandMade(tmp_path, form)
    with made.store, serve_on_loopback(create_app(made)) as url:
        with open_context(browser, java_script_enabled=False) as context:
            tab = context.new_page()
            begin(tab, f"{url}/a/{made.store.tokens()[0]}")
            tab.locator("#q1-2").fill("three\nfour\ntwo")
            tab.locator("#q2").check()
            tab.locator("button.next").click()
            tab.wait_for_url("**/p/p2")
            marks, none = stored(made, form)
            assert [(one.text, one.reason) for one in marks] == [
                ("three", None),
                ("four", None),
                ("two", "stands 2 times in the text"),
            ]
            assert none == ()


@pytest.mark.parametrize("window", [{}, {"viewport": PHONE}])
def test_spans_on_markdown_are_those_of_its_text(browser: Browser, tmp_path: Path, window: dict[str, Any]) -> None:
    """By mouse and keyboard across bold words, items, formulas and code; what is shown keeps its elements."""
    form = spans_form(MARKDOWN, "markdown")
    text = form.pages[0].questions[0].answer.text
    made = HandMade(tmp_path, form)
    with made.store, serve_on_loopback(create_app(made)) as url, open_context(browser, **window) as context:
        tab = context.new_page()
        begin(tab, f"{url}/a/{made.store.tokens()[0]}")
        first, second = tab.locator(".surface").all()
        for surface in (first, second):
            assert surface.evaluate("one => one.textContent") == text
            assert surface.locator("strong, em, li, td, math, pre").count() == 8
        assert "markdown" in (second.get_attribute("class") or "")
        elements = first.evaluate("one => [...one.querySelectorAll('*')].map((each) => each.tagName).join()")
        select = """([from, to]) => {
          const one = document.querySelector('.surface');
          const [start, end] = [from, to].map((found) => [...one.querySelectorAll(found)].at(-1).firstChild);
          getSelection().setBaseAndExtent(start, 0, end, end.data.length);
        }"""
        tools = tab.locator("#q1-question .span-tools")
        for start, end, severity in (
            ("strong", "em", "minor"),
            ("li code", ".link", "major"),
            ("msup mi", "mn", "minor"),
        ):
            tab.evaluate(select, [start, end])
            tools.get_by_text(severity).click()
        assert first.locator("strong .error").count() == first.locator("em .error").count() == 1
        assert first.locator("msup mi.error").count() == 1
        assert first.evaluate("one => one.textContent") == text
        first.focus()
        press(tab, "End", "Enter")  # the duck in the comment
        tools.get_by_text("major").click()
        assert first.locator("pre .error.heavy").count() == 1
        tab.locator("#q1-question .marks button").first.click()  # very good
        assert first.locator("strong .error").count() == 0
        first.locator("strong").dblclick()
        tools.get_by_text("minor").click()
        tab.locator("#q2").check()
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.locator("button.next").click()
        tab.wait_for_url("**/p/p2")
        marks, none = stored(made, form)
        assert [one.text.split() for one in marks] == [["very"], ["x2=4"], ["code", "word", "second", "link"], ["🦆"]]
        assert all(text[one.start : one.end] == one.text for one in marks)
        assert none == ()
        tab.locator("button.back").click()
        expect(tab.locator("#q1-question .marks li")).to_have_count(4)
        without = """one => [...one.querySelectorAll('*')].filter((each) => !each.matches('span.error'))
          .map((each) => each.tagName).join()"""
        assert tab.locator(".surface").first.evaluate(without) == elements
