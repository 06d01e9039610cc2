"""Turns rated one by one on a phone: what led to a turn is open above it, and is asked to be read once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spa.forms.texts import load_texts
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import DESK, PHONE, open_context
from tests.spa.elicitation.test_rated_turns import form_of, rated, study_of_turns

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]


def test_phone_shows_the_dialogue_up_to_a_turn(browser: Browser, tmp_path: Path) -> None:
    """Nothing of it is folded but system prompts and tools, and nothing is wider than the phone."""
    form = form_of(study_of_turns(tmp_path))
    page = next(page for page in form.pages if page.kind == "rating" and rated(page).turn == 3)
    with (
        open_context(browser, viewport=PHONE) as context,
        serve_on_loopback(create_preview(form, load_texts("en", {}))) as url,
    ):
        tab = context.new_page()
        tab.goto(f"{url}/p/{page.page_id}")
        for size in (PHONE, DESK):
            tab.set_viewport_size(size)
            replies = tab.locator(".turn.assistant")
            assert [reply.is_visible() for reply in replies.all()] == [True] * 3
            assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
        tops = replies.evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
        assert tops == sorted(tops)
        assert tab.locator("details.turn[open]").count() == 0
