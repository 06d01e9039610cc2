"""The tests of preferences, ratings and choices, and what they leave for rankings and other tests to work on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.answers.input import AnalysisInput
from analysis.answers.item_preferences import is_soft
from analysis.answers.plan import Plan
from analysis.answers.scales import scale_widths, ways_of
from analysis.comparisons.choices import ChoiceTest, choice_cells, choice_judgements, compare_choices
from analysis.comparisons.directions import DirectionSummary, summarise_directions
from analysis.comparisons.equivalence import Row, with_equivalence
from analysis.comparisons.families import within_family
from analysis.comparisons.findings import Finding, findings_of
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
from analysis.comparisons.rating_judgements import counted_judgements
from analysis.comparisons.ratings import (
    RatingMean,
    RatingTest,
    compare_ratings,
    rating_cells,
    rating_differences,
    summarise_ratings,
)
from analysis.ranking.replicates import rating_sums, unit_names
from analysis.ranking.sources import RankingSources
from analysis.rating_checks.part import check_choices, check_part
from analysis.rating_checks.rows import OtherTests
from analysis.statistics.corrections import with_verdicts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparisonResults:
    """What the tests of the three kinds of answers gave, empty where there are no answers of a kind."""

    preferences: list[PreferenceTest]
    directions: list[DirectionSummary]
    means: list[RatingMean]
    ratings: list[RatingTest]
    choices: list[ChoiceTest]
    sources: RankingSources
    otherwise: OtherTests
    findings: list[Finding]


def compare_systems(ready: AnalysisInput) -> ComparisonResults:
    """Test preferences, choices and ratings, as far as there are any."""
    sources, otherwise = RankingSources(plan=ready.plan), OtherTests(plan=ready.plan)
    preferences, directions = analyse_preferences(ready, sources)
    choices = analyse_choices(ready, sources)
    means, ratings = analyse_ratings(ready, sources, otherwise)
    return ComparisonResults(
        preferences=preferences,
        directions=directions,
        means=means,
        ratings=ratings,
        choices=choices,
        sources=sources,
        otherwise=otherwise,
        findings=[
            *findings_of("preferences", preferences, ready.plan),
            *findings_of("ratings", ratings, ready.plan),
            *findings_of("choices", choices, ready.plan),
        ],
    )


def analyse_preferences(
    ready: AnalysisInput, sources: RankingSources
) -> tuple[list[PreferenceTest], list[DirectionSummary]]:
    """Return tests and directions of the preferences, empty where there are none; fill ``sources``."""
    if "preferences" not in ready.answers:
        return [], []
    comparisons = Comparisons(ready.answers["preferences"], ready.orders["preferences"])
    everybody, kept = (direct(frames["preferences"], comparisons) for frames in (ready.answers, ready.kept))
    llms = set(ready.answers["preferences"].filter(pl.col("annotator_kind") == "llm")["group"].to_list())
    names = {kind: kept.names for kind in ("annotator", "assignment")}
    return tests_of_units(everybody, kept, comparisons, ready.plan, sources, llms=llms, names=names)


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
    return (
        conclude(with_effect_sizes(rows, confidence=plan.confidence), plan, margin=plan.equivalence_margin),
        summarise_directions(everybody, kept, comparisons, confidence=plan.confidence),
    )


def analyse_ratings(
    ready: AnalysisInput,
    sources: RankingSources,
    otherwise: OtherTests | None = None,
) -> tuple[list[RatingMean], list[RatingTest]]:
    """Return means and tests of the ratings, empty where there are none; fill ``sources`` and ``otherwise``."""
    if "ratings" not in ready.kept:
        return [], []
    order, plan, names = ready.orders["ratings"], ready.plan, unit_names(ready.kept["ratings"])
    widths = scale_widths(ways_of(ready.answers["ratings"]), ready.tables.scales, ready.study)
    means: list[RatingMean] = []
    tests: list[RatingTest] = []
    for cells in rating_cells(ready.kept["ratings"], order):
        differences = rating_differences(cells)
        means += summarise_ratings(cells, plan)
        own = compare_ratings(cells, differences, plan, width=widths.get(cells.criterion))
        tests += own
        if otherwise is not None and own:
            otherwise.ratings.append(check_part(cells, differences, own, plan))
        judged = counted_judgements(cells, differences, plan)
        sources.add_comparisons("ratings_bt", cells.group, cells.criterion, judged, order.systems, names)
        sources.add_ratings(rating_sums(cells, names, plan))
    tests = within_family(tests, plan, "ratings")
    margin = plan.equivalence_margin_ratings
    return means, conclude(tests, plan, margin=margin, lower_is_better=plan.lower_is_better)


def analyse_choices(ready: AnalysisInput, sources: RankingSources) -> list[ChoiceTest]:
    """Return tests of the choices, empty where there are none; fill ``sources``."""
    if "choices" not in ready.kept:
        return []
    order, plan, names = ready.orders["choices"], ready.plan, unit_names(ready.kept["choices"])
    tests: list[ChoiceTest] = []
    checks = OtherTests(plan=plan)
    soft = set(is_soft(ready.answers["choices"]).iter_rows())
    for cells in choice_cells(ready.kept["choices"], order):
        own = compare_choices(cells, plan)
        if (cells.group, cells.criterion) in soft:
            own = [replace(test, probabilities=True) for test in own]
        tests += own
        checks.choices.append(check_choices(cells, own, plan))
        judged = choice_judgements(cells)
        sources.add_comparisons("choices", cells.group, cells.criterion, judged, order.systems, names)
    return checks.choice_rows(conclude(within_family(tests, plan, "choices"), plan, margin=plan.equivalence_margin))


def conclude(
    tests: Sequence[Row], plan: Plan, *, margin: float | None, lower_is_better: frozenset[str] = frozenset()
) -> list[Row]:
    """Correct the tests of one source, and say what each found of a difference and of equivalence."""
    found = with_verdicts(
        tests, fwer=plan.fwer, family=plan.family, lower_is_better=lower_is_better, correction=plan.correction
    )
    return with_equivalence(found, margin=margin, fwer=plan.fwer, confidence=plan.confidence, family=plan.family)
