"""The table of raters: one row each, put together of their calls and of what the analysis says of their answers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from analysis.raters.rater_table import RaterRow
from analysis.results.files import from_plain
from spa.raters.request_log import CallCount, CallIndex
from streamlit_app.views.raters import compare_raters
from tests.analysis.sample_results import empty_results


def count(rater: str, outcome: str, calls: int, cost: str | None = None) -> CallCount:
    return CallCount(
        rater=rater,
        outcome=outcome,
        calls=calls,
        prompt_tokens=100 * calls,
        completion_tokens=10 * calls,
        seconds=0.5 * calls,
        cost=None if cost is None else Decimal(cost),
        models=frozenset(),
        first=0.0,
        last=1.0,
    )


def test_a_rater_without_an_answer_has_its_calls_alone() -> None:
    index = CallIndex(
        counts=(count("a", "ok", 6, "0.30"), count("a", "unreadable", 2, "0.10"), count("b", "refused", 3)), numbers={}
    )
    assert compare_raters(None, index) == [
        {"Rater": "a", "Calls": 8, "Failed": 2, "Seconds a call": 0.5, "Tokens": 880, "Cost": 0.4},
        {"Rater": "b", "Calls": 3, "Failed": 3, "Seconds a call": 0.5, "Tokens": 330, "Cost": None},
    ]


def test_answers_of_every_rater_stand_beside_its_calls() -> None:
    answered = RaterRow(
        source="preferences",
        group="a/warm",
        criterion="overall",
        annotator_kind="llm",
        form="identical",
        readout="verbalised",
        n_asked=10,
        n_missing=1,
        n_repeats=1,
        missing=(),
        n=None,
        mean=None,
        sd=None,
        n_raters=None,
        alpha=None,
        alpha_measure=None,
        exact_agreement=None,
        agreement_reason=None,
        system_kendall=2 / 3,
        system_spearman=None,
        overall_kendall=None,
        overall_spearman=None,
        people="human",
        correlation_reason=None,
        n_forms=4,
        n_inconsistent=1,
    )
    rated = replace(
        answered, source="ratings", criterion="fluency", n_asked=30, system_kendall=None, n_forms=None, n_missing=7
    )
    people = replace(answered, group="human", annotator_kind="human")
    results = replace(from_plain(empty_results()), raters=(people, rated, answered))
    assert compare_raters(results, CallIndex(counts=(count("a/warm", "ok", 8),), numbers={})) == [
        {
            "Rater": "a/warm",
            "Calls": 8,
            "Failed": 0,
            "Answers": 32,
            "Missing": "20.0%",
            "Tau, SPA": 0.67,
            "Contradictions": "1 of 4",
            "Seconds a call": 0.5,
            "Tokens": 880,
        }
    ]


def test_without_llms_there_is_no_row() -> None:
    assert compare_raters(from_plain(empty_results()), CallIndex(counts=(), numbers={})) == []
