"""Simulated studies put through the package as a report would: checked, excluded, tested, corrected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import polars as pl

from analysis import Plan, Reading, check_frames
from analysis.answers.exclusions import apply_exclusions, find_exclusions
from analysis.answers.groups import group_order
from analysis.answers.order import order_of
from analysis.comparisons.choices import ChoiceTest, compare_choices
from analysis.comparisons.chosen_parts import chosen_parts
from analysis.comparisons.preferences import Comparisons, PreferenceTest, combine, compare_preferences, direct
from analysis.comparisons.rated_parts import rated_parts
from analysis.comparisons.ratings import RatingMean, RatingTest, compare_ratings, summarise_ratings
from analysis.statistics.corrections import with_verdicts

Test: TypeAlias = PreferenceTest | RatingTest | ChoiceTest


def run_studies(kind: str, table: pl.DataFrame, plan: Plan) -> tuple[Sequence[Test], list[RatingMean]]:
    """Return the corrected tests of every study (a group each), and the means of ratings.

    The steps are those of :func:`analysis.analyse`, without what is quadratic in the number of groups.
    """
    tables = check_frames({kind: table}, Reading())
    answered = tables.answers()[kind]
    kept = apply_exclusions(answered, find_exclusions(tables, plan))
    order = order_of(answered, [group for group, _ in group_order([answered])], None)
    if kind == "preferences":
        comparisons = Comparisons(answered, order)
        units = combine(direct(kept, comparisons))
        found = compare_preferences(units, comparisons, confidence=plan.confidence)
        return _corrected(found, plan), []
    if kind == "choices":
        return _corrected([row for part in chosen_parts(kept, order) for row in compare_choices(part, plan)], plan), []
    tests: list[RatingTest] = []
    means: list[RatingMean] = []
    for part in rated_parts(kept, order):
        tests += compare_ratings(part, plan)
        means += summarise_ratings(part, plan)
    return _corrected(tests, plan), means


def _corrected(tests: Sequence[Test], plan: Plan) -> Sequence[Test]:
    return with_verdicts(tests, fwer=plan.fwer, family=plan.family, correction=plan.correction)
