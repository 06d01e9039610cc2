"""Ranking and marking errors by touch on a phone, with Chromium's own touch input: start, moves, end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import PHONE, expect, open_context
from tests.browser.first_page import begin
from tests.browser.hand_made import HandMade
from tests.browser.test_ranking_in_browser import listed, start
from tests.browser.test_ranking_in_browser import survey as survey
from tests.browser.test_spans_in_browser import spans_form, stored

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api import Page as Tab

    from spa.commands.workspace import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
TOUCH: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
Point = tuple[float, float]
WHERE = """(surface, place) => {  // the middle of the letter at a place of the text
    const walk = document.createTreeWalker(surface, NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && place >= walk.currentNode.length) place -= walk.currentNode.length;
    const range = document.createRange();
    range.setStart(walk.currentNode, place);
    range.setEnd(walk.currentNode, place + 1);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    return [(left + right) / 2, (top + bottom) / 2];
}"""
TEXT = "One two three four five six seven. " * 12


def finger(tab: Tab) -> Callable[[Point, Point], None]:
    """Return what draws a finger from one point of the screen to another."""
    session = tab.context.new_cdp_session(tab)

    def touch(kind: str, *points: Point) -> None:
        at = [{"x": x, "y": y} for x, y in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    def draw(first: Point, last: Point, moves: int = 12) -> None:
        touch("touchStart", first)
        for step in range(1, moves + 1):
            share = step / moves
            touch("touchMove", (first[0] + share * (last[0] - first[0]), first[1] + share * (last[1] - first[1])))
        touch("touchEnd")

    return draw


def middle(tab: Tab, selector: str, number: int) -> Point:
    box = tab.locator(selector).nth(number).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_touch_drags_output_by_its_handle(browser: Browser, survey: tuple[Workspace, str], tmp_path: Path) -> None:
    """An output is dragged by its handle and the page scrolls beside it."""
    with open_context(browser, **TOUCH) as context:
        tab = context.new_page()
        start(tab, survey[1])
        shown, draw = listed(tab), finger(tab)
        tab.locator(".rank").nth(1).scroll_into_view_if_needed()
        tab.evaluate("scrollBy(0, -document.querySelector('.rank').offsetHeight)")
        before = tab.evaluate("scrollY")
        tab.screenshot(path=tmp_path / "ranking.png")
        first, last = middle(tab, ".rank .handle", 0), middle(tab, ".rank .handle", 2)
        draw(first, (last[0], last[1] + 4))
        assert listed(tab) == [shown[1], shown[2], shown[0], shown[3]]
        assert tab.evaluate("scrollY") == before
        expect(tab.locator(".rank.dragged")).to_have_count(0)
        draw(middle(tab, ".rank .handle", 2), (first[0], first[1] - 4), moves=1)
        assert listed(tab) == shown
        tab.locator(".rank button.up").nth(3).tap()  # at once
        shown = [*shown[:2], shown[3], shown[2]]
        tab.wait_for_function(f"document.querySelectorAll('.rank')[2].textContent.includes('System {shown[2]}')")
        assert listed(tab) == shown
        assert tab.evaluate("scrollY") == before
        x, y = middle(tab, ".rank > label:first-of-type", 1)
        draw((x, y), (x, y - 120))
        tab.wait_for_function(f"scrollY > {before}")
        assert listed(tab) == shown
        tab.screenshot(path=tmp_path / "ranked.png")


def test_the_first_and_last_word_of_an_error_are_tapped(browser: Browser, tmp_path: Path) -> None:
    form = spans_form(TEXT)
    made = HandMade(tmp_path, form)
    with made.store, serve_on_loopback(create_app(made)) as url, open_context(browser, **TOUCH) as context:
        tab = context.new_page()
        begin(tab, f"{url}/a/{made.store.tokens()[0]}")
        tools, others = (tab.locator(f"#q{number}-question .span-tools") for number in (1, 2))
        surface, other = tab.locator(".surface").all()
        draw = finger(tab)

        def tap(word: str, within: Locator = surface) -> None:
            within.scroll_into_view_if_needed()
            point = within.evaluate(WHERE, TEXT.index(word))
            draw(point, point, 0)

        tap("six", other)
        expect(others.locator("q")).to_have_text("six")
        tap("five")
        expect(others).to_be_hidden()
        expect(tools.locator("q")).to_have_text("five")
        tap("two")
        expect(tools.locator("q")).to_have_text("two three four five")
        expect(surface.locator(".chosen")).to_have_text("two three four five")
        tab.screenshot(path=tmp_path / "tapped.png")
        tools.get_by_text("major").tap()
        tap("seven")
        tap("seven")
        expect(tools).to_be_hidden()
        tap("seven")
        tools.get_by_text("minor").tap()
        expect(tab.locator("#q1-question .marks li")).to_have_count(2)
        tap("six")
        expect(tools).to_be_visible()
        tab.locator("h1").tap()
        expect(tools).to_be_hidden()
        before, point = tab.evaluate("scrollY"), surface.evaluate(WHERE, TEXT.index("six"))
        draw(point, (point[0], point[1] - 100))
        tab.wait_for_function(f"scrollY > {before}")
        expect(tools).to_be_hidden()
        tab.locator("#q2").tap()
        tab.screenshot(path=tmp_path / "marked.png")
        tab.locator("button.next").tap()
        tab.wait_for_url("**/p/p2")
        marks, none = stored(made, form)
        assert [(one.text, one.severity) for one in marks] == [("two three four five", "major"), ("seven", "minor")]
        assert none == ()
