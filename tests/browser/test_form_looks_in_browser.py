"""How pages of a form look: nothing runs or is wider than its window, in every language, size and direction."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from spa.forms.html import render_whole
from spa.forms.texts import load_texts
from spa.records.form import Question
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests import patience
from tests.browser.chromium import DESK, PHONE, expect
from tests.browser.hand_made import WORDS, outline_of, watched
from tests.browser.hand_made import context as context
from tests.browser.hand_made import survey as survey
from tests.spa.media.test_mathematics import form_of
from tests.spa.web_forms import HOSTILE, small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab


pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
HARMLESS = "() => window.hurt === undefined"


def test_no_output_runs_breaks_or_widens_a_page(browser: Browser) -> None:
    text = "\n".join(HOSTILE) + "\n" + "x" * 1_000_000
    form = small_form(text=text)
    context = browser.new_context(viewport=PHONE, reduced_motion="reduce")
    context.set_default_timeout(patience.MILLISECONDS)
    with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
        tab, said = watched(context)
        tab.goto(f"{url}/p/p5")
        assert tab.evaluate(HARMLESS)
        assert overflow(tab) <= 0
        shown = tab.locator(".exhibit .body").first.evaluate("one => one.textContent")
        assert shown.startswith(HOSTILE[0] + "\n" + HOSTILE[1])
        assert "{{7*7}}" in shown
        assert len(shown) > 1_000_000
        expect(tab.locator("form .buttons")).to_have_count(1)
    assert said == []
    context.close()


def test_the_content_policy_stops_what_escaping_would_miss(context: BrowserContext) -> None:
    with serve_on_loopback(create_preview(small_form(), load_texts("en", {}))) as url:
        tab, said = watched(context)
        tab.goto(f"{url}/p/p1")
        tab.evaluate(
            """() => {
              const image = document.createElement('img');
              image.setAttribute('onerror', 'window.hurt = 1');
              image.src = 'https://elsewhere.example/x.png';
              const script = document.createElement('script');
              script.textContent = 'window.hurt = 1';
              document.body.append(image, script);
            }"""
        )
        assert tab.evaluate(HARMLESS)
    assert any("Content Security Policy" in line for line in said)


def overflow(tab: Tab) -> int:
    """Return by how many pixels the page is wider than its window."""
    return int(tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_what_a_question_emphasises_stands_out(context: BrowserContext) -> None:
    form = small_form()
    page = next(page for page in form.pages if len(page.questions) > 1)
    asked = iter(["Is it **well** made?", "Is it good?"])
    blocks = tuple(replace(one, text=next(asked, "?")) if isinstance(one, Question) else one for one in page.blocks)
    form = replace(form, pages=tuple(replace(one, blocks=blocks) if one == page else one for one in form.pages))
    with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
        tab, _ = watched(context)
        tab.goto(f"{url}/p/{page.page_id}")
        weight = "one => Number(getComputedStyle(one).fontWeight)"
        strong, plain = (
            tab.locator(f".asked{inner}").evaluate_all(f"all => all.map({weight})") for inner in (" strong", "")
        )
        assert strong[0] > plain[0]
        assert plain[1] > plain[0]  # a question without emphasis is bold as ever


@pytest.mark.parametrize("language", ["en", "zh", "ar"])
def test_no_page_is_wider_than_its_window(context: BrowserContext, language: str) -> None:
    texts = load_texts(language, {})
    form = replace(small_form(text=WORDS * 20 + "x" * 400), right_to_left=texts.right_to_left, language=language)
    with serve_on_loopback(create_preview(form, texts)) as url:
        tab, said = watched(context)
        for page in form.pages:
            tab.goto(f"{url}/p/{page.page_id}")
            for width in (390, 1000, 1280):
                tab.set_viewport_size({"width": width, "height": 844})
                assert overflow(tab) <= 0, (page.page_id, width)
    assert said == []


# What a control or a group is called, as far as these pages use the ways of naming: label, legend, aria-labelledby.
NAMELESS = """() => {
  const named = (id) => document.getElementById(id)?.textContent || '';
  const name = (one) => [
    ...(one.getAttribute('aria-labelledby') || '').split(' ').map(named),
    ...[...(one.labels || [])].map((label) => label.textContent),
    one.querySelector(':scope > legend')?.textContent,
    ['BUTTON', 'SUMMARY', 'A'].includes(one.tagName) ? one.textContent : '',
    one.alt,
  ].join('').trim();
  return [...document.querySelectorAll('input, button, summary, fieldset, img, progress, a')]
    .filter((one) => !name(one)).map((one) => one.outerHTML.slice(0, 120));
}"""
SMALL = """() => {
  const small = (one) => Math.min(one.getBoundingClientRect().height, one.getBoundingClientRect().width) < 43.9;
  const touched = '.choice, .tab, button, .whole-number, input[type=range], summary, .jump';
  return [...document.querySelectorAll(touched)]
    .filter((one) => one.checkVisibility() && small(one)).map((one) => one.outerHTML.slice(0, 120));
}"""
LEVELS = "() => [...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))"


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_everything_has_a_name_a_size_and_its_place(browser: Browser, size: Any) -> None:
    form = small_form(text=WORDS)
    context = browser.new_context(viewport=size)
    with serve_on_loopback(create_preview(form, load_texts("en", {}))) as url:
        tab, _ = watched(context)
        for page in form.pages:
            tab.goto(f"{url}/p/{page.page_id}")
            assert tab.evaluate(NAMELESS) == []
            assert tab.evaluate(SMALL) == []
            levels = tab.evaluate(LEVELS)
            assert levels[0] == 1
            assert all(after <= before + 1 for before, after in pairwise(levels))
            ids = tab.evaluate("() => [...document.querySelectorAll('[id]')].map((one) => one.id)")
            assert len(ids) == len(set(ids))
    context.close()


def test_right_to_left_turns_columns_sliders_and_scales(context: BrowserContext) -> None:
    form = replace(small_form(), right_to_left=True, language="ar")
    with serve_on_loopback(create_preview(form, load_texts("ar", {}))) as url:
        tab, _ = watched(context)
        tab.goto(f"{url}/p/p4")
        left = "one => one.getBoundingClientRect().left"
        first, second = (tab.locator(f".column-{n}").first.evaluate(left) for n in (1, 2))
        assert first > second
        assert tab.locator(".asks").evaluate(left) < second
        tab.locator(".slider").first.focus()
        tab.keyboard.press("ArrowLeft")
        assert tab.input_value("#q3") == "51"  # forward is to the left
        tab.goto(f"{url}/p/p5")
        lowest, highest = (tab.locator(f"#{name}").evaluate(left) for name in ("q5", "q5-5"))
        assert lowest > highest


def test_texts_and_questions_stay_in_view_together(context: BrowserContext) -> None:
    with serve_on_loopback(create_preview(small_form(text=WORDS * 60), load_texts("en", {}))) as url:
        tab, _ = watched(context)
        tab.goto(f"{url}/p/p4")
        columns = [tab.locator(f".column-{number}").first.bounding_box() for number in (1, 2)]
        assert columns[0] is not None
        assert columns[1] is not None
        assert columns[0]["y"] == columns[1]["y"]
        tab.evaluate("window.scrollTo(0, 1500)")
        tab.wait_for_timeout(100)
        seen = "one => { const r = one.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight }"
        assert tab.locator("#q3").evaluate(seen)
        assert tab.locator(".item .heading").first.evaluate(seen)
        assert tab.locator(".exhibit .caption").first.evaluate("one => one.getBoundingClientRect().top") > 0
        assert tab.locator(".item .body").nth(1).evaluate(seen)


def test_phone_shows_one_system_at_a_time(browser: Browser) -> None:
    """On a phone one system is shown at a time and the prompt stays."""
    context = browser.new_context(viewport=PHONE, reduced_motion="reduce")
    with serve_on_loopback(create_preview(small_form(text=WORDS * 60), load_texts("en", {}))) as url:
        tab, _ = watched(context)
        tab.goto(f"{url}/p/p3")
        assert tab.locator(".exhibit:visible .caption").all_inner_texts() == ["Writer A, text 1"]
        tab.evaluate("window.scrollTo(0, 900)")
        tab.wait_for_timeout(100)
        top = "one => one.getBoundingClientRect().top"
        assert 0 <= tab.locator(".switch").evaluate(top) < tab.locator(".heading").evaluate(top) < 200
        tab.locator(".tab-3").click()
        assert tab.locator(".exhibit:visible .caption").all_inner_texts() == ["Writer C, text 1"]
        tab.locator(".tab-3 input").focus()
        tab.keyboard.press("ArrowLeft")
        assert tab.locator(".exhibit:visible .caption").all_inner_texts() == ["Writer B, text 1"]
        assert outline_of(tab) >= 2
    context.close()


def test_a_text_that_opens_with_a_latin_name_runs_from_the_right(context: BrowserContext) -> None:
    """Its full stop stands to the left of the word that it ends."""
    form = replace(small_form(text="ChatGPT كاتب آخر يكتب القصة."), right_to_left=True, language="ar")
    with serve_on_loopback(create_preview(form, load_texts("ar", {}))) as url:
        tab = context.new_page()
        tab.goto(f"{url}/p/p3")
        found = tab.evaluate("""() => [...document.querySelectorAll('.body')].map(body => {
            const text = body.firstChild, range = document.createRange();
            const left = place => {
                range.setStart(text, place); range.setEnd(text, place + 1); return range.getBoundingClientRect().left;
            };
            return [getComputedStyle(body).direction, left(text.length - 1) < left(text.length - 2)];
        })""")
    assert found
    assert [one for one in found if one[0] == "rtl"] == [["rtl", True]] * 3, found


def test_a_text_of_the_other_direction_begins_at_its_own_side(context: BrowserContext) -> None:
    """An English item on an Arabic page that is wider than the text may be."""
    form = replace(small_form(text="Written from the left."), right_to_left=True, language="ar")
    with serve_on_loopback(create_preview(form, load_texts("ar", {}))) as url:
        tab = context.new_page()
        tab.set_viewport_size({"width": 1600, "height": 900})
        tab.goto(f"{url}/p/p3")
        starts = "[...document.querySelectorAll('.body')].map(each => [each, each.parentElement].map(" + (
            "box => box.getBoundingClientRect().left + parseFloat(getComputedStyle(box).paddingLeft)))"
        )
        found = tab.evaluate(starts)
    assert found
    assert all(abs(body - around) < 24 for body, around in found)


def test_formulas_bring_their_signs_where_a_page_stands_alone(context: BrowserContext) -> None:
    """As in HITs: without a font of mathematics Chromium leaves out the sign of a root."""
    tab, said = watched(context)
    tab.set_content(render_whole(form_of(r"$\sqrt{xyz}$"), load_texts("en", {})))
    loaded = tab.evaluate("document.fonts.ready.then((all) => [...all].map((one) => [one.family, one.status]))")
    assert loaded == [["Form Mathematics", "loaded"]]
    assert said == []
