"""The form in a real browser: by keyboard, on a phone, from right to left, without script, with hostile outputs."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spa.forms.texts import load_texts
from spa.records.submission import Response
from spa.responses.answers import parse_answers
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests import patience
from tests.browser.chromium import PHONE, expect, open_context
from tests.browser.first_page import begin
from tests.browser.hand_made import HandMade, go_to, outline_of, watched
from tests.browser.hand_made import context as context
from tests.browser.hand_made import survey as survey
from tests.spa.web_forms import small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab


pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]


def focused(tab: Tab) -> str:
    return str(tab.evaluate("document.activeElement.id || document.activeElement.className"))


def press_until(tab: Tab, wanted: str, key: str = "Tab", most: int = 40) -> None:
    """Press a key until an element has the focus, which must be visible all the way."""
    for _ in range(most):
        tab.keyboard.press(key)
        if focused(tab) == wanted:
            return
    pytest.fail(f"{wanted} is not reached by {most} times {key}; the focus is on {focused(tab)}")


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
