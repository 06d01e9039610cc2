"""Explanations: a point or a name in the list opens a text with its output; keywords; errors. Contamination.

The study is answered before the browser starts, whose event loop would stand in the way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import need
from tests.spa.rehearsed import spa
from tests.streamlit_app.answering import answer
from tests.streamlit_app.conftest import Dashboard, started
from tests.streamlit_app.explained import HOSTILE, explained_study
from tests.streamlit_app.familiar import write_contamination
from tests.streamlit_app.looking import choose, expect, newcomer, photograph, turn_to, visit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = [pytest.mark.browser, pytest.mark.one_process("dashboard-explanations")]
UMAP = """
class UMAP:  # the real one compiles for half a minute
    def __init__(self, **settings):
        pass

    def fit_transform(self, vectors):
        return vectors[:, :2]
"""
REVIEWERS = ("--reviewer", "Ana", "--reviewer", "Ben")
WHO = (*REVIEWERS, "--reviewer", "Cem")
OPENED = ".spa-report p, .spa-report .body"
CHART = "[data-testid=stVegaLiteChart]"


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    need("sklearn")
    folder = tmp_path_factory.mktemp("explained")
    path = explained_study(folder / "study")
    write_contamination(path)
    review = folder / "review" / "study.toml"
    spa("review-explanations", path, "--rater", "judge", "--number", "4", *REVIEWERS, "--out", review.parent)
    spa("build", review)
    answer(review, 2)
    with closing(sqlite3.connect(review.with_suffix(".sqlite"))) as connection:  # as their links say
        connection.execute("UPDATE submissions SET people_group = CASE number WHEN 1 THEN 'Ana' ELSE 'Ben' END")
        connection.commit()
    (folder / "umap.py").write_text(UMAP)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(folder))
        with started(path, "--review-study", str(review), *WHO) as running:
            yield running


@pytest.mark.parametrize("width", [1280, 390])
def test_a_text_opens_with_its_output(
    explained: Dashboard, context: BrowserContext, width: int, tmp_path: Path
) -> None:
    page = newcomer(context, width)
    come(page, explained, "Ana")
    points = page.locator(f"{CHART} path[aria-roledescription=point]")
    expect(points.first).to_be_visible()
    expect(page.get_by_text("with criteria shuffled").first).to_be_visible()
    photograph(page, tmp_path / f"map-{width}.png")
    # other points may lie above any but the last drawn
    points.last.click()
    expect(page.locator(OPENED, has_text=HOSTILE).first).to_be_visible()
    page.reload()
    page.get_by_role("combobox", name="Text").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(OPENED, has_text=HOSTILE)).to_have_count(2)  # the reason, then the output
    page.get_by_role("combobox", name="Text").fill("comment: no comment")
    page.get_by_role("option", name="comment: no comment").first.click()
    expect(page.locator(OPENED, has_text=HOSTILE)).to_have_count(1)  # a comment is about no output
    expect(page.get_by_text("simulated annotators, ").first).to_be_visible()
    expect(page.get_by_text("not stratified by criterion")).to_be_visible()
    choose(page, "Keywords")
    expect(page.get_by_text("In brackets: number of texts that contain it")).to_be_visible()
    expect(page.get_by_role("columnheader", name="plot")).to_be_visible()
    page.get_by_role("combobox", name="Written by").click()
    page.get_by_role("option", name="judge (simulated)").click()
    expect(page.get_by_role("columnheader", name="overall")).to_be_visible()
    photograph(page, tmp_path / f"keywords-{width}.png")
    choose(page, "Errors found")
    expect(page.get_by_text("unsubstantiated claims").first).to_be_visible()
    expect(page.get_by_text("AC1").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.hacked") is None
    photograph(page, tmp_path / f"errors-{width}.png")
    turn_to(page, "raters")
    choose(page, "Contamination")
    expect(page.get_by_text("6 of 6 texts")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    photograph(page, tmp_path / f"contamination-{width}.png")
    page.close()


def come(page: Page, explained: Dashboard, name: str) -> None:
    visit(page, explained, "explanations", name)
    expect(page.get_by_role("heading", name="Explanations")).to_be_visible()


def test_a_third_settles_where_two_reviewers_differ(
    explained: Dashboard, context: BrowserContext, tmp_path: Path
) -> None:
    page = newcomer(context, 390)
    come(page, explained, "Ben")
    choose(page, "Two reviewers")
    expect(page.get_by_text("You are one of the two")).to_be_visible()
    page.close()
    page = newcomer(context, 390)
    come(page, explained, "Cem")
    choose(page, "Two reviewers")
    expect(page.get_by_role("heading", name="Agreement")).to_be_visible()
    settled = page.get_by_test_id("stMetric").filter(has_text="Decided by a third")
    expect(settled).to_contain_text("0")
    photograph(page, tmp_path / "two-390.png")
    conflict = page.get_by_role("combobox", name="Conflict")
    first = conflict.get_attribute("value") or ""
    page.get_by_role("button", name="No", exact=True).click()
    expect(settled).to_contain_text("1")
    expect(conflict).not_to_have_value(first)
    page.set_viewport_size({"width": 1280, "height": 1000})
    photograph(page, tmp_path / "two-1280.png")
    conflict.click()
    expect(page.get_by_role("option").first).not_to_have_text(first)  # those that are open come first
    page.get_by_role("option", name=first).click()
    page.get_by_role("button", name="Take back").click()
    expect(settled).to_contain_text("0")
    page.close()
