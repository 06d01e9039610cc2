"""Choices between two outputs: wins, ties and their tests."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.choices import ChoiceTest
from analysis.report.cells import MOST_IMPORTANT, VERDICT, cell, crossed, importance, verdict
from analysis.report.document import Block, Cell, Column, Heading, Paragraph, Section, Table, build_table
from analysis.report.families import correction_name
from analysis.report.orientation import STARS
from analysis.report.plots import share_figure
from analysis.report.preferences import NO_PREFERENCE, level_words
from analysis.report.ratings import UNIT_NOTES
from analysis.results.findings import confidence_words, opened
from analysis.results.records import Results
from analysis.results.words import Names, count, p_value, percent, sentence, share_interval, slug


def choices(results: Results) -> Section | None:
    """Report wins and their tests, one part a criterion."""
    names, rows = Names(results), results.choices.pairs
    if not rows:
        return None
    blocks: list[Block] = [
        Paragraph(
            text="Annotators saw two outputs of one item and chose the better one. A tie counts half for each system; "
            f"50% means no preference. {level_words(results)}"
        )
    ]
    appendix: list[Block] = []
    criteria = list(dict.fromkeys(row.criterion for row in rows))
    for criterion in criteria:
        part = blocks if criterion in opened(criteria) else appendix
        own = [row for row in rows if row.criterion == criterion]
        several = len(criteria) > 1
        if several:
            part.append(Heading(text=sentence(names.criterion(criterion))))
        part += [
            _table(results, names, own, criterion, several),
            share_figure(own, names, "choices", criterion, several),
        ]
    return Section(id="choices", title="Which output was chosen", blocks=tuple(blocks), appendix=tuple(appendix))


def _table(results: Results, names: Names, rows: Sequence[ChoiceTest], criterion: str, several: bool) -> Table:
    units = {row.unit for row in rows}
    known = units <= UNIT_NOTES.keys() and len(units) == 1
    caption = "How often the first system of a pair was chosen"
    return build_table(
        f"choices-{slug(criterion)}" if several else "choices",
        f"{caption}: {names.criterion(criterion)}" if several else caption,
        _columns(results),
        [_cells(row, names) for row in rows],
        [*(UNIT_NOTES[unit] for unit in units if known), STARS, NO_PREFERENCE],
        constant=("Unit",) if known else (),
        csv="choices_pairs",
        weights=importance(rows, names),
        weighed_by=MOST_IMPORTANT,
    )


def _columns(results: Results) -> list[Column]:
    return [
        Column(title="Pair"),
        Column(title="Group"),
        Column(title="Unit", explanation="what the test counts, and so what its result holds for"),
        Column(title="n", explanation="units counted", numeric=True),
        Column(title="Wins", explanation="choices of the first system", numeric=True),
        Column(title="Losses", explanation="choices of the second", numeric=True),
        Column(title="Ties", numeric=True),
        Column(title="Win rate", explanation="share of wins averaged over units", numeric=True),
        Column(title=f"{confidence_words(results)} interval (%)", numeric=True),
        Column(
            title="Adjusted p",
            explanation="chance of so uneven a share if there were no preference, corrected for "
            f"testing several pairs ({correction_name(results)})",
            numeric=True,
        ),
        Column(
            title="Binomial p",
            explanation="the same by an exact test that takes every untied choice as "
            "independent; uncorrected, for comparison",
            numeric=True,
        ),
        Column(
            title="Crossed p",
            explanation="the same over annotators and items at once, both taken as drawn; \u2260 where it "
            "comes to another verdict",
            numeric=True,
        ),
        Column(title="Stars"),
        VERDICT,
    ]


def _cells(row: ChoiceTest, names: Names) -> list[Cell]:
    """Return what stands in the columns for one pair of systems."""
    return [
        cell(names.over(row)),
        cell(names.group(row.group)),
        cell(row.unit),
        cell(count(row.n)),
        cell(count(row.wins_x)),
        cell(count(row.wins_y)),
        cell(count(row.ties)),
        cell(percent(row.win_rate)),
        cell(share_interval(row.ci_low, row.ci_high)),
        cell(p_value(row.p_adjusted)),
        cell(p_value(row.p_binomial)),
        crossed(row),
        cell(row.stars),
        verdict(row, names, "choices"),
    ]
