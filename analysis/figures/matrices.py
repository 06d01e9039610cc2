"""Everything against everything: a square of numbers, darker the further from the middle or the higher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.figures.drawing import INK, SCHEMA, cut_text, named, to_svg

CELL = 62  # pixels of a cell's side
NAME_WIDTH = 130  # pixels for a name beside the matrix
STRONG = 0.22  # from 50 %: the cell is so dark that its text turns light
DARK = 0.65  # agreement above which it does
SHARES = {"domain": [0, 0.5, 1], "range": ["#D55E00", "#e8e8e8", "#0072B2"], "clamp": True}
AGREEMENT = {"domain": [0, 1], "range": ["#f2f2f2", "#0072B2"], "clamp": True}


def pair_matrix(
    rows: Iterable[Mapping[str, Any]],
    *,
    value: str = "mean",
    systems: Iterable[str] = (),
    system_names: Mapping[str, str] | None = None,
    alternative: str = "How often the system of a row is better than that of a column.",
) -> str:
    """Draw every pair at once: the share of the row's system over the column's, darker the further from 50 %.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``preferences`` or ``choices.pairs`` of one group, criterion and exposure.
    value : str
        Key of the share: ``"mean"`` or ``"win_rate"``.
    systems : iterable of str
        In which order they stand; those that no row names are left out, others follow as they first appear.
    system_names : mapping of str to str, optional
        Names to show instead of ids.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no pair.
    """
    listed = list(rows)
    compared = dict.fromkeys(row[side] for row in listed for side in ("system_x", "system_y"))
    order = list(dict.fromkeys([*(system for system in systems if system in compared), *compared]))
    cells = []
    for row in listed:
        share = row.get(value)
        for first, second, shown in (("system_x", "system_y", share), ("system_y", "system_x", _turned(share))):
            text = "\u2013" if shown is None else f"{100 * shown:.0f}%"
            strong = shown is not None and abs(shown - 0.5) > STRONG
            place = {"row": order.index(row[first]), "column": order.index(row[second])}
            cells.append({**place, "value": shown, "text": text, "stars": row.get("stars") or "", "strong": strong})
    return _draw([named(system_names, system) for system in order], cells, SHARES, alternative)


def agreement_matrix(
    rows: Iterable[Mapping[str, Any]],
    *,
    value: str = "krippendorff_alpha",
    names: Mapping[str, str] | None = None,
    alternative: str = "How far every two annotators agree.",
) -> str:
    """Draw how far every two annotators agree, darker the more.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of ``annotator_pairs`` of a results.json, of one group and criterion.
    value : str
        Key of the measure: ``"krippendorff_alpha"``, ``"cohen_kappa"``, ``"kendall_tau"`` or ``"exact_agreement"``.
    names : mapping of str to str, optional
        Names to show instead of annotators' ids.
    alternative : str
        What a screen reader says in place of the figure.

    Returns
    -------
    str
        An SVG document; empty where there is no pair.
    """
    listed = list(rows)
    order = list(dict.fromkeys(row[side] for row in listed for side in ("annotator_x", "annotator_y")))
    cells = []
    for row in listed:
        shown = row.get(value)
        places = [order.index(row[side]) for side in ("annotator_x", "annotator_y")]
        text = "\u2013" if shown is None else f"{shown:.2f}".replace("-", "\u2212")
        about = {"value": shown, "text": text, "stars": "", "strong": shown is not None and shown > DARK}
        cells += [{"row": first, "column": second, **about} for first, second in (places, places[::-1])]
    return _draw([named(names, annotator) for annotator in order], cells, AGREEMENT, alternative)


def _draw(names: Sequence[str], cells: Sequence[Mapping[str, Any]], shade: Mapping[str, Any], alternative: str) -> str:
    if not names:
        return ""
    shown = [cut_text(name, NAME_WIDTH) for name in names]
    return to_svg(_matrix(shown, shade), {"cells": list(cells), "names": _placed(shown)}, alternative)


def _turned(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _placed(names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"place": place, "name": name} for place, name in enumerate(names)]


def _matrix(names: Sequence[str], shade: Mapping[str, Any]) -> dict[str, Any]:
    """Return the matrix as Vega-Lite: the names of columns above it, those of rows to the left."""
    size = len(names)
    ends = [-0.5, size - 0.5]
    across, down = (
        {"type": "quantitative", "axis": None, "scale": {"domain": domain, "nice": False}}
        for domain in (ends, ends[::-1])
    )
    corner = {"data": {"values": [{}]}, "mark": {"type": "point", "opacity": 0}, "width": NAME_WIDTH, "height": 10}
    squares = {"layer": _squares(across, down, shade), "width": CELL * size, "height": CELL * size}
    above, beside = _names_above(across, size), _names_beside(down, size)
    return {
        "$schema": SCHEMA,
        "vconcat": [{"hconcat": [corner, above], "spacing": 8}, {"hconcat": [beside, squares], "spacing": 8}],
        "spacing": 2,
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    }


def _squares(across: Mapping[str, Any], down: Mapping[str, Any], shade: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of the matrix itself: shaded squares, their numbers, and stars under these."""
    x, y = {"field": "column", **across}, {"field": "row", **down}
    box = {
        "x": {"field": "left", **across},
        "x2": {"field": "right"},
        "y": {"field": "top", **down},
        "y2": {"field": "bottom"},
    }
    edges = [
        {"calculate": f"datum.{name} {sign} 0.47", "as": edge}
        for name, sign, edge in (
            ("column", "-", "left"),
            ("column", "+", "right"),
            ("row", "-", "top"),
            ("row", "+", "bottom"),
        )
    ]
    data: dict[str, Any] = {"data": {"name": "cells"}}
    word: dict[str, Any] = {"type": "text", "baseline": "middle", "fontSize": 12}
    ink = {"condition": {"test": "datum.strong", "value": "#ffffff"}, "value": "#1a1a1a"}
    return [
        {
            **data,
            "transform": [{"filter": "isValid(datum.value)"}, *edges],
            "mark": {"type": "rect"},
            "encoding": {**box, "color": {"field": "value", "type": "quantitative", "legend": None, "scale": shade}},
        },
        {**data, "mark": word, "encoding": {"x": x, "y": y, "text": {"field": "text"}, "color": ink}},
        {
            **data,
            "mark": {**word, "dy": 13, "fontSize": 10},
            "encoding": {"x": x, "y": y, "text": {"field": "stars"}, "color": ink},
        },
    ]


def _names_beside(down: Mapping[str, Any], size: int) -> dict[str, Any]:
    return {
        "data": {"name": "names"},
        "mark": {"type": "text", "align": "right", "baseline": "middle", "color": INK, "fontSize": 12, "limit": 0},
        "encoding": {"y": {"field": "place", **down}, "x": {"value": NAME_WIDTH}, "text": {"field": "name"}},
        "width": NAME_WIDTH,
        "height": CELL * size,
    }


def _names_above(across: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return the names of the columns, at a slant so that long ones fit."""
    return {
        "data": {"name": "names"},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "color": INK, "fontSize": 12, "angle": 320},
        "encoding": {"x": {"field": "place", **across}, "y": {"value": NAME_WIDTH / 2}, "text": {"field": "name"}},
        "width": CELL * size,
        "height": NAME_WIDTH / 2 + 8,
    }
