"""Figures as SVG: vector, the same bytes for the same numbers, one look.

A figure is drawn in rows: a label, and under it one dot with its interval for each group. A colour stands for a
system, a shape for a group. Labels stand inside the drawing, so that it fits a paper's column and a phone alike, and
take as many lines as they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.figures.drawing import (
    DASHES,
    INK,
    LINE,
    SCHEMA,
    SHAPES,
    cycle,
    named,
    stacked,
    system_colours,
    to_svg,
    wrap_text,
)
from analysis.figures.matrices import agreement_matrix, pair_matrix
from analysis.figures.plain_text import clean, number, percent
from analysis.figures.rating_bars import rating_bars

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
]
PLOT_WIDTH = 210  # pixels of the axis
TEXT_WIDTH = 200  # pixels for number and group at its right
WIDTH = PLOT_WIDTH + TEXT_WIDTH
NUMBER_WIDTH = 76  # of these, for the number and its stars
DOT = 17  # pixels a dot
GAP = 10  # pixels between the rows of one label and the next label


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
    open: bool = False  # hollow: no test stands behind it
    colour: str = INK


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
) -> str:
    """Draw shares between 0 and 1 with intervals, a line at 50 %.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``preferences`` or ``choices.pairs`` of a results.json. One panel a criterion,
        one label a pair (and exposure, where there are several), one dot a group.
    system_names, group_names, criterion_names : mapping of str to str, optional
        Names to show instead of ids.
    colours : mapping of str to str, optional
        Colour of each system, of which a dot takes that of the system it speaks for.
    value : str
        Key of the share: ``"mean"`` or ``"win_rate"``.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document without scripts, ids or links. Text takes the colour of its surroundings.
    """
    listed = [dict(row) for row in rows]
    several_exposures = len({row.get("exposure") for row in listed}) > 1
    colours = colours or system_colours(row[side] for side in ("system_x", "system_y") for row in listed)
    dots = []
    for row in listed:
        label = f"{named(system_names, row['system_x'])} over {named(system_names, row['system_y'])}"
        if several_exposures:
            label += f" ({row['exposure']} {'output' if row['exposure'] == 1 else 'outputs'} each)"
        share = row.get(value)
        text = "no answers" if share is None else percent(share) + (row.get("stars") or "")
        dots.append(
            Dot(
                panel=named(criterion_names, row.get("criterion", "")),
                label=label,
                group=named(group_names, row["group"]),
                value=_times(share, 100),
                low=_within(_times(row.get("ci_low"), 100)),
                high=_within(_times(row.get("ci_high"), 100)),
                text=text,
                open=row.get("verdict") is None,
                colour=colours.get(_favoured(row, share), INK),
            )
        )
    title = "second better  \u2190  even  \u2192  first better"
    axis = Axis(low=0, high=100, title=title, unit="%", reference=50, ticks=(0, 25, 50, 75, 100))
    return draw(dots, axis, alternative)


def _favoured(row: Mapping[str, Any], share: float | None) -> str:
    """Return the system that a share speaks for; none where it is even."""
    return "" if share in (None, 0.5) else str(row["system_x"] if share > 0.5 else row["system_y"])


def means_plot(
    rows: Iterable[Mapping[str, Any]],
    *,
    system_names: Mapping[str, str] | None = None,
    group_names: Mapping[str, str] | None = None,
    criterion_names: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    title: str = "mean rating",
    alternative: str = "Mean ratings with their intervals; the table beside this figure holds the same numbers.",
) -> str:
    """Draw mean ratings with intervals: one panel a criterion, one label a system, one dot a group.

    Parameters and result are those of :func:`forest_plot`; rows are those of ``ratings.means``
    or anything else with a ``mean``, which ``title`` then names.
    """
    listed = [dict(row) for row in rows]
    colours = colours or system_colours(row["system"] for row in listed)
    dots = [
        Dot(
            panel=named(criterion_names, row.get("criterion", "")),
            label=named(system_names, row["system"]),
            group=named(group_names, row["group"]),
            value=row.get("mean"),
            low=row.get("ci_low"),
            high=row.get("ci_high"),
            text=_mean_text(row.get("mean")),
            colour=colours.get(row["system"], INK),
        )
        for row in listed
    ]
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None] or [0.0, 1.0]
    margin = 0.05 * (max(ends) - min(ends)) or 0.5
    whole = all(isinstance(dot.value, int) for dot in dots)  # places
    ticks = tuple(range(int(min(ends)), int(max(ends)) + 1)) if whole else ()
    return draw(dots, Axis(low=min(ends) - margin, high=max(ends) + margin, title=title, ticks=ticks), alternative)


def _mean_text(mean: float | None) -> str:
    if mean is None:
        return "no ratings"
    return number(mean, 0 if isinstance(mean, int) else 2)


def draw(dots: Sequence[Dot], axis: Axis, alternative: str) -> str:
    """Draw dots in panels, one below the other.

    Returns
    -------
    str
        An SVG document; empty where there is no dot.
    """
    if not dots:
        return ""
    panels = list(dict.fromkeys(dot.panel for dot in dots))
    groups = list(dict.fromkeys(dot.group for dot in dots))
    places = [_places([dot for dot in dots if dot.panel == panel], axis.reference) for panel in panels]
    charts = [
        _panel(number, place, axis, groups, panel if len(panels) > 1 else "")
        for number, (panel, place) in enumerate(zip(panels, places, strict=True))
    ]
    datasets = {
        f"{kind}{number}": values
        for number, place in enumerate(places)
        for kind in ("rows", "labels", "lines", "groups")
        for values in [getattr(place, kind)]
    }
    return to_svg({"$schema": SCHEMA, "vconcat": charts, "spacing": 24}, datasets, alternative)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place on a line, and what the line stands for."""

    line: str
    x: float
    y: float
    colour: str = INK


def lines_plot(
    points: Sequence[Point], *, x_title: str, y_title: str, references: Sequence[float] = (), alternative: str
) -> str:
    """Draw lines of shares between 0 and 1, each named above and told apart by dashes; a colour is of a system.

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
    import altair as alt

    names = list(dict.fromkeys(point.line for point in points))
    across = alt.X("x:Q", title=x_title, axis=alt.Axis(grid=False, tickCount=5), scale=alt.Scale(nice=False))
    ticks = alt.Axis(grid=False, values=[0, 0.2, 0.4, 0.6, 0.8, 1], format="%")
    up = alt.Y("y:Q", title=y_title, axis=ticks, scale=alt.Scale(domain=[0, 1]))
    colours = {point.line: point.colour for point in points}
    colour = alt.Color("line:N", legend=None, scale=alt.Scale(domain=names, range=[colours[name] for name in names]))
    dashes = alt.StrokeDash("line:N", legend=None, scale=alt.Scale(domain=names, range=cycle(DASHES, names)))
    lines = {name: wrap_text(clean(name), 2 * PLOT_WIDTH - 38) for name in names}
    height, marks, shown = 0.0, [], []
    for name, own in lines.items():
        marks.append({"line": name, "y": height + LINE / 2})
        shown += stacked(own, height + LINE * len(own) / 2, "text")
        height += LINE * len(own) + 2
    down = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    key = alt.layer(
        alt.Chart(alt.NamedData(name="marks"))
        .mark_rule(strokeWidth=2)
        .encode(x=alt.value(0), x2=alt.value(30), y=down, color=colour, strokeDash=dashes),
        alt.Chart(alt.NamedData(name="names"))
        .mark_text(align="left", baseline="middle", color=INK, fontSize=12)
        .encode(x=alt.value(38), y=down, text="text:N"),
    ).properties(width=2 * PLOT_WIDTH, height=height)
    drawn = alt.layer(
        alt.Chart(alt.NamedData(name="references"))
        .mark_rule(color=INK, strokeDash=[2, 3], opacity=0.5)
        .encode(y=alt.Y("y:Q", axis=ticks, title=y_title)),
        alt.Chart(alt.NamedData(name="points"))
        .mark_line(strokeWidth=2)
        .encode(x=across, y=up, color=colour, strokeDash=dashes),
    ).properties(width=2 * PLOT_WIDTH, height=PLOT_WIDTH)
    datasets = {
        "points": [{"line": point.line, "x": point.x, "y": point.y} for point in points],
        "references": [{"y": height} for height in references],
        "marks": marks,
        "names": shown,
    }
    specification = alt.vconcat(key, drawn, spacing=12).to_dict(validate=False)  # the tests draw every figure
    return to_svg(specification, datasets, alternative)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Rows, their labels, dots and groups of one panel, with their heights in pixels from the top."""

    rows: list[dict[str, Any]]
    labels: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    height: float


def _panel(number: int, places: _Places, axis: Axis, groups: Sequence[str], title: str) -> dict[str, Any]:
    """Return one panel as Vega-Lite, of which altair would copy every part several times."""
    scale = {"nice": False, "zero": False}
    depth, across = ({"domain": [*ends], **scale} for ends in ((places.height, 0), (axis.low, axis.high)))
    ticks = {"title": axis.title, "labelExpr": f"datum.label + '{axis.unit}'", "grid": False, "tickCount": 5}
    if axis.ticks:
        ticks |= {"values": list(axis.ticks), "labelExpr": f"datum.value + '{axis.unit}'"}
    down = {"field": "y", "type": "quantitative", "axis": None, "scale": depth}
    x = {"field": "value", "type": "quantitative", "axis": ticks, "scale": across}
    colour = {"field": "colour", "type": "nominal", "scale": None}
    shapes = {"domain": groups, "range": cycle(SHAPES, groups)}
    shape = {"field": "group", "type": "nominal", "legend": None, "scale": shapes}

    def layer(data: str, mark: dict[str, Any], *filters: str, **encoding: Any) -> dict[str, Any]:
        made = {"data": {"name": f"{data}{number}"}, "mark": mark, "encoding": {"y": down, **encoding}}
        return made | ({"transform": [{"filter": condition} for condition in filters]} if filters else {})

    def words(data: str, place: float, field: str, **more: Any) -> dict[str, Any]:
        mark = {"type": "text", "align": "left", "baseline": "middle", "color": INK, "fontSize": 12, **more}
        return layer(data, mark, x={"value": place}, text={"field": field, "type": "nominal"})

    def point(condition: str, **mark: Any) -> dict[str, Any]:
        known = "isValid(datum.value)"
        return layer("lines", {"type": "point", "opacity": 1, **mark}, known, condition, x=x, color=colour, shape=shape)

    interval = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour}
    hollow = {line["open"] for line in places.lines}
    layers = [  # those that show something: each takes time
        words("labels", 0, "label", fontWeight=600),
        layer("lines", {"type": "rule", "strokeWidth": 2}, "isValid(datum.low)", **interval),
        *([point("!datum.open", filled=True, size=62)] if False in hollow else []),
        *([point("datum.open", filled=False, size=52, strokeWidth=1.6)] if True in hollow else []),
        words("lines", PLOT_WIDTH + 10, "text"),
        *([words("groups", PLOT_WIDTH + NUMBER_WIDTH, "who")] if places.groups else []),
        layer(  # one width for all figures, whatever the names
            "rows", {"type": "rule", "opacity": 0}, x={"value": 0}, x2={"value": WIDTH}
        ),
    ]
    if axis.reference is not None:
        line = {"x": {**x, "field": "reference"}, "y": {**down, "field": "top"}, "y2": {"field": "bottom"}}
        layers.insert(0, layer("rows", {"type": "rule", "color": INK, "opacity": 0.5}, **line))
    return {
        "layer": layers,
        "width": PLOT_WIDTH,
        "height": places.height,
        "title": wrap_text(title, WIDTH),
    }


def _places(dots: Sequence[Dot], reference: float | None) -> _Places:
    found = _Places(rows=[], labels=[], lines=[], groups=[], height=0.0)
    by_label: dict[str, list[Dot]] = {}
    for dot in dots:
        by_label.setdefault(dot.label, []).append(dot)
    several = len({dot.group for dot in dots}) > 1
    y = 0.0
    for label, own in by_label.items():
        lines = wrap_text(label, WIDTH)
        top = y + LINE * len(lines) + 2
        found.labels.extend(stacked(lines, (y + top) / 2, "label"))
        y = top
        for dot in own:
            who = wrap_text(dot.group, TEXT_WIDTH - NUMBER_WIDTH) if several else []
            height = max(DOT, LINE * len(who) + 2)
            place = {"y": y + height / 2, "value": dot.value, "low": dot.low, "high": dot.high, "open": dot.open}
            found.lines.append({**place, "group": dot.group, "text": dot.text, "colour": dot.colour})
            found.groups.extend(stacked(who, y + height / 2, "who"))
            y += height
        found.rows.append({"y": top, "top": top, "bottom": y, "reference": reference})
        y += GAP
    return replace(found, height=y)


def _within(percent: float | None) -> float | None:
    """Return the end of an interval of a share, which is drawn no further than 0 or 100 %."""
    return None if percent is None else min(max(percent, 0.0), 100.0)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
