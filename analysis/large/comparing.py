"""The tests of ratings and choices from their sums, and what these leave for rankings and other tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import overload

import numpy as np

from analysis.answers.plan import Plan
from analysis.answers.scales import scale_widths
from analysis.answers.units import Unit, UnitValues, averages_of_sums
from analysis.comparisons.choices import CHANCE, ChoiceTest, ChoiceTotals, compare_choice_totals
from analysis.comparisons.families import within_family
from analysis.comparisons.findings import findings_of
from analysis.comparisons.rating_judgements import judgements_of_counts
from analysis.comparisons.ratings import RatingMean, RatingTest, compare_totals, summarise_totals
from analysis.large.criterion_sums import (
    PAIR,
    CriterionSums,
    by_criterion,
    counted_outcomes,
    crossed_tests_of,
    equal_sums,
    items_of_pair,
    people_of_pair,
    rows_of_units,
    votes_of,
    ways_of_totals,
)
from analysis.large.rating_sums import mean_sums, part_sums, rating_totals, score_totals
from analysis.large.totals import AnswerTotals
from analysis.ranking.sources import RankingSources
from analysis.rating_checks.pair_differences import UNITS, pair_numbers
from analysis.rating_checks.part import check_sums
from analysis.rating_checks.rows import OtherTests
from analysis.results.comparison_tests import ComparisonResults, conclude


def compare_sums(totals: AnswerTotals, plan: Plan) -> ComparisonResults:
    """Test the ratings or choices of a table from its sums."""
    sources, otherwise = RankingSources(plan=plan), OtherTests(plan=plan)
    means: list[RatingMean] = []
    ratings: list[RatingTest] = []
    choices: list[ChoiceTest] = []
    if totals.kind == "ratings":
        means, ratings = _ratings(totals, plan, sources, otherwise)
    else:
        choices = _choices(totals, plan, sources)
    return ComparisonResults(
        preferences=[],
        directions=[],
        means=means,
        ratings=ratings,
        choices=choices,
        sources=sources,
        otherwise=otherwise,
        findings=[*findings_of("ratings", ratings, plan), *findings_of("choices", choices, plan)],
    )


def _ratings(
    totals: AnswerTotals, plan: Plan, sources: RankingSources, otherwise: OtherTests
) -> tuple[list[RatingMean], list[RatingTest]]:
    names, widths = _unit_names(totals), scale_widths(ways_of_totals(totals), totals.scales, None)
    means: list[RatingMean] = []
    tests: list[RatingTest] = []
    for part in by_criterion(totals):
        rated = rating_totals(part)
        means += summarise_totals(rated, score_totals(part), plan)
        own = compare_totals(rated, plan, width=widths.get(part.criterion))
        tests += own
        if own:
            otherwise.ratings.append(check_sums(part_sums(part, plan), own, plan))
        judged = judgements_of_counts(partial(counted_outcomes, part), plan, llm=part.llm)
        sources.add_comparisons("ratings_bt", part.group, part.criterion, judged, part.systems, names)
        sources.add_ratings(mean_sums(part, rated, names, plan))
    margin = plan.equivalence_margin_ratings
    tests = within_family(tests, plan, "ratings")
    return means, conclude(tests, plan, margin=margin, lower_is_better=plan.lower_is_better)


def _choices(totals: AnswerTotals, plan: Plan, sources: RankingSources) -> list[ChoiceTest]:
    names = _unit_names(totals)
    tests: list[ChoiceTest] = []
    checks = OtherTests(plan=plan)
    for part in by_criterion(totals):
        own = compare_choice_totals(_choice_totals(part), plan)
        tests += own
        x, y = pair_numbers(part.systems, own)
        checks.choices.append(crossed_tests_of(part, x, y, against=CHANCE, confidence=plan.confidence))
        judged = judgements_of_counts(partial(counted_outcomes, part), plan, llm=part.llm)
        sources.add_comparisons("choices", part.group, part.criterion, judged, part.systems, names)
    return checks.choice_rows(conclude(within_family(tests, plan, "choices"), plan, margin=plan.equivalence_margin))


def _choice_totals(part: CriterionSums) -> ChoiceTotals:
    k, overall = len(part.systems), part.pairs["overall"]

    def averages(units: Sequence[Unit]) -> list[UnitValues | None]:
        rows = rows_of_units(part.pairs, np.array([UNITS.index(unit) for unit in units]), k)
        return averages_of_sums(units, rows[PAIR], rows["n"], rows["total"], scale=1.0)

    votes = votes_of(part)
    equal = equal_sums(part, "pairs", votes)
    outcomes = np.zeros((k * k, 3), dtype=np.int64)
    outcomes[overall[PAIR], 1:] = np.stack([overall["tied"], overall["above"]], axis=1)
    outcomes[overall[PAIR], 0] = overall["n"] - overall["tied"] - overall["above"]
    return ChoiceTotals(
        group=part.group,
        criterion=part.criterion,
        llm=part.llm,
        systems=part.systems,
        n_annotators=part.n_annotators,
        annotators=np.bincount(part.pairs["annotator"][PAIR], minlength=k * k).astype(np.int64),
        outcomes=outcomes,
        bad=None,
        averages=averages,
        people=lambda pair: people_of_pair(equal, pair),
        items=lambda pair: items_of_pair(equal, pair, scale=1.0),
    )


class NumberedUnits(Sequence[str]):
    """Names of units by number."""

    def __init__(self, n_units: int) -> None:
        self._n_units = n_units

    def __len__(self) -> int:
        return self._n_units

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(self._n_units))]
        return str(number)


def _unit_names(totals: AnswerTotals) -> dict[str, Sequence[str]]:
    """Return what tells units apart in resampling: names where they are known."""
    names: dict[str, Sequence[str]] = {unit: NumberedUnits(totals.sizes[unit]) for unit in UNITS}
    if totals.names is not None:
        names["annotator"] = totals.names["annotator_id"].to_list()
    return names
