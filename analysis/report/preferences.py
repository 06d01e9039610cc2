"""Preferences stated as chances (SPA): the tests, the forest plot, the two directions."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.preferences import PreferenceTest
from analysis.report.cells import MOST_IMPORTANT, VERDICT, cell, importance, verdict
from analysis.report.document import (
    Block,
    Bullets,
    Column,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    build_table,
)
from analysis.report.families import correction_name, discovery_words
from analysis.report.orientation import STARS
from analysis.report.plots import directions_figures, share_figure
from analysis.results.findings import confidence_words, opened
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
    share_interval,
    signed,
    slug,
)


def preferences(results: Results) -> Section | None:
    """Report each pair: mean chance, interval, test, verdict, and a figure of all of them."""
    rows, names = results.preferences, Names(results)
    if not rows:
        return None
    blocks: list[Block] = [
        Paragraph(
            text="Annotators read outputs of each system and said how likely it is, from 0 to 100%, that the first "
            "system is better than the second. The table gives the mean of their answers; 50% means no preference. "
            + level_words(results)
        )
    ]
    appendix: list[Block] = []
    criteria = list(dict.fromkeys(row.criterion for row in rows))
    for criterion in criteria:
        part = blocks if criterion in opened(criteria) else appendix
        own = [row for row in rows if row.criterion == criterion]
        if len(criteria) > 1:
            part.append(Heading(text=sentence(names.criterion(criterion))))
        part.append(_table(results, names, own, criterion, len(criteria) > 1))
        part.append(share_figure(own, names, "preferences", criterion, len(criteria) > 1))
        part.extend(_by_exposure(own, names))
    if any(names.kind(row.group) == "llm" for row in rows):
        blocks.append(Paragraph(text=LLM_NOTE))
    if results.preference_directions:
        appendix.append(_directions(results, names))
    return Section(
        id="preferences", title="Which system is preferred (SPA)", blocks=tuple(blocks), appendix=tuple(appendix)
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


def level(results: Results) -> str:
    """Return the error rate of a family of tests as ".05"."""
    return f"{results.settings.fwer:g}".removeprefix("0")


def level_words(results: Results) -> str:
    """Return the sentence on when a difference counts as clear."""
    words = f"A result counts as clear where its adjusted p is at most {level(results)}."
    return " ".join(filter(None, (words, discovery_words(results))))


def _table(results: Results, names: Names, rows: Sequence[PreferenceTest], criterion: str, several: bool) -> Table:
    confidence = confidence_words(results)
    columns = [
        Column(title="Pair", explanation="the system that is ahead stands first"),
        Column(title="Group"),
        Column(title="Outputs read", explanation="how many of each system before judging (exposure)", numeric=True),
        Column(title="n", explanation="annotators counted; for an LLM, forms", numeric=True),
        Column(title="Mean", explanation="mean chance that the first is better", numeric=True),
        Column(
            title=f"{confidence} interval (%)",
            explanation="the range in which the true mean may well lie",
            numeric=True,
        ),
        Column(title="t", explanation="distance from 50% in standard errors (one-sample t-test)", numeric=True),
        Column(title="df", explanation="degrees of freedom of that test", numeric=True),
        Column(
            title="Adjusted p",
            explanation="chance of so large a distance if there were no preference, "
            f"corrected for testing several pairs ({correction_name(results)})",
            numeric=True,
        ),
        Column(title="Stars"),
        VERDICT,
    ]
    cells = [
        [
            cell(names.over(row)),
            cell(names.group(row.group)),
            cell(count(row.exposure)),
            cell(count(row.n)),
            cell(percent(row.mean)),
            cell(share_interval(row.ci_low, row.ci_high)),
            cell(number(row.t)),
            cell(count(row.df)),
            cell(p_value(row.p_adjusted)),
            cell(row.stars),
            verdict(row, names, "preferences"),
        ]
        for row in rows
    ]
    caption = "Mean chance that the first system of a pair is better"
    return build_table(
        f"preferences-{slug(criterion)}" if several else "preferences",
        f"{caption}: {names.criterion(criterion)}" if several else caption,
        columns,
        cells,
        [STARS, NO_PREFERENCE],
        constant=("Outputs read",) if _exposure_known(results) else (),
        csv="preferences",
        weights=importance(rows, names),
        weighed_by=MOST_IMPORTANT,
    )


NO_PREFERENCE = (
    "\u201cNo clear preference\u201d means that the answers do not tell the two apart, not that the two are equal."
)


def _exposure_known(results: Results) -> bool:
    return results.study is not None and bool(results.study.exposures)


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
