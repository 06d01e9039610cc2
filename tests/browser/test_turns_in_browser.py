"""Dialogues on a phone: what led to a rated turn is open above it; one that was given scrolls with the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spa.forms.texts import load_texts
from spa.server.http_server import serve_on_loopback
from spa.server.preview import create_preview
from tests.browser.chromium import DESK, PHONE, open_context
from tests.spa.elicitation.test_rated_turns import dialogue, form_of, rated, study_of_turns
from tests.spa.study_files import HEAD, long_rows, write_rows, write_study

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


def test_phone_has_no_box_for_a_dialogue_that_was_given(browser: Browser, tmp_path: Path) -> None:
    """It is as long as it is, and captions stay at the top, not below its heading; a text keeps its box."""
    rows = long_rows({f"i{n}": {"x": "An answer. " * 60, "y": "Another. " * 60} for n in range(2)})
    given = {"conversation": json.dumps(dialogue("it", 9)), "text": "What was asked. " * 90}
    for kind, source in given.items():
        folder = tmp_path / kind
        folder.mkdir()
        write_rows(folder / "outputs.jsonl", [{**row, "source": source} for row in rows])
        keys = f'[outputs]\nfiles = ["outputs.jsonl"]\nitem_text = "source"\nitem_kind = "{kind}"\n'
        form = form_of(write_study(folder, head=HEAD, outputs=keys))
        page = next(page for page in form.pages if page.kind == "reading")
        with (
            open_context(browser, viewport=PHONE) as context,
            serve_on_loopback(create_preview(form, load_texts("en", {}))) as url,
        ):
            tab = context.new_page()
            tab.goto(f"{url}/p/{page.page_id}")
            hidden, stays = tab.locator(".item > .heading > .said").first.evaluate(
                "said => [said.scrollHeight - said.clientHeight, getComputedStyle(said.parentElement).position]"
            )
            below = tab.locator(".item").first.evaluate("item => item.style.getPropertyValue('--heading-height')")
            assert (hidden > 1, stays, below != "0px") == (
                (False, "static", False) if kind == "conversation" else (True, "sticky", True)
            )
