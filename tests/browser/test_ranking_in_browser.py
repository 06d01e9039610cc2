"""Putting outputs in order in a real browser: by keyboard, by dragging, restored, and without script."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.elicitation.ranking import RankingTarget
from spa.records.submission import Response
from spa.server.app import create_app
from spa.server.form_progress import FormProgress
from spa.server.http_server import serve_on_loopback
from spa.widgets.order import ranks_of
from tests import patience
from tests.browser.chromium import PHONE, expect, open_context
from tests.browser.first_page import begin

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

    from spa.commands.workspace import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.one_process("browser")]


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[tuple[Workspace, str]]:
    """Serve the example to people; yield the study and the address of the first person."""
    study = tmp_path / "study.toml"
    assert CliRunner().invoke(main, ["init", str(tmp_path), "--example", "rankings"]).exit_code == 0
    study.write_text(study.read_text() + "seconds_per_100_words = 0\n")
    assert CliRunner().invoke(main, ["build", str(study)]).exit_code == 0
    with open_workspace(study, None) as workspace, serve_on_loopback(create_app(workspace)) as url:
        yield workspace, f"{url}/a/{workspace.store.tokens()[0]}"


def orders(workspace: Workspace) -> list[dict[str, int]]:
    """Return the ranks of the orders that the first person has given, page by page."""
    (visit,) = [lease for lease in workspace.store.visits.leases()]
    form = workspace.form(visit.assignment_id)
    progress = FormProgress.from_payloads(form, visit, workspace.store.visits.payloads(visit.submission_id))
    answers = [answer for page in form.pages for answer in progress.answers(page)]
    return [
        ranks_of(str(one.value))
        for one in answers
        if isinstance(one, Response) and isinstance(one.target, RankingTarget)
    ]


def listed(tab: Tab) -> list[str]:
    return [name[-1] for name in tab.locator(".rank > label:first-of-type").all_inner_texts()]


def start(tab: Tab, address: str) -> None:
    begin(tab, address)
    tab.locator("button.next").click()
    tab.locator("input[type=checkbox]").check()
    tab.locator("button.next").click()
    expect(tab.locator("h1")).to_have_text("Ranking 1 of 4")


def test_outputs_are_put_in_order(browser: Browser, survey: tuple[Workspace, str]) -> None:
    workspace, address = survey
    with open_context(browser, viewport=PHONE) as context:
        tab = context.new_page()
        said: list[str] = []
        tab.on("pageerror", lambda error: said.append(str(error)))
        start(tab, address)
        first = listed(tab)
        asked = tab.locator(".question.order").inner_text()
        assert "Drag an entry" in asked
        assert not re.search("number|1 for", asked)  # one way of answering is named
        tab.locator("button.next").click()
        expect(tab.locator(".gap")).to_be_visible()  # the order shown is no answer
        confirm, leave = tab.locator("button.confirm-order"), tab.locator("button.leave-order")
        expect(confirm).to_be_disabled()
        leave.click()
        expect(tab.locator(".place").first).to_have_text("Place 1")
        expect(confirm).to_be_hidden()
        up = tab.locator(".rank").nth(2).locator("button.up")
        up.focus()
        tab.keyboard.press("Enter")
        tab.keyboard.press("Enter")
        assert listed(tab) == [first[2], first[0], first[1], first[3]]
        expect(tab.locator(".question.order [role=status]")).to_have_text(f"System {first[2]}: place 1")
        assert tab.evaluate("document.activeElement.className") == "up"
        tab.locator(".tie input:visible").nth(1).check()
        place = tab.url
        tab.goto("about:blank")  # a draft is sent, and shown again
        until = time.monotonic() + patience.SECONDS
        while not orders(workspace) and time.monotonic() < until:
            time.sleep(0.05)
        tab.goto(place)
        expect(tab.locator(".place").nth(2)).to_have_text("Place 2")
        assert listed(tab) == [first[2], first[0], first[1], first[3]]
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        tab.locator("button.next").click()
        expect(tab.locator("h1")).to_have_text("Ranking 2 of 4")
        assert orders(workspace) == [{first[2]: 1, first[0]: 2, first[1]: 2, first[3]: 4}]
        shown = listed(tab)
        handle = tab.locator(".handle").nth(3)
        handle.scroll_into_view_if_needed()
        held, top = handle.bounding_box(), tab.locator(".rank").first.bounding_box()
        assert held is not None
        assert top is not None
        tab.mouse.move(held["x"] + 5, held["y"] + 5)
        tab.mouse.down()
        tab.mouse.move(held["x"] + 5, top["y"] + 5, steps=10)
        tab.mouse.up()
        assert listed(tab) == [shown[3], *shown[:3]]
        expect(leave).to_be_hidden()
        confirm.click()
        expect(tab.locator(".question.order [role=status]")).to_be_visible()
        tab.locator("button.next").click()
        expect(tab.locator("h1")).to_have_text("Ranking 3 of 4")
        labels = listed(tab)
        assert tab.locator(".tie input:visible").count() == 3  # ties come before any place
        tab.locator(".tie input:visible").first.press("Space")
        expect(confirm).to_be_enabled()
        tab.locator("button.next").click()
        expect(tab.locator("h1")).to_have_text("Ranking 4 of 4")
        assert orders(workspace)[2] == {labels[0]: 1, labels[1]: 1, labels[2]: 3, labels[3]: 4}
        assert said == []


def test_without_script_outputs_are_numbered(browser: Browser, survey: tuple[Workspace, str]) -> None:
    workspace, address = survey
    with open_context(browser, java_script_enabled=False) as context:
        tab = context.new_page()
        start(tab, address)
        expect(tab.locator(".order-help")).to_contain_text("Write 1 for the best")
        boxes = tab.locator(".rank input")
        for place, rank in enumerate("2124"):
            boxes.nth(place).fill(rank)
        labels = listed(tab)
        tab.locator("button.next").click()
        expect(tab.locator("h1")).to_have_text("Ranking 2 of 4")
        assert orders(workspace) == [ranks_of(f"{labels[1]} > {labels[0]} = {labels[2]} > {labels[3]}")]
