"""The classes of papers: how wide their text is, in inches, and what begins a document with these lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from analysis.figures.drawing import Look

TEX_POINTS, PDF_POINTS, PIXELS = 72.27, 72.0, 96.0  # an inch
LINE_SIZE = 12  # units of most letters of figures


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperClass:
    """Where tables and figures have to fit; lengths in inches, as measured in documents of the class.

    Attributes
    ----------
    text : float
        Width of the text block.
    column : float
        Width of what fits into one column, also where a class of one column is set in two.
    figure : float
        Width of a figure that needs no more room.
    size : int
        Points of the text: an option of ``article``.
    caption : int
        Points of captions, and of most letters of figures.
    columns : int
        Columns of the class itself.
    preamble : str
        What users of the class write in place of ``article``.
    """

    title: str
    text: float
    column: float
    figure: float
    size: int
    caption: int
    columns: int
    preamble: str


PAPERS: Mapping[str, PaperClass] = MappingProxyType(
    {
        "acl": PaperClass(
            title="ACL",
            text=6.2992,
            column=3.0315,
            figure=3.0315,
            size=11,
            caption=10,
            columns=2,
            preamble=r"\documentclass[11pt]{article} \usepackage{acl}",
        ),
        "neurips": PaperClass(
            title="NeurIPS",
            text=5.5,
            column=2.68,
            figure=5.5,
            size=10,
            caption=10,
            columns=1,
            preamble=r"\documentclass{article} \usepackage{neurips_2025}",
        ),
        "generic": PaperClass(  # article as it is: 345 points; its own two columns are wider than half of that
            title="article",
            text=4.7737,
            column=2.3176,
            figure=4.7737,
            size=10,
            caption=10,
            columns=1,
            preamble=r"\documentclass{article}",
        ),
    }
)


def look_of(inches: float, kind: PaperClass) -> Look:
    """Return the look of figures of a width, whose lines of text are as large as the class's captions."""
    zoom = kind.caption * PIXELS / TEX_POINTS / LINE_SIZE
    return Look(total=math.floor(100 * rounded_down(inches, PIXELS) / zoom) / 100, zoom=zoom, side=3, letters=1.13)


def rounded_down(inches: float, unit: float) -> float:
    """Return a length in hundredths of TeX points, PDF points or pixels, never more than it is.

    >>> rounded_down(3.0315, TEX_POINTS), rounded_down(3.0315, PDF_POINTS), rounded_down(5.5, PIXELS)
    (219.08, 218.26, 528.0)
    """
    return math.floor(100 * inches * unit + 1e-9) / 100
