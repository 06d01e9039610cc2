"""What all figures share: colours, fonts, the width of text, and the way from a description to SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

from analysis.figures.plain_text import clean, shown_name

Value = TypeVar("Value")
# Of systems: Okabe & Ito (2008), those with enough contrast on white and on black first, then two as far from them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9048F0", "#904830")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")  # of groups
DASHES = ([1, 0], [7, 3], [2, 2], [10, 3, 2, 3], [4, 4], [1, 3])  # of lines
GREYS = ("#EEEEEE", "#4D4D4D")  # of shares, from none to all
INK = "#1b1c1d"  # becomes the colour of the text around, so that a figure can stand on dark ground
DRAWN = "sans-serif"  # fonts of this machine would take most of the time to measure, and differ elsewhere
FONT = "system-ui, Noto Sans, Noto Sans CJK SC, WenQuanYi Zen Hei, Noto Sans Arabic, DejaVu Sans, Arial, sans-serif"
LINE = 15  # pixels a line of text
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
LOOK = {  # of every figure
    "background": "transparent",
    "font": DRAWN,
    "aria": False,
    "padding": {"left": 12, "right": 12, "top": 4, "bottom": 4},  # readers' fonts are wider than the one measured
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
    svg = svg.replace(""" aria-label="Title text ''\"""", "")  # says nothing, of an element that has no role
    svg = svg.replace(INK, "currentColor").replace(f'font-family="{DRAWN}"', f'font-family="{FONT}"')
    return svg.replace("<svg ", f'<svg role="img" aria-label={quoteattr(str(clean(alternative)))} ', 1)


def system_colours(systems: Iterable[str]) -> dict[str, str]:
    """Return the colour of each system, by its place in the study; of more systems than colours, ink for all.

    Colours that return would say that two systems are one; names stand beside every mark in any case.
    """
    known = list(dict.fromkeys(systems))
    return dict(zip(known, COLOURS if len(known) <= len(COLOURS) else repeat(INK), strict=False))


def wrap_text(text: str, width: float) -> list[str]:
    """Break text into lines that fit, at spaces or signs where there are some, reckoning with usual widths of letters.

    Measuring with the fonts of a machine would take most of the time and differ between machines.

    >>> wrap_text("a name of several words", 70)
    ['a name of', 'several', 'words']
    """
    lines = [""]
    room = width
    for word in re.findall(r"[^\s/_-]*[/_-]+|[^\s/_-]+|\s+", text):
        if sum(map(_width, word)) > room and lines[-1].strip():
            lines.append("")
            room = width
        for character in word:
            if _width(character) > room and lines[-1]:
                lines.append("")
                room = width
            lines[-1] += character
            room -= _width(character)
    return _isolated([line.strip() for line in lines if line.strip()] or [""])


def _isolated(lines: Sequence[str]) -> list[str]:
    """Close what is kept apart from its neighbours at the end of each line, and open it again on the next."""
    found, open_ = [], False
    for line in lines:
        whole = ("\u2068" if open_ else "") + line
        open_ = whole.count("\u2068") > whole.count("\u2069")
        found.append(whole + ("\u2069" if open_ else ""))
    return found


def stacked(lines: Sequence[str], middle: float, field: str) -> list[dict[str, Any]]:
    """Return one mark a line of text, around a height in pixels."""
    first = middle - LINE * (len(lines) - 1) / 2
    return [{"y": first + LINE * number, field: line} for number, line in enumerate(lines)]


def _width(character: str) -> float:
    if unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0.0
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
