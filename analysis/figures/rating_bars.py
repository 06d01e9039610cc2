"""How ratings are spread: one bar a system, its lower half to the left and its upper half to the right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.figures.drawing import GREYS, INK, LINE, SCHEMA, named, stacked, to_svg, wrap_text
from analysis.figures.plain_text import percent

WIDTH = 400  # pixels of the bars
BAR = 22  # pixels
GAP = 10  # pixels after a bar
KEY = 46  # pixels of the steps above the bars
NAMED = 0.07  # share from which there is room for its number
DARK = 0.55  # part of the scale from which numbers are light


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
        Scores of the scale, so that figures of several groups have the same middle and greys; those that were
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
    by_system: dict[str, dict[float, float]] = {}
    for row in listed:
        by_system.setdefault(row["system"], {})[row["score"]] = row["share"]
    bars: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    top = float(KEY)
    for system, shares in by_system.items():
        lines = wrap_text(named(system_names, system), WIDTH)
        labels += stacked(lines, top + LINE * len(lines) / 2, "text")
        top += LINE * len(lines)
        bars += [{**part, "top": top, "middle": top + BAR / 2, "bottom": top + BAR} for part in _parts(shares, scale)]
        top += BAR + GAP
    key = [{**_step(score, scale), "text": f"{score:g}", "place": place} for place, score in enumerate(scale)]
    return to_svg(_drawing(bars, top), {"bars": bars, "labels": labels, "key": key}, alternative)


def _parts(shares: Mapping[float, float], scale: Sequence[float]) -> list[dict[str, Any]]:
    """Place the parts of one bar around the middle; a middle step lies half on each side."""
    middle = (scale[0] + scale[-1]) / 2
    low = -sum(share * (0.5 if score == middle else score < middle) for score, share in shares.items())
    parts = []
    for score, share in sorted(shares.items()):
        text = percent(share, 0) if share >= NAMED else ""
        parts.append({"low": low, "high": low + share, "at": low + share / 2, "text": text, **_step(score, scale)})
        low += share
    return parts


def _step(score: float, scale: Sequence[float]) -> dict[str, Any]:
    part = 1.0 if len(scale) == 1 else scale.index(score) / (len(scale) - 1)
    return {"part": part, "ink": "#ffffff" if part > DARK else "#1a1a1a"}


def _drawing(bars: Sequence[Mapping[str, Any]], height: float) -> dict[str, Any]:
    ends = [min(0.0, *(bar["low"] for bar in bars)), max(0.0, *(bar["high"] for bar in bars))]
    plain = {"nice": False, "zero": False}
    across = {"type": "quantitative", "axis": None, "scale": {"domain": ends, **plain}}
    down = {"type": "quantitative", "axis": None, "scale": {"domain": [height, 0], **plain}}
    shade = {"field": "part", "type": "quantitative", "legend": None, "scale": {"domain": [0, 1], "range": GREYS}}
    ink = {"field": "ink", "type": "nominal", "scale": None}
    text = {"type": "text", "baseline": "middle", "fontSize": 12, "color": INK}
    edge = {"stroke": INK, "strokeOpacity": 0.4, "strokeWidth": 0.7}
    box = {"x": {"field": "low", **across}, "x2": {"field": "high"}, "y": {"field": "top", **down}}
    place = {"field": "place", "type": "quantitative", "axis": None, "scale": {"domain": [-0.5, 10.5], **plain}}
    squares = [
        {"mark": {"type": "square", "size": 320, "opacity": 1, **edge}, "encoding": {"fill": shade}},
        {"mark": {**text, "fontSize": 11}, "encoding": {"text": {"field": "text"}, "color": ink}},
    ]
    bars_drawn = [
        {  # the middle of the scale, seen above and below the bars that hide it
            "data": {"name": "bars"},
            "mark": {"type": "rule", "color": INK, "strokeWidth": 2, "yOffset": -4, "y2Offset": 4},
            "encoding": {"x": {"datum": 0, **across}, "y": box["y"], "y2": {"field": "bottom"}},
        },
        {
            "data": {"name": "bars"},
            "mark": {"type": "rect", **edge},
            "encoding": {**box, "y2": {"field": "bottom"}, "fill": shade},
        },
        {
            "data": {"name": "bars"},
            "mark": {**text, "fontSize": 10},
            "encoding": {
                "x": {"field": "at", **across},
                "y": {"field": "middle", **down},
                "text": {"field": "text"},
                "color": ink,
            },
        },
        {
            "data": {"name": "labels"},
            "mark": {**text, "align": "left", "fontWeight": 600},
            "encoding": {"x": {"value": 0}, "y": {"field": "y", **down}, "text": {"field": "text"}},
        },
    ]
    key = {
        "data": {"name": "key"},
        "encoding": {"x": place, "y": {"value": KEY / 2}},
        "layer": squares,
    }
    drawn = {"layer": [key, *bars_drawn], "width": WIDTH, "height": height}
    return {"$schema": SCHEMA, **drawn, "resolve": {"scale": {"x": "independent", "fill": "shared"}}}
