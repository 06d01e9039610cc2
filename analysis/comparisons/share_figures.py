"""Figures of preferences and choices: the share of each pair's first system, with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from analysis.contribution import Shown
from analysis.figures.figures import forest_plot, pair_matrix
from analysis.printing.document import Figure, Fold
from analysis.printing.levels import correction_name, level
from analysis.printing.lookup import SHARES
from analysis.printing.names import Names
from analysis.printing.pictures import (
    BESIDE,
    BESIDE_AFTER,
    Rows,
    called,
    drawn_groups,
    folded,
    how_many,
    of_criterion,
    people_first,
    pictured,
)
from analysis.printing.turning import aligned, turned
from analysis.printing.words import listed, percent, sentence, slug
from analysis.single_answers.behind import AnswersBehind
from analysis.statistics.record import Source

WHAT = {
    "preferences": "Mean chance that the first system of a pair is better",
    "choices": "Share of choices that the first system of a pair won",
}
OF_ROWS = {
    "preferences": "mean chance that the system of a row is better than that of a column",
    "choices": "share of choices that the system of a row won against that of a column",
}
LEAST_SYSTEMS, MOST_SYSTEMS = 5, 30  # of a matrix: fewer have few pairs, more fill no page
MOST_MATRICES = 2  # groups
LEADERS = {
    "preferences": "Mean chance that {} is better than each other system",
    "choices": "Share of choices that {} won against each other system",
}


def leading_figure(
    shown: Shown, rows: Rows, source: Source, criterion: str, several: bool, *, leader: str | None, most_dots: int
) -> Figure | None:
    """Return the picture of the first page: the chances or wins of the leading system against every other.

    All pairs where there is no leading system or it was not compared with all the others; at the largest exposure,
    of as many groups, people first, as ``most_dots`` allow. ``None`` where no answer compares two systems.
    """
    largest = max((getattr(row, "exposure", None) or 0 for row in rows), default=0)
    share = SHARES[source]
    names = shown.names
    known = [row for row in rows if getattr(row, share) is not None]
    own = aligned(row for row in known if (getattr(row, "exposure", None) or 0) == largest)
    if not own:
        return None
    systems = {system for row in own for system in (row.system_x, row.system_y)}
    of_leader = [
        row if row.system_x == leader else turned(row) for row in own if leader in (row.system_x, row.system_y)
    ]
    against = {row.system_y for row in of_leader}
    whole = leader is not None and against == systems - {leader}
    chosen = of_leader if whole else own
    pairs = list(dict.fromkeys((row.system_x, row.system_y) for row in chosen))
    kept = set(pairs[:most_dots])
    drawn, left_out = drawn_groups(
        [row for row in chosen if (row.system_x, row.system_y) in kept], names, max(1, most_dots // len(kept))
    )
    what = WHAT[source] if not whole else LEADERS[source].format(names.system(leader))
    more = f" The first {len(kept)} of {len(pairs)} pairs are drawn." if len(kept) < len(pairs) else ""
    first = people_first((row.group for row in drawn), names)[0]
    values = [(row, percent(getattr(row, share))) for row in drawn if row.group == first]
    said = [
        f"{value} over {names.system(row.system_y)}" if whole else f"{names.over(row)} {value}" for row, value in values
    ]
    about = of_criterion(names, criterion, several)
    behind = AnswersBehind(shown.results, names, source)
    said_beside = "the table of the answer\u2019s section holds the ranking"
    drawing = partial(_shares, behind.rows(drawn), called(drawn, names), source, said_beside)
    return pictured(
        "answer",
        drawing,
        f"{what}{_intervals(drawn, names)}{about}. {_line_words(drawn, names)}{behind.words(drawn)}{left_out}{more}",
        f"{what} ({names.group(first)}): {listed(said)}",
        how_many(drawn, names),
        tabled=False,
    )


def win_matrices(
    shown: Shown, rows: Rows, source: str, criterion: str, several: bool, *, most: int = MOST_MATRICES
) -> list[Figure]:
    """Return each group's chances or wins of all pairs at a glance, people first; none of fewer than five systems.

    At the largest exposure; pairs that were decided are underlined.
    """
    names, share = shown.names, SHARES[source]
    largest = max((getattr(row, "exposure", None) or 0 for row in rows), default=0)
    known = [row for row in rows if getattr(row, share) is not None]
    own = [row for row in known if (getattr(row, "exposure", None) or 0) == largest]
    found = []
    for group in people_first((row.group for row in own), names)[:most]:
        members = [row for row in own if row.group == group]
        systems = {system for row in members for system in (row.system_x, row.system_y)}
        if not LEAST_SYSTEMS <= len(systems) <= MOST_SYSTEMS:
            continue
        drawing = partial(
            pair_matrix,
            [asdict(row) for row in members],
            value=share,
            systems=names.systems,
            system_names={system: names.system(system) for system in systems},
            decided={frozenset((row.system_x, row.system_y)) for row in members if row.verdict in ("x", "y")},
            alternative=f"{OF_ROWS[source]}; {BESIDE_AFTER}.",
        )
        by = "by the study" if shown.live else f"at level {level(shown.settings)}, {correction_name(shown.settings)}"
        caption = (
            f"{sentence(names.group(group))}{of_criterion(names, criterion, several)}: {OF_ROWS[source]}, darker the "
            f"higher; with a line: decided {by}."
        )
        stem = "-".join(("wins", source, slug(group), *([slug(criterion)] if several else [])))
        found.append(pictured(stem, drawing, caption, BESIDE_AFTER, how_many(members, names)))
    return found


def _shares(drawn: Sequence[Mapping[str, Any]], names: Mapping[str, Any], source: str, beside: str, **more: Any) -> str:
    return forest_plot(
        drawn,
        **names,
        value=SHARES[source],
        alternative=f"{WHAT[source]}, with intervals; {beside}.",
        **more,
    )


def _intervals(drawn: Rows, names: Names) -> str:
    """Return what the lines of a figure are; nothing where no row has one."""
    if all(row.decision is None for row in drawn):
        return f", with {names.confidence} confidence intervals"
    known = any(row.ci_low is not None for row in drawn)
    return ", with the intervals that the decisions rest on, which hold at every look" if known else ""


def _line_words(drawn: Rows, names: Names) -> str:
    hollow, end = "", names.comparison_end if any(getattr(row, "probabilities", False) for row in drawn) else None
    if any(row.verdict is None for row in drawn):
        hollow = "; a hollow mark was not tested"
        if any(row.decision is not None for row in drawn):
            hollow = "; a hollow mark has no decision"
    scale = "" if end is None else f"; 0% is \u2212{end:g} and 100% {end:g} of the scale"
    return f"The line is 50%, no preference{scale}{hollow}."


def share_figure(shown: Shown, rows: Rows, source: Source, criterion: str, several: bool) -> Figure | Fold:
    """Return the forest plot of preferences or choices, folded where it is long."""
    names = shown.names
    what = WHAT[source]
    drawn, left_out = drawn_groups(aligned(rows), names)
    behind = AnswersBehind(shown.results, names, source)
    drawing = partial(_shares, behind.rows(drawn), called(drawn, names), source, BESIDE)
    about = f"{_intervals(drawn, names)}{of_criterion(names, criterion, several)}"
    caption = f"{what}{about}. {_line_words(drawn, names)}{behind.words(drawn)}{left_out}"
    return folded(
        f"{source}-{slug(criterion)}" if several else source, drawing, caption, len(drawn), how_many(drawn, names)
    )
