"""From checked tables and a plan to everything that a report says: the records of ``results.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from analysis.agreement.reviewers import ReviewAgreement, review_agreement
from analysis.agreement.rows import agreement_of_judgements, agreement_of_ratings
from analysis.answers.beside import read_record
from analysis.answers.controls import control_checks
from analysis.answers.exclusions import CONSISTENCY, apply_exclusions, careless_checks
from analysis.answers.groups import people_of
from analysis.answers.input import AnalysisInput, prepare_input, steps_of
from analysis.answers.item_preferences import WHO
from analysis.answers.live_rows import LiveStudy
from analysis.answers.order import order_of
from analysis.answers.plan import Plan
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import AnswerTables
from analysis.comparisons.families import families_of
from analysis.comparisons.findings import compare_with_expected, find_disagreements
from analysis.contamination.results import Contamination
from analysis.correlations.rows import correlate_groups
from analysis.descriptives.category_shares import category_shares
from analysis.descriptives.explanations import ExplanationRow, explanations_of
from analysis.descriptives.identical_pairs import identical_pairs
from analysis.descriptives.rating_breakdowns import breakdowns
from analysis.descriptives.rating_counts import rating_counts
from analysis.explanations.exploration import ExplorationResults
from analysis.explanations.texts import explained_texts, hash_of
from analysis.llm_vs_people.first_shown import first_shown_rows
from analysis.llm_vs_people.rows import llm_vs_people
from analysis.metrics.rows import MetricResults, metric_results
from analysis.orders.rows import OrderRows, order_rows
from analysis.planning.observed import observed_power_rows
from analysis.preference_checks.rows import preference_checks
from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.differences import find_ranking_differences
from analysis.ranking.sources import rank_systems
from analysis.results import overview
from analysis.results.comparison_tests import ComparisonResults, compare_systems
from analysis.results.control_words import about_controls
from analysis.results.conventions import conventions
from analysis.results.headline import headline_of
from analysis.results.live import with_fixed_estimates
from analysis.results.nameless import without_raters
from analysis.results.place_words import about_places
from analysis.results.rater_rows import RaterRow
from analysis.results.rater_table import count_answers, rater_table
from analysis.results.records import SCHEMA, ChoiceResults, RatingResults, Results
from analysis.results.row_tables import with_rows
from analysis.results.verdicts import as_decided, with_decisions
from analysis.results.warnings import about_documents, about_names, about_scores, about_spans, outdated_files, warn
from analysis.spans.rows import SpanResults, span_results
from analysis.statistics.rank_orders import Ranking
from analysis.statistics.record import rounded


def analyse(
    tables: AnswerTables, plan: Plan, *, study: StudyFacts | None = None, observed_power: float | None = None
) -> Results:
    """Analyse answers as planned.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables (:func:`analysis.answers.tables.read_tables`).
    plan : Plan
        Error rate, exclusions, families, unit, expectations.
    study : StudyFacts, optional
        What the report says of the study; its order of systems and pairs is then used.
    observed_power : float, optional
        Level at which power at the effects found is added, only to reproduce Figure 2 of Ethayarajh & Jurafsky (2022).

    Returns
    -------
    Results
        What ``results.json`` holds. The same input gives the same output; numbers are rounded to
        12 significant digits.

    Raises
    ------
    AnalysisError
        When the tables do not allow what the plan asks for.
    """
    ready = prepare_input(tables, plan, study)
    tests = compare_systems(ready)
    results = without_raters(rounded(_results(ready, tests)))
    if observed_power is not None:
        power = observed_power_rows(
            tests.preferences, tests.ratings, groups=ready.groups, study=ready.study, alpha=observed_power
        )
        results = replace(results, observed_power=rounded(tuple(power)))
    results = with_decisions(results)
    results = replace(results, raters=rounded(tuple(_raters(as_decided(results), ready))))
    said = as_decided(results)
    rows = (
        *warn(said, ready.plan),
        *outdated_files(said, study),
        *about_names(tables.near_names),
        *about_places(said),
        *about_documents(tables.documents),
        *(about_scores(tables.codes, tables.other_scales) if study is None else ()),
        *(about_spans(tables.span_doubts) if study is None else ()),
        *about_controls(said),
    )
    results, said = (
        replace(one, warnings=tuple(row.text for row in rows), warning_rows=rows) for one in (results, said)
    )
    return with_rows(replace(results, headline=headline_of(said)))


def _raters(results: Results, ready: AnalysisInput) -> Sequence[RaterRow]:
    if "llm" not in {kind for _, kind in ready.groups}:
        return ()
    return rater_table(results, {source: count_answers(table) for source, table in ready.answers.items()}, ready.orders)


def _results(ready: AnalysisInput, tests: ComparisonResults) -> Results:
    """Return all but what is made from other results."""
    kept, orders, plan, metrics = ready.kept, ready.orders, ready.plan, ready.tables.metrics
    ratings, order = kept.get("ratings"), orders.get("ratings")
    checks = preference_checks(ready.answers, orders, ready.exclusions, plan)
    rankings = rank_systems(tests.sources, tests.means, tests.ratings)
    agreement, annotator_pairs = (
        agreement_of_ratings(ratings, orders["ratings"], plan, steps_of(ready)) if ratings is not None else ([], [])
    )
    judged = agreement_of_judgements(kept, orders, plan, ready.study)
    correlations, compared, by_system = correlate_groups(ratings, metrics, ready.groups, order, plan)
    ordered, explanations = _ordered(ready), tuple(explanations_of(kept, orders))
    known = _contamination(ready.study)
    soft = {("choices", row.group, row.criterion) for row in tests.choices if row.probabilities}
    families = [
        *families_of("preferences", tests.preferences, plan),
        *families_of("ratings", tests.ratings, plan),
        *families_of("choices", tests.choices, plan),
    ]
    return Results(
        schema=SCHEMA,
        settings=overview.settings(
            plan,
            inputs=ready.tables.inputs,
            scales=ready.tables.scales,
            missing_codes=ready.tables.missing_codes,
            rescaled=ready.tables.rescaled,
        ),
        study=ready.study.reported() if ready.study else None,
        groups=tuple(overview.groups(ready.answers, ready.groups, ready.exclusions, ready.study)),
        exclusions=tuple(overview.exclusion_rows(ready.exclusions)),
        careless=overview.careless_counts(careless_checks(ready.tables, plan, ready.exclusions), plan),
        reviewers=_reviewers(ready),
        controls=tuple(control_checks(ready.tables.controls, plan.lower_is_better)),
        missing=tuple(overview.missing(ready.answers, orders)),
        preferences=tuple(tests.preferences),
        preference_directions=tuple(tests.directions),
        exposure_curve=tuple(checks.exposure_curve),
        exposure_trend=tuple(checks.exposure_trend),
        first_exposure=tuple(checks.first_exposure),
        consistency_sweep=tuple(checks.consistency_sweep),
        coherence=tuple(checks.coherence),
        ratings=_rating_results(ready, tests),
        rating_counts=tuple(rating_counts(ratings, order)),
        category_shares=tuple(category_shares(ratings, order, ready.study)),
        interview=ready.study.interview if ready.study else (),
        identical_pairs=tuple(identical_pairs(ready.tables.identical_pairs)),
        choices=ChoiceResults(pairs=tuple(tests.choices)),
        orders=ordered.summaries,
        order_strengths=ordered.strengths,
        order_places=ordered.places,
        families=tuple(families),
        bradley_terry=tuple(tests.sources.rows),
        ties=tuple(row for row in tests.sources.ties if (row.source, row.group, row.criterion) not in soft),
        rankings=tuple(rankings),
        ranking_agreement=tuple(
            agreement_of_rankings(rankings, tests.sources.sums, confidence=plan.confidence, seed=plan.seed)
        ),
        ranking_differences=tuple(
            find_ranking_differences(rankings, tests.findings, tests.sources.tables, people_of(ready.groups), plan)
        ),
        agreement=(*agreement, *judged[0]),
        annotator_pairs=(*annotator_pairs, *judged[1]),
        correlations=tuple(correlations),
        comparisons_of_correlations=tuple(compared),
        correlations_by_system=tuple(by_system),
        metrics=_metric_results(ready, rankings),
        llm_vs_people=llm_vs_people(kept, orders, tests.means, plan, metrics=metrics),
        first_shown=tuple(first_shown_rows(_as_shown(ready), orders.get("choices"), plan.fwer)),
        explanations=explanations,
        exploration=_exploration(ready.study, explanations),
        contamination=next(iter(known), None),
        contamination_of_others=known[1:],
        expected=tuple(compare_with_expected(tests.findings, plan.expected)),
        disagreements=tuple(find_disagreements(tests.findings)),
        warnings=(),
        conventions=conventions(plan, live=ready.study is not None and ready.study.live is not None),
        spans=_spans(ready),
        live=_live(ready, tests),
    )


def _as_shown(ready: AnalysisInput) -> pl.DataFrame | None:
    """Return the choices as they were asked, each direction apart, also of those who contradicted themselves."""
    asked = ready.tables.item_preferences
    if asked is None:
        return ready.kept.get("choices")
    shown = apply_exclusions(asked, [row for row in ready.exclusions if row.rule != CONSISTENCY])
    others = ready.kept["choices"].join(asked, on=WHO, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([others, shown], how="diagonal_relaxed")


def _ordered(ready: AnalysisInput) -> OrderRows:
    orders = ready.tables.orders
    if orders is None:
        return OrderRows()
    order = order_of(orders, [group for group, _ in ready.groups], ready.study)
    return order_rows(apply_exclusions(orders, ready.exclusions), order, ready.plan)


def _metric_results(ready: AnalysisInput, rankings: Sequence[Ranking]) -> MetricResults | None:
    tables, systems = ready.tables, dict.fromkeys(one for order in ready.orders.values() for one in order.systems)
    people = people_of(ready.groups)
    return metric_results(tables.metrics, tables.corpus_metrics, [*systems], rankings, people, ready.plan)


def _exploration(study: StudyFacts | None, explanations: Sequence[ExplanationRow]) -> ExplorationResults | None:
    """Return what was found in the texts that there are now."""
    if study is None or study.exploration is None:
        return None
    found = read_record(study.exploration, ExplorationResults)
    return found if found.texts == hash_of(explained_texts(explanations, study.interview)) else None


def _contamination(study: StudyFacts | None) -> tuple[Contamination, ...]:
    """Return what was found in the texts that the study has now, model by model."""
    found = [read_record(file, Contamination) for file in (study.contamination if study else ())]
    return tuple(one for one in found if study and one.texts == study.texts)


def _live(ready: AnalysisInput, tests: ComparisonResults) -> LiveStudy | None:
    live = ready.study.live if ready.study else None
    if live is None:
        return None
    return with_fixed_estimates(live, getattr(tests, live.answers), ready.plan.lower_is_better)


def _spans(ready: AnalysisInput) -> SpanResults | None:
    spans, order = ready.tables.spans, ready.orders.get("ratings")
    if spans is None or order is None:
        return None
    return span_results(apply_exclusions(spans, ready.exclusions), order.groups, order.systems, ready.plan)


def _reviewers(ready: AnalysisInput) -> tuple[ReviewAgreement, ...]:
    log = ready.study.decisions if ready.study else ()
    return tuple(review_agreement(log, confidence=ready.plan.confidence)) if log else ()


def _rating_results(ready: AnalysisInput, tests: ComparisonResults) -> RatingResults:
    pairs, robustness, respacing = tests.otherwise.rating_rows(tests.ratings)
    by_system, by_variant, by_annotator = breakdowns(
        ready.kept.get("ratings"), ready.orders.get("ratings"), ready.plan, tests.means
    )
    return RatingResults(
        means=tuple(tests.means),
        pairs=tuple(pairs),
        robustness=tuple(robustness),
        respacing=tuple(respacing),
        by_system=tuple(by_system),
        by_variant=tuple(by_variant),
        by_annotator=tuple(by_annotator),
    )
