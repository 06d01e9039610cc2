"""What a report takes from a study file: plan, facts, order."""

from __future__ import annotations

from decimal import Decimal

import pytest

from analysis import Plan, facts_of, parse_expectations, plan_of
from analysis.findings import TURNED
from analysis.report.asked import ASKED, SHORT, asked
from analysis.report.words import Names
from spa import AnalysisError
from spa.study.study import Study
from tests.analysis.answers import choices, preferences, ratings, run

STUDY = {
    "id": "s",
    "title": "S",
    "seed": 4,
    "outputs": {"files": ["o.jsonl"]},
    "systems": [{"id": "ada"}, {"id": "human", "role": "human", "name": "People"}, {"id": "davinci"}],
    "criteria": [{"id": "errors", "name": "grammar", "lower_is_better": True}],
    "spa": {"exposure": 5, "comparisons": [["davinci", "ada"], ["human", "davinci"]]},
    "likert": {},
    "people": {"annotators": 90, "pay": "5.00", "currency": "USD"},
    "analysis": {
        "fwer": 0.1,
        "consistency_tau": "1.05",
        "family": "all",
        "expected": ["ada < davinci", "human ~ davinci"],
    },
}


def test_the_plan_is_the_studys() -> None:
    plan = plan_of(Study.model_validate(STUDY))
    assert plan == Plan(
        fwer=0.1,
        consistency_tau=Decimal("1.05"),
        family="all",
        expected=parse_expectations(["ada < davinci", "human ~ davinci"]),
        lower_is_better=frozenset({"errors"}),
        seed=4,
    )


def test_facts_hold_what_a_reader_asks_for() -> None:
    facts = facts_of(Study.model_validate(STUDY), form=None, fingerprint="f" * 64).reported()
    assert facts["systems"][1] == {"id": "human", "name": "People", "role": "human"}
    assert facts["exposures"] == (5,)
    assert facts["elicitations"] == ("spa", "likert")
    assert (facts["annotators_wanted"], facts["pay"], facts["currency"]) == (90, "5.00", "USD")
    assert facts["fingerprint"] == "f" * 64
    assert "pairs" not in facts


def test_every_way_of_asking_has_its_words_in_the_report() -> None:
    """The report says each in a sentence; categories beside Likert ratings are not taken for Likert ratings."""
    given = STUDY | {"continuous": {"criteria": []}, "categories": {}, "choices": {}}
    facts = facts_of(Study.model_validate(given), form=None, fingerprint="").reported()
    assert set(facts["elicitations"]) == set(ASKED) == set(SHORT)
    rated = Names({"study": facts | {"elicitations": ("likert", "category")}})
    assert rated.source("ratings") == "ratings"
    section = asked({"study": facts | {"pay": "2.5"}})
    assert section is not None
    assert "('Pay', '2.50 USD a completed submission')" in str(section.blocks)


def test_pairs_and_systems_stand_as_the_study_lists_them() -> None:
    facts = facts_of(Study.model_validate(STUDY), form=None)
    likes = [("a", "davinci", "human", 0.6), ("a", "ada", "davinci", 0.2), ("b", "ada", "davinci", 0.3)]
    scores: list[tuple[str, str, str, object]] = [
        ("a", "i", "davinci", 4),
        ("a", "i", "human", 3),
        ("a", "i", "ada", 2),
    ]
    picks = [("a", "i", "davinci", "ada", "x")]
    results = run(preferences=preferences(likes), ratings=ratings(scores), choices=choices(picks), study=facts)
    pairs = [(row["system_x"], row["system_y"]) for row in results["preferences"]]
    assert pairs == [("davinci", "ada"), ("human", "davinci")]
    rated = [(row["system_x"], row["system_y"]) for row in results["ratings"]["pairs"]]
    assert rated == [("ada", "human"), ("ada", "davinci"), ("human", "davinci")]
    assert [(row["system_x"], row["system_y"]) for row in results["choices"]["pairs"]] == [("ada", "davinci")]


def test_an_expectation_must_be_readable() -> None:
    study = Study.model_validate({**STUDY, "analysis": {"expected": ["ada better than human"]}})
    with pytest.raises(AnalysisError, match=r"\[analysis\] expected: wanted"):
        plan_of(study)


def test_turning_twice_changes_nothing() -> None:
    assert all(TURNED[TURNED[verdict]] == verdict for verdict in TURNED)
