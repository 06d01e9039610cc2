"""What a browser measures of reading, and how a page asks for what was not seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest

from spa.forms.texts import load_texts
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import DESK, PHONE, expect, open_context
from tests.browser.first_page import begin
from tests.browser.hand_made import WORDS, HandMade
from tests.conftest import need
from tests.spa.web_forms import small_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
LINES = ".unseen-outputs li"


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[tuple[HandMade, str]]:
    """Serve three texts of 60 words, each of which must be on screen for 0.6 seconds."""
    made = HandMade(tmp_path, small_form(text=WORDS * 4), seconds_per_100_words=1.0)
    with made.store, serve_on_loopback(create_app(made)) as url:
        yield made, f"{url}/a/{made.store.tokens()[0]}"


def to_reading(tab: Tab, address: str) -> None:
    begin(tab, address)
    tab.check("#q1")
    tab.click(".next")
    tab.check("#q2")
    tab.click(".next")
    tab.wait_for_url("**/p/p3")


def evidence(made: HandMade) -> dict[str, Any]:
    """Return what was sent last with the reading page."""
    (lease,) = made.store.visits.leases()
    sent = [each for each in made.store.visits.payloads(lease.submission_id) if each.page_id == "p3"]
    found: dict[str, Any] = json.loads(json.loads(sent[-1].body)["reading"])
    return found


def test_on_a_phone_nobody_leaves_with_tabs_unopened(browser: Browser, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    with open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_reading(tab, address)
        expect(tab.locator(".tab.unread")).to_have_count(2)  # the first opens with the page
        tab.click(".next")
        expect(tab.locator(LINES)).to_have_text(["Writer B, text 1", "Writer C, text 1"])
        assert tab.url.endswith("/p/p3")
        tab.get_by_role("button", name="Writer B").click()
        expect(tab.locator(f"{LINES}.done")).to_have_text(["Writer B, text 1"])
        tab.locator(".tab-3").click()
        expect(tab.locator(".tab.unread")).to_have_count(0)
        tab.click(".next")
        tab.wait_for_url("**/p/p4")
    found = evidence(made)
    first, second, third = (found["outputs"][name] for name in ("e2", "e3", "e4"))
    assert first[0] < second[0] < third[0]
    assert min(second[1], third[1]) >= 0.6
    assert first[1] + second[1] + third[1] <= found["seconds"] + 0.1  # one at a time


def test_on_a_desk_texts_side_by_side_take_the_sum(browser: Browser, survey: tuple[HandMade, str]) -> None:
    """Nobody reads three texts at once: a desk asks for as much time as a phone."""
    made, address = survey
    with open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        to_reading(tab, address)
        tab.wait_for_timeout(700)
        tab.click(".next")
        expect(tab.locator(LINES)).to_contain_text(["Writer C, text 1"])
        assert tab.url.endswith("/p/p3")
        expect(tab.locator(f"{LINES}:not(.done)")).to_have_count(0)
        tab.click(".next")
        tab.wait_for_url("**/p/p4")
    found = evidence(made)
    assert set(found["outputs"]) == {"e2", "e3", "e4"}
    assert all(seconds >= 0.6 and share == 1 for _, seconds, share in found["outputs"].values())
    assert found["seconds"] >= 1.8


def test_the_time_of_an_earlier_visit_counts_on(browser: Browser, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    with open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_reading(tab, address)
        expect(tab.locator(".tab.unread")).to_have_count(2)
        before = tab.locator(".tab-1")
        expect(before).not_to_have_class("tab tab-1 unread")
        tab.click(".back")
        tab.wait_for_url("**/p/p2")
        earlier = evidence(made)
        tab.click(".next")
        tab.wait_for_url("**/p/p3")
        expect(tab.locator(".tab.unread")).to_have_count(2, timeout=100)
        tab.click(".back")
        tab.wait_for_url("**/p/p2")
    assert evidence(made)["outputs"]["e2"][1] > earlier["outputs"]["e2"][1] >= 0.6


def test_a_hidden_page_is_not_being_read(browser: Browser, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    hidden = "Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'})"
    with open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        to_reading(tab, address)
        tab.evaluate(hidden)
        tab.wait_for_timeout(1500)
        tab.click(".back")
        tab.wait_for_url("**/p/p2")
    assert evidence(made)["seconds"] < 1


def test_a_long_text_is_scrolled_by_a_share(browser: Browser, tmp_path: Path) -> None:
    made = HandMade(tmp_path, small_form(text=WORDS * 80), seconds_per_100_words=0.01)
    with made.store, serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        to_reading(tab, f"{url}/a/{made.store.tokens()[0]}")
        tab.wait_for_timeout(600)
        tab.locator(".back").evaluate("one => one.click()")
        tab.wait_for_url("**/p/p2")
        assert 0 < evidence(made)["outputs"]["e2"][2] < 0.5


def test_a_picture_counts_once_it_is_loaded(browser: Browser, tmp_path: Path) -> None:
    picture = tmp_path / "one.svg"
    picture.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>'
    )
    made = HandMade(tmp_path, small_form(image=picture), seconds_per_100_words=1.0)
    with made.store, serve_on_loopback(create_app(made)) as url, open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        tab.route("**/image/e4", lambda route: route.abort())
        to_reading(tab, f"{url}/a/{made.store.tokens()[0]}")
        tab.wait_for_timeout(2600)  # two of a second each
        tab.click(".next")
        expect(tab.locator(LINES)).to_have_text(["Writer C, text 1"])
        tab.unroute("**/image/e4")
        tab.reload()
        tab.wait_for_timeout(3400)
        tab.click(".next")
        tab.wait_for_url("**/p/p4")


def test_without_script_each_output_is_opened_for_its_time(browser: Browser, survey: tuple[HandMade, str]) -> None:
    made, address = survey
    with open_context(browser, viewport=PHONE, java_script_enabled=False) as context:
        tab = context.new_page()
        to_reading(tab, address)
        tab.click(".next")  # at once: too early
        expect(tab.locator(LINES)).to_have_text([f"Writer {label}, text 1" for label in "ABC"])
        for label in "ABC":
            expect(tab.locator(".exhibit:visible .caption")).to_have_text([f"Writer {label}, text 1"])
            tab.wait_for_timeout(700)
            tab.click(".next")
        tab.wait_for_url("**/p/p4")
    (lease,) = made.store.visits.leases()
    assert "served" in made.store.visits.payloads(lease.submission_id)[-1].body


def test_a_script_that_failed_once_is_asked_again(browser: Browser, survey: tuple[HandMade, str]) -> None:
    _, address = survey
    with open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        tab.route("**/static/form*.js", lambda route: route.abort())
        begin(tab, address)
        tab.check("#q1")
        tab.click(".next")
        tab.check("#q2")
        tab.unroute("**/static/form*.js")
        tab.click(".next")
        expect(tab.locator(".exhibit:visible")).to_have_count(3)
        tab.wait_for_timeout(2200)
        tab.click(".next")
        tab.wait_for_url("**/p/p4")


def test_a_whole_form_in_a_hit_is_handed_in_when_all_was_seen(browser: Browser, tmp_path: Path) -> None:
    """Texts of 60 words at 10 seconds for 100 words, each for 6 seconds: pressed at once, the page asks for them."""
    need("boto3", "defusedxml")
    from mturk.hit_forms import render_hit_page

    site = "https://hits.example"
    html = render_hit_page(
        small_form(text=WORDS * 4), load_texts("en", {}), origins=(site,), seconds_per_100_words=10.0
    )
    page = tmp_path / "hit.html"
    page.write_text(html)
    handed_in = []
    with open_context(browser, viewport=DESK) as context:
        tab = context.new_page()
        tab.route(f"{site}/**", lambda route: (handed_in.append(route.request.post_data), route.fulfill(body="thanks")))
        tab.goto(f"{page.as_uri()}?assignmentId=A1&turkSubmitTo={site}")
        for name, value in (("q3", "70"), ("q4", "20")):
            tab.fill(f"#{name}", value)
        for name in ("q1", "q2", "q5", "q6"):
            tab.check(f"#{name}")
        tab.locator("button[type=submit]").click()
        lines = tab.locator(LINES)
        expect(lines.first).to_be_visible()
        names = lines.all_inner_texts()
        assert set(names) == {f"Writer {label}, text 1" for label in "ABC"}
        assert handed_in == []
        while tab.locator(f"{LINES}:not(.done)").count():
            tab.locator(".unseen-outputs").evaluate("box => box.querySelector('li:not(.done) button')?.click()")
            tab.wait_for_timeout(300)
        tab.locator("button[type=submit]").click()
        tab.wait_for_url(f"{site}/**")
    fields = dict(parse_qsl(str(handed_in[0])))
    sent = json.loads(fields["reading"])["outputs"]
    assert min(sent[name][1] for name in ("e2", "e3", "e4")) >= 6.0
