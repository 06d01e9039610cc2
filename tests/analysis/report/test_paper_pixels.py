"""A figure of a paper looks the same as PDF and as SVG: drawn by poppler and by Chromium, compared in grey.

Skipped where poppler or Chromium is missing, as on a machine without Debian's poppler-utils.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pypdf import PdfWriter

from analysis.figures.pdf import svg_to_pdf
from analysis.report.paper.classes import PAPERS, look_of
from analysis.results.files import read_results
from tests.analysis.figures.walked import figures_of
from tests.browser.chromium import BROWSER, open_browser

pytestmark = [pytest.mark.browser, pytest.mark.one_process("demo")]  # which is made once
SCALE = 2  # pixels of a figure's pixel
BLOCK = 6  # pixels of the side of a block, whose mean grey does not hang on how edges of letters are smoothed
DIFFERENT = 0.3  # grey of two blocks that do not show the same
MARK = re.compile(r"translate\(([\d.]+),")
HIGH = re.compile(r' height="([\d.]+)"')
Pixels = NDArray[np.float64]  # shape (rows, columns): 0 black, 1 white


def of_pdf(svgs: Sequence[str], folder: Path) -> list[Pixels]:
    """Return figures as poppler draws their PDF, all pages by one run."""
    from PIL import Image

    whole = PdfWriter()
    for svg in svgs:
        whole.append(io.BytesIO(svg_to_pdf(svg)))
    whole.write(folder / "all.pdf")
    subprocess.run(["pdftoppm", "-gray", "-r", str(96 * SCALE), "all.pdf", "page"], cwd=folder, check=True)
    return [np.asarray(Image.open(path), float) / 255 for path in sorted(folder.glob("page-*.pgm"))]


def of_svg(svgs: Sequence[str]) -> list[Pixels]:
    """Return figures as Chromium draws them, one below the other on one page; letters set apart as PDF has them."""
    from PIL import Image

    highs = [int(float(HIGH.findall(svg)[0])) + 2 for svg in svgs]
    body = "".join(f'<div style="height:{high}px">{svg}</div>' for svg, high in zip(svgs, highs, strict=True))
    with open_browser() as browser:
        page = browser.new_page(device_scale_factor=SCALE, viewport={"width": 700, "height": 500})
        page.set_content(
            f"<style>body{{margin:0}}svg{{display:block;font-kerning:none;font-variant-ligatures:none}}</style>{body}"
        )
        drawn = np.asarray(Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("L"), float) / 255
    ends = np.cumsum([0, *highs]) * SCALE
    return [drawn[start:end] for start, end in pairwise(ends)]


def different(one: Pixels, other: Pixels) -> int:
    """Return how many blocks of two pictures do not show the same."""
    high, wide = (min(sizes) // BLOCK * BLOCK for sizes in zip(one.shape, other.shape, strict=True))

    def greys(pixels: Pixels) -> Pixels:
        parts = pixels[:high, :wide].reshape(high // BLOCK, BLOCK, wide // BLOCK, BLOCK)
        return np.asarray(parts.mean((1, 3)))

    return int((np.abs(greys(one) - greys(other)) > DIFFERENT).sum())


def test_pdf_of_each_figure_is_its_svg_in_pixels(made_demo: Path, tmp_path: Path) -> None:
    """Of the demo's figures; and a minus that is lost, or a dot that moves, would be seen."""
    for tool, package in (("pdftoppm", "poppler-utils"), (BROWSER, "chromium")):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (Debian: apt-get install {package})")
    kind = PAPERS["acl"]
    figures = figures_of(read_results(made_demo / "report" / "results.json"))
    svgs = {figure.name: figure.drawing(look=look_of(kind.figure, kind)) for figure in figures if figure.drawing}
    below_zero = next(name for name, svg in svgs.items() if name.startswith("strengths-") and ">\u2212" in svg)
    right = svgs[below_zero]
    first = MARK.findall(right)[0]
    wrong = (right.replace("\u2212", "\u00a0"), right.replace(f"({first},", f"({float(first) + 8:g},", 1))
    assert right not in wrong
    *made, without_minus, with_moved = of_pdf([*svgs.values(), *wrong], tmp_path)
    shown = dict(zip(svgs, of_svg([*svgs.values()]), strict=True))
    assert len(made) > 10
    assert {name: different(shown[name], pdf) for name, pdf in zip(svgs, made, strict=True)} == dict.fromkeys(svgs, 0)
    assert min(different(shown[below_zero], pdf) for pdf in (without_minus, with_moved)) > 5
