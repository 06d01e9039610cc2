"""Outputs on the dashboard are what raters see of them, and nothing in them acts."""

from __future__ import annotations

import base64
from pathlib import Path
from unittest.mock import Mock

import pytest

from spa.records.materials import Material, ShownFile
from spa.records.outputs import Output
from streamlit_app.rendering import FRAME_POLICY, _style, show_material, show_shown, shown_text
from tests.spa.media.hostile_outputs import OUTPUTS
from tests.spa.media.test_hostile_outputs import harm_in
from tests.spa.tiny_images import tiny_png


def output_of(text: str, medium: str) -> Output:
    return Output(item_id="i1", system="alpha", sample=1, medium=medium, text=text, file=None)


@pytest.mark.parametrize("medium", ["text", "markdown"])
def test_hostile_outputs_stay_harmless_on_the_dashboard(medium: str) -> None:
    for text in OUTPUTS:
        shown = shown_text(output_of(text, medium))
        assert harm_in(shown) == [], text
        assert shown.encode("utf-8")


def test_outputs_are_shown_once_and_as_raters_see_them() -> None:
    """Markdown as what it means, formulas among it; a text letter by letter."""
    assert "<strong>b</strong>" in shown_text(output_of("a **b**", "markdown"))
    assert "**" not in shown_text(output_of("a **b**", "markdown"))
    assert "<mi>x</mi>" in (shown := shown_text(output_of("a **b** $x$ <i>", "markdown")))
    assert "&lt;i&gt;" in shown
    assert "$" not in shown
    assert ">a **b** $x$</div>" in shown_text(output_of("a **b** $x$", "text"))


def test_media_are_shown_by_their_kinds(tmp_path: Path) -> None:
    """A file by its medium, a text with the pictures that it names as data, which no server is asked for."""
    picture = tmp_path / "a.png"
    picture.write_bytes(tiny_png(1, 1))
    container = Mock()
    show_material(container, Material(medium="image", text=None, file=picture))
    container.image.assert_called_once_with(str(picture))
    within = (ShownFile(name="a.png", medium="image", file=picture),)
    source = "See **it** ![a <b>cat</b>](a.png) ![far](https://a.org/b.png)"
    show_material(container, Material(medium="markdown", text=source, within=within))
    (shown,) = container.html.call_args.args
    data = base64.b64encode(picture.read_bytes()).decode()
    assert f'<img src="data:image/png;base64,{data}" alt="">a &lt;b&gt;cat' in shown
    assert shown.count("<img") == 1
    assert "https" not in shown


def test_formulas_stand_in_a_frame_that_runs_nothing() -> None:
    """Where Streamlit would take them out; all else is a part of the page."""
    container = Mock()
    show_shown(container, "<p>a</p>", kind="spa-outputs")
    container.html.assert_called_once_with('<div class="spa-report spa-outputs"><p>a</p></div>')
    show_material(container, output_of(r"$\sqrt{x}$", "markdown"))
    (page,) = container.iframe.call_args.args
    assert "default-src 'none'" in page
    assert "script" not in FRAME_POLICY
    assert page.count("<msqrt>") == 1
    assert page.count("data:font/woff2") == 1
    assert "url(" not in page.replace('url("data:font/woff2;base64,', "")


def test_the_style_of_media_asks_for_no_file() -> None:
    assert ".markdown table" in _style()
    assert "url(" not in _style()
