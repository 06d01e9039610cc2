"""From the sums of a table that is too large for memory to everything that a report says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from analysis.answers.careless import declared_rules
from analysis.answers.exclusions import VISITS, Exclusion, excluded_counts
from analysis.answers.given_names import written_plan
from analysis.answers.groups import people_of
from analysis.answers.input import with_lower
from analysis.answers.order import Order
from analysis.answers.pairs import with_pairs
from analysis.answers.plan import Plan
from analysis.answers.span_tables import COUNTED
from analysis.comparisons.families import families_of
from analysis.comparisons.findings import compare_with_expected, find_disagreements
from analysis.correlations.rows import correlate_scores
from analysis.descriptives.category_shares import share_rows
from analysis.descriptives.rating_counts import count_rows
from analysis.large.adding import OPTIONS
from analysis.large.agreement import agreement_of_sums, annotators_of_sums, breakdowns_of_sums
from analysis.large.beside_people import llms_of_sums
from analysis.large.building import NAMED
from analysis.large.comparing import compare_sums
from analysis.large.doubts import doubtful_sums
from analysis.large.rating_sums import MOST_OUTPUTS, SINGLE, has_too_many_outputs, mean_scores
from analysis.large.totals import AnswerTotals, TableTotals
from analysis.ranking.agreement import agreement_of_rankings
from analysis.ranking.differences import find_ranking_differences
from analysis.ranking.sources import rank_systems
from analysis.results import overview
from analysis.results.comparison_tests import ComparisonResults
from analysis.results.conventions import conventions
from analysis.results.headline import headline_of
from analysis.results.overview import Group, LeftOut, WarningRow
from analysis.results.place_words import about_places
from analysis.results.rater_table import rater_table
from analysis.results.records import SCHEMA, ChoiceResults, RatingResults, Results
from analysis.results.row_tables import with_rows
from analysis.results.warnings import about_names, about_scores, warn
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
    plan = written_plan(plan, totals.order.systems, totals.order.criteria, {})
    exclusions = [row for row in exclusions if (row.annotator_id, row.assignment_id) not in totals.absent]
    order = totals.order
    elicitation = totals.columns.filter(pl.col("column") == "elicitation")
    counts = elicitation.filter(pl.col("value") == COUNTED)["criterion"].to_list()
    orders: dict[str, Order] = {totals.kind: order}
    plan = with_pairs(with_lower(replace(plan, lower_is_better=plan.lower_is_better | set(counts)), orders), orders)
    tests = compare_sums(totals, plan)
    gone = excluded_counts(exclusions, pl.DataFrame(schema={"group": pl.String, "annotator_id": pl.String}))
    results = results_of(totals, plan, exclusions, tests, gone)
    pairs, robustness, respacing = tests.otherwise.rating_rows(tests.ratings)
    named, category = _named_counts(totals)
    correlations, compared, by_system = correlate_scores(
        mean_scores(totals), people_of(totals.groups), totals.order, plan
    )
    results = replace(
        results,
        ratings=RatingResults(
            means=tuple(tests.means),
            pairs=tuple(pairs),
            robustness=tuple(robustness),
            respacing=tuple(respacing),
            by_system=tuple(breakdowns_of_sums(totals, tests.means)),
            by_annotator=tuple(annotators_of_sums(totals)),
        ),
        rating_counts=tuple(count_rows(named, totals.order)),
        category_shares=tuple(share_rows(category, totals.order, None)),
        choices=ChoiceResults(pairs=tuple(tests.choices)),
        families=(*families_of("ratings", tests.ratings, plan), *families_of("choices", tests.choices, plan)),
        agreement=tuple(agreement_of_sums(totals, plan)),
        correlations=tuple(correlations),
        comparisons_of_correlations=tuple(compared),
        correlations_by_system=tuple(by_system),
        llm_vs_people=llms_of_sums(totals, tests.means, plan),
    )
    codes, others, looked_at = doubtful_sums(totals)
    left_out = _left_out(totals, results)
    if not looked_at:
        left_out["codes"] = "some signs that scores mean no answer or lie on another scale"
    return finished(results, totals, plan, left_out, tuple(about_scores(codes, others)))


def finished(
    results: Results,
    totals: TableTotals,
    plan: Plan,
    left_out: Mapping[LeftOut, str],
    doubts: Sequence[WarningRow] = (),
) -> Results:
    """Round results, put raters side by side, warn of what is left out, and say the most important."""
    results = rounded(results)
    raters = rater_table(results, {totals.kind: totals.counted}, {totals.kind: totals.order})
    again = {row.group for row in results.groups if row.annotator_kind == "llm" and row.assignments > 1}
    unknown = [row.alpha is None and row.group in again for row in raters]
    raters = [
        replace(row, agreement_reason=SINGLE) if single else row for row, single in zip(raters, unknown, strict=True)
    ]
    results = replace(results, raters=rounded(tuple(raters)))
    empty = f" ({totals.empty_parts} of {totals.n_parts} parts had no row)" if totals.empty_parts else ""
    text = f"The {totals.kind} were read in parts{empty} and added up. Left out, as they need single answers: "
    row = WarningRow(kind="summed", group=None, text=f"{text}{', '.join(left_out.values())}.", left_out=tuple(left_out))
    rows = (*warn(results, plan), *about_names(totals.near_names), *about_places(results), *doubts, row)
    results = replace(results, warnings=tuple(row.text for row in rows), warning_rows=rows)
    return with_rows(replace(results, headline=headline_of(results)))


def refused_rules(plan: Plan) -> list[str]:
    """Return a problem for each rule of careless answering, which looks at all that a person answered."""
    return [f"the rule {rule} needs single answers, and {WHOLE}" for rule in declared_rules(plan)]


def _check_rules(totals: AnswerTotals, plan: Plan) -> None:
    """Refuse rules that would exclude by single answers."""
    problems: list[str] = []
    kept = {"extra_answers": plan.extra_answers, "incomplete_answers": plan.incomplete_answers}
    said = totals.columns.filter(pl.col("column") == "visit")["value"].unique().to_list()
    rules = sorted({VISITS[visit][0] for visit in said if visit in VISITS})
    problems += [f"column visit: the rule {rule} needs single answers" for rule in rules if kept.get(rule) != "keep"]
    if totals.repeated:
        problems.append(
            f"{totals.repeated} people answered a question in two assignments: the rule repeat_submissions needs "
            "single answers"
        )
    problems = [*refused_rules(plan), *(f"{line}, and {WHOLE}" for line in problems)]
    if problems:
        raise AnalysisError(*problems)


def results_of(
    totals: TableTotals,
    plan: Plan,
    exclusions: Sequence[Exclusion],
    tests: ComparisonResults,
    gone: tuple[Counter[str], Counter[str]],
) -> Results:
    """Return what is the same of all kinds of answers; ``gone`` counts annotators and assignments by group."""
    rankings = rank_systems(tests.sources, tests.means, tests.ratings)
    agreement = agreement_of_rankings(rankings, tests.sources.sums, confidence=plan.confidence, seed=plan.seed)
    differences = find_ranking_differences(
        rankings, tests.findings, tests.sources.tables, people_of(totals.groups), plan
    )
    return Results(
        schema=SCHEMA,
        settings=overview.settings(
            plan,
            inputs=totals.inputs,
            scales=totals.scales,
            missing_codes=totals.missing_codes,
            rescaled=totals.rescaled,
        ),
        study=None,
        groups=_groups(totals, gone),
        exclusions=overview.exclusion_rows(exclusions),
        missing=tuple(overview.missing_rows(totals.kind, totals.missing, totals.order)),
        preferences=(),
        preference_directions=(),
        ratings=RatingResults(means=(), pairs=()),
        choices=ChoiceResults(pairs=()),
        bradley_terry=tests.sources.rows,
        ties=tuple(tests.sources.ties),
        rankings=tuple(rankings),
        ranking_agreement=tuple(agreement),
        ranking_differences=tuple(differences),
        agreement=(),
        annotator_pairs=(),
        correlations=(),
        expected=tuple(compare_with_expected(tests.findings, plan.expected)),
        disagreements=tuple(find_disagreements(tests.findings)),
        warnings=(),
        conventions=tuple(conventions(plan)),
    )


def _groups(totals: TableTotals, gone: tuple[Counter[str], Counter[str]]) -> tuple[Group, ...]:
    said: dict[str, dict[str, list[str]]] = {column: {} for column in ("form", "readout", "variant")}
    for group, column, value in totals.columns.select("group", "column", "value").unique().sort(pl.all()).iter_rows():
        if column in said and value is not None:
            said[column].setdefault(group, []).append(value)
    counted = totals.seen.with_columns(variant=pl.col("group").is_in([*said["variant"]]))
    return overview.group_rows(totals.groups, counted, said, gone)


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


def _left_out(totals: AnswerTotals, results: Results) -> dict[LeftOut, str]:
    """Name what does not follow from sums."""
    left_out: dict[LeftOut, str] = {"agreement": _agreement_left_out(totals, results)}
    left_out["documents"] = "whether items are segments of documents"
    left_out["near_items"] = "whether ids of items are nearly the same"
    if totals.kind == "choices":
        left_out["both_bad"] = "which ties are of two bad outputs"
        left_out["strengths_both_ways"] = "intervals of strengths by annotator and item at once"
    if totals.kind == "ratings":
        left_out["person_correlations"] = "correlations of one person with the others"
        if (totals.columns["column"] == "variant").any() or len(people_of(totals.groups)) > 1:
            left_out["variant_means"] = "means by variant"
        if any(row.method == "ordinal" and row.reason == SINGLE for row in results.ratings.robustness):
            left_out["ordinal_model"] = "the ordinal model"
        if totals.scores is not None and totals.layout["answers"].sum() != totals.scores.overall["n"].sum():
            left_out["repeated_scores"] = "counts of repeated scores"
        if any(row.method == "z_scores" and row.reason == SINGLE for row in results.ratings.robustness):
            left_out["z_scores"] = "z-scores of tests by item"
        if len(totals.groups) > 1 and has_too_many_outputs(totals):
            left_out["group_correlations"] = f"correlations of groups over more than {MOST_OUTPUTS:,} outputs"
    if any(kind == "llm" for _, kind in totals.groups):
        left_out |= _llms_left_out(totals, results)
        left_out["bias"] = "what an LLM adds by position, label and length"
        shown = "means" if totals.kind == "ratings" else "shares"
        left_out["prediction_powered"] = f"people's {shown} estimated from an LLM's"
    return left_out


def _llms_left_out(totals: AnswerTotals, results: Results) -> Iterator[tuple[LeftOut, str]]:
    """Name what is missing of the comparisons of LLMs with people."""
    if totals.kind == "choices" and totals.sampled:
        yield "stand_in", "whether an LLM can replace annotators, where several samples were shown"
    if totals.names is None:
        yield "annotator_ranks", f"ranks and tests person by person, of more than {NAMED:,} people"
    elif totals.kind == "ratings" and len(results.llm_vs_people.rank_tables) < len(totals.order.criteria):
        yield "visit_ranks", "ranks by people and LLMs where somebody rated an output in several assignments"


def _agreement_left_out(totals: AnswerTotals, results: Results) -> str:
    """Name the coefficients of agreement that do not follow, and of whom."""
    measured: dict[tuple[str, str], int] = {}
    for row in results.agreement:
        measured[row.group, row.criterion] = measured.get((row.group, row.criterion), 0) + 1
    if not measured:
        return "agreement between annotators"
    text = "Cohen's kappa" if totals.kind == "choices" else "ICC, Kendall's W and mean tau"
    if len(measured) < totals.layout.height:
        text += ", agreement but of people who answered once about each output"
    if 1 in measured.values():
        text += f", agreement but alpha for intervals where there are more than {OPTIONS} different scores"
    return text
