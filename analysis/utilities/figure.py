"""Differences of utilities as lines, one an annotator, from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.figures.drawing import AXIS, LINE, box, figure, horizontal_axis, rule, scale, stacked, wrap_text

WIDTH = 400  # pixels of the axis
STEP = 7  # pixels of a line
GAP = 14  # pixels after a panel
DOT = 2.5  # pixels, half of a side
MOST_LINES = 60  # of a panel; of more annotators so many evenly from the lowest to the highest
MOST_PANELS = 6
TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair: the difference of each annotator, with what the chances leave open below and above it."""

    title: str
    differences: tuple[tuple[float, float, float], ...]


def differences_figure(panels: Sequence[Panel], size: float, *, alternative: str) -> str:
    """Return an SVG document; ``size`` is the stated difference, drawn on both sides of 0."""
    across = scale(-1.0, 1.0, 0, WIDTH)
    marks: list[str] = []
    top = 0.0
    for panel in panels:
        lines = wrap_text(panel.title, WIDTH)
        marks += stacked(lines, 0, top + LINE * len(lines) / 2, weight="600")
        top += LINE * len(lines) + 4
        shown = spread([*sorted(panel.differences)])
        bottom = top + STEP * len(shown)
        marks.append(rule(across(0), top - 2, across(0), bottom, width=1))
        marks += [rule(across(at), top - 2, across(at), bottom, width=1, dash="3,3") for at in (-size, size)]
        for value, lower, upper in shown:
            middle = top + STEP / 2
            marks.append(rule(across(lower), middle, across(upper), middle, width=1.5, opacity=0.45))
            marks.append(box(across(value) - DOT, middle - DOT, across(value) + DOT, middle + DOT, "#1a1a1a"))
            top += STEP
        top += GAP
    labels = [f"{tick:g}".replace("-", "\u2212") for tick in TICKS]
    marks += horizontal_axis(across, WIDTH, top, "Difference of utilities", TICKS, labels)
    return figure(marks, WIDTH, top + AXIS, alternative)


def spread(values: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Return at most as many values as a panel holds, evenly from the first to the last.

    >>> len(spread([(0.0, 0.0, 0.0)] * 200)), len(spread([(0.0, 0.0, 0.0)] * 3))
    (60, 3)
    """
    if len(values) <= MOST_LINES:
        return [*values]
    last = len(values) - 1
    return [values[round(place * last / (MOST_LINES - 1))] for place in range(MOST_LINES)]
