"""The report on a phone and a desk: nothing is wider than the window, and verdicts are in sight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.report import write_report
from analysis.results.files import from_plain
from tests.analysis.sample_results import full_results
from tests.browser.chromium import DESK, PHONE, open_context
from tests.conftest import missing_part

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HIDDEN = """() => [...document.querySelectorAll(".stacked td, tbody th")].filter(field => {
    const box = field.getBoundingClientRect()
    return field.checkVisibility() && box.width && (box.right > innerWidth || box.left < 0)
}).map(field => field.textContent)"""
VERDICTS = """() => [...document.querySelectorAll("td[data-label=Verdict]")].filter(
    field => field.checkVisibility()).map(field => getComputedStyle(field, "::before").content)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("report")
    write_report(from_plain(full_results()), made)
    return made


@pytest.mark.parametrize(("size", "labelled"), [(PHONE, True), (DESK, False)])
def test_the_report_fits_the_window(browser: Browser, folder: Path, size: Any, labelled: bool) -> None:
    with open_context(browser, viewport=size) as window:
        page = window.new_page()
        page.goto((folder / "report.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        verdicts = page.evaluate(VERDICTS)
        assert verdicts
        assert all((content != "none") == labelled for content in verdicts)
        heads = page.locator("table:not(.stacked) thead th").all_text_contents()
        assert not [head for head in heads if head == "Verdict" or head.endswith(" p")]
        if labelled:
            assert page.evaluate(HIDDEN) == []
        assert page.get_by_role("link", name="Warnings", exact=True).is_visible() != labelled
        if labelled:
            page.get_by_text("Contents").click()
            assert page.get_by_role("link", name="Warnings", exact=True).is_visible()


def test_a_link_into_the_appendix_opens_its_fold(browser: Browser, folder: Path) -> None:
    with open_context(browser) as window:
        page = window.new_page()
        page.goto((folder / "report.html").as_uri())
        page.get_by_role("link", name="Evidence for").click()
        page.wait_for_url("**/appendix.html#excluded.0")
        assert page.locator("table[data-name=exclusion_evidence]").is_visible()


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "light"), (DESK, "dark")])
@pytest.mark.parametrize("name", ["report", "appendix"])
def test_axe_finds_nothing_in_a_report(browser: Browser, folder: Path, size: Any, scheme: Any, name: str) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ModuleNotFoundError:
        missing_part("axe-playwright-python is not installed")
    with open_context(browser, viewport=size, color_scheme=scheme) as window:
        page = window.new_page()
        page.goto((folder / f"{name}.html").as_uri())
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
