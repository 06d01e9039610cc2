"""Figures with their captions, as blocks of a section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import cycle
from typing import Any, TypeAlias

from analysis.agreement.rows import AnnotatorPairRow
from analysis.figures.drawing import COLOURS, DASHES, INK, SHAPES, system_colours
from analysis.figures.figures import Point, agreement_matrix, forest_plot, lines_plot, means_plot, rating_bars
from analysis.llm_vs_people.calibration import ReliabilityBin
from analysis.report.document import Figure, Fold
from analysis.report.orientation import aligned, turned
from analysis.results.findings import KIND_ORDER, SHARES, grouped
from analysis.results.words import Names, listed, percent, sentence, slug

LONG_FIGURE = 60  # dots; a longer figure is opened on demand
MOST_GROUPS = len(SHAPES)  # groups that shapes can tell apart
BESIDE = "the table before this figure holds the same numbers"
BESIDE_AFTER = "the table after this figure holds the same numbers"
WHAT = {
    "preferences": "Mean chance that the first system of a pair is better",
    "choices": "Share of choices that the first system of a pair won",
}
LEADERS = {
    "preferences": "Mean chance that {} is better than each other system",
    "choices": "Share of choices that {} won against each other system",
}
Rows: TypeAlias = Sequence[Any]  # of records


def leading_figure(
    rows: Rows, names: Names, source: str, criterion: str, several: bool, *, leader: str | None, most_dots: int
) -> Figure | None:
    """Return the picture of the first page: the chances or wins of the leading system against every other.

    All pairs where there is no leading system or it was not compared with all the others; at the largest exposure,
    of as many groups, people first, as ``most_dots`` allow. ``None`` where no answer compares two systems.
    """
    largest = max((getattr(row, "exposure", None) or 0 for row in rows), default=0)
    share = SHARES[source]
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
    shown = of_leader if whole else own
    pairs = list(dict.fromkeys((row.system_x, row.system_y) for row in shown))
    kept = set(pairs[:most_dots])
    drawn, left_out = _drawn(
        [row for row in shown if (row.system_x, row.system_y) in kept], names, max(1, most_dots // len(kept))
    )
    what = WHAT[source] if not whole else LEADERS[source].format(names.system(leader))
    more = f" The first {len(kept)} of {len(pairs)} pairs are drawn." if len(kept) < len(pairs) else ""
    first = _people_first((row.group for row in drawn), names)[0]
    values = [(row, percent(getattr(row, share))) for row in drawn if row.group == first]
    said = [
        f"{value} over {names.system(row.system_y)}" if whole else f"{names.over(row)} {value}" for row, value in values
    ]
    return Figure(
        name="answer",
        svg=_shares(drawn, names, source, "the table of the answer\u2019s section holds the ranking"),
        caption=f"{what}{_intervals(drawn)}{_about(names, criterion, several)}. {_line_words(drawn)}{left_out}{more}",
        alternative=f"{what} ({names.group(first)}): {listed(said)}",
    )


def _shares(drawn: Rows, names: Names, source: str, beside: str) -> str:
    return forest_plot(
        [asdict(row) for row in drawn],
        **_called(drawn, names),
        value=SHARES[source],
        alternative=f"{WHAT[source]}, with intervals; {beside}.",
    )


def _intervals(drawn: Rows) -> str:
    """Return what the lines of a figure are; nothing where no row has one."""
    if all(row.decision is None for row in drawn):
        return ", with confidence intervals"
    known = any(row.ci_low is not None for row in drawn)
    return ", with the intervals that the decisions rest on, which hold at every look" if known else ""


def _bounded(drawn: Rows) -> str:
    return " with confidence intervals" if any(row.ci_low is not None for row in drawn) else ""


def _line_words(drawn: Rows) -> str:
    hollow = ""
    if any(row.verdict is None for row in drawn):
        hollow = "; a hollow mark was not tested"
        if any(row.decision is not None for row in drawn):
            hollow = "; a hollow mark has no decision"
    return f"The line is 50%, no preference{hollow}."


def share_figure(rows: Rows, names: Names, source: str, criterion: str, several: bool) -> Figure | Fold:
    """Return the forest plot of preferences or choices, folded where it is long."""
    what = WHAT[source]
    drawn, left_out = _drawn(aligned(rows), names)
    svg = _shares(drawn, names, source, BESIDE)
    caption = f"{what}{_intervals(drawn)}{_about(names, criterion, several)}. {_line_words(drawn)}{left_out}"
    return _figure(f"{source}-{slug(criterion)}" if several else source, svg, caption, len(drawn))


def means_figure(
    rows: Rows, names: Names, criterion: str, several: bool, *, most_groups: int = MOST_GROUPS
) -> Figure | Fold:
    """Return the figure of mean ratings, folded where it is long."""
    drawn, left_out = _drawn(rows, names, most_groups)
    svg = means_plot(
        [asdict(row) for row in drawn],
        **_called(drawn, names),
        title=f"mean rating ({names.direction(criterion)})",
        alternative=f"Mean rating of each system with its interval; {BESIDE}.",
    )
    caption = (
        f"Mean ratings{_bounded(drawn)}{_about(names, criterion, several)}. "
        f"The axis shows only the part of the scale that is used.{left_out}"
    )
    return _figure(f"ratings-{slug(criterion)}" if several else "ratings", svg, caption, len(drawn))


def spread_figure(rows: Rows, names: Names, scores: Sequence[float], name: str) -> Figure:
    """Return the bars of how often each system got each score, of one group and criterion."""
    svg = rating_bars(
        [asdict(row) for row in rows],
        scores=scores,
        system_names={row.system: names.system(row.system) for row in rows},
        alternative=f"How often each system got each score; {BESIDE_AFTER}.",
    )
    caption = (
        f"{sentence(names.group(rows[0].group))}: how often each system got each score. What lies below the middle "
        "of the scale goes to the left of the line, what lies above to the right, the middle itself half to each side."
    )
    return Figure(name=name, svg=svg, caption=caption, alternative=BESIDE_AFTER)


def agreement_figure(rows: Sequence[AnnotatorPairRow], names: Names, name: str) -> Figure:
    """Return the matrix of how far every two raters agree, of one group and criterion."""
    alternative = f"Krippendorff\u2019s alpha of every two raters; {BESIDE_AFTER}."
    svg = agreement_matrix([asdict(row) for row in rows], alternative=alternative)
    of = f"{sentence(names.group(rows[0].group))}, {names.criterion(rows[0].criterion)}"
    judged = "outputs that both rated" if rows[0].source == "ratings" else "choices that both made"
    what = f"Krippendorff\u2019s alpha of every two raters over the {judged}"
    caption = f"{of}: {what}; the darker, the more they agree."
    return Figure(name=name, svg=svg, caption=caption, alternative=BESIDE_AFTER)


def superiority_figure(rows: Rows, names: Names) -> Figure | Fold:
    """Return the figure of how often the first system of a pair was rated above the second."""
    what = "Chance that a rating of the first system is above that of the second beside it, equal ones half"
    drawn, left_out = _drawn(aligned(rows), names)
    svg = forest_plot(
        [{**asdict(row), "ci_low": row.superiority_low, "ci_high": row.superiority_high} for row in drawn],
        **_called(drawn, names),
        value="superiority",
        alternative=f"{what}, with intervals; {BESIDE}.",
    )
    caption = f"{what}, with confidence intervals. The line is 50%, no difference.{left_out}"
    return _figure("superiority", svg, caption, len(drawn))


def directions_figures(rows: Rows, names: Names) -> list[Figure | Fold]:
    """Return each direction over the outputs read, before and after exclusions: Figure 5 of the SPA paper.

    One figure a group and criterion that answered at several exposures and lost annotators to exclusions.
    """
    colours = system_colours(names.systems)
    figures = []
    for (group, criterion), own in grouped(rows, lambda row: (row.group, row.criterion)).items():
        if len({row.exposure for row in own}) < 2 or all(row.n == row.n_before for row in own):
            continue
        points = [
            Point(
                line=f"{names.over(row)}, {when}",
                x=row.exposure,
                y=getattr(row, key),
                colour=colours.get(row.system_x, INK),
            )
            for row in own
            for when, key in (("before exclusions", "mean_before"), ("after exclusions", "mean"))
            if row.exposure is not None and getattr(row, key) is not None
        ]
        svg = lines_plot(
            points,
            x_title="outputs of each system read",
            y_title="mean chance stated",
            references=(0.5,),
            alternative=f"Each direction before and after exclusions; {BESIDE}.",
        )
        caption = (
            f"{sentence(names.group(group))}, {names.criterion(criterion)}: each direction as it was asked, before and "
            "after exclusions (as Figure 5 of Ethayarajh & Jurafsky, 2022). Where both directions agree, one lies as "
            "far above 50% as the other below."
        )
        figures.append(_figure(f"directions-{slug(group)}-{slug(criterion)}", svg, caption, len(points)))
    return figures


def strengths_figure(
    rows: Rows, names: Names, source: str, criterion: str, *, most_groups: int = MOST_GROUPS
) -> Figure | Fold:
    """Return the figure of Bradley-Terry strengths of one source, folded where it is long."""
    fitted = [row for row in rows if row.strength is not None]
    drawn, left_out = _drawn(fitted, names, most_groups)
    svg = means_plot(
        [{**asdict(row), "mean": row.strength} for row in drawn],
        **_called(drawn, names),
        title="strength",
        alternative=f"Strength of each system with its interval; {BESIDE}.",
    )
    caption = (
        f"Bradley-Terry strengths{_bounded(drawn)}: {names.source(source)}, {names.criterion(criterion)}. "
        f"Compare strengths only within a group.{left_out}"
    )
    return _figure(f"strengths-{source}-{slug(criterion)}", svg, caption, len(drawn))


def reliability_figure(curves: Sequence[tuple[str, Sequence[ReliabilityBin]]], name: str, about: str) -> Figure | Fold:
    """Return the reliability curves: share chosen over stated chance, bin by bin, beside what would be right."""
    kept = curves[: len(DASHES) - 1]
    right = "stated = chosen"
    points = [Point(line=right, x=end, y=end) for end in (0.0, 1.0)]
    points += [
        Point(line=who, x=part.mean_stated, y=part.mean_outcome)
        for who, bins in kept
        for part in bins
        if part.mean_stated is not None and part.mean_outcome is not None
    ]
    svg = lines_plot(
        points,
        x_title="stated chance of the one that is favoured",
        y_title="share chosen",
        alternative=f"Share of choices over stated chance of the one that is favoured; {BESIDE}.",
    )
    caption = (
        f"Reliability of stated chances{about}: share of choices over stated chance, bin by bin. On the line "
        f"\u201c{right}\u201d statements are right on average; a flatter curve is over-confident, "
        "a steeper one under-confident."
    )
    if len(kept) < len(curves):
        caption += f" Only the first {len(kept)} of {len(curves)} curves are drawn; the table has all."
    return _figure(name, svg, caption, len(points))


def places_figure(rankings: Rows, names: Names, criterion: str, several: bool) -> Figure | Fold:
    """Return the figure of places, one dot a ranking with the places that its answers allow."""
    kept = rankings[:MOST_GROUPS]
    titles = [sentence(names.source_by_group(row.source, row.group)) for row in kept]
    drawn = [
        {
            "criterion": criterion,
            "group": title,
            "system": place.system,
            "mean": place.rank,
            "ci_low": place.rank_low,
            "ci_high": place.rank_high,
        }
        for title, row in zip(titles, kept, strict=True)
        for place in row.places
    ]
    svg = means_plot(
        drawn,
        system_names={row["system"]: names.system(row["system"]) for row in drawn},
        criterion_names={criterion: names.criterion(criterion)},
        title="place (1 = best)",
        alternative=f"Place of each system in each ranking, with the places that the answers allow; {BESIDE}.",
    )
    left = f" Only the first {len(kept)} of {len(rankings)} rankings are drawn." if len(kept) < len(rankings) else ""
    caption = f"Place of each system in each ranking{_about(names, criterion, several)}; 1 is best.{left}"
    return _figure(f"places-{slug(criterion)}" if several else "places", svg, caption, len(drawn))


def _called(rows: Rows, names: Names) -> dict[str, Any]:
    sides = ("system", "system_x", "system_y")
    systems = {getattr(row, side) for row in rows for side in sides if hasattr(row, side)}
    return {
        "system_names": {system: names.system(system) for system in systems},
        "group_names": {row.group: names.group(row.group) for row in rows},
        "criterion_names": {row.criterion: names.criterion(row.criterion) for row in rows},
        "colours": _group_colours(names),
    }


def _group_colours(names: Names) -> dict[str, str]:
    """Return the colour of each group, people first, the same in every figure of a report."""
    return dict(zip(_people_first(names.groups, names), cycle(COLOURS)))


def _people_first(groups: Iterable[str], names: Names) -> list[str]:
    return sorted(dict.fromkeys(groups), key=lambda group: KIND_ORDER.get(names.kind(group), 2))


def _figure(name: str, svg: str, caption: str, dots: int) -> Figure | Fold:
    figure = Figure(name=name, svg=svg, caption=caption, alternative=BESIDE)
    return Fold(summary=f"Figure of {dots} results", blocks=(figure,)) if dots > LONG_FIGURE else figure


def _about(names: Names, criterion: str, several: bool) -> str:
    return f": {names.criterion(criterion)}" if several else ""


def _drawn(rows: Rows, names: Names, most_groups: int = MOST_GROUPS) -> tuple[Rows, str]:
    """Return the rows of as many groups as can be told apart, people first, and a word on the others."""
    groups = _people_first((row.group for row in rows), names)
    kept = set(groups[: min(most_groups, MOST_GROUPS)])
    drawn = [row for row in rows if row.group in kept]
    if len(groups) == len(kept):
        return drawn, ""
    return drawn, f" Drawn: the first {len(kept)} of {len(groups)} groups; the table has all."
