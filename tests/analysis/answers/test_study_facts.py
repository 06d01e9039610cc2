"""What a report takes from a study file: plan, facts, order."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from analysis import Plan, facts_of, parse_expectations, plan_of
from analysis.answers.study_facts import StudySystem
from analysis.printing.names import Names
from analysis.report.asked import asked
from analysis.report.markdown import render_markdown
from analysis.results.files import from_plain
from analysis.statistics.corrections import OUTSIDE_FAMILY, TURNED
from spa import AnalysisError
from spa.elicitation import by_answers, ways
from spa.study.study_file import read_study
from tests.analysis.made_answers import build_document, choices, preferences, ratings, run
from tests.analysis.sample_results import empty_results

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
        "rating_test": "welch",
        "expected": ["ada < davinci", "human ~ davinci"],
    },
}


def test_the_plan_is_the_studys() -> None:
    plan = plan_of(read_study(STUDY))
    assert plan == Plan(
        fwer=0.1,
        consistency_tau=Decimal("1.05"),
        family="all",
        rating_test="welch",
        expected=parse_expectations(["ada < davinci", "human ~ davinci"]),
        lower_is_better=frozenset({"errors"}),
        seed=4,
    )


def test_facts_hold_what_a_reader_asks_for() -> None:
    facts = facts_of(read_study(STUDY), form=None, fingerprint="f" * 64).reported()
    assert facts.systems[1] == StudySystem(id="human", name="People", role="human")
    assert facts.exposures == (5,)
    assert facts.elicitations == ("spa", "likert")
    assert (facts.annotators_wanted, facts.pay, facts.currency) == (90, "5.00", "USD")
    assert facts.fingerprint == "f" * 64
    assert not hasattr(facts, "pairs")


def test_every_way_of_asking_has_its_words_in_the_report() -> None:
    """The report says each in a sentence; categories beside Likert ratings are not taken for Likert ratings."""
    given = {key: {} for key in ways()} | STUDY | {"continuous": {"criteria": []}}
    facts = facts_of(read_study(given), form=None, fingerprint="").reported()
    nothing = from_plain(empty_results())
    assert set(facts.elicitations) == set(by_answers())
    rated = Names(replace(nothing, study=replace(facts, elicitations=("likert", "category"))))
    assert rated.source("ratings") == "ratings"
    section = asked(replace(nothing, study=replace(facts, pay="2.5")))
    assert section is not None
    assert "('Pay', '2.50 USD a completed submission')" in str(section.blocks)


def test_pairs_and_systems_stand_as_the_study_lists_them() -> None:
    facts = facts_of(read_study(STUDY), form=None)
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


@pytest.mark.parametrize(("comparisons", "members"), [([["davinci", "ada"], ["human", "davinci"]], 2), (None, 3)])
def test_ratings_corrected_over_compared_pairs(comparisons: list[list[str]] | None, members: int) -> None:
    """p_adjusted is Holm's by hand; the pair that is not compared keeps its p-value and joins no family."""
    asked = {"spa": {"exposure": 5, "comparisons": comparisons}} if comparisons else {}
    study = read_study({key: value for key, value in STUDY.items() if key != "spa"} | asked)
    rng = np.random.default_rng(5)
    level = {"ada": 2.8, "human": 3.4, "davinci": 3.1}
    scores = [
        (str(who), f"i{who}", system, int(np.clip(rng.normal(mean, 1), 1, 5).round()))
        for who in range(40)
        for system, mean in level.items()
    ]
    found = run(ratings=ratings(scores), study=facts_of(study, form=None), plan=Plan(equivalence_margin_ratings=0.5))
    pairs = {(row["system_x"], row["system_y"]): row for row in found["ratings"]["pairs"]}
    inside = [row for pair, row in pairs.items() if members == 3 or pair != ("ada", "human")]
    assert len(inside) == members
    for key, adjusted in (("p_value", "p_adjusted"), ("p_crossed", "p_crossed_adjusted")):
        raw = sorted(row[key] for row in inside)
        by_hand = np.minimum(1, np.maximum.accumulate([p * (members - rank) for rank, p in enumerate(raw)]))
        assert sorted(row[adjusted] for row in inside) == pytest.approx(by_hand)
    (family,) = found["families"]
    assert (family["n_tests"], family["untestable"]) == (members, [])
    if members == 2:
        outside = pairs["ada", "human"]
        assert outside["p_value"] > 0
        nothing = ("p_adjusted", "n_tests", "verdict", "p_equivalence", "p_crossed_adjusted", "crossed_verdict")
        assert [outside[key] for key in nothing] == [None] * len(nothing)
        assert (outside["stars"], outside["reason"]) == ("", str(OUTSIDE_FAMILY))
        page = render_markdown(build_document(found))
        assert f"no verdict: {OUTSIDE_FAMILY}" in page
        assert "more comparison" not in page


def test_an_expectation_must_be_readable() -> None:
    study = read_study({**STUDY, "analysis": {"expected": ["ada better than human"]}})
    with pytest.raises(AnalysisError, match=r"\[analysis\] expected: expected"):
        plan_of(study)


def test_turning_twice_changes_nothing() -> None:
    assert all(TURNED[TURNED[verdict]] == verdict for verdict in TURNED)
