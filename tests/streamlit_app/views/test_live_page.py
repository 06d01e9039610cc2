"""The page of a live study: only there, with a decision and a chart for each pair, also on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.analysis.live_study import answer, answer_by_llm, build
from tests.streamlit_app.conftest import Dashboard, started
from tests.streamlit_app.looking import expect, newcomer, photograph, visit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.browser
LIVE = pytest.mark.one_process("dashboard-live")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    path = build(tmp_path_factory.mktemp("live"))
    answer_by_llm(path, 3)
    answer(path)
    with started(path) as running:
        yield running


@LIVE
@pytest.mark.parametrize("width", [1280, 390])
def test_decisions_charts_and_money_are_shown(
    context: BrowserContext, live: Dashboard, width: int, tmp_path: Path
) -> None:
    page = newcomer(context, width)
    visit(page, live, "live")
    expect(page.get_by_text("gamma is better, decided after").first).to_be_visible()
    expect(page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg")).to_have_count(3)
    expect(page.get_by_text("No further answers are needed.")).to_be_visible()
    expect(page.get_by_text("Questions saved")).to_be_visible()
    expect(page.get_by_text("GBP").first).to_be_visible()
    page.get_by_role("radio", name="gpt").or_(page.get_by_role("button", name="gpt")).click()
    expect(page.get_by_text("Counted forms by gpt")).to_be_visible()
    expect(page.get_by_text("Answers are collected until all is decided.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    photograph(page, tmp_path / f"live-{width}.png")
    page.close()


@pytest.mark.one_process("dashboard")  # whose study and dashboard it looks at
def test_a_study_of_fixed_size_has_no_such_page(tab: Tab, dashboard: Dashboard) -> None:
    visit(tab, dashboard, "")
    expect(tab.get_by_role("link", name="Annotators").first).to_be_visible()
    assert tab.get_by_role("link", name="Live").count() == 0
