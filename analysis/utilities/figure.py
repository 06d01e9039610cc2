"""Differences of utilities as lines, one an annotator, from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.figures.drawing import (
    AXIS,
    INK,
    LINE,
    SCREEN,
    Look,
    box,
    figure,
    horizontal_axis,
    rule,
    scale,
    stacked,
)

WIDTH = 400  # pixels of the axis
STEP = 7  # pixels of a line
GAP = 14  # pixels after a panel
DOT = 2.5  # pixels, half of a side
MOST_LINES = 60  # of a panel; of more annotators so many evenly from the lowest to the highest
MOST_PANELS = 6
TALLEST = 540  # pixels of a figure in a paper, where lines lie closer together instead
TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair: the difference of each annotator, with what the chances leave open below and above it."""

    title: str
    differences: tuple[tuple[float, float, float], ...]


def differences_figure(panels: Sequence[Panel], size: float, *, alternative: str, look: Look = SCREEN) -> str:
    """Return an SVG document; ``size`` is the stated difference, drawn on both sides of 0."""
    width = look.inner(WIDTH)
    across = scale(-1.0, 1.0, 0, width)
    titles = [look.wrap(panel.title, width) for panel in panels]
    step = _step(panels, titles, look)
    dot = min(DOT, 0.5 * step)
    marks: list[str] = []
    top = 0.0
    for panel, lines in zip(panels, titles, strict=True):
        marks += stacked(lines, 0, top + LINE * len(lines) / 2, weight="600")
        top += LINE * len(lines) + 4
        shown = spread([*sorted(panel.differences)])
        bottom = top + step * len(shown)
        marks.append(rule(across(0), top - 2, across(0), bottom, width=1))
        marks += [rule(across(at), top - 2, across(at), bottom, width=1, dash="3,3") for at in (-size, size)]
        for value, lower, upper in shown:
            middle = top + step / 2
            marks.append(rule(across(lower), middle, across(upper), middle, width=min(1.5, 0.6 * step), opacity=0.45))
            marks.append(box(across(value) - dot, middle - dot, across(value) + dot, middle + dot, INK))
            top += step
        top += GAP
    labels = [f"{tick:g}".replace("-", "\u2212") for tick in TICKS]
    marks += horizontal_axis(across, width, top, "Difference of utilities", TICKS, labels, look)
    return figure(marks, width, top + AXIS, alternative, look=look)


def _step(panels: Sequence[Panel], titles: Sequence[Sequence[str]], look: Look) -> float:
    """Return the pixels of a line: in a paper so few that all panels fit on a page."""
    if look.total is None:
        return STEP
    lines = sum(min(len(panel.differences), MOST_LINES) for panel in panels)
    words = sum(LINE * len(title) + 4 + GAP for title in titles)
    return min(STEP, max(0.5, (TALLEST - AXIS - words) / max(lines, 1)))


def spread(values: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Return at most as many values as a panel holds, evenly from the first to the last.

    >>> len(spread([(0.0, 0.0, 0.0)] * 200)), len(spread([(0.0, 0.0, 0.0)] * 3))
    (60, 3)
    """
    if len(values) <= MOST_LINES:
        return [*values]
    last = len(values) - 1
    return [values[round(place * last / (MOST_LINES - 1))] for place in range(MOST_LINES)]
