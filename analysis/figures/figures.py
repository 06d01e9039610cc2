"""Figures as SVG: vector, the same bytes for the same numbers, one look.

A figure is drawn in rows: a label, and under it one dot with its interval for each group. Colour and shape stand for
the group, named above where there are several. Labels stand inside the drawing, so that it fits a paper's column and a
phone alike, and take as many lines as they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.figures.drawing import (
    AXIS,
    COLOURS,
    DASHES,
    INK,
    LINE,
    SCREEN,
    SHAPES,
    Look,
    crowd,
    cycle,
    figure,
    horizontal_axis,
    moved,
    named,
    path,
    round_steps,
    rule,
    scale,
    stacked,
    text,
)
from analysis.figures.matrices import agreement_matrix, pair_matrix
from analysis.figures.plain_text import clean, percent
from analysis.figures.rating_bars import rating_bars
from spa.rounding import number

__all__ = [
    "Axis",
    "Dot",
    "Point",
    "agreement_matrix",
    "draw",
    "forest_plot",
    "lines_plot",
    "means_plot",
    "pair_matrix",
    "rating_bars",
    "scatter_plot",
]
WIDTH = 374  # pixels of a drawing on screen
NUMBER_WIDTH = 64  # pixels for the number at the right of the axis
EDGE = 6  # pixels at the right of an axis without numbers, for a sign at its end
SQUARE = 210  # pixels of the side of a drawing with two axes, a half of its width
DOT = 17  # pixels a dot
GAP = 10  # pixels between the rows of one label and the next label
BETWEEN = 24  # pixels between panels


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A value with its interval, where it stands and what is written beside it."""

    panel: str
    label: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    answers: tuple[float, ...] = ()  # behind the value, from the lowest to the highest
    open: bool = False  # hollow: no test stands behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The horizontal axis of a figure."""

    low: float
    high: float
    title: str
    unit: str = ""
    reference: float | None = None  # where a line is drawn
    ticks: tuple[float, ...] = ()


def forest_plot(
    rows: Iterable[Mapping[str, Any]],
    *,
    system_names: Mapping[str, str] | None = None,
    group_names: Mapping[str, str] | None = None,
    criterion_names: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    value: str = "mean",
    alternative: str = "Preferences with their intervals; the table beside this figure holds the same numbers.",
    look: Look = SCREEN,
) -> str:
    """Draw shares between 0 and 1 with intervals, a line at 50%.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``preferences`` or ``choices.pairs`` of a results.json. One panel a criterion,
        one label a pair (and exposure, where there are several), one dot a group.
    system_names, group_names, criterion_names : mapping of str to str, optional
        Names to show instead of ids.
    colours : mapping of str to str, optional
        Colour of each group, so that it keeps its own in several figures.
    value : str
        Key of the share: ``"mean"`` or ``"win_rate"``.
    alternative : str
        What a screen reader says in place of the figure.
    look : Look
        Where the figure is to stand.

    Returns
    -------
    str
        An SVG document without scripts, ids or links. Text takes the colour of its surroundings.
    """
    listed = [dict(row) for row in rows]
    several_exposures = len({row.get("exposure") for row in listed}) > 1
    dots = []
    for row in listed:
        label = f"{named(system_names, row['system_x'])} over {named(system_names, row['system_y'])}"
        if several_exposures:
            label += f" ({row['exposure']} {'output' if row['exposure'] == 1 else 'outputs'} each)"
        share = row.get(value)
        text = "no answers" if share is None else percent(share) if look.numbers == "all" else ""
        dots.append(
            Dot(
                panel=named(criterion_names, row.get("criterion", "")),
                label=label,
                group=named(group_names, row["group"]),
                value=_times(share, 100),
                low=_within(_times(row.get("ci_low"), 100)),
                high=_within(_times(row.get("ci_high"), 100)),
                text=text,
                answers=tuple(100 * answer for answer in row.get("answers", ())),
                open=row.get("verdict") is None,
            )
        )
    title = "second better  \u2190  even  \u2192  first better"
    axis = Axis(low=0, high=100, title=title, unit="%", reference=50, ticks=(0, 25, 50, 75, 100))
    return draw(dots, axis, alternative, colours=_shown_colours(colours, group_names), look=look)


def means_plot(
    rows: Iterable[Mapping[str, Any]],
    *,
    system_names: Mapping[str, str] | None = None,
    group_names: Mapping[str, str] | None = None,
    criterion_names: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    title: str = "mean rating",
    alternative: str = "Mean ratings with their intervals; the table beside this figure holds the same numbers.",
    look: Look = SCREEN,
) -> str:
    """Draw mean ratings with intervals: one panel a criterion, one label a system, one dot a group.

    Parameters and result are those of :func:`forest_plot`; rows are those of ``ratings.means``
    or anything else with a ``mean``, which ``title`` then names.
    """
    listed = [dict(row) for row in rows]
    dots = [
        Dot(
            panel=named(criterion_names, row.get("criterion", "")),
            label=named(system_names, row["system"]),
            group=named(group_names, row["group"]),
            value=row.get("mean"),
            low=row.get("ci_low"),
            high=row.get("ci_high"),
            answers=tuple(row.get("answers", ())),
            text=_mean_text(row.get("mean")) if look.numbers == "all" or row.get("mean") is None else "",
        )
        for row in listed
    ]
    known = (end for dot in dots for end in (dot.value, dot.low, dot.high, *dot.answers[:1], *dot.answers[-1:]))
    ends = [end for end in known if end is not None] or [0.0, 1.0]
    margin = 0.05 * (max(ends) - min(ends)) or 0.5
    whole = all(isinstance(dot.value, int) for dot in dots)  # places
    ticks = tuple(range(int(min(ends)), int(max(ends)) + 1)) if whole else ()
    axis = Axis(low=min(ends) - margin, high=max(ends) + margin, title=title, ticks=ticks)
    return draw(dots, axis, alternative, colours=_shown_colours(colours, group_names), look=look)


def _mean_text(mean: float | None) -> str:
    if mean is None:
        return "no ratings"
    return number(mean, 0 if isinstance(mean, int) else 2)


def _shown_colours(colours: Mapping[str, str] | None, names: Mapping[str, str] | None) -> dict[str, str]:
    return {named(names, group): colour for group, colour in (colours or {}).items()}


def draw(
    dots: Sequence[Dot],
    axis: Axis,
    alternative: str,
    *,
    colours: Mapping[str, str] | None = None,
    look: Look = SCREEN,
) -> str:
    """Draw dots in panels, one below the other; of several groups a key comes first.

    Parameters
    ----------
    dots : sequence of Dot
        In the order in which they are to stand.
    axis : Axis
        What they are measured on.
    alternative : str
        What a screen reader says in place of the figure.
    colours : mapping of str to str, optional
        Colour of each group by the name that its dots have; others take what is left, in order.

    Returns
    -------
    str
        An SVG document; empty where there is no dot.
    """
    if not dots:
        return ""
    by_panel: dict[str, list[Dot]] = {}
    for dot in dots:
        by_panel.setdefault(dot.panel, []).append(dot)
    looks = _looks([dot.group for dot in dots], colours or {})
    width = look.inner(WIDTH)
    marks: list[str] = []
    top = 0.0
    if len(looks) > 1:
        signs = {group: _sign(look) for group, look in looks.items()}
        marks, top = _key(signs, lambda group, y: moved([signs[group]], 5, y), 18, width, look)
    for panel, own in by_panel.items():
        title = look.wrap(panel, width) if len(by_panel) > 1 else []
        marks += stacked(title, 0, top + LINE * len(title) / 2, size=13, weight="bold")
        top += LINE * len(title) + 6 * bool(title)
        drawn, height = _panel(own, axis, looks, width, look)
        marks.append(moved(drawn, 0, top))
        top += height + BETWEEN
    return figure(marks, width, top - BETWEEN, alternative, look=look)


def _looks(groups: Iterable[str], colours: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return shape and colour of each group."""
    known = list(dict.fromkeys(groups))
    left = [colour for colour in COLOURS if colour not in {colours[group] for group in known if group in colours}]
    rest = cycle(left or COLOURS, known)
    free = iter(rest)
    own = {group: colours[group] if group in colours else next(free) for group in known}
    return {group: (shape, own[group]) for group, shape in zip(known, cycle(SHAPES, known), strict=True)}


def _sign(look: tuple[str, str], *, hollow: bool = False) -> str:
    shape, colour = look
    return path(shape, colour=colour, fill="none" if hollow else colour, width=1.6 if hollow else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place on a line, and what the line stands for."""

    line: str
    x: float
    y: float
    colour: str = INK
    dash: str | None = None
    """Of the line; null: the next that no other line has."""


def lines_plot(
    points: Sequence[Point],
    *,
    x_title: str,
    y_title: str,
    references: Sequence[float] = (),
    alternative: str,
    look: Look = SCREEN,
) -> str:
    """Draw lines of shares between 0 and 1, each named above and told apart by dashes, or as its points say.

    Parameters
    ----------
    points : sequence of Point
        In order along each line.
    x_title, y_title : str
        What the axes show.
    references : sequence of float
        Heights at which a thin line is drawn.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no point.
    """
    if not points:
        return ""
    lines: dict[str, list[Point]] = {}
    for point in points:
        lines.setdefault(point.line, []).append(point)
    given = {name: own[0].dash for name, own in lines.items()}
    free = dict(zip(lines, cycle(DASHES, list(lines)), strict=True))
    dashes = {name: free[name] if dash is None else dash for name, dash in given.items()}
    width = look.inner(2.0 * SQUARE, 54)

    def dashed(name: str, y: float) -> str:
        return path(f"M0,{y:g}h30", colour=lines[name][0].colour, dash=dashes[name])

    marks, top = _key(lines, dashed, 38, width, look)
    ends = min(point.x for point in points), max(point.x for point in points)
    across, up = scale(*ends, 0, width), scale(0, 1, top + SQUARE, top)
    marks += [rule(0, up(y), width, up(y), width=1, opacity=0.5) for y in references]
    for name, own in lines.items():
        outline = "L".join(f"{across(point.x):.2f},{up(point.y):.2f}" for point in own)
        marks.append(path(f"M{outline}", colour=own[0].colour, dash=dashes[name]))
    ticks, written = round_steps(*ends)
    marks += horizontal_axis(across, width, up(0), x_title, ticks, [written(tick) for tick in ticks], look)
    marks.append(rule(0, up(0), 0, up(1), width=1))
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        marks.append(rule(-5, up(tick), 0, up(tick), width=1))
        marks.append(text(-8, up(tick), f"{tick:.0%}", size=11, anchor="end"))
    marks.append(f'<g transform="translate(-48,{up(0.5):.2f})rotate(-90)">{text(0, 0, y_title, anchor="middle")}</g>')
    return figure(marks, width, top + SQUARE + AXIS, alternative, left=54, look=look)


def scatter_plot(points: Sequence[tuple[str, float, float]], *, alternative: str, look: Look = SCREEN) -> str:
    """Draw points without axes, each kind named above by its shape and colour.

    Parameters
    ----------
    points : sequence of (str, float, float)
        Kind, x (right) and y (up) of each, of which only the place among the others means something.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no point.
    """
    if not points:
        return ""
    kinds = list(dict.fromkeys(kind for kind, _, _ in points))
    looks = {
        kind: path(shape, colour=colour, width=0, fill=colour)
        for kind, shape, colour in zip(kinds, cycle(SHAPES, kinds), cycle(COLOURS, kinds), strict=True)
    }
    width = look.inner(2.0 * SQUARE)
    marks, top = _key(looks, lambda kind, y: moved([looks[kind]], EDGE, y), 18, width, look)
    _, rights, ups = zip(*points, strict=True)
    bottom = top + 0.75 * width
    across, up = scale(min(rights), max(rights), EDGE, width - EDGE), scale(min(ups), max(ups), bottom, top)
    for kind, x, y in points:
        marks.append(moved([looks[kind]], across(x), up(y)))
    return figure(marks, width, bottom + LINE, alternative, look=look)


def _key(
    names: Iterable[str], sign: Callable[[str, float], str], left: float, width: float, look: Look
) -> tuple[list[str], float]:
    """Return each name with its sign before it, and the height below them; ``sign`` gets a name and its height."""
    marks, top = [], 0.0
    for name in names:
        words = look.wrap(clean(name), width - left)
        marks.append(sign(name, top + LINE / 2))
        marks += stacked(words, left, top + LINE * len(words) / 2)
        top += LINE * len(words) + 2
    return marks, top + 12


def _panel(
    dots: Sequence[Dot], axis: Axis, looks: Mapping[str, tuple[str, str]], width: float, look: Look
) -> tuple[list[str], float]:
    """Return the marks of one panel and its height; numbers stand at the right of the axis where there are any."""
    plot = width - NUMBER_WIDTH if any(dot.text for dot in dots) else width - EDGE
    across = scale(axis.low, axis.high, 0, plot)
    by_label: dict[str, list[Dot]] = {}
    for dot in dots:
        by_label.setdefault(dot.label, []).append(dot)
    behind, marks, y = [], [], 0.0
    for label, own in by_label.items():
        lines = look.wrap(label, width)
        top = y + LINE * len(lines) + 2
        marks += stacked(lines, 0, (y + top) / 2, weight="600")
        y = top
        for dot in own:
            middle = y + DOT / 2
            behind.append(crowd(dot.answers, across, middle, plot))
            shape = looks[dot.group]
            if dot.low is not None and dot.high is not None:
                marks.append(rule(across(dot.low), middle, across(dot.high), middle, colour=shape[1]))
            if dot.value is not None:
                marks.append(moved([_sign(shape, hollow=dot.open)], across(dot.value), middle))
            marks.append(text(plot + 10, middle, dot.text))
            y += DOT
        if axis.reference is not None:
            x = across(axis.reference)
            behind.append(rule(x, top, x, y, width=1, opacity=0.5))
        y += GAP
    ticks, written = round_steps(axis.low, axis.high)
    if axis.ticks:
        ticks, written = axis.ticks, "{:g}".format
    labels = [written(tick) + axis.unit for tick in ticks]
    return [*behind, *marks, *horizontal_axis(across, plot, y, axis.title, ticks, labels, look)], y + AXIS


def _within(percent: float | None) -> float | None:
    """Return the end of an interval of a share, which is drawn no further than 0 or 100%."""
    return None if percent is None else min(max(percent, 0.0), 100.0)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
