"""Hostile outputs in a real browser: nothing is asked for, run, opened or said, whatever they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spa.forms.texts import load_texts
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import PHONE, open_context
from tests.spa.media.hostile_outputs import OUTPUTS, PLACE
from tests.spa.media.test_hostile_outputs import hostile_exhibit, hostile_form

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]
HARM = """() => [
  window.hurt !== undefined, document.title.includes("hurt"), document.cookie !== "",
  [...document.querySelectorAll(".body *")].some((one) => [...one.attributes].some((each) =>
    /^on|^style$|^href$|^src|^id$|^name$/.test(each.name))),
  [...document.querySelectorAll(".body *")].some((one) => getComputedStyle(one).position !== "static"),
  document.documentElement.scrollWidth > innerWidth,
]"""


@pytest.mark.parametrize("medium", ["text", "markdown"])
def test_hostile_outputs_ask_for_nothing_and_run_nothing(browser: Browser, medium: str) -> None:
    """All of them on one page of a phone: no request but for our own files, no dialog, no error, nothing too wide."""
    shown = tuple(hostile_exhibit(text, medium, number) for number, text in enumerate(OUTPUTS, start=1))
    form = hostile_form(*shown)
    requests: list[str] = []
    said: list[str] = []
    with (
        serve_on_loopback(create_preview(form, load_texts("en", {}))) as url,
        open_context(browser, viewport=PHONE) as window,
    ):
        tab = window.new_page()
        tab.on("request", lambda one: requests.append(one.url))
        tab.on("console", lambda one: said.append(one.text))
        tab.on("pageerror", lambda one: said.append(str(one)))
        tab.on("dialog", lambda one: said.append(one.message))
        tab.on("popup", lambda one: said.append(one.url))
        tab.goto(f"{url}/p/{form.pages[0].page_id}")
        tab.wait_for_load_state("networkidle")
        assert tab.locator(".body").count() == len(OUTPUTS)
        assert tab.evaluate(HARM) == [False] * 6
        for number in range(0, len(OUTPUTS), 20):
            tab.locator(".body").nth(number).click(position={"x": 5, "y": 5}, force=True)
        assert tab.url == f"{url}/p/{form.pages[0].page_id}"
        own = [one for one in requests if one.startswith((f"{url}/p/", f"{url}/static/"))]
        assert requests == own
        assert not any(PLACE in one for one in requests)
        assert said == []
