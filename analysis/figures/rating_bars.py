"""How ratings are spread: one bar a system, its lower half to the left and its upper half to the right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.figures.drawing import INK, SCHEMA, cut_text, named, to_svg

WIDTH = 330  # pixels of the bars
BAR = 22  # pixels
ROW = 46  # pixels of a bar with its name
NAMED = 0.07  # share from which there is room for its number
COLOURS = ("#D55E00", "#F2C9A8", "#DDDDDD", "#A9CBE3", "#0072B2")  # from the lowest step to the highest


def rating_bars(
    counts: Iterable[Mapping[str, Any]],
    *,
    scores: Iterable[float] = (),
    system_names: Mapping[str, str] | None = None,
    alternative: str = "How often each system got each rating; the table beside this figure holds the same numbers.",
) -> str:
    """Draw diverging bars: what lies below the middle of the scale to the left, what lies above to the right.

    Parameters
    ----------
    counts : iterable of mapping
        Rows of ``rating_counts`` of a results.json, of one group and criterion.
    scores : iterable of float
        Scores of the scale, so that figures of several groups have the same middle and colours; those that were
        given are taken in any case.
    system_names : mapping of str to str, optional
        Names to show instead of ids.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no rating.
    """
    listed = list(counts)
    if not listed:
        return ""
    scale = sorted({*scores, *(row["score"] for row in listed)})
    systems = list(dict.fromkeys(row["system"] for row in listed))
    middle = (scale[0] + scale[-1]) / 2
    bars: list[dict[str, Any]] = []
    for row, system in enumerate(systems):
        bars += _bar([each for each in listed if each["system"] == system], scale, middle, row)
    ends = [bar[side] for bar in bars for side in ("low", "high")]
    labels = [{"row": row, "name": cut_text(named(system_names, system), WIDTH)} for row, system in enumerate(systems)]
    drawing = _drawing(len(systems), min(*ends, 0.0), max(*ends, 0.0))
    return to_svg(drawing, {"bars": bars, "labels": labels, "key": _key(scale)}, alternative)


def _bar(own: Iterable[Mapping[str, Any]], scores: Sequence[float], middle: float, row: int) -> list[dict[str, Any]]:
    """Place the parts of one bar around the middle; a middle step lies half on each side."""
    listed = sorted(own, key=lambda each: float(each["score"]))
    below = sum(each["share"] * _part_below(each["score"], middle) for each in listed)
    low, parts = -below, []
    for each in listed:
        high = low + each["share"]
        text = f"{100 * each['share']:.0f}%" if each["share"] >= NAMED else ""
        shade = _colour(scores.index(each["score"]), len(scores))
        ink = "#ffffff" if shade in (COLOURS[0], COLOURS[-1]) else "#1a1a1a"
        middle_of = (low + high) / 2
        parts.append(
            {
                **each,
                "row": row,
                "low": low,
                "high": high,
                "at": middle_of,
                "text": text,
                "shade": shade,
                "ink": ink,
            }
        )
        low = high
    return parts


def _part_below(score: float, middle: float) -> float:
    if score == middle:
        return 0.5
    return 1.0 if score < middle else 0.0


def _colour(place: int, steps: int) -> str:
    if steps == 1:
        return COLOURS[2]
    return COLOURS[round(place * (len(COLOURS) - 1) / (steps - 1))]


def _key(scores: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {"place": place, "text": f"{score:g}", "shade": _colour(place, len(scores))}
        for place, score in enumerate(scores)
    ]


def _drawing(rows: int, low: float, high: float) -> dict[str, Any]:
    across = {"type": "quantitative", "axis": None, "scale": {"domain": [low, high], "nice": False, "zero": False}}
    down = {"type": "quantitative", "axis": None, "scale": {"domain": [rows - 0.5, -0.5], "nice": False, "zero": False}}
    own = {"scale": None, "legend": None}
    bars: dict[str, Any] = {"data": {"name": "bars"}}
    y = {"field": "row", **down}
    layers = [
        {
            **bars,
            "mark": {"type": "bar", "size": BAR, "yOffset": 8},
            "encoding": {
                "x": {"field": "low", **across},
                "x2": {"field": "high"},
                "y": y,
                "color": {"field": "shade", "type": "nominal", **own},
            },
        },
        {
            **bars,
            "mark": {"type": "text", "fontSize": 10, "yOffset": 8},
            "encoding": {
                "x": {"field": "at", **across},
                "y": y,
                "text": {"field": "text"},
                "color": {"field": "ink", "type": "nominal", **own},
            },
        },
        {
            "data": {"name": "labels"},
            "mark": {"type": "text", "align": "left", "fontSize": 12, "fontWeight": 600, "yOffset": -13, "color": INK},
            "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "name"}},
        },
        {
            "data": {"values": [{"middle": 0}]},
            "mark": {"type": "rule", "color": INK, "opacity": 0.6},
            "encoding": {"x": {"field": "middle", **across}},
        },
    ]
    place = {"field": "place", "type": "quantitative", "axis": None, "scale": {"domain": [-0.5, 10.5], "nice": False}}
    key = {
        "data": {"name": "key"},
        "encoding": {"x": place},
        "layer": [
            {
                "mark": {"type": "square", "size": 220, "opacity": 1},
                "encoding": {"color": {"field": "shade", "type": "nominal", **own}},
            },
            {"mark": {"type": "text", "dy": 18, "color": INK, "fontSize": 11}, "encoding": {"text": {"field": "text"}}},
        ],
        "width": WIDTH,
        "height": 40,
    }
    whole = {"layer": layers, "width": WIDTH, "height": ROW * rows}
    return {"$schema": SCHEMA, "vconcat": [key, whole], "spacing": 4, "resolve": {"scale": {"x": "independent"}}}
