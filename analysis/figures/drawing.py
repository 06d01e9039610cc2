"""What all figures share: colours, the width of text, and marks placed in pixels, y from the top, as SVG.

Every figure is reckoned in pixels beforehand, so that nothing has to be measured or laid out to draw it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import repeat
from typing import Literal, TypeVar

from analysis.figures.plain_text import clean, shown_name
from spa.rounding import MINUS

Value = TypeVar("Value")
# Of systems: Okabe & Ito (2008), those with enough contrast on white and on black first, then two as far from them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9048F0", "#904830")
SHAPES = (  # of groups: outlines around 0, 0
    "M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0Z",  # circle
    "M-4,-4h8v8h-8Z",  # square
    "M0,-4L-4.5,4h9Z",  # triangle
    "M0,-5L5,0L0,5L-5,0Z",  # diamond
    "M-5,-2h3v-3h4v3h3v4h-3v3h-4v-3h-3Z",  # cross
    "M0,4L-4.5,-4h9Z",  # triangle upside down
)
DASHES = ("", "7 3", "2 2", "10 3 2 3", "4 4", "1 3")  # of lines
GREYS = (0xEE, 0x4D)  # of shares, from none to all
INK = "currentColor"  # that of the text around, so that a figure can stand on dark ground
FONT = "system-ui, Noto Sans, Noto Sans CJK SC, WenQuanYi Zen Hei, Noto Sans Arabic, DejaVu Sans, Arial, sans-serif"
LINE = 15  # pixels a line of text
SIDE = 12  # pixels left and right of a figure: readers' fonts may be wider than reckoned with
CROWD = 6  # pixels that single values lie above or below the middle of their line
AXIS = 40  # pixels under a drawing for its axis
PAPER_FONT = "Bitstream Vera Sans, DejaVu Sans, Verdana, sans-serif"  # the first two have the same letters
BLACK = "#000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Where a figure is to stand: on screen as wide as each likes, in a paper as wide as a column.

    Attributes
    ----------
    total : float, optional
        Width with both sides, in the units in which a line of text is 12 high; each drawing's own where absent.
    zoom : float
        Pixels a unit.
    side : float
        Units left and right of a drawing.
    letters : float
        How much wider letters are than is reckoned with.
    numbers : {"all", "cells", "none"}
        Which values are written as text: all, those of cells and bars alone, whose greys say little, or none.
    """

    total: float | None = None
    zoom: float = 1.0
    side: float = SIDE
    letters: float = 1.0
    numbers: Literal["all", "cells", "none"] = "all"

    def inner(self, own: float, left: float = 0.0) -> float:
        """Return the width of a drawing, whose own is given, with so much before it."""
        return own if self.total is None else self.total - 2 * self.side - left

    def wrap(self, words: str, width: float) -> list[str]:
        """Break words into lines that fit a width."""
        return wrap_text(words, width / self.letters)


SCREEN = Look()


def figure(
    marks: Iterable[str],
    width: float,
    height: float,
    alternative: str,
    *,
    left: float = 0.0,
    above: float = 0.0,
    look: Look = SCREEN,
) -> str:
    """Return marks as an SVG document; ``left`` and ``above`` are the room for what stands before 0."""
    wide, high = left + width + 2 * look.side, above + height + 8
    drawn = "".join(marks)
    return (
        f'<svg role="img" aria-label="{_escaped(str(clean(alternative)))}" xmlns="http://www.w3.org/2000/svg" '
        f'width="{_n(look.zoom * wide)}" height="{_n(look.zoom * high)}" '
        f'viewBox="{_n(-left - look.side)} {_n(-above - 4)} {_n(wide)} {_n(high)}">'
        f'<g font-family="{FONT if look.total is None else PAPER_FONT}">'
        f"{drawn if look.total is None else drawn.replace(INK, BLACK)}</g></svg>"
    )


def _escaped(words: str) -> str:
    return escape(words, quote=False).replace('"', "&quot;")


def moved(marks: Iterable[str], x: float, y: float) -> str:
    """Return marks further to the right and down."""
    return f'<g transform="translate({_n(x)},{_n(y)})">{"".join(marks)}</g>'


def text(
    x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", weight: str = "normal", ink: str = INK
) -> str:
    """Write one line, its middle at a height; nothing for no words."""
    look = f'font-size="{size}px" font-weight="{weight}" text-anchor="{anchor}" fill="{ink}"'
    shown = escape(clean(words), quote=False)
    return f'<text x="{_n(x)}" y="{_n(y)}" dy=".35em" {look}>{shown}</text>' if words else ""


def stacked(lines: Sequence[str], x: float, middle: float, *, size: int = 12, weight: str = "normal") -> list[str]:
    """Write lines of text one below the other around a height."""
    first = middle - LINE * (len(lines) - 1) / 2
    return [text(x, first + LINE * number, line, size=size, weight=weight) for number, line in enumerate(lines)]


def rule(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    *,
    colour: str = INK,
    width: float = 2,
    opacity: float = 1,
    dash: str = "",
) -> str:
    """Draw a straight line."""
    return path(f"M{_n(x1)},{_n(y1)}L{_n(x2)},{_n(y2)}", colour=colour, width=width, opacity=opacity, dash=dash)


def path(
    outline: str,
    *,
    colour: str = INK,
    width: float = 2,
    fill: str = "none",
    opacity: float = 1,
    dash: str = "",
    ends: str = "",
) -> str:
    """Draw an outline, filled or not; of lines without length their round ``ends`` are seen."""
    more = f' stroke-dasharray="{dash}"' if dash else ""
    more += f' stroke-linecap="{ends}"' if ends else ""
    look = f'fill="{fill}" stroke="{colour}" stroke-width="{width}" stroke-opacity="{opacity}"{more}'
    return f'<path d="{outline}" {look}/>'


def box(left: float, top: float, right: float, bottom: float, fill: str, *, edge: float = 0.0) -> str:
    """Fill a rectangle, within an edge of some width."""
    outline = f"M{_n(left)},{_n(top)}H{_n(right)}V{_n(bottom)}H{_n(left)}Z"
    return path(outline, fill=fill, width=edge, opacity=0.4 if edge else 0)


def grey(share: float) -> str:
    """Return the grey of a share, darker the higher."""
    level = round(GREYS[0] + (GREYS[1] - GREYS[0]) * min(max(share, 0.0), 1.0))
    return f"#{level:02x}{level:02x}{level:02x}"


def crowd(values: Sequence[float], across: Callable[[float], float], middle: float, width: float) -> str:
    """Draw ascending values as small dots around a height, those that are equal side by side; nothing for none.

    Equal ones at the ends of an axis, which is so wide, lie within it.

    Where each lies above or below is settled by its place among the others, so that the same values give the same dots.
    """
    alike = Counter(values)
    seen: Counter[float] = Counter()
    steps = []
    for place, value in enumerate(values, 1):
        seen[value] += 1
        aside = min(CROWD, 0.6 * (alike[value] - 1))
        x = min(max(across(value), aside), width - aside) + aside * (2 * _spread(seen[value], 3) - 1)
        steps.append(f"M{_n(x)},{_n(middle + CROWD * (2 * _spread(place, 2) - 1))}h0")
    return path("".join(steps), width=2.6, opacity=0.35, ends="round") if steps else ""


def _spread(place: int, base: int) -> float:
    """Return a number in (0, 1) of the van der Corput sequence: those of successive places lie apart.

    >>> [_spread(place, 2) for place in (1, 2, 3)]
    [0.5, 0.25, 0.75]
    """
    found, part = 0.0, 1.0
    while place:
        part /= base
        found += part * (place % base)
        place //= base
    return found


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Return where a value between two others stands between two pixels."""
    return lambda value: start + (end - start) * (value - low) / ((high - low) or 1.0)


def round_steps(low: float, high: float, count: int = 5) -> tuple[tuple[float, ...], Callable[[float], str]]:
    """Return about so many round values within a range, and how they are written.

    >>> steps, written = round_steps(-0.3, 0.25)
    >>> [written(step) for step in steps]
    ['−0.3', '−0.2', '−0.1', '0.0', '0.1', '0.2']
    """
    rough = (high - low or 1.0) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(
        factor for factor, bound in ((1, 2), (2, 10), (5, 50), (10, 101)) if (rough / power) ** 2 < bound
    )
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(step * place for place in range(first, last + 1)), lambda value: _signed(f"{value:,.{decimals}f}")


def horizontal_axis(
    across: Callable[[float], float],
    width: float,
    top: float,
    title: str,
    ticks: Sequence[float],
    labels: Sequence[str],
    look: Look = SCREEN,
) -> list[str]:
    """Draw an axis under a drawing; where labels would touch, every second is left out, or more."""
    widest = look.letters * max(map(text_width, labels), default=0.0) + 6
    every = 1
    while len(ticks) > every and abs(across(ticks[every]) - across(ticks[0])) < widest:
        every *= 2
    marks = [rule(0, top, width, top, width=1)]
    for number, (tick, label) in enumerate(zip(ticks, labels, strict=True)):
        x = across(tick)
        marks.append(rule(x, top, x, top + 5, width=1))
        if number % every == 0:
            half = look.letters * text_width(label) / 2
            first, last = x < max(1, half - look.side), x > width - max(1, half - look.side)
            anchor = "start" if first else "end" if last else "middle"
            marks.append(text(x, top + 12, label, size=11, anchor=anchor))
    size = 12 if look.letters * text_width(title) <= width else 10
    return [*marks, text(width / 2, top + 28, title, size=size, anchor="middle")]


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
        if text_width(word) > room and lines[-1].strip():
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


def text_width(text: str) -> float:
    """Return the pixels that a text usually takes."""
    return sum(map(_width, text))


def _n(value: float) -> str:
    """Write pixels, in hundredths."""
    return f"{round(value, 2) + 0.0:.10g}"


def _signed(number: str) -> str:
    return number.replace("-", MINUS) if float(number.replace(",", "")) else number.lstrip("-")


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
