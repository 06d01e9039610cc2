"""Outputs that equal their source, and how each group rated them."""

from __future__ import annotations

from analysis.report.cells import cell
from analysis.report.document import Column, Paragraph, Section, build_table
from analysis.report.rating_details import mean_cell
from analysis.results.records import Results
from analysis.results.words import Names, count, percent

READING = (
    "An output that equals its source was shown among the others. Nothing is lost in it, so the expected rating is "
    "the best one: whoever gives another has not understood the question or not compared the two. A rater that "
    "passes may still be wrong about outputs that differ."
)


def identical_pairs(results: Results) -> Section | None:
    """Show mean ratings of identical pairs beside what is expected, in the manner of Table 4 of Chiang & Lee (2023)."""
    rows = results.identical_pairs
    if not rows:
        return None
    names = Names(results)
    columns = [
        Column(title="Criterion"),
        Column(title="Group"),
        Column(title="Expected", numeric=True),
        Column(title="Mean", explanation="with the standard deviation", numeric=True),
        Column(title="As expected", numeric=True),
        Column(title="Ratings", numeric=True),
        Column(title="Missing", numeric=True),
    ]
    cells = [
        [
            cell(names.criterion(row.criterion)),
            cell(names.group(row.group)),
            cell(count(row.expected)),
            mean_cell(row),
            cell(percent(row.n_expected / row.n) if row.n else ""),
            cell(count(row.n)),
            cell(count(row.n_missing)),
        ]
        for row in rows
    ]
    notes = ["Nobody is excluded here: people who fail checks leave the other tables as the plan says."]
    table = build_table("identical_pairs", "Ratings of identical pairs", columns, cells, notes)
    return Section(id="identical-pairs", title="Identical pairs", blocks=(Paragraph(text=READING), table))
