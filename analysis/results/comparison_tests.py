"""The tests of preferences, ratings and choices, and what they leave for rankings and other tests to work on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from analysis.agreement.contribution import COUNTED_RATINGS
from analysis.agreement.counted_ratings import CountedRatings, counted_ratings
from analysis.answers.input import AnalysisInput
from analysis.answers.item_preferences import is_soft
from analysis.answers.plan import Plan
from analysis.answers.scales import scale_widths, ways_of
from analysis.answers.tables import answered_rows
from analysis.comparisons.choices import CHANCE, ChoiceTest, compare_choices
from analysis.comparisons.chosen_parts import ChosenPart, chosen_parts
from analysis.comparisons.contribution import TESTS
from analysis.comparisons.directions import DirectionSummary, judged_directions, summarise_directions
from analysis.comparisons.disagreements import findings_of
from analysis.comparisons.equivalence import Row, with_equivalence
from analysis.comparisons.hypothesis_families import within_family
from analysis.comparisons.preferences import (
    Comparisons,
    Directed,
    PreferenceTest,
    combine,
    compare_preferences,
    direct,
    preference_judgements,
    with_effect_sizes,
)
from analysis.comparisons.rated_parts import RatedPart, rated_parts
from analysis.comparisons.rating_cells import RatingCells
from analysis.comparisons.rating_judgements import judgements_of_counts
from analysis.comparisons.ratings import RatingMean, RatingTest, compare_ratings, summarise_ratings
from analysis.comparisons.tests import LISTED, Tests
from analysis.contribution import Analysis, Contribution, KeyValues
from analysis.ranking.contribution import SOURCES
from analysis.ranking.means_of_sums import mean_sums, names_of_units
from analysis.ranking.replicates import unit_names
from analysis.ranking.sources import RankingSources
from analysis.rating_checks.contribution import OTHER_TESTS
from analysis.rating_checks.other_tests import OtherTests
from analysis.rating_checks.part import check_sums
from analysis.rating_checks.part_sums import crossed_tests_of, part_sums
from analysis.statistics.coding import constant
from analysis.statistics.corrections import OUTSIDE_FAMILY, with_verdicts
from analysis.sums.criterion_sums import CriterionSums, by_criterion, counted_outcomes, ways_of_totals
from analysis.sums.units import unit_codes


def compare_systems(analysis: Analysis) -> KeyValues:
    """Test preferences, choices and ratings, as far as there are any."""
    prepared = analysis.prepared
    sources, otherwise = RankingSources(plan=prepared.plan), OtherTests(plan=prepared.plan)
    preferences = analyse_preferences(prepared, sources)
    choices = analyse_choices(prepared, sources)
    noted = Noted()
    ratings = analyse_ratings(prepared, sources, otherwise, noted)
    found = all_tests(
        prepared.plan, sources, otherwise, preferences=preferences, ratings=ratings, choices=choices, noted=noted
    )
    return {**found, COUNTED_RATINGS.name: tuple(noted.counted)}


def compare_sums(analysis: Analysis) -> KeyValues:
    """Test ratings or choices from the sums of a table in parts."""
    totals, plan = analysis.totals, analysis.plan
    sources, otherwise, names = RankingSources(plan=plan), OtherTests(plan=plan), names_of_units(totals)
    if totals.kind == "choices":
        chosen = (ChosenPart(sums=part) for part in by_criterion(totals))
        return all_tests(plan, sources, otherwise, choices=analyse_chosen_parts(chosen, plan, sources, names=names))
    rated = (RatedPart(sums=part) for part in by_criterion(totals))
    widths = scale_widths(ways_of_totals(totals), totals.scales, None)
    ratings = analyse_rated_parts(rated, plan, sources, otherwise, names=names, widths=widths)
    return all_tests(plan, sources, otherwise, ratings=ratings)


def all_tests(
    plan: Plan,
    sources: RankingSources,
    otherwise: OtherTests,
    *,
    preferences: tuple[list[PreferenceTest], list[DirectionSummary]] = ([], []),
    ratings: tuple[list[RatingMean], list[RatingTest]] = ([], []),
    choices: tuple[list[ChoiceTest], list[tuple[str, str, int]]] = ([], []),
    noted: Noted | None = None,
) -> KeyValues:
    """Return what the tests of the three kinds of answers gave, and what rankings and other tests are made of."""
    noted = noted or Noted()
    tests = Tests(
        preferences=preferences[0],
        directions=preferences[1],
        means=ratings[0],
        ratings=ratings[1],
        choices=choices[0],
        untested=choices[1],
        by_person=noted.by_person,
        rated=noted.rated,
        raters=noted.raters,
        findings=[
            *findings_of("preferences", preferences[0], plan),
            *findings_of("ratings", ratings[1], plan),
            *findings_of("choices", choices[0], plan),
        ],
    )
    return {TESTS.name: tests, SOURCES.name: sources, OTHER_TESTS.name: otherwise, COUNTED_RATINGS.name: ()}


TESTED: Final = Contribution(
    keys=(),
    between=(TESTS, SOURCES, OTHER_TESTS, COUNTED_RATINGS),
    stage="testing differences",
    compute=compare_systems,
    of_sums=compare_sums,
)


def analyse_preferences(
    prepared: AnalysisInput, sources: RankingSources
) -> tuple[list[PreferenceTest], list[DirectionSummary]]:
    """Return tests and directions of the preferences, empty where there are none; fill ``sources``."""
    if "preferences" not in prepared.answers:
        return [], []
    comparisons = Comparisons(prepared.answers["preferences"], prepared.orders["preferences"])
    everybody, kept = (direct(frames["preferences"], comparisons) for frames in (prepared.answers, prepared.kept))
    llms = set(prepared.answers["preferences"].filter(pl.col("annotator_kind") == "llm")["group"].to_list())
    names = {kind: kept.names for kind in ("annotator", "assignment")}
    return tests_of_units(everybody, kept, comparisons, prepared.plan, sources, llms=llms, names=names)


def tests_of_units(
    everybody: Directed,
    kept: Directed,
    comparisons: Comparisons,
    plan: Plan,
    sources: RankingSources,
    *,
    llms: Collection[str],
    names: Mapping[str, Sequence[str]],
) -> tuple[list[PreferenceTest], list[DirectionSummary]]:
    """Return tests and directions of answers by unit and direction; fill ``sources``."""
    systems, units = comparisons.order.systems, combine(kept)
    rows = compare_preferences(units, comparisons, confidence=plan.confidence)
    rows = within_family(rows, plan, "preferences")
    for group, criterion, judged in preference_judgements(units, comparisons, systems, llms):
        sources.add_comparisons("preferences", group, criterion, judged, systems, names)
    outside = {frozenset((row.system_x, row.system_y)) for row in rows if row.reason == OUTSIDE_FAMILY}
    directions = summarise_directions(everybody, kept, comparisons, confidence=plan.confidence)
    return (
        conclude(with_effect_sizes(rows, confidence=plan.confidence), plan, margin=plan.equivalence_margin),
        judged_directions(directions, outside, plan),
    )


def analyse_ratings(
    prepared: AnalysisInput,
    sources: RankingSources,
    otherwise: OtherTests | None = None,
    noted: Noted | None = None,
) -> tuple[list[RatingMean], list[RatingTest]]:
    """Return means and tests of the ratings, empty where there are none; fill ``sources``, ``otherwise``, ``noted``."""
    if "ratings" not in prepared.kept:
        return [], []
    table, order = prepared.kept["ratings"], prepared.orders["ratings"]
    widths = scale_widths(ways_of(prepared.answers["ratings"]), prepared.tables.scales, prepared.study)
    units = unit_codes(answered_rows(table))
    names = units.names
    parts = rated_parts(table, order, units)
    if noted is not None:
        noted.raters = names["annotator"]
        parts = noted.each(parts, names["item"], once=constant(table["sample"]))
    return analyse_rated_parts(parts, prepared.plan, sources, otherwise, names=names, widths=widths)


@dataclass(slots=True)
class Noted:
    """What other rooms take of the ratings, so that nobody makes it again.

    Attributes
    ----------
    by_person : list of CriterionSums
        Sums of scores by annotator, where a group has few people.
    counted : list of CountedRatings
        Groups and criteria whose agreement follows from sums.
    rated : list of RatingCells
        Ratings of people.
    raters : sequence of str
        Names of the annotators by number.
    """

    by_person: list[CriterionSums] = field(default_factory=list)
    counted: list[CountedRatings] = field(default_factory=list)
    rated: list[RatingCells] = field(default_factory=list)
    raters: Sequence[str] = ()

    def each(self, parts: Iterable[RatedPart], items: Sequence[str], *, once: bool) -> Iterator[RatedPart]:
        """Pass parts on; ``items`` are names by number, ``once``: no output is known in several samples."""
        for rated in parts:
            own, cells = rated.sums, rated.cells
            if once and cells is not None:
                single = {name: getattr(cells, name) for name in ("system", "annotator", "item", "value")}
                found = counted_ratings(CountedRatings(sums=own, annotators=self.raters, items=items, **single))
                self.counted += () if found is None else (found,)
            if not own.llm and cells is not None:
                self.rated.append(cells)
            if not own.llm and own.n_annotators <= LISTED:
                self.by_person.append(replace(own, scores={"annotator": own.scores["annotator"]}, pairs={}, counts={}))
            yield rated


def analyse_rated_parts(
    parts: Iterable[RatedPart],
    plan: Plan,
    sources: RankingSources,
    otherwise: OtherTests | None = None,
    *,
    names: Mapping[str, Sequence[str]],
    widths: Mapping[str, float],
) -> tuple[list[RatingMean], list[RatingTest]]:
    """Return means and tests of all groups and criteria; fill ``sources`` and ``otherwise``."""
    means: list[RatingMean] = []
    tests: list[RatingTest] = []
    for rated in parts:
        part = rated.sums
        means += summarise_ratings(rated, plan)
        own = compare_ratings(rated, plan, width=widths.get(part.criterion))
        tests += own
        if otherwise is not None and own:
            otherwise.ratings.append(check_sums(part_sums(rated, plan), own, plan))
        judged = judgements_of_counts(partial(counted_outcomes, part), plan, llm=part.llm)
        sources.add_comparisons("ratings_bt", part.group, part.criterion, judged, part.systems, names)
        sources.add_ratings(mean_sums(part, names, plan))
    tests = within_family(tests, plan, "ratings")
    margin = plan.equivalence_margin_ratings
    return means, conclude(tests, plan, margin=margin, lower_is_better=plan.lower_is_better)


def analyse_choices(
    prepared: AnalysisInput, sources: RankingSources
) -> tuple[list[ChoiceTest], list[tuple[str, str, int]]]:
    """Return tests of the choices, empty where there are none, and pairs without a test; fill ``sources``."""
    if "choices" not in prepared.kept:
        return [], []
    table, plan = prepared.kept["choices"], prepared.plan
    tests, untested = analyse_chosen_parts(
        chosen_parts(table, prepared.orders["choices"]), plan, sources, names=unit_names(table)
    )
    soft = set(is_soft(prepared.answers["choices"]).iter_rows())
    return [
        replace(test, probabilities=True) if (test.group, test.criterion) in soft else test for test in tests
    ], untested


def analyse_chosen_parts(
    parts: Iterable[ChosenPart], plan: Plan, sources: RankingSources, *, names: Mapping[str, Sequence[str]]
) -> tuple[list[ChoiceTest], list[tuple[str, str, int]]]:
    """Return tests of all groups and criteria, and how many pairs of which have none; fill ``sources``."""
    tests: list[ChoiceTest] = []
    untested: list[tuple[str, str, int]] = []
    checks = OtherTests(plan=plan)
    for chosen in parts:
        part, tested = chosen.sums, chosen.tested
        tests += compare_choices(chosen, plan)
        n = tested.n_pairs
        crossed = crossed_tests_of(
            tested, chosen.equal_pairs, np.arange(n), n, against=CHANCE, confidence=plan.confidence
        )
        checks.choices.append(crossed)
        sources.add_comparisons("choices", part.group, part.criterion, chosen.judgements(plan), part.systems, names)
        if chosen.n_untested:
            untested.append((part.group, part.criterion, chosen.n_untested))
    found = conclude(within_family(tests, plan, "choices"), plan, margin=plan.equivalence_margin)
    return checks.choice_rows(found), untested


def conclude(
    tests: Sequence[Row], plan: Plan, *, margin: float | None, lower_is_better: frozenset[str] = frozenset()
) -> list[Row]:
    """Correct the tests of one source, and say what each found of a difference and of equivalence."""
    found = with_verdicts(
        tests, fwer=plan.fwer, family=plan.family, lower_is_better=lower_is_better, correction=plan.correction
    )
    return with_equivalence(found, margin=margin, fwer=plan.fwer, confidence=plan.confidence, family=plan.family)
