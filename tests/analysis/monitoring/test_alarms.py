"""Alarms: each on its own, and silence where all is well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.monitoring.alarms import find_alarms
from analysis.monitoring.annotator_profiles import AnnotatorProfile
from analysis.monitoring.short_names import short_names
from analysis.records.results import Results
from analysis.results.files import from_plain
from spa.raters.request_log import CallCount
from spa.responses.decisions import Decision
from tests.analysis.sample_results import empty_results, full_results

PROFILE = AnnotatorProfile(
    annotator_id="ann",
    group="human",
    answers=9,
    missing=0,
    seconds=None,
    largest_sum=None,
    severity=None,
    correlation=None,
    distance=None,
    same_answer=0.4,
    first_column=None,
    left_share=None,
)


@dataclass(frozen=True)
class Visit:
    """As much of a visit as alarms look at."""

    assignment_id: str = "a1"
    released: bool = False
    completed: bool = True
    claimed: bool = False
    outcome: str | None = None


def results(people: int, failing: int) -> Results:
    whole = {"assignment_id": None, "group": "human", "rule": "self_consistency", "evidence": ""}
    rows = [{"annotator_id": f"p{n}", **whole} for n in range(failing)]
    human, llm = full_results()["groups"][0], {"group": "gpt", "annotator_kind": "llm", "annotators": 1}
    groups = [{**human, "annotators": people}, {**human, **llm}]
    return from_plain({**empty_results(), "groups": groups, "exclusions": rows})


def told(*args: Any, **more: Any) -> list[str]:
    return [alarm.text for alarm in find_alarms(*args, **more)]


def test_a_study_that_goes_well_is_silent() -> None:
    visits = [Visit(assignment_id=f"a{n}") for n in range(20)]
    assert told(results(20, 3), [PROFILE], visits) == []
    assert told(None, [], []) == []


@pytest.mark.parametrize(("dropped", "alarms"), [(5, 0), (6, 1)])
def test_dropouts_are_told_from_three_in_ten(dropped: int, alarms: int) -> None:
    visits = [Visit(assignment_id=f"a{n}", released=n < dropped, completed=n >= dropped) for n in range(20)]
    assert len(told(None, [], visits)) == alarms


@pytest.mark.parametrize(("failing", "alarms"), [(3, 0), (4, 1)])
def test_contradictions_of_people_are_told_from_one_in_five(failing: int, alarms: int) -> None:
    assert len(told(results(20, failing), [], [])) == alarms


def test_one_answer_throughout_is_told_of_people_and_of_raters() -> None:
    same = replace(PROFILE, same_answer=1.0)
    rater = replace(same, annotator_id="gpt", group="gpt")
    assert told(results(20, 0), [same, rater], []) == [
        "The rater gpt gives the same answer to every question.",
        "Nearly the same answer throughout (straight-lining): ann.",
    ]


def test_alarms_long_ids() -> None:
    """Long ids are named by their beginning and whole on hover."""
    ids = ("8ce3872243bfa2ce7677", "0479ed272da232feb85a")
    same = [replace(PROFILE, annotator_id=name, same_answer=1.0, largest_sum=1.5) for name in ids]
    sums, straight = find_alarms(results(20, 0), same, [])
    assert sums.text == "P(X>Y) + P(Y>X) above 110%: 8ce387 (150%), 0479ed (150%)."
    assert straight.text == "Nearly the same answer throughout (straight-lining): 8ce387, 0479ed."
    assert sums.whole == straight.whole == ids


@given(st.sets(st.text("0123456789abcdef", min_size=20, max_size=20) | st.text(max_size=8), max_size=40))
def test_short_names_tell_annotators_apart_and_begin_their_ids(annotators: set[str]) -> None:
    names = short_names(annotators)
    assert len({name for one, name in names.items() if len(one) == 20}) == sum(len(one) == 20 for one in annotators)
    assert all(one.startswith(name) and (name == one or 6 <= len(name) < 20) for one, name in names.items())


def test_uneven_assignments_are_told() -> None:
    visits = [Visit("a1"), Visit("a1"), Visit("a2", completed=False)]
    assert told(None, [], visits) == ["Assignments are answered unevenly: a1 2 times, a2 0 times."]


def test_alarms_sums_above_the_bound() -> None:
    """Sums above the bound are told with names the largest first."""
    sums = {"ann": 1.45, "ben": 1.1, "cem": 1.11, "gpt": 2.0}
    profiles = [
        replace(PROFILE, annotator_id=name, largest_sum=total, group="gpt" if name == "gpt" else "human")
        for name, total in sums.items()
    ]
    assert told(results(20, 0), profiles, []) == ["P(X>Y) + P(Y>X) above 110%: ann (145%), cem (111%)."]


@pytest.mark.parametrize(
    ("rule", "words"), [("extra_answers", "late"), ("incomplete_answers", "Incomplete"), ("attention_checks", "Failed")]
)
def test_whom_a_rule_leaves_out_is_named_up_to_five(rule: str, words: str) -> None:
    found = results(20, 7)
    left_out = replace(found, exclusions=tuple(replace(row, rule=rule) for row in found.exclusions))
    (line,) = told(left_out, [PROFILE], [])
    assert words in line
    assert line.endswith("p0, p1, p2, p3, p4 and 2 more.")


def test_alarms_unconfirmed_visits_and_unpaid_bonuses() -> None:
    """Visits that no platform confirmed and bonuses that nobody paid are told."""
    visits = [Visit(completed=False, claimed=True, outcome="completed"), Visit()]
    bonus = Decision(
        submission_id="s", action="bonus", reviewer="Ana", decided_at=0, amount=Decimal("1.50"), note="Thanks."
    )
    assert told(None, [], visits, unpaid=[bonus, bonus]) == [
        "Submitted but not confirmed by the platform: 1 visit.",
        "Bonuses decided but not paid: 2, 3.00 in total.",
    ]


def test_raters_whose_calls_failed_are_told_with_how() -> None:
    counts = [("a", "ok", 90), ("a", "unreadable", 8), ("a", "http_503", 2), ("b", "ok", 5), ("c", "refused", 1)]
    calls = [
        CallCount(
            rater=rater,
            outcome=how,
            calls=count,
            prompt_tokens=0,
            completion_tokens=0,
            seconds=1.0,
            cost=Decimal(0),
            models=frozenset(),
            first=0.0,
            last=1.0,
        )
        for rater, how, count in counts
    ]
    alarms = find_alarms(None, [], [], calls=calls)
    assert [(alarm.text, alarm.severe) for alarm in alarms] == [
        ("The rater a: 10 of 100 calls failed (unreadable 8, http_503 2).", False),
        ("The rater c: 1 of 1 calls failed (refused 1).", True),
    ]
