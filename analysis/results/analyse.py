"""From checked tables and a plan to everything that a report says: ``results.json`` as a dict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from analysis.agreement.rows import agreement_of_judgements, agreement_of_ratings
from analysis.answers.groups import people_of
from analysis.answers.input import AnalysisInput, prepare_input
from analysis.answers.plan import Plan
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import AnswerTables
from analysis.comparisons.families import families_of
from analysis.comparisons.findings import compare_with_expected, find_disagreements
from analysis.correlations.rows import correlate_groups
from analysis.descriptives.category_shares import category_shares
from analysis.descriptives.explanations import explanations_of
from analysis.descriptives.identical_pairs import identical_pairs
from analysis.descriptives.rating_breakdowns import breakdowns
from analysis.descriptives.rating_counts import rating_counts
from analysis.llm_vs_people.rows import llm_vs_people
from analysis.planning.observed import ObservedPowerRow, observed_power_rows
from analysis.preference_checks.rows import preference_checks
from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.differences import find_ranking_differences
from analysis.ranking.sources import rank_systems
from analysis.results import overview
from analysis.results.comparison_tests import ComparisonResults, compare_systems
from analysis.results.conventions import conventions
from analysis.results.files import from_plain
from analysis.results.rater_table import rater_table
from analysis.results.records import RatingResults, Results
from analysis.results.warnings import warn
from analysis.statistics.record import rounded

SCHEMA = 1


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
    results = {
        **_answers_in(ready),
        **_tested(ready, tests),
        **_ranked(ready, tests),
        **_beside_each_other(ready, tests),
        "expected": compare_with_expected(tests.findings, ready.plan.expected),
        "disagreements": find_disagreements(tests.findings),
        "conventions": conventions(ready.plan),
    }
    found: Any = from_plain({**rounded(results), "raters": (), "warnings": (), "observed_power": None})
    beside = {
        "raters": rater_table(found, ready.answers, ready.orders),
        "warnings": warn(found, ready.plan),
        "observed_power": None if observed_power is None else _observed_power(ready, tests, observed_power),
    }
    return from_plain({**found, **rounded(beside)})


def _answers_in(ready: AnalysisInput) -> dict[str, Any]:
    """Say what came in, under which settings, and what was left out."""
    return {
        "schema": SCHEMA,
        "settings": overview.settings(ready.tables, ready.plan),
        "study": ready.study.reported() if ready.study else None,
        "groups": overview.groups(ready.answers, ready.groups, ready.exclusions, ready.study),
        "exclusions": overview.exclusion_rows(ready.exclusions),
        "missing": overview.missing(ready.answers, ready.orders),
    }


def _tested(ready: AnalysisInput, tests: ComparisonResults) -> dict[str, Any]:
    """Say what the tests of pairs found, with means, counts and the families that were corrected."""
    ratings, plan, otherwise = ready.kept.get("ratings"), ready.plan, tests.otherwise
    order = ready.orders.get("ratings")
    pairs, robustness, respacing = otherwise.rating_rows(tests.ratings)
    by_system, by_variant, by_annotator = breakdowns(ratings, order, plan, tests.means)
    checks = preference_checks(ready.answers, ready.orders, ready.exclusions, plan)
    families = [
        *families_of("preferences", tests.preferences, plan),
        *families_of("ratings", tests.ratings, plan),
        *families_of("choices", tests.choices, plan),
    ]
    return {
        "preferences": tests.preferences,
        "preference_directions": tests.directions,
        "exposure_curve": checks.exposure_curve,
        "exposure_trend": checks.exposure_trend,
        "first_exposure": checks.first_exposure,
        "consistency_sweep": checks.consistency_sweep,
        "coherence": checks.coherence,
        "ratings": RatingResults(
            means=tuple(tests.means),
            pairs=tuple(pairs),
            robustness=tuple(robustness),
            respacing=tuple(respacing),
            by_system=tuple(by_system),
            by_variant=tuple(by_variant),
            by_annotator=tuple(by_annotator),
        ),
        "rating_counts": rating_counts(ratings, order),
        "category_shares": category_shares(ratings, order, ready.study),
        "identical_pairs": identical_pairs(ready.tables.identical_pairs),
        "choices": {"pairs": tests.choices},
        "families": families,
    }


def _ranked(ready: AnalysisInput, tests: ComparisonResults) -> dict[str, Any]:
    """Say in which order the systems come, and where two orders differ."""
    plan, sources = ready.plan, tests.sources
    rankings = rank_systems(sources, tests.means, tests.ratings)
    agreement = agreement_of_rankings(rankings, sources.sums, confidence=plan.confidence, seed=plan.seed)
    people = people_of(ready.groups)
    return {
        "bradley_terry": sources.rows,
        "ties": tuple(sources.ties),
        "rankings": tuple(rankings),
        "ranking_agreement": tuple(agreement),
        "ranking_differences": tuple(find_ranking_differences(rankings, tests.findings, sources.tables, people, plan)),
    }


def _beside_each_other(ready: AnalysisInput, tests: ComparisonResults) -> dict[str, Any]:
    """Say how far annotators agree, and how LLMs and metrics go with people."""
    kept, orders, plan, metrics = ready.kept, ready.orders, ready.plan, ready.tables.metrics
    agreement, pairs = agreement_of_ratings(kept["ratings"], orders["ratings"], plan) if "ratings" in kept else ([], [])
    correlations, compared, by_system = correlate_groups(
        kept.get("ratings"), metrics, ready.groups, orders.get("ratings"), plan
    )
    return {
        "agreement": _rows([*agreement, *agreement_of_judgements(kept, orders, plan)]),
        "annotator_pairs": _rows(pairs),
        "correlations": _rows(correlations),
        "comparisons_of_correlations": _rows(compared),
        "correlations_by_system": _rows(by_system),
        "llm_vs_people": asdict(llm_vs_people(kept, orders, tests.means, plan, metrics=metrics)),
        "explanations": explanations_of(kept, orders),
        "interview": ready.study.interview if ready.study else (),
    }


def _observed_power(ready: AnalysisInput, tests: ComparisonResults, alpha: float) -> list[ObservedPowerRow]:
    return observed_power_rows(tests.preferences, tests.ratings, groups=ready.groups, study=ready.study, alpha=alpha)


def _rows(records: Sequence[Any]) -> list[dict[str, Any]]:
    """Return records as dicts; what is no record within them is not copied, as ``asdict`` would."""
    names = [field.name for field in fields(records[0])] if records else []
    return [{name: _unpacked(getattr(record, name)) for name in names} for record in records]


def _unpacked(value: Any) -> Any:
    nested = isinstance(value, tuple) and value and is_dataclass(value[0])
    return [asdict(each) for each in value] if nested else value
