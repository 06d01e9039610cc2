"""Outputs that equal their source, and how each group rated them."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.descriptives.identical_pairs import IdenticalPairRating
from analysis.descriptives.rating_details_section import mean_cell
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Paragraph, Section
from analysis.printing.words import count, percent

READING = (
    "An output that equals its source was shown among the others. Nothing is lost in it, so the expected rating is "
    "the best one: whoever gives another has not understood the question or not compared the two. A rater that "
    "passes may still be wrong about outputs that differ."
)


def identical_pairs(rows: Sequence[IdenticalPairRating], shown: Shown) -> Section:
    """Show mean ratings of identical pairs beside what is expected, in the manner of Table 4 of Chiang & Lee (2023)."""
    names = shown.names
    fields: list[Field[IdenticalPairRating]] = [
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Output of", lambda row: "\u2013" if row.system is None else names.system(row.system)),
        number_column("Expected", lambda row: count(row.expected)),
        number_column("Mean", mean_cell, "with the standard deviation"),
        number_column("As expected", lambda row: percent(row.n_expected / row.n) if row.n else ""),
        number_column("Ratings", lambda row: count(row.n)),
        number_column("Missing", lambda row: count(row.n_missing)),
    ]
    notes = []
    if any(row.system is None for row in rows):
        notes.append("Nobody is excluded here: people who fail checks leave the other tables as the plan says.")
    if any(row.system is not None for row in rows):
        notes.append("With a system: its outputs that equal their source, rated among the others, after exclusions.")
    table = tabulate("identical_pairs", "Ratings of identical pairs", fields, rows, notes)
    return Section(id="identical-pairs", title="Identical pairs", blocks=(Paragraph(text=READING), table))
