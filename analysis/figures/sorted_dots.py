"""Figure of many values of one kind, sorted: a small dot each, with its band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.figures.drawing import (
    AXIS,
    COLOURS,
    LINE,
    SCREEN,
    Look,
    figure,
    horizontal_axis,
    moved,
    path,
    round_steps,
    rule,
    scale,
    stacked,
)

WIDTH = 374  # pixels on screen
EACH = 5.0  # pixels a dot
BETWEEN = 8.0
CIRCLE = "M2,0A2,2,0,1,1,-2,0A2,2,0,1,1,2,0Z"


def sorted_dots(
    panels: Mapping[str, Sequence[tuple[float, float, float]]],
    *,
    low: float,
    high: float,
    even: float,
    title: str,
    unit: str = "",
    alternative: str,
    look: Look = SCREEN,
) -> str:
    """Draw values with bands, one below the other, a panel below the other.

    Parameters
    ----------
    panels : mapping of str to sequence of (float, float, float)
        Heading -> value, and the ends of its band, in the order in which they are to stand.
    low, high : float
        Ends of the axis, beyond which bands are cut.
    even : float
        Where a line is drawn.
    title, unit : str
        Of the axis.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document.
    """
    width = look.inner(float(WIDTH))
    across = scale(low, high, 0, width)
    marks: list[str] = []
    y = 0.0
    for heading, dots in panels.items():
        lines = look.wrap(heading, width)
        marks += stacked(lines, 0, y + LINE * len(lines) / 2, weight="600")
        y += LINE * len(lines) + 4
        marks.append(rule(across(even), y, across(even), y + EACH * len(dots), width=1, opacity=0.5))
        for value, bottom, top in dots:
            y += EACH / 2
            ends = [across(min(max(end, low), high)) for end in (bottom, top)]
            marks.append(rule(ends[0], y, ends[1], y, colour=COLOURS[0], width=1, opacity=0.5))
            place = across(min(max(value, low), high))
            marks.append(moved([path(CIRCLE, colour=COLOURS[0], fill=COLOURS[0], width=0)], place, y))
            y += EACH / 2
        y += BETWEEN
    ticks, written = round_steps(low, high)
    marks += horizontal_axis(across, width, y, title, ticks, [written(tick) + unit for tick in ticks], look)
    return figure(marks, width, y + AXIS, alternative, look=look)
