"""What the report says of standard gambles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from analysis.contribution import Shown
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
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Figure, Paragraph, Section
from analysis.printing.pictures import how_many, people_first, pictured
from analysis.printing.words import count, interval, number, p_words, percent, plural, sentence, share_interval, signed
from analysis.utilities.utilities import UtilityCheck, UtilityDifference, UtilityLists, UtilityMean, UtilityShare

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


ABOUT = (
    "Annotators chose between an output for sure and a gamble: the best reference, shown or imagined, with a chance, "
    "otherwise the worst. The chance at which one switches to the gamble is the output\u2019s utility for this "
    "annotator, 0 as the worst reference and 1 as the best. It lies between two of the chances offered, and their "
    "middle stands for it; a system has the mean of its outputs. Utilities of two annotators have different ends, as "
    "one may find the references further apart than another, so that annotators are counted and nothing is averaged "
    "over them. Which of two outputs has the higher utility counts as a choice."
)
ASSUMED = (
    "The study says that all annotators find the best reference equally good, and the worst equally bad "
    "([gamble] shared_anchors). Means over annotators stand on this assumption (extremum equivalence), which no answer "
    "here tests."
)
CERTAINTY = (
    "What is sure is often valued for being sure (the certainty effect): then utilities are too high, and more so by "
    "a second anchor, since the effect comes in twice. Differences between systems are then distorted too."
)
NAMES = {"second_anchor": "Second anchor", "again": "Asked again"}
LEVEL = 0.05  # of the sign test, from which a direction is named


def utilities(
    lists: Sequence[UtilityLists],
    shares: Sequence[UtilityShare],
    differences: Sequence[UtilityDifference],
    means: Sequence[UtilityMean],
    checks: Sequence[UtilityCheck],
    shown: Shown,
) -> Section:
    """Show how many annotators find a system better by the stated size, and what speaks for their answers."""
    blocks: list[Block] = [Paragraph(text=ABOUT)]
    if shares:
        blocks += [_shares(shares, shown), *_figures(differences, shares, shown)]
    if means:
        blocks += [Paragraph(text=ASSUMED, weight="warning"), _means(means, shown)]
    blocks.append(_lists(lists, shown))
    if checks:
        blocks.append(_checks(checks, shown))
    blocks.append(Bullets(items=(*_words(checks, shown), CERTAINTY)))
    return Section(id="utilities", title="How much better", blocks=tuple(blocks))


@dataclass(frozen=True, slots=True)
class _Better:
    """One side of a pair: how many annotators find it better."""

    row: UtilityShare
    side: Literal["x", "y"]

    @property
    def systems(self) -> tuple[str, str]:
        """The better one, and the other."""
        x, y = self.row.system_x, self.row.system_y
        return (x, y) if self.side == "x" else (y, x)

    def value(self, name: str) -> float:
        """Return a number of the side: its share, or an end of an interval."""
        return float(getattr(self.row, name.replace("SIDE", self.side)))

    def bounds(self, kind: str) -> str:
        """Return an interval."""
        return share_interval(self.value(f"SIDE_{kind}_low"), self.value(f"SIDE_{kind}_high"))


def _shares(rows: Sequence[UtilityShare], shown: Shown) -> Block:
    """Show both sides of each pair, the more frequent one first."""
    names = shown.names
    both = [
        one
        for row in rows
        for one in sorted((_Better(row, "x"), _Better(row, "y")), key=lambda one: -one.value("share_SIDE"))
    ]
    fields: list[Field[_Better]] = [
        text_column("Better", lambda one: names.system(one.systems[0])),
        text_column("Than", lambda one: names.system(one.systems[1])),
        text_column("Group", lambda one: names.group(one.row.group)),
        text_column("Criterion", lambda one: names.criterion(one.row.criterion)),
        number_column("Annotators", lambda one: count(one.row.n), "with both on one item; of an LLM: assignments"),
        number_column(
            "Share", lambda one: percent(one.value("share_SIDE")), "who find it better by more than the size"
        ),
        number_column(
            f"{shown.confidence} interval",
            lambda one: one.bounds("ci"),
            "wherever between their two chances the utilities lie",
        ),
        number_column(
            "By middles",
            lambda one: one.bounds("middle"),
            "Wilson\u2019s, as if utilities were the middles: too narrow where many differences are near the size",
        ),
    ]
    sizes = " or ".join(dict.fromkeys(number(row.difference) for row in rows))
    caption = f"Annotators who find one system better by more than {sizes}"
    return tabulate("utility_shares", caption, fields, both, constant=("Group", "Criterion"), csv="utility_shares")


def _figures(
    differences: Sequence[UtilityDifference], shares: Sequence[UtilityShare], shown: Shown
) -> Iterator[Figure]:
    """Draw each annotator's difference, of the first group and criterion."""
    names = shown.names
    group = people_first((row.group for row in shares), names)[0]
    criterion = next(row.criterion for row in shares if row.group == group)
    own = [row for row in shares if (row.group, row.criterion) == (group, criterion)]
    panels = [
        Panel(
            title=names.over(pair),
            differences=tuple(
                (row.value, row.lower, row.upper)
                for row in differences
                if (row.group, row.criterion, row.system_x, row.system_y)
                == (group, criterion, pair.system_x, pair.system_y)
            ),
        )
        for pair in own[:MOST_PANELS]
    ]
    more = f" The first {MOST_PANELS} of {len(own)} pairs are drawn." if len(own) > MOST_PANELS else ""
    several = len({row.criterion for row in shares}) > 1
    about = f"{names.group(group)}, {names.criterion(criterion)}" if several else names.group(group)
    caption = (
        f"Difference of the utilities of two systems, a line an annotator ({about}): the dot is by the middle of the "
        f"chances, the line is what they leave open; dashed: {number(own[0].difference)} either way.{more}"
    )
    drawing = partial(differences_figure, panels, own[0].difference, alternative=caption)
    yield pictured("utilities", drawing, caption, units=how_many(own[:MOST_PANELS], names))


def _means(rows: Sequence[UtilityMean], shown: Shown) -> Block:
    names = shown.names
    fields: list[Field[UtilityMean]] = [
        text_column(
            "System or pair", lambda row: names.system(row.system_x) if row.system_y is None else names.over(row)
        ),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Annotators", lambda row: count(row.n)),
        number_column(
            "Mean", lambda row: number(row.mean) if row.system_y is None else signed(row.mean), "of a pair: difference"
        ),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        text_column("Note", lambda row: str(row.reason or "")),
    ]
    caption = "Mean utility, if annotators share both references"
    return tabulate(
        "utility_means", caption, fields, rows, constant=("Group", "Criterion", "Note"), csv="utility_means"
    )


def _lists(rows: Sequence[UtilityLists], shown: Shown) -> Block:
    names = shown.names
    fields: list[Field[UtilityLists]] = [
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Lists", lambda row: count(row.n)),
        number_column("One switch", lambda row: count(row.n_switched), "from the output to the gamble"),
        number_column("Always sure", lambda row: count(row.n_all_sure), "a utility above the highest chance"),
        number_column("Always gamble", lambda row: count(row.n_all_gamble), "a utility below the lowest chance"),
        number_column(
            "Several switches",
            lambda row: cell(count(row.n_multiple), detail=percent(row.n_multiple / row.n)),
            "no utility",
        ),
        number_column("Wrong way", lambda row: count(row.n_reversed), "from the gamble to the output: no utility"),
        number_column("No answer", lambda row: count(row.n_missing)),
    ]
    caption = "How choice lists were answered"
    return tabulate("utility_lists", caption, fields, rows, constant=("Criterion",), csv="utility_lists")


def _checks(rows: Sequence[UtilityCheck], shown: Shown) -> Block:
    names = shown.names
    fields: list[Field[UtilityCheck]] = [
        text_column("Check", lambda row: NAMES[row.check]),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Lists", lambda row: count(row.n), "that a first one stands beside"),
        number_column("Alike", lambda row: count(row.n_alike), "whose chances leave room for one utility"),
        number_column("Higher", lambda row: count(row.n_higher), "the utility by the second list"),
        number_column("Lower", lambda row: count(row.n_lower), "the utility by the second list"),
        number_column("Annotators", lambda row: count(row.n_annotators), "of an LLM: assignments"),
        number_column("p", lambda row: "" if row.p_value is None else _p(row), "sign test over annotators"),
    ]
    caption = "The same utility by a second list"
    return tabulate("utility_checks", caption, fields, rows, constant=("Criterion",), csv="utility_checks")


def _p(row: UtilityCheck) -> str:
    return p_words(row.p_value).removeprefix("adjusted p").strip().removeprefix("=").strip()


def _words(checks: Sequence[UtilityCheck], shown: Shown) -> Iterator[str]:
    """Say of each check what was found; a direction where the sign test finds one."""
    several = len({row.criterion for row in checks}) > 1
    for row in checks:
        group = sentence(shown.names.group(row.group))
        about = f"{group}, {shown.names.criterion(row.criterion)}" if several else group
        alike = f"{row.n_alike:,} of {plural(row.n, 'list')}"
        directed = row.p_value is not None and row.p_value <= LEVEL
        higher = row.n_higher > row.n_lower
        if row.check == "again":
            said = f"{alike} asked again give the same chances"
            after = f"; the later ones are {'higher' if higher else 'lower'} more often" if directed else ""
        else:
            said = (
                f"{alike} with an output as the worst of the gamble agree with the first ones, as independence demands"
            )
            silent = f" ({row.n_silent:,} never prefer the output, and say little)" if row.n_silent else ""
            named = "higher more often, as by the certainty effect" if higher else "lower more often"
            after = f"{silent}; by the others the utility is {named}" if directed else silent
        yield f"{about}: {said}{after}."


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
