"""What all figures share: colours, fonts, the width of text, and the way from a description to SVG."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

from analysis.figures.plain_text import clean, shown_name

Value = TypeVar("Value")
# Okabe & Ito (2008), those with enough contrast on white and on black first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [7, 3], [2, 2], [10, 3, 2, 3], [4, 4], [1, 3])  # of lines
INK = "#1b1c1d"  # becomes the colour of the text around, so that a figure can stand on dark ground
DRAWN = "sans-serif"  # fonts of this machine would take most of the time to measure, and differ elsewhere
FONT = "system-ui, Noto Sans, Noto Sans CJK SC, WenQuanYi Zen Hei, Noto Sans Arabic, DejaVu Sans, Arial, sans-serif"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
LOOK = {  # of every figure
    "background": "transparent",
    "font": DRAWN,
    "aria": False,
    "padding": 4,
    "view": {"continuousWidth": 300, "continuousHeight": 300, "stroke": None},
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "domainColor", "tickColor"), INK),
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 12,
    },
    "title": {"color": INK, "anchor": "start", "fontSize": 13, "offset": 6},
}


def to_svg(specification: Mapping[str, Any], datasets: Mapping[str, Any], alternative: str) -> str:
    """Give a drawing the look of the house and draw it; data stand beside it, where altair would copy each value."""
    import vl_convert

    drawing = {**specification, "config": LOOK, "datasets": dict(datasets)}
    svg: str = vl_convert.vegalite_to_svg(drawing)
    svg = svg.replace(INK, "currentColor").replace(f'font-family="{DRAWN}"', f'font-family="{FONT}"')
    return svg.replace("<svg ", f'<svg role="img" aria-label={quoteattr(str(clean(alternative)))} ', 1)


def cut_text(text: str, width: float) -> str:
    """Cut text so that it fits, reckoning with usual widths of letters.

    Measuring with the fonts of a machine would take most of the time and differ between machines.
    """
    room = width
    for position, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[: max(position - 1, 1)].rstrip() + "\u2026" + ("\u2069" if "\u2068" in text else "")
    return text


def _width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 12.5
    if character in "iljtfrI.,:;'|!()[]/ ":
        return 4.6
    return 9.4 if character.isupper() or character in "mwMW@%&" else 7.2


def cycle(values: Sequence[Value], keys: Sequence[str]) -> list[Value]:
    """Return one value a key, from the start again where there are more keys."""
    return [values[position % len(values)] for position in range(len(keys))]


def named(names: Mapping[str, str] | None, key: str) -> str:
    """Return what a system, group or criterion is called in a figure."""
    return shown_name((names or {}).get(key, key))
