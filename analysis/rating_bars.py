"""How ratings are spread: one bar a system, its lower half to the left and its upper half to the right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from analysis.drawing import INK, SCHEMA, cut_text, named, to_svg
from analysis.tables import AnswerTables

WIDTH = 330  # pixels of the bars
BAR = 22  # pixels
ROW = 46  # pixels of a bar with its name
MOST_SCORES = 11  # different scores; ratings from 0 to 100 are no bars
COLOURS = ("#D55E00", "#F2C9A8", "#DDDDDD", "#A9CBE3", "#0072B2")  # from the lowest step to the highest


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingCount:
    """How often a system got a score; ``share`` is of all its scores of that criterion, in one group."""

    group: str
    criterion: str
    system: str
    score: float
    n: int
    share: float


def rating_counts(tables: AnswerTables) -> list[RatingCount]:
    """Count the usable ratings of every group, criterion, system and score, exclusions not applied.

    Returns
    -------
    list of RatingCount
        In the order in which groups, criteria and systems first appear, scores ascending; criteria with more than
        eleven different scores are left out.
    """
    if tables.ratings is None:
        return []
    names = ["group", "criterion", "system"]
    rows = tables.ratings.filter(pl.col("value").is_not_null()).select(pl.col(names).cast(pl.String), "value")
    several = rows.group_by("criterion").agg(pl.col("value").n_unique().alias("scores"))
    rows = rows.join(several.filter(pl.col("scores") <= MOST_SCORES), on="criterion", how="semi", maintain_order="left")
    counts = rows.group_by(*names, "value", maintain_order=True).agg(n=pl.len())
    counts = counts.with_columns(share=pl.col("n") / pl.col("n").sum().over(names))
    first = {key: number for number, key in enumerate(dict.fromkeys(counts.select(names).iter_rows()))}
    listed = [
        RatingCount(
            group=row["group"],
            criterion=row["criterion"],
            system=row["system"],
            score=row["value"],
            n=row["n"],
            share=row["share"],
        )
        for row in counts.to_dicts()
    ]
    return sorted(listed, key=lambda each: (first[each.group, each.criterion, each.system], each.score))


def rating_bars(
    counts: Sequence[RatingCount],
    *,
    system_names: Mapping[str, str] | None = None,
    alternative: str = "How often each system got each rating; the table beside this figure holds the same numbers.",
) -> str:
    """Draw diverging bars: what lies below the middle of the scale to the left, what lies above to the right.

    Parameters
    ----------
    counts : sequence of RatingCount
        Of one group and criterion.
    system_names : mapping of str to str, optional
        Names to show instead of ids.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no rating.
    """
    if not counts:
        return ""
    scores = sorted({each.score for each in counts})
    systems = list(dict.fromkeys(each.system for each in counts))
    middle = (scores[0] + scores[-1]) / 2
    bars: list[dict[str, Any]] = []
    for row, system in enumerate(systems):
        own = [each for each in counts if each.system == system]
        bars += _bar(own, scores, middle, row)
    ends = [bar[side] for bar in bars for side in ("low", "high")]
    labels = [{"row": row, "name": cut_text(named(system_names, system), WIDTH)} for row, system in enumerate(systems)]
    drawing = _drawing(len(systems), min(*ends, 0.0), max(*ends, 0.0))
    return to_svg(drawing, {"bars": bars, "labels": labels, "key": _key(scores)}, alternative)


def _bar(own: Iterable[RatingCount], scores: Sequence[float], middle: float, row: int) -> list[dict[str, Any]]:
    """Place the parts of one bar around the middle; a middle step lies half on each side."""
    listed = sorted(own, key=lambda each: each.score)
    below = sum(each.share * (1 if each.score < middle else 0.5 if each.score == middle else 0) for each in listed)
    low, parts = -below, []
    for each in listed:
        high = low + each.share
        text = f"{100 * each.share:.0f}%" if each.share >= 0.07 else ""
        shade = _colour(scores.index(each.score), len(scores))
        ink = "#ffffff" if shade in (COLOURS[0], COLOURS[-1]) else "#1a1a1a"
        middle_of = (low + high) / 2
        parts.append(
            {
                **asdict(each),
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
