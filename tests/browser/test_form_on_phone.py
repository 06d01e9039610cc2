"""The form on a narrow screen: the button in sight, nothing below it, nothing wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from spa.forms.texts import load_texts
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import DESK, PHONE, open_browser, open_context
from tests.spa.web_forms import small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
TOP_OF_BAR = "document.querySelector('.buttons').getBoundingClientRect().top"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_button_is_in_sight_and_covers_neither_focus_nor_the_end_of_a_page(browser: Browser, language: str) -> None:
    texts, form = load_texts(language, {}), small_form(text="A long story. " * 200)
    with open_context(browser, viewport=PHONE) as context, serve_on_loopback(create_preview(form, texts)) as url:
        tab = context.new_page()
        for page in form.pages:
            tab.goto(f"{url}/p/{page.page_id}")
            assert tab.locator(".next").evaluate("one => one.getBoundingClientRect().bottom <= innerHeight")
            for _ in range(20):
                tab.keyboard.press("Tab")
                covered = f"""() => {{
                    const one = document.activeElement, frame = one.closest('label') ?? one;
                    return !one.closest('.buttons') && one !== document.body
                        && frame.getBoundingClientRect().bottom > {TOP_OF_BAR} + 1;
                }}"""
                assert not tab.evaluate(covered), tab.evaluate("document.activeElement.outerHTML")
            tab.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            last = "Math.max(...[...document.querySelectorAll('form > :not(.buttons), .question')]"
            bottom = tab.evaluate(
                f"{last}.filter(one => !one.contains(document.querySelector('.buttons')))"
                ".map(one => one.getBoundingClientRect().bottom))"
            )
            assert bottom <= tab.evaluate(TOP_OF_BAR)


def test_the_button_stands_where_the_page_ends_on_wide_and_on_low_screens_and_not_on_paper(browser: Browser) -> None:
    with open_context(browser) as context, serve_on_loopback(create_preview(small_form(), load_texts("en", {}))) as url:
        tab = context.new_page()
        tab.goto(f"{url}/p/p4")
        position = "getComputedStyle(document.querySelector('.buttons')).position"
        for size in (DESK, {"width": 844, "height": 390}):
            tab.set_viewport_size(size)
            assert tab.evaluate(position) == "static"
        tab.set_viewport_size(PHONE)
        assert tab.evaluate(position) == "fixed"
        tab.emulate_media(media="print")
        assert not tab.locator(".next").is_visible()
