"""What answers of people whom nobody named do not say: whatever needs to know who is who."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.pair_tables import THESE_PEOPLE
from analysis.comparisons.ratings import RatingTest
from analysis.records.results import Results

Test = TypeVar("Test", RatingTest, ChoiceTest)
BY_NAME = ("crossed", "z_scores")  # other tests, of who rated several outputs


def without_raters(results: Results) -> Results:
    """Take out of finished results what holds one annotator constant, or counts or compares annotators."""
    groups = {row.group for row in results.groups if row.unnamed is not None}
    if not groups:
        return results
    ratings = results.ratings
    ratings = replace(
        ratings,
        pairs=tuple(_without_raters(row) if row.group in groups else row for row in ratings.pairs),
        robustness=tuple(row for row in ratings.robustness if row.group not in groups or row.method not in BY_NAME),
        by_annotator=tuple(row for row in ratings.by_annotator if row.group not in groups),
    )
    pairs = tuple(_without_raters(row) if row.group in groups else row for row in results.choices.pairs)
    return replace(results, ratings=ratings, choices=replace(results.choices, pairs=pairs))


def _without_raters(row: Test) -> Test:
    return replace(row, unit_note=row.unit_note and THESE_PEOPLE, crossed_reason=None, most_of_one=None, all_alike=None)
