"""The rules for a rejection, at their bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prolific.api.records import SubmissionRecord
from prolific.review_rules import Facts, mechanical_grounds, problems_of
from spa.records.form import CheckTarget
from spa.records.submission import Response, Submission

LONG = "x" * 100
RECORD = SubmissionRecord(
    submission_id="s" * 24,
    participant_id="p" * 24,
    study_id=None,
    status="AWAITING REVIEW",
    started_at=0.0,
    completed_at=600.0,
    code="C",
    return_requested=False,
    bonuses=(),
    reward=200,
)


def facts(*, failed: int = 0, minutes: float = 10, seconds: float = 600, times: tuple[float, ...] = ()) -> Facts:
    answers = tuple(
        Response(
            question_id=f"q{number}",
            target=CheckTarget(check_id=f"c{number}", kind="attention", expected="yes"),
            value="no" if number < failed else "yes",
            raw="",
        )
        for number in range(4)
    )
    answered = Submission(
        submission_id="v",
        assignment_id="a",
        annotator_id="x",
        annotator_kind="human",
        source="prolific",
        answers=answers,
    )
    return Facts(
        record=replace(RECORD, completed_at=seconds),
        visit=None,
        submission=answered,
        times=times,
        minutes=minutes,
        stated="",
        codes=("C",),
    )


@pytest.mark.parametrize(
    ("minutes", "failed", "allowed"), [(4.9, 0, False), (4.9, 1, True), (5, 1, False), (5, 2, True), (30, 1, False)]
)
def test_one_failed_check_suffices_only_below_five_minutes(minutes: float, failed: int, allowed: bool) -> None:
    problems = problems_of(facts(failed=failed, minutes=minutes), category="FAILED_CHECK", message=LONG)
    assert (problems == ()) == allowed


@given(st.lists(st.floats(100, 2000), min_size=10, max_size=60), st.floats(1, 2000))
def test_too_quick_is_three_standard_deviations_below_the_mean(times: list[float], seconds: float) -> None:
    """Reckoned here by the definition, with n - 1."""
    mean = sum(times) / len(times)
    deviation = (sum((one - mean) ** 2 for one in times) / (len(times) - 1)) ** 0.5
    bound = mean - 3 * deviation
    if abs(seconds - bound) < 1e-6:
        return
    allowed = problems_of(facts(seconds=seconds, times=tuple(times)), category="TOO_QUICKLY", message=LONG) == ()
    assert allowed == (seconds < bound)


def test_few_times_say_nothing() -> None:
    told = problems_of(facts(seconds=1, times=(600.0, 601.0, 602.0)), category="TOO_QUICKLY", message=LONG)
    assert told != ()


@pytest.mark.parametrize(("message", "allowed"), [("x" * 99, False), ("x" * 100, True), (" " * 200, False)])
def test_the_message_has_a_hundred_characters_without_padding(message: str, allowed: bool) -> None:
    assert (problems_of(facts(failed=2), category="FAILED_CHECK", message=message) == ()) == allowed


def test_only_a_submission_that_waits_for_review_is_rejected() -> None:
    done = replace(facts(failed=2), record=replace(RECORD, status="APPROVED"))
    assert problems_of(done, category="FAILED_CHECK", message=LONG) != ()


def test_grounds_name_their_evidence() -> None:
    found = {one.category: one.evidence for one in mechanical_grounds(facts(failed=2))}
    assert found["FAILED_CHECK"].startswith("failed attention checks: c0, c1")
    assert "no visit" in found["NO_DATA"]
