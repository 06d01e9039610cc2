"""Alarms: each on its own, and silence where all is well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from analysis.monitoring.alarms import find_alarms
from analysis.monitoring.annotator_profiles import AnnotatorProfile
from analysis.results.files import from_plain
from analysis.results.records import Results
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


def results(people: int, failing: int) -> Results:
    whole = {"assignment_id": None, "group": "human", "rule": "self_consistency", "evidence": ""}
    rows = [{"annotator_id": f"p{n}", **whole} for n in range(failing)]
    human, llm = full_results()["groups"][0], {"group": "gpt", "annotator_kind": "llm", "annotators": 1}
    groups = [{**human, "annotators": people}, {**human, **llm}]
    return from_plain({**empty_results(), "groups": groups, "exclusions": rows})


def told(*args: Any) -> list[str]:
    return [alarm.text for alarm in find_alarms(*args)]


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
        "1 person gave nearly the same answer throughout (straight-lining).",
        "The rater gpt answers the same to everything.",
    ]


def test_uneven_assignments_are_told() -> None:
    visits = [Visit("a1"), Visit("a1"), Visit("a2", completed=False)]
    assert told(None, [], visits) == ["Assignments are answered unevenly: a1 2 times, a2 0 times."]
