"""Figures as PDF: as wide as a column, letters embedded, minus signs and lines as the SVG has them."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from analysis.figures.drawing import COLOURS, Look
from analysis.figures.figures import Axis, Dot, draw, forest_plot, lines_plot, means_plot, rating_bars
from analysis.figures.figures import Point as PlotPoint
from analysis.figures.matrices import agreement_matrix, heat_map, pair_matrix
from analysis.figures.pdf import svg_to_pdf
from analysis.report.paper import PAPERS
from analysis.report.paper.classes import PDF_POINTS, PIXELS, look_of, rounded_down
from tests.analysis.sample_results import preference

ACL = look_of(PAPERS["acl"].column, PAPERS["acl"])
MEANS = [
    {"criterion": "c", "system": name, "group": group, "mean": mean, "ci_low": mean - 0.1, "ci_high": mean + 0.1}
    for name, mean in (("first", -0.22), ("a system of a very long name that has to be broken over lines", 0.31))
    for group in ("human", "gpt-4")
]


def dots(look: Look) -> str:
    """Return dots at both ends of an axis and a value below 0."""
    rows = [
        Dot(panel="", label=f"label {value}", group="people", value=value, low=value - 1, high=value + 1, text="")
        for value in (-9.0, 0.0, 9.0)
    ]
    return draw(rows, Axis(low=-10, high=10, title="difference"), "Dots.", look=look)


def drawn(look: Look) -> dict[str, str]:
    """Return a figure of each kind."""
    pairs = [preference(group, x, y, 0.7) for x, y in ("ab", "ac", "bc") for group in ("human", "gpt-4")]
    agreed = [{"annotator_x": "p1", "annotator_y": "p2", "krippendorff_alpha": -0.25}]
    counts = [{"system": "a", "score": score, "share": 0.2} for score in range(1, 6)]
    points = [PlotPoint(line=line, x=x, y=x / 2) for line in ("one", "two") for x in (0.0, 1.0)]
    return {
        "dots": dots(look),
        "forest": forest_plot(pairs, look=replace(look, numbers="cells")),
        "means": means_plot(MEANS, look=look),
        "lines": lines_plot(points, x_title="x", y_title="share", alternative="Lines.", look=look),
        "bars": rating_bars(counts, look=look),
        "pairs": pair_matrix(pairs[::2], look=look),
        "agreement": agreement_matrix(agreed, look=look),
        "heat": heat_map({("a", "b"): -0.22, ("a", "c"): 0.9}, alternative="Heat.", look=look),
    }


FIGURES = drawn(ACL)


def fonts(reader: PdfReader) -> list[Any]:
    """Return the fonts of the only page."""
    (page,) = reader.pages
    found = page["/Resources"]["/Font"]
    return [font.get_object() for font in found.values()]


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_figure_is_as_wide_as_a_column(name: str) -> None:
    """In pixels and in points, never wider; the same figure gives the same bytes."""
    svg = FIGURES[name]
    wide = float(re.findall(r' width="([\d.]+)"', svg)[0])
    assert rounded_down(3.0315, PIXELS) - 1 < wide <= rounded_down(3.0315, PIXELS)
    made = svg_to_pdf(svg)
    assert made == svg_to_pdf(svg)
    (page,) = PdfReader(io.BytesIO(made)).pages
    points = float(page.mediabox.width)
    assert rounded_down(3.0315, PDF_POINTS) - 1 < points <= rounded_down(3.0315, PDF_POINTS)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_letters_of_a_figure_are_embedded(name: str) -> None:
    """No font is left to the reader's machine, none is Type 3, and what the SVG says the PDF says."""
    reader = PdfReader(io.BytesIO(svg_to_pdf(FIGURES[name])))
    used = fonts(reader)
    assert used
    for font in used:
        assert font["/Subtype"] == "/TrueType"
        assert "/FontFile2" in font["/FontDescriptor"]
    shown = "".join(reader.pages[0].extract_text().split())
    for text in re.findall(r"<text[^>]*>([^<]*)</text>", FIGURES[name]):
        for words in re.split("[\u2190\u2192]", "".join(text.split())):  # arrows are drawn
            assert words in shown


def test_numbers_below_zero_keep_their_minus() -> None:
    """The font has the sign: U+2212 is no box and no gap."""
    for name, number in (("means", "\u22120.22"), ("agreement", "\u22120.25"), ("heat", "\u22120.22")):
        text = PdfReader(io.BytesIO(svg_to_pdf(FIGURES[name]))).pages[0].extract_text()
        assert number in text, name


def test_letters_are_as_large_as_captions() -> None:
    """12 units are 10 points of TeX in a class whose captions have 10."""
    assert 12 * ACL.zoom * 72.27 / 96 == pytest.approx(10)


def test_lines_carry_colours_of_their_own() -> None:
    """A figure of a paper stands alone: nothing takes its colour from the text around it."""
    assert all("currentColor" not in svg for svg in FIGURES.values())
    assert COLOURS[0] in FIGURES["forest"]
    assert "currentColor" in forest_plot([preference("human", "a", "b", 0.7)])


def test_a_matrix_that_does_not_fit_is_empty() -> None:
    """Thirty systems do not fit a column; two do, in cells at least as wide as their numbers."""
    rows = [preference("human", f"s{place}", f"s{place + 1}", 0.7) for place in range(30)]
    assert pair_matrix(rows, look=ACL) == ""
    assert pair_matrix(rows) != ""


def test_unknown_elements_are_refused() -> None:
    """What figures do not hold is not left out in silence."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9">'
    with pytest.raises(ValueError, match="circle"):
        svg_to_pdf(f"{head}<circle/></svg>")
    with pytest.raises(ValueError, match="skewX"):
        svg_to_pdf(f'{head}<g transform="skewX(3)"/></svg>')


@pytest.mark.parametrize("name", ["means", "dots", "heat"])
def test_minus_and_axis_are_seen(name: str, tmp_path: Path) -> None:
    """In pixels: the minus is a bar before its number, the axis a line as wide as the drawing."""
    if shutil.which("pdftoppm") is None:
        pytest.skip("pdftoppm is not installed (Debian: apt-get install poppler-utils)")
    from PIL import Image

    seen = {}
    for sign in ("\u2212", "\u00a0"):
        (tmp_path / "one.pdf").write_bytes(svg_to_pdf(FIGURES[name].replace("\u2212", sign)))
        command = ["pdftoppm", "-r", "200", "-gray", "one.pdf", "one", "-singlefile"]
        subprocess.run(command, cwd=tmp_path, check=True)
        with Image.open(tmp_path / "one.pgm") as image:
            width, pixels = image.size[0], image.tobytes()
        seen[sign] = sum(value < 128 for value in pixels)
        rows = [pixels[start : start + width] for start in range(0, len(pixels), width)]
        if name != "heat":
            assert max(sum(value < 160 for value in row) for row in rows) > 0.7 * width
    assert seen["\u2212"] > seen["\u00a0"] + 10
