"""Figures as PDF: the same marks as the SVG, with their letters embedded.

The font has all that figures write themselves, a true minus among it. Letters that it lacks would be drawn as boxes:
whoever makes a PDF puts other names in their place beforehand.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from analysis.figures.plain_text import UNMARKED

SVG = "{http://www.w3.org/2000/svg}"
POINTS = 0.75  # of PDF in a pixel
FONTS = {"normal": ("Vera", "Vera.ttf"), "bold": ("VeraBd", "VeraBd.ttf")}
ARROWS = re.compile("([\u2190\u2192])")  # which the font lacks
ARROW, STEM, HEAD, LOW = 0.84, (0.07, 0.77), 0.2, 0.31  # em: room of an arrow, its ends, half its head, its height
SPACES = re.compile(" {2,}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
STEP = re.compile(r"([MLHVhvlAZ])([^MLHVhvlAZ]*)")
ROUND = 0.5522847498  # of a radius: how far the handles of a quarter of a circle stand off
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}  # of a text's width that lies before its place
DROP = 0.35  # em from the middle of a line to its base


@lru_cache(maxsize=1)
def _library() -> Any:
    """Return reportlab's canvas once the fonts are known to it; here, as few reports need it."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen import canvas

    for name, file in FONTS.values():
        pdfmetrics.registerFont(TTFont(name, file))
    return canvas


def svg_to_pdf(svg: str) -> bytes:
    """Return a figure of :mod:`analysis.figures` as PDF; the same figure gives the same bytes.

    Parameters
    ----------
    svg : str
        Of :func:`analysis.figures.drawing.figure`, whose elements alone are known here.

    Raises
    ------
    ValueError
        The document holds anything else.
    """
    root = ElementTree.fromstring(svg)
    wide, high = (math.floor(100 * POINTS * float(root.get(side, "0")) + 1e-6) / 100 for side in ("width", "height"))
    left, top, across, down = map(float, (root.get("viewBox") or "").split())
    stream = io.BytesIO()
    page = _library().Canvas(stream, pagesize=(wide, high), invariant=1, initialFontName=FONTS["normal"][0])
    page.setTitle(root.get("aria-label", "")[:200])
    page.transform(wide / across, 0, 0, -high / down, -left * wide / across, high + top * high / down)
    for element in root:
        _draw(page, element)
    page.showPage()
    page.save()
    return stream.getvalue()


def _draw(page: Any, element: ElementTree.Element) -> None:
    match element.tag.removeprefix(SVG):
        case "g":
            page.saveState()
            _move(page, element.get("transform", ""))
            for inner in element:
                _draw(page, inner)
            page.restoreState()
        case "path":
            _path(page, element)
        case "text":
            _text(page, element)
        case other:
            raise ValueError(f"a figure holds no <{other}>")


def _move(page: Any, transform: str) -> None:
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform):
        values = [float(one) for one in NUMBER.findall(numbers)]
        if name == "translate":
            page.translate(*values)
        elif name == "rotate":
            page.rotate(values[0])  # the page is upside down here, so that it turns as SVG does
        else:
            raise ValueError(f"a figure is not moved by {name}")


def _text(page: Any, element: ElementTree.Element) -> None:
    size = float(element.get("font-size", "12px").removesuffix("px"))
    weight = element.get("font-weight", "normal")
    name = FONTS["normal" if weight == "normal" else "bold"][0]
    words = SPACES.sub(" ", (element.text or "").translate(UNMARKED))  # as SVG does
    page.saveState()
    page.transform(1, 0, 0, -1, float(element.get("x", "0")), float(element.get("y", "0")) + DROP * size)
    page.setFont(name, size)
    page.setFillColor(_colour(element.get("fill", "")))
    parts = ARROWS.split(words)
    widths = [ARROW * size if ARROWS.match(part) else page.stringWidth(part, name, size) for part in parts]
    x = -sum(widths) * ANCHORS[element.get("text-anchor", "start")]
    for part, width in zip(parts, widths, strict=True):
        if ARROWS.match(part):
            _arrow(page, x, size, left=part == "\u2190")
        else:
            page.drawString(x, 0, part)
        x += width
    page.restoreState()


def _arrow(page: Any, x: float, size: float, *, left: bool) -> None:
    """Draw an arrow as wide as a letter of the size."""
    tail, tip = (x + end * size for end in (reversed(STEM) if left else STEM))
    back = (HEAD if left else -HEAD) * size
    page.setLineWidth(0.07 * size)
    outline = page.beginPath()
    outline.moveTo(tail, LOW * size)
    outline.lineTo(tip, LOW * size)
    for side in (HEAD, -HEAD):
        outline.moveTo(tip + back, (LOW + side) * size)
        outline.lineTo(tip, LOW * size)
    page.drawPath(outline)


def _colour(name: str) -> Any:
    from reportlab.lib.colors import HexColor

    return HexColor("#000000" if name == "currentColor" else name)


def _path(page: Any, element: ElementTree.Element) -> None:
    fill, width = element.get("fill", "none"), float(element.get("stroke-width", "0"))
    opacity = float(element.get("stroke-opacity", "1"))
    path = page.beginPath()
    for name, *values in _segments(element.get("d", "")):
        getattr(path, name)(*values)
    page.saveState()
    if fill != "none":
        page.setFillColor(_colour(fill))
    stroked = width > 0 and opacity > 0
    if stroked:
        page.setStrokeColor(_colour(element.get("stroke", "")))
        page.setLineWidth(width)
        page.setStrokeAlpha(opacity)
        if element.get("stroke-linecap") == "round":
            page.setLineCap(1)
        dash = [float(one) for one in NUMBER.findall(element.get("stroke-dasharray", ""))]
        if dash:
            page.setDash(dash)
    page.drawPath(path, stroke=int(stroked), fill=int(fill != "none"))
    page.restoreState()


def _segments(outline: str) -> Iterator[tuple[Any, ...]]:
    """Yield the steps of a path with absolute places: moveTo, lineTo, curveTo, close."""
    x = y = 0.0
    for step, numbers in STEP.findall(outline):
        values = [float(one) for one in NUMBER.findall(numbers)]
        if step == "Z":
            yield ("close",)
        elif step == "A":
            yield from _half_circle(x, y, *values[5:7])
            x, y = values[5:7]
        elif step in "ML":
            for place in range(0, len(values), 2):
                x, y = values[place : place + 2]
                yield ("moveTo" if step == "M" and place == 0 else "lineTo", x, y)
        elif step == "l":
            for place in range(0, len(values), 2):
                x, y = x + values[place], y + values[place + 1]
                yield ("lineTo", x, y)
        else:
            for value in values:
                x = value if step == "H" else x + value if step == "h" else x
                y = value if step == "V" else y + value if step == "v" else y
                yield ("lineTo", x, y)


def _half_circle(x: float, y: float, to_x: float, to_y: float) -> Iterator[tuple[Any, ...]]:
    """Yield two quarters of a circle whose ends lie opposite each other; clockwise on a page, as our circles are."""
    middle_x, middle_y = (x + to_x) / 2, (y + to_y) / 2
    own_x, own_y = x - middle_x, y - middle_y
    for _ in range(2):
        next_x, next_y = -own_y, own_x
        yield (
            "curveTo",
            middle_x + own_x + ROUND * next_x,
            middle_y + own_y + ROUND * next_y,
            middle_x + next_x + ROUND * own_x,
            middle_y + next_y + ROUND * own_y,
            middle_x + next_x,
            middle_y + next_y,
        )
        own_x, own_y = next_x, next_y
