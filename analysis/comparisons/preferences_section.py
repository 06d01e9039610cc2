"""Preferences stated as chances (SPA): the tests, the forest plot, the two directions."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.pair_tables import shares_by_criterion
from analysis.comparisons.preferences import PreferenceTest
from analysis.contribution import Shown
from analysis.figures.drawing import INK, system_colours
from analysis.figures.figures import Point, lines_plot
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import (
    Block,
    Bullets,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Section,
)
from analysis.printing.levels import level_words
from analysis.printing.live_blocks import live_blocks
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, folded
from analysis.printing.words import count, interval, number, p_value, percent, plural, sentence, signed, slug


def preferences(rows: Sequence[PreferenceTest], directions: Sequence[DirectionSummary], shown: Shown) -> Section | None:
    """Report each pair: mean chance, interval, test, verdict, and a figure of all of them."""
    if not rows:
        return None
    names = shown.names
    clear = level_words(shown.settings, live=shown.live)
    opening = Paragraph(
        text="Annotators read outputs of each system and said how likely it is, from 0 to 100%, that one is better "
        f"than another. Here are the means of their answers; 50% means no preference. {clear}"
    )
    blocks, appendix = shares_by_criterion(shown, rows, "preferences", more=lambda own: _by_exposure(own, names))
    if any(names.kind(row.group) == "llm" for row in rows):
        blocks.append(Paragraph(text=LIVE_LLM_NOTE if shown.live else LLM_NOTE))
    if directions:
        appendix.append(_directions(directions, names))
    blocks = [opening, *live_blocks(shown.results.live, names, "preferences"), *blocks]
    return Section(
        id="preferences",
        title="Which system is preferred (SPA)",
        blocks=tuple(blocks),
        appendix=tuple(appendix),
    )


def _by_exposure(rows: Sequence[PreferenceTest], names: Names) -> list[Block]:
    """Say in words how the mean moves with exposure, where one pair was judged at several."""
    pairs: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in rows:
        if row.exposure is not None and row.mean is not None:
            pairs.setdefault((row.group, row.system_x, row.system_y), []).append((row.exposure, row.mean))
    lines = []
    for (group, x, y), own in pairs.items():
        if len(own) > 1:
            (fewest, start), *rest = sorted(own, key=lambda one: one[0])
            steps = ", ".join(f"{percent(mean)} after {exposure}" for exposure, mean in rest)
            lines.append(
                f"{sentence(names.who(group)) if names.kind(group) != 'llm' else names.who(group)}, "
                f"{names.system(x)} over {names.system(y)}: {percent(start)} after reading "
                f"{plural(fewest, 'output')} of each, {steps}."
            )
    if not lines:
        return []
    meaning = (
        "The more outputs annotators read, the better they know the systems. A mean that still moves between the last "
        "two steps says that fewer outputs are not enough to judge these systems by. The changes themselves are not "
        "tested."
    )
    return [
        Heading(text="How the number of outputs read changes the answer"),
        Bullets(items=tuple(lines)),
        Paragraph(text=meaning),
    ]


LLM_NOTE = (
    "For an LLM the tests count forms, not people: a small p-value says that this LLM would answer much the same on "
    "other forms of this study, and nothing about other LLMs or about people."
)


LIVE_LLM_NOTE = (
    "An LLM is decided by its own answers, form by form: a decision says that this LLM would answer much the same on "
    "other forms of this study, and nothing about other LLMs or about people."
)


def _times(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _excess(row: DirectionSummary) -> str:
    shown = signed(_times(row.mean_excess), 1)
    if row.excess_low is None:
        return shown
    return f"{shown} ({interval(row.excess_low, row.excess_high, as_percent=True)})"


def _directions(rows: Sequence[DirectionSummary], names: Names) -> Fold:
    counted = names.counted(row.group for row in rows)
    fields: list[Field[DirectionSummary]] = [
        text_column("Asked as", names.over),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column(
            "n before", lambda row: count(row.n_before), f"{counted} who answered this direction, before exclusions"
        ),
        number_column("Mean before", lambda row: percent(row.mean_before), "their mean chance in this direction"),
        number_column("n after", lambda row: count(row.n), "those kept, after exclusions"),
        number_column("Mean after", lambda row: percent(row.mean), "their mean chance in this direction"),
        number_column(
            "SD after",
            lambda row: number(_times(row.sd), 1),
            "standard deviation of their answers, in percentage points",
        ),
        number_column(
            "Sum of both",
            lambda row: percent(row.mean_sum),
            "mean of an annotator\u2019s two answers added up, before exclusions",
        ),
        number_column("Excess", _excess, "sum minus 100%, with its interval, before exclusions"),
        number_column(
            "Symmetry p", lambda row: p_value(row.p_symmetry), "chance of so large a distance of the sum from 100%"
        ),
        number_column(
            "Excess of those selected",
            lambda row: signed(_times(row.mean_excess_selected), 1),
            "after exclusions; not tested",
        ),
    ]
    return Fold(
        summary="Both directions of each question, and whether they add up to 100%",
        blocks=(
            Paragraph(
                text="Asked both ways round, the two chances of a pair should add up to about 100%. A sum below that "
                "is indecision, which counts half for each system; a sum well above it shows a misread question. Sums "
                "and their test are those before exclusions. Those kept were selected by an upper bound on this very "
                "sum, so their excess is low by construction and a test of it would be meaningless."
            ),
            tabulate(
                "preference_directions",
                "Each direction by itself",
                fields,
                rows,
                constant=("Criterion", "Outputs read"),
            ),
            *_directions_figures(rows, names),
        ),
    )


def _directions_figures(rows: Sequence[DirectionSummary], names: Names) -> list[Figure | Fold]:
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
        figures.append(folded(f"directions-{slug(group)}-{slug(criterion)}", svg, caption, len(points)))
    return figures
