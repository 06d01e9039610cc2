"""From the sums of a table that is too large for memory to everything that a report says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from analysis.answers.careless import declared_rules
from analysis.answers.exclusions import VISITS, Exclusion, excluded_counts
from analysis.answers.groups import people_of
from analysis.answers.input import with_lower
from analysis.answers.plan import Plan
from analysis.answers.span_tables import COUNTED
from analysis.comparisons.families import families_of
from analysis.comparisons.findings import compare_with_expected, find_disagreements
from analysis.correlations.rows import correlate_scores
from analysis.descriptives.category_shares import share_rows
from analysis.descriptives.rating_counts import count_rows
from analysis.large.agreement import alphas
from analysis.large.comparing import compare_sums
from analysis.large.rating_sums import MOST_OUTPUTS, SINGLE, has_too_many_outputs, mean_scores
from analysis.large.totals import AnswerTotals
from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.differences import find_ranking_differences
from analysis.ranking.sources import rank_systems
from analysis.results import overview
from analysis.results.comparison_tests import ComparisonResults
from analysis.results.conventions import conventions
from analysis.results.headline import headline_of
from analysis.results.overview import Group, WarningRow
from analysis.results.records import SCHEMA, ChoiceResults, RatingResults, Results
from analysis.results.warnings import warn
from analysis.statistics.record import rounded
from spa.errors import AnalysisError

WHOLE = "a table read in parts keeps sums only; read it whole"


def analyse_totals(totals: AnswerTotals, plan: Plan, *, exclusions: Sequence[Exclusion] = ()) -> Results:
    """Analyse the sums of a table as :func:`analysis.results.analyse.analyse` does the table.

    Parameters
    ----------
    totals : AnswerTotals
        Sums of the answers that the plan keeps.
    plan : Plan
        Error rate, families, unit, expectations.
    exclusions : sequence of Exclusion
        Who was left out before (:func:`analysis.answers.exclusions.find_exclusions` of the tables beside).

    Returns
    -------
    Results
        What follows from the sums; a warning names what does not.

    Raises
    ------
    AnalysisError
        When a rule of the plan needs single answers.
    """
    _check_rules(totals, plan)
    order = totals.order
    elicitation = totals.columns.filter(pl.col("column") == "elicitation")
    counts = elicitation.filter(pl.col("value") == COUNTED)["criterion"].to_list()
    plan = with_lower(replace(plan, lower_is_better=plan.lower_is_better | set(counts)), {totals.kind: order})
    tests = compare_sums(totals, plan)
    results = rounded(_results(totals, plan, exclusions, tests))
    rows = (*warn(results, plan), _left_out(totals, results))
    results = replace(results, warnings=tuple(row.text for row in rows), warning_rows=rows)
    return replace(results, headline=headline_of(results))


def _check_rules(totals: AnswerTotals, plan: Plan) -> None:
    """Refuse rules that would exclude by single answers."""
    problems = [f"the rule {rule} needs single answers" for rule in declared_rules(plan)]
    kept = {"extra_answers": plan.extra_answers, "incomplete_answers": plan.incomplete_answers}
    said = totals.columns.filter(pl.col("column") == "visit")["value"].unique().to_list()
    rules = sorted({VISITS[visit][0] for visit in said if visit in VISITS})
    problems += [f"column visit: the rule {rule} needs single answers" for rule in rules if kept.get(rule) != "keep"]
    if totals.repeated:
        problems.append(
            f"{totals.repeated} people answered a question in two assignments: the rule repeat_submissions needs "
            "single answers"
        )
    if problems:
        raise AnalysisError(*(f"{line}, and {WHOLE}" for line in problems))


def _results(totals: AnswerTotals, plan: Plan, exclusions: Sequence[Exclusion], tests: ComparisonResults) -> Results:
    rankings = rank_systems(tests.sources, tests.means, tests.ratings)
    pairs, robustness, respacing = tests.otherwise.rating_rows(tests.ratings)
    agreement = agreement_of_rankings(rankings, tests.sources.sums, confidence=plan.confidence, seed=plan.seed)
    differences = find_ranking_differences(
        rankings, tests.findings, tests.sources.tables, people_of(totals.groups), plan
    )
    named, category = _named_counts(totals)
    correlations, compared, by_system = correlate_scores(
        mean_scores(totals), people_of(totals.groups), totals.order, plan
    )
    return Results(
        schema=SCHEMA,
        settings=overview.settings(plan, inputs=totals.inputs, scales=totals.scales),
        study=None,
        groups=_groups(totals, exclusions),
        exclusions=overview.exclusion_rows(exclusions),
        missing=tuple(overview.missing_rows(totals.kind, totals.missing, totals.order)),
        preferences=(),
        preference_directions=(),
        ratings=RatingResults(
            means=tuple(tests.means), pairs=tuple(pairs), robustness=tuple(robustness), respacing=tuple(respacing)
        ),
        rating_counts=tuple(count_rows(named, totals.order)),
        category_shares=tuple(share_rows(category, totals.order, None)),
        choices=ChoiceResults(pairs=tuple(tests.choices)),
        families=(*families_of("ratings", tests.ratings, plan), *families_of("choices", tests.choices, plan)),
        bradley_terry=tests.sources.rows,
        ties=tuple(tests.sources.ties),
        rankings=tuple(rankings),
        ranking_agreement=tuple(agreement),
        ranking_differences=tuple(differences),
        agreement=tuple(alphas(totals, plan)),
        annotator_pairs=(),
        correlations=tuple(correlations),
        comparisons_of_correlations=tuple(compared),
        correlations_by_system=tuple(by_system),
        expected=tuple(compare_with_expected(tests.findings, plan.expected)),
        disagreements=tuple(find_disagreements(tests.findings)),
        warnings=(),
        conventions=tuple(conventions(plan)),
    )


def _groups(totals: AnswerTotals, exclusions: Sequence[Exclusion]) -> tuple[Group, ...]:
    said: dict[str, dict[str, list[str]]] = {column: {} for column in ("form", "readout", "variant")}
    for group, column, value in totals.columns.select("group", "column", "value").unique().sort(pl.all()).iter_rows():
        if column in said and value is not None:
            said[column].setdefault(group, []).append(value)
    counted = totals.seen.with_columns(variant=pl.col("group").is_in([*said["variant"]]))
    nobody = pl.DataFrame(schema={"group": pl.String, "annotator_id": pl.String})
    return overview.group_rows(totals.groups, counted, said, excluded_counts(exclusions, nobody))


def _named_counts(totals: AnswerTotals) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return how often each score was given, by name: of ratings, and of category questions; not where some repeat."""
    place = ["group", "criterion"]
    if totals.scores is None:
        nothing = pl.DataFrame(schema=dict.fromkeys(("group", "criterion", "system", "score", "n"), pl.Int64))
        return nothing, nothing
    cells = totals.scores.overall.group_by(place).agg(pl.col("n").sum())
    once = totals.layout.join(cells, on=place).filter(pl.col("n") == pl.col("answers"))
    counts = totals.counts.join(once, on=place, how="semi", maintain_order="left")
    lists = {"group": totals.order.groups, "criterion": totals.order.criteria, "system": totals.order.systems}
    names = [pl.Series(name, listed)[counts[name].to_list()] for name, listed in lists.items()]
    named = counts.with_columns(names)
    of_category = totals.columns.filter(pl.col("column") == "elicitation", pl.col("value") == "category")
    return named.join(of_category, on=place, how="anti"), named.join(of_category, on=place, how="semi")


def _left_out(totals: AnswerTotals, results: Results) -> WarningRow:
    """Name what does not follow from sums."""
    left_out = ["agreement between annotators", "intervals of strengths by annotator and item at once"]
    if totals.kind == "ratings":
        left_out = ["agreement other than alpha of intervals", "the ordinal model", "breakdowns of means"]
        if totals.scores is not None and totals.layout["answers"].sum() != totals.scores.overall["n"].sum():
            left_out.append("counts of repeated scores")
        if any(row.method == "z_scores" and row.reason == SINGLE for row in results.ratings.robustness):
            left_out.append("z-scores of tests by item")
        if len(totals.groups) > 1 and has_too_many_outputs(totals):
            left_out.append(f"correlations of groups over more than {MOST_OUTPUTS:,} outputs")
    if any(kind == "llm" for _, kind in totals.groups):
        left_out += ["comparisons of LLMs with people", "the table of raters"]
    text = f"The {totals.kind} were read in parts and added up. Left out, as they need single answers: "
    return WarningRow(kind="summed", group=None, text=f"{text}{', '.join(left_out)}.")
