"""The form on a narrow screen: the button in sight, nothing below it, nothing wider than the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spa.forms.texts import load_texts
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import DESK, PHONE, expect, open_context
from tests.spa.forms.test_build_form import MEANING, forms_of
from tests.spa.web_forms import small_form
from tests.strategies import small_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
COUNT = {
    "id": "errors",
    "name": "few errors",
    "options": [{"text": text, "score": score} for score, text in enumerate(("2 or more", "1", "0"))],
}
TOP_OF_BAR = "document.querySelector('.buttons').getBoundingClientRect().top"


@pytest.mark.parametrize("language", ["en", "ar"])
def test_phone_button_in_sight_covers_nothing(browser: Browser, language: str) -> None:
    """The button is in sight and covers neither focus nor the end of a page."""
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


def test_button_at_page_end_on_wide_and_low_screens(browser: Browser) -> None:
    """The button stands where the page ends on wide and on low screens and not on paper."""
    with open_context(browser) as context, serve_on_loopback(create_preview(small_form(), load_texts("en", {}))) as url:
        tab = context.new_page()
        tab.goto(f"{url}/p/p4")
        position = "getComputedStyle(document.querySelector('.buttons')).position"
        for size in (DESK, {"width": 844, "height": 390}):
            tab.set_viewport_size(size)
            assert tab.evaluate(position) == "static"
        tab.set_viewport_size({"width": 1600, "height": 900})
        tab.goto(f"{url}/p/p3")  # texts alone: the way on is at their far end
        right = "one => one.getBoundingClientRect().right"
        assert tab.locator(".next").evaluate(right) == tab.locator(".exhibit").last.evaluate(right)
        tab.goto(f"{url}/p/p4")
        tab.set_viewport_size(PHONE)
        assert tab.evaluate(position) == "fixed"
        tab.emulate_media(media="print")
        assert not tab.locator(".next").is_visible()


def test_phone_folds_what_a_page_repeats(browser: Browser) -> None:
    """What a page repeats is folded on a phone and one tap away."""
    study = small_study(
        spa=None,
        criteria=[MEANING, COUNT],
        likert={"overall": False},
        categories={"same_page_as": "likert"},
    )
    form = forms_of(study)[0]
    page = next(page for page in form.pages if page.kind == "rating")
    with open_context(browser, viewport=PHONE) as context:
        with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
            tab = context.new_page()
            tab.goto(f"{url}/p/{page.page_id}")
            sources = tab.get_by_text("Source text number", exact=False)
            assert sources.count() == 3  # of three systems
            assert [source.is_visible() for source in sources.all()] == [True, False, False]
            tab.locator("details.again summary").first.click()
            assert [source.is_visible() for source in sources.all()] == [True, True, False]
            counts = (
                tab.locator(".line")
                .first.locator(".choice")
                .evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
            )
            assert len(counts) == 3
            assert len(set(counts)) == 1
            tab.set_viewport_size(DESK)
            expect(tab.locator("details.again[open]")).to_have_count(2)


@pytest.mark.parametrize(("points", "width"), [(5, 320), (7, 390), (11, 390)])
def test_the_words_at_the_ends_of_a_scale_stay_whole(browser: Browser, points: int, width: int) -> None:
    form = forms_of(small_study(spa=None, likert={"points": points}))[0]
    page = next(page for page in form.pages if page.kind == "rating")
    with open_context(browser, viewport={"width": width, "height": 844}) as context:
        with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
            tab = context.new_page()
            tab.goto(f"{url}/p/{page.page_id}")
            lines = tab.locator(".row small").evaluate_all(
                "all => all.map(one => { const r = document.createRange(); r.selectNodeContents(one); "
                "return r.getClientRects().length })"
            )
            assert set(lines) == {1}
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert tab.locator(".row").evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)")


def test_comparison_shows_texts_again(browser: Browser) -> None:
    """A comparison shows the texts again side by side or one tap away."""
    form = forms_of(small_study())[0]
    page = next(page for page in form.pages if page.kind == "comparison")
    with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
        with open_context(browser, viewport=PHONE) as context:
            tab = context.new_page()
            tab.goto(f"{url}/p/{page.page_id}")
            expect(tab.locator(".exhibit:visible")).to_have_count(0)
            tab.locator("summary").first.click()
            expect(tab.locator(".exhibit:visible")).to_have_count(2)  # short texts, below one another
            tab.reload()
            again = tab.locator(".read-again")
            tab.locator(".question").last.scroll_into_view_if_needed()
            assert again.evaluate("one => one.getBoundingClientRect().top >= 0")  # in sight beside the questions
            again.get_by_role("link").first.press("Enter")
            expect(tab.locator(".exhibit").first).to_be_in_viewport()
        with open_context(browser, viewport=PHONE, java_script_enabled=False) as context:
            tab = context.new_page()
            tab.goto(f"{url}/p/{page.page_id}")
            assert tab.locator(".exhibit:visible").count() == 2 * tab.locator("summary").count()
        with open_context(browser) as context:
            tab = context.new_page()
            tab.goto(f"{url}/p/{page.page_id}")
            boxes = tab.locator(".exhibit").evaluate_all(
                "all => all.slice(0, 2).map(one => one.getBoundingClientRect()).map(box => [box.left, box.top])"
            )
            assert boxes[0][0] < boxes[1][0]
            assert boxes[0][1] == boxes[1][1]


def test_phone_instructions_one_tap_from_their_box(browser: Browser) -> None:
    """The instructions are one tap from the box that says that they were read."""
    form = forms_of(small_study())[0]
    confirmation = form.pages[1]
    with open_context(browser, viewport=PHONE) as context:
        with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
            tab = context.new_page()
            tab.goto(f"{url}/p/{confirmation.page_id}")
            instructions = tab.locator("details .prose")
            assert not instructions.is_visible()
            tab.locator("summary").click()
            assert instructions.is_visible()
            assert tab.get_by_role("checkbox").count() == 1
