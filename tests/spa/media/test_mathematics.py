"""The font of formulas: whole beside pages, its few signs within pages that stand alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spa.forms.assets import inline_fonts
from spa.forms.html import Posting, render_whole
from spa.forms.texts import load_texts
from spa.media import mathematics
from spa.records.form import Exhibit, ExhibitsBlock, Form, Segment
from tests.spa.media.mathematics_signs import SIGNS
from tests.spa.web_forms import small_form

TEXTS = load_texts("en", {})
POSTING = Posting(script="", origins=("https://example.org",), fields={})
LARGEST = 9_000  # characters in a HIT, which has room for 65,535 bytes


def form_of(source: str) -> Form:
    """Return a form of one page that shows a Markdown text."""
    shown = Exhibit(
        exhibit_id="e1",
        caption="Writer A",
        label="A",
        item_id="i1",
        medium="markdown",
        segments=(Segment(text=source),),
    )
    form = small_form()
    page = next(page for page in form.pages if page.kind == "rating")
    return replace(
        form, pages=(replace(page, blocks=(ExhibitsBlock(heading=None, exhibits=(shown,)), page.questions[0])),)
    )


@pytest.mark.parametrize("posting", [None, POSTING])
def test_pages_that_stand_alone_bring_the_signs(posting: Posting | None) -> None:
    """Once, where there is a formula, with leave to load it; not for text that only speaks of one."""
    html = render_whole(form_of(r"$\sqrt{2}$ and $x$"), TEXTS, posting=posting)
    assert html.count("@font-face") == html.count("data:font/woff2") == 1
    assert html.index("@font-face") < html.index("</style>")
    assert "font-src data:;" in html
    assert "@font-face" not in render_whole(form_of("`<math>` and <math>"), TEXTS, posting=posting)


def test_the_signs_leave_a_hit_its_room() -> None:
    assert 0 < len(inline_fonts('<math display="block">')) < LARGEST


def test_signs_are_those_of_the_whole_font() -> None:
    """Both map each sign to a glyph as wide, and both have the table that stretches them."""
    fonts = pytest.importorskip("fontTools.ttLib", reason="fonttools is not installed")
    pytest.importorskip("brotli", reason="brotli is not installed")
    small, whole = fonts.TTFont(mathematics.SIGNS), fonts.TTFont(mathematics.WHOLE)
    assert set(map(ord, SIGNS)) == set(small.getBestCmap())
    for code, name in small.getBestCmap().items():
        assert small["hmtx"][name][0] == whole["hmtx"][whole.getBestCmap()[code]][0], chr(code)
    assert small["MATH"].table.MathConstants.AxisHeight.Value == whole["MATH"].table.MathConstants.AxisHeight.Value
