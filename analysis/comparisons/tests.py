"""What the tests of the three kinds of answers gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.disagreements import Finding
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.rating_cells import RatingCells
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.sums.criterion_sums import CriterionSums

LISTED = 20  # people of a group up to whom each one has means of their own


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tests:
    """What the tests of the three kinds of answers gave, empty where there are no answers of a kind.

    ``untested`` counts, by group and criterion, pairs of many systems that were compared once.
    ``by_person`` are sums of scores by annotator, of groups and criteria that few people rated.
    ``rated`` are the ratings of people one by one, and ``raters`` the names of the annotators by number.
    """

    preferences: list[PreferenceTest]
    directions: list[DirectionSummary]
    means: list[RatingMean]
    ratings: list[RatingTest]
    choices: list[ChoiceTest]
    findings: list[Finding]
    untested: list[tuple[str, str, int]]
    by_person: Sequence[CriterionSums]
    rated: Sequence[RatingCells] = ()
    raters: Sequence[str] = ()
