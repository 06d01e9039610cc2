"""How a study was conducted, as its store and its file say it."""

from __future__ import annotations

from decimal import Decimal

import polars as pl

from analysis.answers.study_conduct import StudyRater, as_called, bonuses_in_force, median_minutes, sources_of
from spa.raters.request_log import CallCount, CallIndex
from spa.responses.decisions import Decision, VisitDecisions

ANNOTATORS = pl.DataFrame(
    {
        "annotator_id": ["a", "b", "c", "d", "e"],
        "annotator_kind": ["human", "human", "human", "simulated", "llm"],
        "source": ["link", "prolific", "prolific", "simulated", "rater"],
        "seconds": [60.0, 600.0, 666.0, 1.0, None],
    }
)


def test_people_are_counted_by_source() -> None:
    first, second = sources_of(ANNOTATORS)
    assert (first.source, first.annotators, first.recruited) == ("prolific", 2, "Through the platform Prolific.")
    assert (second.source, second.annotators) == ("link", 1)
    unknown = sources_of(ANNOTATORS.with_columns(source=pl.lit("elsewhere")))
    assert [(one.recruited, one.annotators) for one in unknown] == [(None, 3)]


def test_the_median_is_of_people_alone() -> None:
    assert median_minutes(ANNOTATORS) == 10.0
    assert median_minutes(ANNOTATORS.filter(pl.col("annotator_kind") != "human")) is None


def test_bonuses_are_sorted_by_amount() -> None:
    def decided(visit: str, *amounts: str) -> VisitDecisions:
        bonuses = tuple(
            Decision(
                submission_id=visit, action="bonus", reviewer="Ana", decided_at=0, note="thanks", amount=Decimal(one)
            )
            for one in amounts
        )
        return VisitDecisions(submission_id=visit, bonuses=bonuses)

    assert bonuses_in_force({"v": decided("v", "10.00", "2.5"), "w": decided("w", "9")}) == ("2.5", "9", "10.00")
    assert bonuses_in_force({"v": decided("v")}) == ()


def test_calls_say_who_answered_and_when() -> None:
    def count(outcome: str, first: float, last: float, *models: str) -> CallCount:
        return CallCount(
            rater="gpt/cool",
            outcome=outcome,
            calls=1,
            prompt_tokens=1,
            completion_tokens=1,
            seconds=1.0,
            cost=None,
            models=frozenset(models),
            first=first,
            last=last,
        )

    calls = CallIndex(counts=(count("ok", 86_400, 90_000, "gpt-2026-01-01"), count("http_503", 10, 20)), numbers={})
    asked = [
        StudyRater(group="gpt/cool", model="gpt"),
        StudyRater(group="gpt/warm", model="gpt"),
        StudyRater(group="played", model="simulated-rater", simulated=True),
    ]
    called, *others = as_called(asked, calls)
    assert (called.answered_by, called.first_call, called.last_call) == (
        ("gpt-2026-01-01",),
        "1970-01-01",
        "1970-01-02",
    )
    assert others == asked[1:]
