"""The form by keyboard on small screens, in forced colours, and in the order in which it is read aloud."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spa.forms.texts import load_texts
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import PHONE, expect, open_context
from tests.browser.hand_made import WORDS, HandMade
from tests.browser.test_reading_in_browser import to_reading
from tests.spa.web_forms import small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
ZOOMED: list[Any] = [{"width": 640, "height": 400}, {"width": 320, "height": 568}]  # the first: 1280 by 800 at 200 %
UNCLEAR_FOCUS = """() => {
    const one = document.activeElement, frame = one.closest('label') ?? one;
    if (one === document.body) return null;
    const {left, right, top, bottom} = frame.getBoundingClientRect();
    const shown = [[left + 3, top + 4], [(left + right) / 2, (top + bottom) / 2], [right - 3, bottom - 4]]
        .map(place => document.elementFromPoint(...place))
        .every(hit => hit && (frame.contains(hit) || hit.contains(frame)));
    const outlined = [one, frame].map(each => getComputedStyle(each))
        .some(style => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2);
    return shown && outlined ? null : one.outerHTML;
}"""
STYLE = "(one, [pseudo, name]) => getComputedStyle(one, pseudo)[name]"


@pytest.mark.parametrize("size", [*ZOOMED, {"width": 1280, "height": 360}])
def test_nothing_covers_the_focus_in_either_direction(browser: Browser, size: Any) -> None:
    form = small_form(text=WORDS * 12)
    with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
        with open_context(browser, viewport=size) as context:
            tab = context.new_page()
            for page in form.pages[2:]:
                tab.goto(f"{url}/p/{page.page_id}")
                for key in 16 * ["Tab"] + 16 * ["Shift+Tab"]:
                    tab.keyboard.press(key)
                    assert tab.evaluate(UNCLEAR_FOCUS) is None


def test_what_is_read_aloud_comes_in_the_order_of_sight(browser: Browser) -> None:
    form = small_form(text=WORDS)
    with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
        with open_context(browser, viewport=PHONE) as context:
            tab = context.new_page()
            for page in form.pages:
                tab.goto(f"{url}/p/{page.page_id}")
                tops = tab.locator("h1, h2, h3, .body, .asked, .choices, .slider, .jump-back").evaluate_all(
                    "all => all.filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().top)"
                )
                assert tops == sorted(tops)


def test_unseen_output_gets_focus_and_mark(browser: Browser, tmp_path: Path) -> None:
    """An output that was not seen gets the focus and then a mark."""
    made = HandMade(tmp_path, small_form(text=WORDS * 4), seconds_per_100_words=1.0)
    with made.store, serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_reading(tab, f"{url}/a/{made.store.tokens()[0]}")
        tab.locator(".next").press("Enter")
        line = tab.get_by_role("button", name="Writer B, text 1")
        expect(line).to_be_visible()
        line.press("Enter")
        focused = tab.locator(":focus")
        expect(focused).to_have_text("Writer B, text 1")
        assert focused.evaluate("one => one.localName") == "h3"
        assert tab.evaluate(UNCLEAR_FOCUS) is None
        expect(tab.get_by_role("button", name="Writer B, text 1 ✓", exact=True)).to_be_visible()


def test_forced_colours_keep_tabs_and_progress(browser: Browser, tmp_path: Path) -> None:
    """Forced colours keep the selected tab the unread ones and the progress."""
    made = HandMade(tmp_path, small_form(text=WORDS * 4), seconds_per_100_words=60.0)
    with made.store, serve_on_loopback(create_app(made)) as url:
        with open_context(browser, viewport=PHONE, forced_colors="active") as context:
            tab = context.new_page()
            to_reading(tab, f"{url}/a/{made.store.tokens()[0]}")
            selected, other = tab.locator(".tab").nth(0), tab.locator(".tab").nth(1)
            colours = [one.evaluate(STYLE, [None, "backgroundColor"]) for one in (selected, other)]
            assert colours[0] != colours[1]
            assert other.evaluate(STYLE, ["::after", "borderTopColor"]) != colours[1]
            assert other.evaluate(STYLE, ["::after", "borderTopWidth"]) == "4px"
            progress = tab.locator("progress")
            assert progress.evaluate(STYLE, [None, "forcedColorAdjust"]) == "none"
            assert progress.evaluate(STYLE, [None, "outlineStyle"]) == "solid"
