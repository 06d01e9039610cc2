"""How ratings are spread: one bar a system, its lower half to the left and its upper half to the right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from analysis.figures.drawing import (
    AXIS,
    LINE,
    SCREEN,
    Look,
    box,
    figure,
    grey,
    horizontal_axis,
    named,
    round_steps,
    rule,
    scale,
    stacked,
    text,
)
from analysis.figures.plain_text import percent

WIDTH = 400  # pixels of the bars
BAR = 22  # pixels
GAP = 10  # pixels after a bar
KEY = 46  # pixels of the steps above the bars
STEP = 18  # pixels of one of them
NAMED = 0.07  # share from which there is room for its number
DARK = 0.55  # part of the scale from which numbers are light


def rating_bars(
    counts: Iterable[Mapping[str, Any]],
    *,
    scores: Iterable[float] = (),
    system_names: Mapping[str, str] | None = None,
    alternative: str = "How often each system got each rating; the table beside this figure holds the same numbers.",
    look: Look = SCREEN,
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
    steps = sorted({*scores, *(row["score"] for row in listed)})
    by_system: dict[str, dict[float, float]] = {}
    for row in listed:
        by_system.setdefault(row["system"], {})[row["score"]] = row["share"]
    middle = (steps[0] + steps[-1]) / 2
    below = {  # share left of the middle, where a middle step lies half on each side
        system: sum(share * (0.5 if score == middle else score < middle) for score, share in shares.items())
        for system, shares in by_system.items()
    }
    ends = -max(below.values()), max(sum(shares.values()) - below[system] for system, shares in by_system.items())
    width = look.inner(WIDTH)
    across = scale(*ends, 0, width)
    marks = _key(steps, width)
    top = float(KEY)
    for system, shares in by_system.items():
        lines = look.wrap(named(system_names, system), width)
        marks += stacked(lines, 0, top + LINE * len(lines) / 2, weight="600")
        top += LINE * len(lines)
        marks.append(rule(across(0), top - 4, across(0), top + BAR + 4))  # seen above and below the bar
        low = -below[system]
        for score, share in sorted(shares.items()):
            part = _part(score, steps)
            marks.append(box(across(low), top, across(low + share), top + BAR, grey(part), edge=0.7))
            words = percent(share, 0) if look.numbers != "none" and share >= NAMED * WIDTH / width else ""
            at = across(low + share / 2), top + BAR / 2
            marks.append(text(*at, words, size=10, anchor="middle", ink=_ink(part)))
            low += share
        top += BAR + GAP
    if look.numbers == "none":
        ticks, _ = round_steps(100 * ends[0], 100 * ends[1])
        labels = [f"{abs(tick):g}%" for tick in ticks]
        places = [tick / 100 for tick in ticks]
        marks += horizontal_axis(across, width, top, "share of the ratings, from the middle", places, labels, look)
        top += AXIS
    return figure(marks, width, top, alternative, look=look)


def _key(steps: list[float], width: float) -> list[str]:
    """Draw the steps of the scale in their greys."""
    apart = width / max(11, len(steps))
    half = min(STEP, apart) / 2
    named_every = math.ceil(STEP / apart)
    marks = []
    for place, score in enumerate(steps):
        x, y, part = apart * (place + 0.5), KEY / 2, _part(score, steps)
        marks.append(box(x - half, y - STEP / 2, x + half, y + STEP / 2, grey(part), edge=0.7))
        if place % named_every == 0:
            marks.append(text(x, y, f"{score:g}", size=11, anchor="middle", ink=_ink(part)))
    return marks


def _part(score: float, steps: list[float]) -> float:
    return 1.0 if len(steps) == 1 else steps.index(score) / (len(steps) - 1)


def _ink(part: float) -> str:
    return "#ffffff" if part > DARK else "#1a1a1a"
