"""Ratings of single outputs: means, and the tests between systems."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.report.cells import MOST_IMPORTANT, VERDICT, cell, crossed, importance, verdict
from analysis.report.document import (
    Block,
    Column,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    build_table,
)
from analysis.report.families import correction_name
from analysis.report.orientation import STARS
from analysis.report.plots import means_figure
from analysis.report.preferences import level_words
from analysis.report.spread import spread
from analysis.results.findings import OVERALL, confidence_words, opened
from analysis.results.headline import MOST_CLAIMS
from analysis.results.records import Results
from analysis.results.words import MINUS, Names, count, interval, number, p_value, sentence, signed, slug

UNIT_NOTES = {
    "annotator": "Each test counts annotators, so its result holds for annotators like these.",
    "item": "Each test counts items, so its result holds for these annotators only.",
}


def ratings(results: Results) -> Section | None:
    """Report mean ratings and the tested differences, one part a criterion."""
    names, means, pairs = Names(results), results.ratings.means, results.ratings.pairs
    if not means and not pairs:
        return None
    blocks: list[Block] = [
        Paragraph(text=f"Annotators rated single outputs; here their ratings are averaged. {level_words(results)}")
    ]
    appendix: list[Block] = []
    named = [*(row.criterion for row in means), *(row.criterion for row in pairs)]
    criteria = sorted(dict.fromkeys(named), key=lambda each: each != OVERALL)
    for criterion in criteria:
        several = len(criteria) > 1
        title = sentence(names.directed(criterion))
        means_part: list[Block] = []
        pairs_part: list[Block] = []
        spreads: list[Block] = []
        own_means = [row for row in means if row.criterion == criterion]
        own_pairs = [row for row in pairs if row.criterion == criterion]
        if own_means:
            means_part += [
                _means(results, names, own_means, criterion, several),
                means_figure(own_means, names, criterion, several),
            ]
            spreads = spread(results, names, criterion, several)
        if own_pairs:
            pairs_part.append(_pairs(results, names, own_pairs, criterion, several))
        head = [Heading(text=title)] if several else []
        if criterion in opened(criteria):
            blocks += [*head, *means_part, *pairs_part]
            appendix += spreads
        elif OVERALL not in criteria and len(criteria) <= MOST_CLAIMS and pairs_part:
            blocks += [*head, *pairs_part]
            appendix.append(Fold(summary=f"{title}: means", blocks=(*means_part, *spreads)))
        else:
            parts = (*means_part, *pairs_part, *spreads)
            appendix.append(Fold(summary=f"{title}: means and differences", blocks=parts))
    return Section(id="ratings", title="How single outputs were rated", blocks=tuple(blocks), appendix=tuple(appendix))


def _means(results: Results, names: Names, rows: list[RatingMean], criterion: str, several: bool) -> Table:
    columns = [
        Column(title="System"),
        Column(title="Group"),
        Column(title="n", explanation="ratings counted", numeric=True),
        Column(title="Mean", numeric=True),
        Column(
            title=f"{confidence_words(results)} interval",
            explanation="the range in which the true mean may well "
            "lie; ratings of one annotator (or item) count as belonging together",
            numeric=True,
        ),
        Column(title="SD", explanation="standard deviation: how far single ratings lie from the mean", numeric=True),
    ]
    cells = [
        [
            cell(names.system(row.system)),
            cell(names.group(row.group)),
            cell(count(row.n)),
            cell(number(row.mean)),
            cell(interval(row.ci_low, row.ci_high)),
            cell(number(row.sd)),
        ]
        for row in rows
    ]
    title = _name_and_caption("ratings_means", "Mean ratings", names, criterion, several)
    return build_table(*title, columns, cells, csv="ratings_means")


def _pairs(results: Results, names: Names, rows: list[RatingTest], criterion: str, several: bool) -> Table:
    columns = [
        Column(title="Pair", explanation="the second system\u2019s mean is taken from the first\u2019s"),
        Column(title="Group"),
        Column(title="Unit", explanation="what the test counts, and so what its result holds for"),
        Column(title="n", explanation="units counted", numeric=True),
        Column(title="Difference", explanation="mean rating of the first minus that of the second", numeric=True),
        Column(title=f"{confidence_words(results)} interval", numeric=True),
        Column(title="Test", explanation="paired where the same unit rated both systems"),
        Column(
            title="Adjusted p",
            explanation="chance of so large a difference if there were none, corrected for "
            f"testing several pairs ({correction_name(results)}); below it t, the difference in standard errors, with "
            "its degrees of freedom",
            numeric=True,
        ),
        Column(title="Stars"),
        VERDICT,
        Column(
            title="Crossed p",
            explanation="the same over annotators and items at once, both taken as drawn; \u2260 where it "
            "comes to another verdict",
            numeric=True,
        ),
    ]
    cells = [
        [
            cell(f"{names.system(row.system_x)} {MINUS} {names.system(row.system_y)}"),
            cell(names.group(row.group)),
            cell(row.unit),
            cell(count(row.n)),
            cell(signed(row.mean_difference, 3)),
            cell(interval(row.ci_low, row.ci_high, decimals=3)),
            cell(row.test),
            cell(p_value(row.p_adjusted), detail=_t_of(row)),
            cell(row.stars),
            verdict(row, names, "ratings"),
            crossed(row),
        ]
        for row in rows
    ]
    notes = [STARS, "\u201cNo clear difference\u201d does not mean that the two are equal."]
    if criterion in names.lower_is_better:
        notes.append("A negative difference speaks for the first system, as lower is better.")
    same, test_notes = how_tested(rows)
    notes[:0] = test_notes
    title = _name_and_caption("ratings_pairs", "Differences in mean rating", names, criterion, several)
    return build_table(
        *title,
        columns,
        cells,
        notes,
        constant=same,
        csv="ratings_pairs",
        weights=importance(rows, names),
        weighed_by=MOST_IMPORTANT,
    )


def _t_of(row: RatingTest) -> str:
    """Return t with its degrees of freedom, as "t(39) = 2.51"; nothing where no test was run."""
    return f"t({count(row.df)}) = {number(row.t)}" if row.t is not None else ""


def how_tested(rows: Sequence[RatingTest]) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that need not be shown, and the notes that say the same once."""
    same, notes = [], []
    units, tests = {row.unit for row in rows}, {row.test for row in rows}
    if len(units) == 1 and units <= UNIT_NOTES.keys():
        same.append("Unit")
        notes.append(UNIT_NOTES[str(*units)])
    if len(tests) == 1:
        same.append("Test")
        notes.append(f"Test: {str(*tests)}.")
    return tuple(same), notes


def _name_and_caption(name: str, caption: str, names: Names, criterion: str, several: bool) -> tuple[str, str]:
    if not several:
        return name, f"{caption} ({names.direction(criterion)})"
    return f"{name}-{slug(criterion)}", f"{caption}: {names.directed(criterion)}"
