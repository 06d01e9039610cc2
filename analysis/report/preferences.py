"""Preferences stated as chances (SPA): the tests, the forest plot, the two directions."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.preferences import PreferenceTest
from analysis.report.cells import cell
from analysis.report.document import (
    Block,
    Bullets,
    Column,
    Fold,
    Heading,
    Paragraph,
    Section,
    build_table,
)
from analysis.report.live import live_blocks
from analysis.report.pair_tables import level_words, shares_by_criterion
from analysis.report.plots import directions_figures
from analysis.results.records import Results
from analysis.results.words import (
    Names,
    count,
    interval,
    number,
    p_value,
    percent,
    plural,
    sentence,
    signed,
)


def preferences(results: Results) -> Section | None:
    """Report each pair: mean chance, interval, test, verdict, and a figure of all of them."""
    rows, names = results.preferences, Names(results)
    if not rows:
        return None
    opening = Paragraph(
        text="Annotators read outputs of each system and said how likely it is, from 0 to 100%, that one is better "
        f"than another. Here are the means of their answers; 50% means no preference. {level_words(results)}"
    )
    blocks, appendix = shares_by_criterion(
        results, names, rows, "preferences", more=lambda own: _by_exposure(own, names)
    )
    if any(names.kind(row.group) == "llm" for row in rows):
        blocks.append(Paragraph(text=LLM_NOTE))
    if results.preference_directions:
        appendix.append(_directions(results, names))
    blocks = [opening, *live_blocks(results, names, "preferences"), *blocks]
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


def _times(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _excess(row: DirectionSummary) -> str:
    shown = signed(_times(row.mean_excess), 1)
    if row.excess_low is None:
        return shown
    return f"{shown} ({interval(row.excess_low, row.excess_high, as_percent=True)})"


def _directions(results: Results, names: Names) -> Fold:
    rows = results.preference_directions
    columns = [
        Column(title="Asked as"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n before", explanation="annotators who answered this direction, before exclusions", numeric=True),
        Column(title="Mean before", explanation="their mean chance in this direction", numeric=True),
        Column(title="n after", explanation="those kept, after exclusions", numeric=True),
        Column(title="Mean after", explanation="their mean chance in this direction", numeric=True),
        Column(title="SD after", explanation="standard deviation of their answers, in percentage points", numeric=True),
        Column(
            title="Sum of both",
            explanation="mean of an annotator\u2019s two answers added up, before exclusions",
            numeric=True,
        ),
        Column(title="Excess", explanation="sum minus 100%, with its interval, before exclusions", numeric=True),
        Column(title="Symmetry p", explanation="chance of so large a distance of the sum from 100%", numeric=True),
        Column(title="Excess of those selected", explanation="after exclusions; not tested", numeric=True),
    ]
    cells = [
        [
            cell(names.over(row)),
            cell(names.group(row.group)),
            cell(names.criterion(row.criterion)),
            cell(count(row.exposure)),
            cell(count(row.n_before)),
            cell(percent(row.mean_before)),
            cell(count(row.n)),
            cell(percent(row.mean)),
            cell(number(_times(row.sd), 1)),
            cell(percent(row.mean_sum)),
            cell(_excess(row)),
            cell(p_value(row.p_symmetry)),
            cell(signed(_times(row.mean_excess_selected), 1)),
        ]
        for row in rows
    ]
    return Fold(
        summary="Both directions of each question, and whether they add up to 100%",
        blocks=(
            Paragraph(
                text="Asked both ways round, the two chances of a pair should add up to about 100%. A sum below that "
                "is indecision, which counts half for each system; a sum well above it shows a misread question. Sums "
                "and their test are those before exclusions. Who is kept was selected by this very sum, from above "
                "only: the excess of those selected lies low by construction, and a test of it would say nothing."
            ),
            build_table(
                "preference_directions",
                "Each direction by itself",
                columns,
                cells,
                constant=("Criterion", "Outputs read"),
            ),
            *directions_figures(rows, names),
        ),
    )
