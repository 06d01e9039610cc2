"""The form in a real browser: by keyboard, on a phone, from right to left, without script, with hostile outputs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spa.forms.html import render_whole
from spa.forms.texts import load_texts
from spa.records.assignment import Assignment, BlindingKey
from spa.records.form import Form, Question
from spa.records.study import OutputFiles, People, Study, System
from spa.records.submission import Response
from spa.responses.answers import parse_answers
from spa.responses.store import Store
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests import patience
from tests.browser.chromium import DESK, PHONE, expect, open_context
from tests.browser.first_page import begin
from tests.spa.media.test_mathematics import form_of
from tests.spa.store_steps import lease_assignment, save_payload
from tests.spa.web_forms import HOSTILE, small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
WORDS = "It was a dark and stormy night, and the lamp went out for the third time. "


class HandMade:
    """A study whose forms are made by hand, with a store of its own."""

    def __init__(
        self,
        folder: Path,
        form: Form,
        *,
        language: str = "en",
        seconds_per_100_words: float = 0.0,
        share_played: float = 1.0,
        assignments: int = 2,
    ) -> None:
        self.study = Study(
            id="small",
            title=form.title,
            outputs=OutputFiles(files=(folder / "none.jsonl",)),
            systems=(System(id="x"), System(id="y")),
            people=People(seconds_per_100_words=seconds_per_100_words, share_played=share_played),
        )
        self.texts = load_texts(language, {})
        self.store = Store.create(folder / "answers.sqlite")
        self.made = form
        draws = [
            (
                Assignment(assignment_id=name, number=number, blocks=()),
                BlindingKey(assignment_id=name, systems={}, blocks={}),
            )
            for number, name in enumerate(f"a{number:05}" for number in range(1, assignments + 1))
        ]
        self.store.assignments.save("0" * 64, draws)

    def form(self, assignment_id: str) -> Form:
        """Return the form under the name of an assignment."""
        return replace(self.made, assignment_id=assignment_id)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with open_context(browser) as made:
        yield made


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[tuple[HandMade, str]]:
    """Serve the small form to people; yield the study and the address of the first person."""
    made = HandMade(tmp_path, small_form(text=WORDS * 12))
    with made.store, serve_on_loopback(create_app(made)) as url:
        yield made, f"{url}/a/{made.store.tokens()[0]}"


def watched(context: BrowserContext) -> tuple[Tab, list[str]]:
    """Open a tab; whatever the page complains about is collected."""
    tab = context.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    return tab, said


def focused(tab: Tab) -> str:
    return str(tab.evaluate("document.activeElement.id || document.activeElement.className"))


def press_until(tab: Tab, wanted: str, key: str = "Tab", most: int = 40) -> None:
    """Press a key until an element has the focus, which must be visible all the way."""
    for _ in range(most):
        tab.keyboard.press(key)
        if focused(tab) == wanted:
            return
    pytest.fail(f"{wanted} is not reached by {most} times {key}; the focus is on {focused(tab)}")


def outline_of(tab: Tab) -> float:
    """Return the width of the outline on the focused element or on what frames it, in pixels."""
    return float(
        tab.evaluate(
            """() => Math.max(...[document.activeElement, document.activeElement.closest('label')]
              .filter(Boolean).map((element) => getComputedStyle(element))
              .map((style) => style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)))"""
        )
    )


def test_a_whole_form_by_keyboard_alone(context: BrowserContext, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    tab, said = watched(context)
    begin(tab, address)
    press_until(tab, "q1")
    assert outline_of(tab) >= 2
    tab.keyboard.press("Space")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/p/p2")
    press_until(tab, "q2")
    assert outline_of(tab) >= 2
    tab.keyboard.press("Space")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/p/p3")
    press_until(tab, "next")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/p/p4")
    press_until(tab, "slider untouched")
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert tab.input_value("#q3") == "53"
    press_until(tab, "q4", most=3)
    assert outline_of(tab) >= 2
    tab.keyboard.type("20")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/p/p5")
    press_until(tab, "q5")
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    press_until(tab, "q6", most=2)
    tab.keyboard.press("Space")
    press_until(tab, "next", most=2)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/done")
    assert tab.locator("code[data-completion-code]").inner_text()
    (submission,) = made.store.submissions()
    answers = {answer.question_id: answer.raw for answer in submission.answers if isinstance(answer, Response)}
    assert answers == {"q1": "yes", "q2": "Yes", "q3": "53", "q4": "20", "q5": "4", "q6": "1"}
    assert said == []


def go_to(tab: Tab, made: HandMade, address: str, page_id: str) -> None:
    """Answer what comes before a page over the store, then open the page."""
    store = made.store
    token = address.rpartition("/")[2]
    lease = lease_assignment(store, store.keyed(token), source="link", annotator_kind="human", token=token)
    for page in made.made.pages:
        if page.page_id == page_id:
            break
        answers = {"q1": "yes", "q2": "Yes", "q3": "70", "q4": "20"}
        fields = {question.question_id: answers[question.question_id] for question in page.questions}
        save_payload(store, lease.submission_id, page.page_id, str(fields).replace("'", '"'))
        assert all(isinstance(answer, Response) for answer in parse_answers(page.questions, fields))
    begin(tab, address)
    tab.wait_for_url(f"**/p/{page_id}")


def test_whoever_declines_is_thanked_and_cannot_slip_back_in(context: BrowserContext, tmp_path: Path) -> None:
    form = small_form()
    made = HandMade(tmp_path, replace(form, pages=(replace(form.pages[0], kind="consent"), *form.pages[1:])))
    tab, said = watched(context)
    with made.store, serve_on_loopback(create_app(made)) as url:
        address = f"{url}/a/{made.store.tokens()[0]}"
        begin(tab, address)
        tab.locator("#q1").set_checked(True)  # agreed at first
        tab.locator('button[formaction$="go=decline"]').click()
        tab.wait_for_url("**/done")
        expect(tab.locator("h1")).to_have_text("Thank you for your interest")
        code = made.store.visits.outcome_codes("link")["no_consent"]
        expect(tab.locator("code[data-end-code]")).to_have_text(code)
        tab.goto(f"{address}/p/p1")
        tab.wait_for_url("**/done")
        (lease,) = made.store.visits.leases()
        assert (lease.outcome, made.store.visits.payloads(lease.submission_id)) == ("no_consent", ())
    assert said == []


def test_slider_untouched_is_a_gap(context: BrowserContext, survey: tuple[HandMade, str]) -> None:
    """An untouched slider is no answer and the gap is framed listed and focused."""
    made, address = survey
    tab, _ = watched(context)
    go_to(tab, made, address, "p4")
    expect(tab.locator(".slider.untouched")).to_have_count(2)
    assert tab.locator(".slider").first.get_attribute("name") is None
    tab.fill("#q3", "70")
    assert tab.locator(".slider").first.input_value() == "70"
    expect(tab.locator(".slider.untouched")).to_have_count(1)
    tab.click(".next")
    tab.wait_for_selector(".gaps")
    assert focused(tab) == "q4"
    assert tab.locator(".has-gap").evaluate_all("all => all.map((one) => one.id)") == ["q4-question"]
    assert tab.locator("#q4").get_attribute("aria-invalid") == "true"
    assert tab.locator("#q4").evaluate(
        "one => { const r = one.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight }"
    )
    assert tab.input_value("#q3") == "70"
    tab.click(".gaps a")
    assert focused(tab) == "q4"
    slider = tab.locator(".slider").nth(1)
    box = slider.bounding_box()
    assert box is not None
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert tab.input_value("#q4") == "50"  # the very middle, where an untouched slider stands
    expect(tab.locator(".has-gap")).to_have_count(0)
    tab.click(".next")
    tab.wait_for_url("**/p/p5")


def test_filled_gap_moves_nothing(context: BrowserContext, survey: tuple[HandMade, str]) -> None:
    """A gap that is filled moves nothing so that the next click counts."""
    made, address = survey
    tab, _ = watched(context)
    go_to(tab, made, address, "p4")
    tab.click(".next")
    tab.wait_for_selector(".gaps")
    tab.fill("#q3", "70")
    before = tab.locator(".next").bounding_box()
    tab.fill("#q4", "20")
    expect(tab.locator(".has-gap")).to_have_count(0)
    assert tab.locator(".next").bounding_box() == before
    tab.click(".next")
    tab.wait_for_url("**/p/p5")


def test_an_emptied_box_makes_the_slider_untouched_again(context: BrowserContext, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    tab, _ = watched(context)
    go_to(tab, made, address, "p4")
    tab.fill("#q3", "70")
    tab.fill("#q3", "")
    expect(tab.locator(".slider.untouched")).to_have_count(2)


def test_number_field_refuses_other_text(context: BrowserContext, survey: tuple[HandMade, str]) -> None:
    """What is no whole number is asked again and no sign of it is dropped."""
    made, address = survey
    tab, _ = watched(context)
    go_to(tab, made, address, "p4")
    tab.locator("#q3").press_sequentially("1,5")
    tab.locator("#q4").press_sequentially("\u0667\u0660")  # 70 in the digits of Arabic
    expect(tab.locator(".slider.untouched")).to_have_count(1)
    assert tab.locator(".slider").nth(1).input_value() == "70"
    tab.click(".next")
    tab.wait_for_selector(".gaps")
    assert tab.locator(".has-gap").evaluate_all("all => all.map((one) => one.id)") == ["q3-question"]
    assert tab.input_value("#q3") == "1,5"
    tab.fill("#q3", "1 %")
    assert tab.locator(".slider").first.input_value() == "1"
    tab.click(".next")
    tab.wait_for_url("**/p/p5")
    (lease,) = made.store.visits.leases()
    (page,) = (page for page in made.form(lease.assignment_id).pages if page.page_id == "p4")
    sent = json.loads(made.store.visits.payloads(lease.submission_id)[-1].body)
    answers = parse_answers(page.questions, {name: sent[name] for name in ("q3", "q4")})
    assert [answer.value for answer in answers if isinstance(answer, Response)] == [0.01, 0.7]


def wait_for_draft(made: HandMade, wanted: str) -> None:
    """Wait until what a page sends as it goes away has arrived."""
    (lease,) = made.store.visits.leases()
    until = time.monotonic() + patience.SECONDS
    while time.monotonic() < until:
        if f'"{wanted}"' in made.store.visits.payloads(lease.submission_id)[-1].body:
            return
        time.sleep(0.05)
    pytest.fail(f"no draft with {wanted!r} arrived: {made.store.visits.payloads(lease.submission_id)[-1]}")


def test_what_was_entered_survives_a_reload_and_the_way_back(
    context: BrowserContext, survey: tuple[HandMade, str]
) -> None:
    made, address = survey
    tab, said = watched(context)
    go_to(tab, made, address, "p4")
    tab.fill("#q3", "70")
    tab.goto("about:blank")
    wait_for_draft(made, "70")
    begin(tab, address)
    assert tab.input_value("#q3") == "70"
    tab.fill("#q4", "31")
    tab.click(".back")
    tab.wait_for_url("**/p/p3")
    tab.click(".next")
    tab.wait_for_url("**/p/p4")
    assert (tab.input_value("#q3"), tab.input_value("#q4")) == ("70", "31")
    expect(tab.locator(".slider.untouched")).to_have_count(0)
    assert said == []


def test_without_script_everything_can_be_answered(browser: Browser, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    context = browser.new_context(java_script_enabled=False, viewport=PHONE)
    tab = context.new_page()
    begin(tab, address)
    tab.check("#q1")
    tab.click(".next")
    tab.check("#q2")
    tab.click(".next")
    tab.click(".next")
    expect(tab.locator(".slider")).to_have_count(0)
    expect(tab.locator(".exhibit:visible")).to_have_count(2)  # one writer's text of each of two prompts
    tab.locator(".tab-2").click()
    expect(tab.locator(".column-2:visible")).to_have_count(2)
    expect(tab.locator(".column-1:visible")).to_have_count(0)
    tab.fill("#q3", "70")
    tab.click(".next")
    expect(tab.locator(".gaps")).to_be_visible()
    expect(tab.locator("#q4:focus")).to_have_count(1)
    tab.fill("#q4", "30")
    tab.click(".next")
    tab.check("#q5-2")
    tab.check("#q6-3")
    tab.click(".next")
    expect(tab.locator("code[data-completion-code]")).to_be_visible()
    (submission,) = made.store.submissions()
    assert [answer.raw for answer in submission.answers] == ["yes", "Yes", "70", "30", "2", "3"]
    context.close()


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


AT_REST = """() => new Promise((done) => {
  let [last, frames] = [-1, 0];
  const look = () => {
    frames = scrollY === last ? frames + 1 : 0;
    last = scrollY;
    if (frames > 10) done(); else requestAnimationFrame(look);
  };
  look();
})"""


def swipe(tab: Tab, start: tuple[float, float], by: tuple[float, float]) -> None:
    """Draw a finger over the screen."""
    touch = tab.context.new_cdp_session(tab)
    for step in range(11):
        point = {"x": start[0] + by[0] * step / 10, "y": start[1] + by[1] * step / 10}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": [point]})
        tab.wait_for_timeout(16)  # a finger is no jump
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_slider_ignores_scrolling(browser: Browser) -> None:
    """Scrolling over a slider is no answer and keeps the one given."""
    with (
        open_context(browser, viewport=PHONE, has_touch=True, is_mobile=True) as context,
        serve_on_loopback(create_preview(small_form(), load_texts("en", {}))) as url,
    ):
        tab, _ = watched(context)
        tab.goto(f"{url}/p/p4")
        tab.evaluate("document.querySelector('main').style.paddingBlock = '150vh'")
        answered, untouched = (tab.locator(f"#{name}-question .slider") for name in ("q3", "q4"))
        tab.fill("#q3", "70")

        def touch(slider: Any, by: tuple[float, float]) -> None:
            slider.evaluate("one => { document.activeElement.blur(); one.scrollIntoView({block: 'center'}) }")
            tab.evaluate(AT_REST)
            box = slider.bounding_box()
            assert box is not None
            before = tab.evaluate("scrollY")
            swipe(tab, (box["x"] + box["width"] / 5, box["y"] + box["height"] / 2), by)
            if by[1] < -100:
                tab.wait_for_function("before => scrollY - before > 50", arg=before)

        for slider in (answered, untouched):
            touch(slider, (2.0, -150.0))
        assert [tab.input_value(name) for name in ("#q3", "#q4")] == ["70", ""]
        assert answered.input_value() == "70"
        expect(tab.locator(".slider.untouched")).to_have_count(1)
        touch(untouched, (100.0, 2.0))  # along the slider it is an answer
        expect(tab.locator(".slider.untouched")).to_have_count(0)
        assert 20 < int(tab.input_value("#q4")) < 90


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
