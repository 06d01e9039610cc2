"""Preferences stated as chances (SPA): the tests, the forest plot, the two directions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.pair_tables import shares_by_criterion
from analysis.comparisons.preferences import PreferenceTest
from analysis.contribution import Shown
from analysis.figures.drawing import INK, system_colours
from analysis.figures.figures import Point, lines_plot
from analysis.printing.cells import VERDICT, Field, number_column, tabulate, text_column, verdict
from analysis.printing.document import (
    Block,
    Bullets,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Section,
)
from analysis.printing.levels import correction_name, level_words
from analysis.printing.live_blocks import live_blocks
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, folded, how_many
from analysis.printing.words import (
    count,
    interval,
    listed,
    number,
    p_value,
    percent,
    plural,
    sentence,
    share_interval,
    signed,
    slug,
    t_value,
)
from analysis.statistics.corrections import TURNED

NAMED = 3  # comparisons
READ, STATED = "outputs of each system read", "mean chance stated"
CSV = "preference_directions"


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
        blocks += either_way(directions, shown)
        appendix += direction_blocks(directions, shown)
    blocks = [opening, *live_blocks(shown.results, names, "preferences"), *blocks]
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


ADD_UP = (
    "Asked both ways round, the two chances of a pair should add up to about 100%. A sum below that is indecision, "
    "which counts half for each system; a sum well above it shows a misread question."
)
SELECTED = (
    "The evidence is the test before exclusions. Where those kept were selected by an upper bound on this very sum, "
    "their excess is low by construction: its p, which the SPA paper gives with Figure 1, shows the selection."
)
ALONE = "Each direction tested by itself"


def direction_blocks(rows: Sequence[DirectionSummary], shown: Shown) -> list[Block]:
    """Show both directions and what they add up to, and the test of each by itself."""
    return [*_alone(rows, shown), _sums(rows, shown)]


def either_way(rows: Sequence[DirectionSummary], shown: Shown) -> list[Block]:
    """Say of how many comparisons both directions, each tested by itself, find the same."""
    pairs = [both for both in _both_ways(rows) if all(row.verdict is not None for row in both)]
    if not pairs or shown.live:
        return []
    other = [first for first, second in pairs if first.verdict != TURNED[second.verdict]]
    where = f" Not so: {_listed(other, shown.names)}." if other else ""
    return [
        Paragraph(
            text="Asked either way round, each direction tested by itself: the same verdict in "
            f"{len(pairs) - len(other)} of {plural(len(pairs), 'comparison')}.{where}"
        )
    ]


def _both_ways(rows: Sequence[DirectionSummary]) -> list[tuple[DirectionSummary, DirectionSummary]]:
    """Return the two directions of each comparison that was asked both ways."""
    parts = grouped(rows, lambda row: (row.group, row.criterion, row.exposure, frozenset((row.system_x, row.system_y))))
    return [(own[0], own[1]) for own in parts.values() if len(own) > 1]


def _listed(rows: Sequence[DirectionSummary], names: Names) -> str:
    several = len({(row.group, row.criterion) for row in rows}) > 1
    told = [
        names.against(row)
        + (f" after {plural(row.exposure, 'output')}" if row.exposure else "")
        + (f" ({names.group(row.group)}, {names.criterion(row.criterion)})" if several else "")
        for row in rows[:NAMED]
    ]
    return listed([*told, *([f"{len(rows) - NAMED} more"] if len(rows) > NAMED else [])])


def _alone(rows: Sequence[DirectionSummary], shown: Shown) -> list[Block]:
    """Show the test of each direction, as Figure 1 of the SPA paper, where both were asked."""
    if shown.live or not _both_ways(rows):
        return []
    names = shown.names
    fields: list[Field[DirectionSummary]] = [
        text_column("Asked as", names.over),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.n), f"{names.counted(row.group for row in rows)}, after exclusions"),
        number_column("Mean", lambda row: percent(row.mean), "mean chance in this direction"),
        number_column(
            f"{shown.confidence} confidence interval (%)", lambda row: share_interval(row.ci_low, row.ci_high)
        ),
        number_column("t", lambda row: t_value(row.t), "of the mean against 50%"),
        number_column(
            "Adjusted p",
            lambda row: p_value(row.p_adjusted),
            f"corrected over the directions of a group and criterion ({correction_name(shown.settings)}), apart from "
            "the tests of pairs",
        ),
        (VERDICT, lambda row: verdict(row, names, "preferences")),
    ]
    text = (
        "Each direction alone against 50%, of those kept. The verdict of a pair rests on both directions together; "
        "these tests show whether it hangs on how the question was put. They are a family of their own and change no "
        "other p."
    )
    table = tabulate("directions_alone", ALONE, fields, rows, constant=("Criterion", "Outputs read"), csv=CSV)
    return [Fold(summary=ALONE, blocks=(Paragraph(text=text), table, *_figures_alone(rows, names)))]


def _figures_alone(rows: Sequence[DirectionSummary], names: Names) -> list[Figure | Fold]:
    """Return each direction over the outputs read, of those kept: Figure 1 of the SPA paper."""
    figures = []
    for (group, criterion), own in grouped(rows, lambda row: (row.group, row.criterion)).items():
        if len({row.exposure for row in own}) < 2 or not _both_ways(own):
            continue
        said = "mean chance stated in each direction, by outputs read (as Figure 1 of Ethayarajh & Jurafsky, 2022)."
        name = f"each-direction-{slug(group)}-{slug(criterion)}"
        figures.append(_over_outputs_read(own, names, (("", "mean"),), name, "Each direction", said))
    return figures


def _over_outputs_read(
    rows: Sequence[DirectionSummary],
    names: Names,
    told: Sequence[tuple[str, str]],
    name: str,
    alternative: str,
    said: str,
) -> Figure | Fold:
    """Draw ``told`` of each direction over the outputs read, for one group and criterion, of which ``said`` is said."""
    points, first = _points(rows, names, told), rows[0]
    drawing = partial(
        lines_plot,
        points,
        x_title=READ,
        y_title=STATED,
        references=(0.5,),
        alternative=f"{alternative}; {BESIDE}.",
    )
    caption = f"{sentence(names.group(first.group))}, {names.criterion(first.criterion)}: {said}"
    return folded(name, drawing, caption, len(points), how_many(rows, names))


def _points(rows: Sequence[DirectionSummary], names: Names, told: Sequence[tuple[str, str]]) -> list[Point]:
    """Return the places of ``told`` (words after the direction, field) over the outputs read."""
    colours = system_colours(names.systems)
    return [
        Point(
            line=names.over(row) + words,
            x=row.exposure,
            y=getattr(row, field),
            colour=colours.get(row.system_x, INK),
        )
        for row in rows
        for words, field in told
        if row.exposure is not None and getattr(row, field) is not None
    ]


def _sums(rows: Sequence[DirectionSummary], shown: Shown) -> Fold:
    names = shown.names
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
            "after exclusions",
        ),
        number_column(
            "Symmetry p of those selected",
            lambda row: p_value(row.p_symmetry_selected),
            "the same test after exclusions, as in the SPA paper: no evidence where a bound on the sum chose them",
        ),
    ]
    return Fold(
        summary="Both directions of each question, and whether they add up to 100%",
        blocks=(
            Paragraph(text=ADD_UP if shown.live else f"{ADD_UP} {SELECTED}"),
            tabulate(
                "preference_directions",
                "Each direction by itself",
                fields,
                rows,
                constant=("Criterion", "Outputs read"),
                units=f"n: {counted}, before exclusions and after",
            ),
            *_directions_figures(rows, names),
        ),
    )


def _directions_figures(rows: Sequence[DirectionSummary], names: Names) -> list[Figure | Fold]:
    """Return each direction over the outputs read, before and after exclusions: Figure 5 of the SPA paper.

    One figure a group and criterion that answered at several exposures and lost annotators to exclusions.
    """
    figures = []
    for (group, criterion), own in grouped(rows, lambda row: (row.group, row.criterion)).items():
        if len({row.exposure for row in own}) < 2 or all(row.n == row.n_before for row in own):
            continue
        said = (
            "each direction as it was asked, before and after exclusions (as Figure 5 of Ethayarajh & Jurafsky, 2022). "
            "Where both directions agree, one lies as far above 50% as the other below."
        )
        told = ((", before exclusions", "mean_before"), (", after exclusions", "mean"))
        name, alternative = f"directions-{slug(group)}-{slug(criterion)}", "Each direction before and after exclusions"
        figures.append(_over_outputs_read(own, names, told, name, alternative, said))
    return figures
