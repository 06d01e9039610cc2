"""From the sums of a table that is too large for memory to everything that a report says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

import polars as pl

from analysis import rooms
from analysis.answers.careless import WHOLE, refused_rules
from analysis.answers.exclusions import VISITS, Exclusion, excluded_counts
from analysis.answers.given_names import written_plan
from analysis.answers.input import with_lower
from analysis.answers.order import Order
from analysis.answers.pairs import with_pairs
from analysis.answers.plan import Plan
from analysis.answers.span_tables import COUNTED
from analysis.comparisons.contribution import TESTS
from analysis.contribution import Analysis, Contribution, SummedInput
from analysis.records.overview import LeftOut, WarningRow
from analysis.records.results import Results
from analysis.results import overview
from analysis.results.analyse import assembled, with_warnings
from analysis.results.comparison_tests import TESTED
from analysis.results.place_words import about_places
from analysis.results.records import make_results
from analysis.results.warnings import about_names, about_pairs, about_scores, warn
from analysis.statistics.record import rounded
from analysis.sums.doubts import CODES, DOCUMENTS, NEAR_ITEMS, doubtful_sums
from analysis.sums.left_out import NeedsSingleAnswers, left_out_of
from analysis.sums.totals import AnswerTotals, TableTotals
from spa.errors import AnalysisError


def _signs(totals: TableTotals, results: Results) -> str | None:
    return "signs of careless answering" if any(kind != "llm" for _, kind in totals.groups) else None


SIGNS = NeedsSingleAnswers("careless_signs", ("careless_signs", "careless_sign_counts", "warning_rows"), _signs)
OF_NO_ROOM = (DOCUMENTS, NEAR_ITEMS, CODES, SIGNS)


def left_out_entries() -> list[NeedsSingleAnswers]:
    """Return what rooms, and checks of what was read, leave out of ratings and choices in parts, as it is named."""
    entries = [*OF_NO_ROOM, *(entry for room in rooms.CONTRIBUTIONS for entry in room.left_out)]
    return sorted(entries, key=lambda entry: get_args(LeftOut).index(entry.name))


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
    elicitation = totals.columns.filter(pl.col("column") == "elicitation")
    counts = elicitation.filter(pl.col("value") == COUNTED)["criterion"].to_list()
    orders: dict[str, Order] = {totals.kind: totals.order}
    plan = with_pairs(with_lower(replace(plan, lower_is_better=plan.lower_is_better | set(counts)), orders), orders)
    gone = excluded_counts(exclusions, pl.DataFrame(schema={"group": pl.String, "annotator_id": pl.String}))
    codes, others, _ = doubtful_sums(totals)
    return analyse_summed(
        SummedInput(totals=totals, plan=plan, exclusions=exclusions, gone=gone),
        left_out_entries(),
        doubts=tuple(about_scores(codes, others)),
    )


def analyse_summed(
    summed: SummedInput,
    entries: Iterable[NeedsSingleAnswers],
    *,
    more: Sequence[Contribution] = (),
    doubts: Sequence[WarningRow] = (),
) -> Results:
    """Return what all rooms make of sums, and warn of what they leave out; ``more`` stand in the place of rooms."""
    totals, plan = summed.totals, summed.plan
    analysis = Analysis(summed, (*rooms.CONTRIBUTIONS, TESTED, overview.COUNTED, *more))
    found = assembled(analysis, totals, summed.exclusions, n_systems=len(totals.order.systems))
    results = rounded(make_results(found))
    left_out = left_out_of(entries, totals, results)
    empty = f" ({totals.empty_parts} of {totals.n_parts} parts had no row)" if totals.empty_parts else ""
    text = f"The {totals.kind} were read in parts{empty} and added up. Left out, as they need single answers: "
    row = WarningRow(kind="summed", group=None, text=f"{text}{', '.join(left_out.values())}.", left_out=tuple(left_out))
    rows = (
        *warn(results, plan),
        *about_names(totals.near_names),
        *about_places(results),
        *doubts,
        *about_pairs(analysis.of(TESTS).untested),
        row,
    )
    return with_warnings(results, rows)


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
