"""Two reviewers and a third at one dashboard: blind until both decided, a conflict, its settlement."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spa.responses.decisions import read_decisions
from spa.responses.store import Store
from spa.responses.two_reviewers import read_visit_decisions
from tests.streamlit_app.conftest import Dashboard, started
from tests.streamlit_app.looking import expect, newcomer, photograph, settled, turn_to, visit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.one_process("dashboard")]

WHO = ("--reviewer", "Ana", "--reviewer", "Ben", "--reviewer", "Cem", "--two-reviewers")


@pytest.fixture(scope="module")
def reviewed(watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(watched.parent, tmp_path_factory.mktemp("reviewed") / "study")) / watched.name


@pytest.fixture(scope="module")
def three(reviewed: Path) -> Iterator[Dashboard]:
    with started(reviewed, *WHO) as running:
        yield running


def come(context: BrowserContext, dashboard: Dashboard, name: str, width: int = 1280) -> Tab:
    page = newcomer(context, width)
    visit(page, dashboard, "submissions", name)
    expect(page.get_by_role("heading", name="Submissions")).to_be_visible()
    settled(page)  # a button that is pressed while the page is still being made may be another one by then
    return page


def test_reviewers_page_conflicts(context: BrowserContext, three: Dashboard, reviewed: Path, tmp_path: Path) -> None:
    """A conflict is seen by nobody before both decided and settled by a third."""
    ana = come(context, three, "Ana")
    ana.get_by_role("button", name="Keep in").click()
    expect(ana.get_by_text("1. keep in (Ana")).to_be_visible()
    ben = come(context, three, "Ben")
    expect(ben.get_by_role("button", name="Keep in")).to_be_enabled()
    expect(ben.locator("body")).not_to_contain_text("Ana")
    ben.get_by_role("textbox", name="Note").fill("one key throughout")
    ben.get_by_role("button", name="Save this decision").click()
    expect(ben.get_by_text("1. keep in (Ana")).to_be_visible()
    expect(ben.get_by_text("Ana and Ben differ on the analysis: a third person decides.")).to_be_visible()
    photograph(ben, tmp_path / "conflict.png")
    ben.locator("body").press("u")  # takes back Ben's own, never Ana's
    expect(ben.get_by_text("3. undo number 2 (Ben")).to_be_visible()
    expect(ben.get_by_role("button", name="Undo last")).to_be_disabled()
    ben.get_by_role("textbox", name="Note").fill("one key throughout, again")
    ben.get_by_role("button", name="Save this decision").click()
    expect(ben.get_by_text("4. leave out: one key throughout, again (Ben")).to_be_visible()
    for page in (ana, ben):
        page.close()
    cem = come(context, three, "Cem", width=390)
    expect(cem.get_by_text("Ana and Ben differ on the analysis: your decision counts.")).to_be_visible()
    photograph(cem, tmp_path / "phone.png")
    cem.get_by_role("textbox", name="Note").fill("Ben is right")
    cem.get_by_role("button", name="Save this decision").click()
    expect(cem.get_by_text("5. leave out: Ben is right (Cem")).to_be_visible()
    turn_to(cem, "reviewers")
    expect(cem.get_by_role("heading", name="Conflicts")).to_be_visible()
    expect(cem.get_by_text("Decided by a third")).to_be_visible()
    conflict = cem.get_by_role("listitem").filter(has_text="Ben: leave out (one key throughout, again). Decided by Cem")
    expect(conflict.get_by_role("link")).to_have_attribute("href", re.compile("submissions.submission="))
    assert cem.locator("[data-testid=stMain]").evaluate("page => page.scrollWidth <= page.clientWidth")
    photograph(cem, tmp_path / "reviewers-390.png")
    cem.set_viewport_size({"width": 1280, "height": 900})
    photograph(cem, tmp_path / "reviewers-1280.png")
    cem.close()
    with Store.open(reviewed.with_suffix(".sqlite"), read_only=True) as store, store.reading() as connection:
        log, found = read_decisions(connection), read_visit_decisions(connection)
    assert [each.reviewer for each in log] == ["Ana", "Ben", "Ben", "Ben", "Cem"]
    exclusion = found[log[0].submission_id].exclusion
    assert exclusion is not None
    assert exclusion.note == "Ben is right"
