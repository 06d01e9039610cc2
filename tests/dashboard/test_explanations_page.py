"""The page of explanations: a point of the map opens its text and output; keywords; errors of the review.

The study is answered before the browser starts, whose event loop would stand in the way.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import need
from tests.dashboard.answering import answer
from tests.dashboard.conftest import Dashboard, started
from tests.dashboard.explained import HOSTILE, explained_study
from tests.dashboard.looking import choose, expect, photograph, visit
from tests.spa.rehearsed import spa

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("dashboard-explanations")]
UMAP = """
class UMAP:  # the real one compiles for half a minute
    def __init__(self, **settings):
        pass

    def fit_transform(self, vectors):
        return vectors[:, :2]
"""
CHART = "[data-testid=stVegaLiteChart]"


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    need("sklearn")
    folder = tmp_path_factory.mktemp("explained")
    path = explained_study(folder / "study")
    review = folder / "review" / "study.toml"
    spa("review-explanations", path, "--rater", "judge", "--number", "4", "--readers", "2", "--out", review.parent)
    spa("build", review)
    answer(review, 2)
    (folder / "umap.py").write_text(UMAP)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(folder))
        with started(path, "--review-study", str(review)) as running:
            yield running


def click_on_a_point(page: Tab) -> None:
    """Click where the chart has the colour of the first criterion."""
    from PIL import Image

    chart = page.locator(CHART)
    picture = Image.open(io.BytesIO(chart.screenshot())).convert("RGB")
    width, height = picture.size
    blue = [(x, y) for y in range(height - 90) for x in range(width) if picture.getpixel((x, y)) == (0, 114, 178)]
    x, y = blue[len(blue) // 2]
    chart.click(position={"x": x, "y": y})


@pytest.mark.parametrize("width", [1280, 390])
def test_a_point_opens_its_text_and_output(explained: Dashboard, browser: Browser, width: int, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1000})
    visit(page, explained, "explanations")
    expect(page.locator(f"{CHART} canvas, {CHART} svg").first).to_be_visible()
    expect(page.get_by_text("with criteria shuffled").first).to_be_visible()
    photograph(page, tmp_path / f"map-{width}.png")
    if width > 1000:
        click_on_a_point(page)
    else:
        page.get_by_role("combobox", name="Text").click()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
    expect(page.locator(".spa-report p", has_text=HOSTILE)).to_have_count(2)  # the reason, then the output
    choose(page, "Keywords")
    expect(page.get_by_text("In brackets, how many texts hold it")).to_be_visible()
    choose(page, "Errors found")
    expect(page.get_by_text("unsubstantiated claims").first).to_be_visible()
    expect(page.get_by_text("AC1").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.hacked") is None
    photograph(page, tmp_path / f"errors-{width}.png")
    page.close()
