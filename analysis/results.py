"""From checked tables and a plan to everything that a report says: ``results.json`` as a dict."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from importlib.resources import files
from typing import Any

import polars as pl

from analysis import overview
from analysis.agreement.judged_rows import agreement_of_judgements
from analysis.agreement.rows import agreement_of_ratings
from analysis.category_shares import category_shares
from analysis.choices import ChoiceTest, choice_cells, choice_judgements, compare_choices
from analysis.coding import DIGITS
from analysis.corrections import with_verdicts
from analysis.correlations.rows import correlate_groups
from analysis.equivalence import Row as TestRow
from analysis.equivalence import with_equivalence
from analysis.exclusions import apply_exclusions, find_exclusions
from analysis.explanations import explanations_of
from analysis.families import families_of
from analysis.findings import compare_with_expected, find_disagreements, findings_of
from analysis.groups import group_order, people_of
from analysis.llm_vs_people.rows import llm_vs_people
from analysis.order import Order, order_of
from analysis.plan import Plan
from analysis.preference_checks.effect_sizes import with_effect_sizes
from analysis.preference_checks.rows import preference_checks
from analysis.preferences import (
    Comparisons,
    DirectionSummary,
    PreferenceTest,
    combine,
    compare_preferences,
    direct,
    preference_judgements,
    summarise_directions,
)
from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.differences import find_ranking_differences
from analysis.ranking.replicates import unit_names
from analysis.ranking.sources import RankingSources, rank_systems
from analysis.rater_table import rater_table
from analysis.rating_checks.rows import OtherTests
from analysis.rating_counts import rating_counts
from analysis.ratings import (
    RatingMean,
    RatingTest,
    compare_ratings,
    counted_judgements,
    rating_cells,
    rating_differences,
    summarise_ratings,
)
from analysis.study_facts import StudyFacts
from analysis.tables import AnswerTables
from analysis.wording import conventions, warn
from spa.errors import AnalysisError

SCHEMA = 1
ELICITATION = re.compile(r" \([^()]+\)$")  # "fluency (continuous)": a criterion rated in a second way


def analyse(tables: AnswerTables, plan: Plan, *, study: StudyFacts | None = None) -> dict[str, Any]:
    """Analyse answers as planned.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables (:func:`analysis.tables.read_tables`).
    plan : Plan
        Error rate, exclusions, families, unit, expectations.
    study : StudyFacts, optional
        What the report says of the study; its order of systems and pairs is then used.

    Returns
    -------
    dict
        The content of ``results.json``, as ``results.schema.json`` describes it. The same input
        gives the same output; numbers are rounded to 12 significant digits.

    Raises
    ------
    AnalysisError
        When the tables do not allow what the plan asks for.
    """
    answers = tables.answers()
    groups = group_order([*answers.values()])
    names = [group for group, _ in groups]
    exclusions = find_exclusions(tables, plan)
    kept = {name: apply_exclusions(table, exclusions) for name, table in answers.items()}
    orders = {name: order_of(table, names, study) for name, table in answers.items()}
    plan = with_lower(plan, orders)
    sources = RankingSources(plan=plan)
    preferences, directions = analyse_preferences(answers, kept, orders, sources)
    tested_otherwise = OtherTests(plan=plan)
    choice_tests = analyse_choices(kept, orders, sources, tested_otherwise)
    means, rating_tests = analyse_ratings(kept, orders, sources, tested_otherwise)
    correlations, compared = correlate_groups(kept.get("ratings"), tables.metrics, groups, orders.get("ratings"), plan)
    rankings = rank_systems(sources, means, rating_tests)
    agreement, annotator_pairs = (
        agreement_of_ratings(kept["ratings"], orders["ratings"], plan) if "ratings" in kept else ([], [])
    )
    agreement += agreement_of_judgements(kept, orders, plan)
    checks = preference_checks(answers, orders, exclusions, plan)
    findings = [
        *findings_of("preferences", preferences),
        *findings_of("ratings", rating_tests),
        *findings_of("choices", choice_tests),
    ]
    families = [
        *families_of("preferences", preferences, plan),
        *families_of("ratings", rating_tests, plan),
        *families_of("choices", choice_tests, plan),
    ]
    results = {
        "schema": SCHEMA,
        "settings": overview.settings(tables, plan),
        "study": study.reported() if study else None,
        "groups": overview.groups(answers, groups, exclusions, study),
        "exclusions": [overview.exclusion_row(row) for row in exclusions],
        "missing": overview.missing(answers, orders),
        "preferences": _rows(preferences),
        "preference_directions": _rows(directions),
        **checks.as_dicts(),
        "ratings": {"means": _rows(means), **tested_otherwise.rating_rows(rating_tests, _rows(rating_tests))},
        "rating_counts": rating_counts(kept.get("ratings"), orders.get("ratings")),
        "category_shares": category_shares(kept.get("ratings"), orders.get("ratings"), study),
        "choices": {"pairs": tested_otherwise.choice_rows(choice_tests, _rows(choice_tests))},
        "families": _rows(families),
        "bradley_terry": sources.rows,
        "ties": _rows(sources.ties),
        "rankings": _rows(rankings),
        "ranking_agreement": _rows(
            agreement_of_rankings(rankings, sources.sums, confidence=plan.confidence, seed=plan.seed)
        ),
        "ranking_differences": _rows(
            find_ranking_differences(rankings, findings, sources.tables, people_of(groups), plan)
        ),
        "agreement": agreement,
        "annotator_pairs": annotator_pairs,
        "correlations": _rows(correlations),
        "comparisons_of_correlations": _rows(compared),
        "llm_vs_people": llm_vs_people(kept, orders, means, plan, metrics=tables.metrics),
        "explanations": explanations_of(kept, orders),
        "expected": compare_with_expected(findings, plan.expected),
        "disagreements": find_disagreements(findings),
        "conventions": conventions(plan),
    }
    beside = {"raters": rater_table(results, answers, orders), "warnings": warn(results, plan)}
    finished: dict[str, Any] = _plain({**results, **beside})
    return finished


def to_json(results: Mapping[str, Any]) -> str:
    """Write results as JSON; NaN and infinity are refused."""
    return json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def results_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``results.json``."""
    schema: dict[str, Any] = json.loads(files("analysis").joinpath("results.schema.json").read_text("utf-8"))
    return schema


def analyse_preferences(
    answers: Mapping[str, pl.DataFrame],
    kept: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    sources: RankingSources,
) -> tuple[list[PreferenceTest], list[DirectionSummary]]:
    """Return tests and directions of the preferences, empty where there are none; fill ``sources``."""
    if "preferences" not in answers:
        return [], []
    order, plan = orders["preferences"], sources.plan
    comparisons = Comparisons(answers["preferences"], order)
    everybody, directed = (direct(frames["preferences"], comparisons) for frames in (answers, kept))
    units = combine(directed)
    rows = compare_preferences(units, comparisons, confidence=plan.confidence)
    llms = set(answers["preferences"].filter(pl.col("annotator_kind") == "llm")["group"].to_list())
    names = {kind: directed.names for kind in ("annotator", "assignment")}
    for group, criterion, judged in preference_judgements(units, comparisons, order.systems, llms):
        sources.add_comparisons("preferences", group, criterion, judged, order.systems, names)
    return (
        _with_equivalence(
            with_verdicts(
                with_effect_sizes(rows, confidence=plan.confidence),
                fwer=plan.fwer,
                family=plan.family,
                correction=plan.correction,
            ),
            plan.equivalence_margin,
            plan,
        ),
        summarise_directions(everybody, directed, comparisons, confidence=plan.confidence),
    )


def analyse_ratings(
    kept: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    sources: RankingSources,
    otherwise: OtherTests | None = None,
) -> tuple[list[RatingMean], list[RatingTest]]:
    """Return means and tests of the ratings, empty where there are none; fill ``sources`` and ``otherwise``."""
    if "ratings" not in kept:
        return [], []
    order, plan, names = orders["ratings"], sources.plan, unit_names(kept["ratings"])
    means: list[RatingMean] = []
    tests: list[RatingTest] = []
    for cells in rating_cells(kept["ratings"], order):
        differences = rating_differences(cells)
        means += summarise_ratings(cells, plan)
        own = compare_ratings(cells, differences, plan)
        tests += own
        if otherwise is not None:
            otherwise.add_ratings(cells, differences, own)
        judged = counted_judgements(cells, differences, plan)
        sources.add_comparisons("ratings_bt", cells.group, cells.criterion, judged, order.systems, names)
        sources.add_ratings(cells, names)
    tests = with_verdicts(
        tests,
        fwer=plan.fwer,
        family=plan.family,
        lower_is_better=plan.lower_is_better,
        correction=plan.correction,
    )
    return means, _with_equivalence(tests, plan.equivalence_margin_ratings, plan)


def analyse_choices(
    kept: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    sources: RankingSources,
    otherwise: OtherTests | None = None,
) -> list[ChoiceTest]:
    """Return tests of the choices, empty where there are none; fill ``sources`` and ``otherwise``."""
    if "choices" not in kept:
        return []
    order, plan, names = orders["choices"], sources.plan, unit_names(kept["choices"])
    tests: list[ChoiceTest] = []
    for cells in choice_cells(kept["choices"], order):
        own = compare_choices(cells, plan)
        tests += own
        if otherwise is not None:
            otherwise.add_choices(cells, own)
        judged = choice_judgements(cells)
        sources.add_comparisons("choices", cells.group, cells.criterion, judged, order.systems, names)
    tests = with_verdicts(tests, fwer=plan.fwer, family=plan.family, correction=plan.correction)
    return _with_equivalence(tests, plan.equivalence_margin, plan)


def _with_equivalence(tests: Sequence[TestRow], margin: float | None, plan: Plan) -> list[TestRow]:
    return with_equivalence(tests, margin=margin, fwer=plan.fwer, confidence=plan.confidence, family=plan.family)


def with_lower(plan: Plan, orders: Mapping[str, Order]) -> Plan:
    """Let a criterion that was rated in a second way be lower-is-better too; refuse unknown names."""
    criteria = {criterion for order in orders.values() for criterion in order.criteria}
    known = {ELICITATION.sub("", criterion) for criterion in criteria} | criteria
    unknown = sorted(plan.lower_is_better - known)
    if unknown:
        raise AnalysisError(
            *(
                f"--lower-is-better {name}: no such criterion (there are: {', '.join(sorted(known))})"
                for name in unknown
            )
        )
    named = {name for name in criteria if {name, ELICITATION.sub("", name)} & plan.lower_is_better}
    return replace(plan, lower_is_better=frozenset(named))


def _rows(records: Sequence[Any]) -> list[dict[str, Any]]:
    """Return records as dicts; what is no record within them is not copied, as ``asdict`` would."""
    names = [field.name for field in fields(records[0])] if records else []
    return [{name: _unpacked(getattr(record, name)) for name in names} for record in records]


def _unpacked(value: Any) -> Any:
    nested = isinstance(value, tuple) and value and is_dataclass(value[0])
    return [asdict(each) for each in value] if nested else value


def _plain(value: Any) -> Any:
    """Turn tuples into lists and round floats, so that neither the order of rows nor a last bit shows."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArithmeticError("a result is not finite")
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
