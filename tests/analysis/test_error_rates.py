"""Small calibration of tests and families: how often equal systems are told apart (large: ``make calibrate``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis import Plan, check_frames
from analysis.answers.options import Reading
from tests.analysis.made_answers import analyse
from tests.calibration import draw, rankings, single
from tests.calibration.comparisons import (
    Design,
    choice_designs,
    discovery_designs,
    lines_of,
    preference_designs,
    rating_designs,
)
from tests.calibration.draw import Items, People
from tests.calibration.studies import run_studies
from tests.calibration.table import most_by_luck

RUNS = 300
ALL = [replace(one, measured=False) for one in (*preference_designs(), *rating_designs(), *choice_designs())]
SMALL = [one for one in ALL if one.people.annotators * one.answers <= 300 or "one of four" in one.name]
WRONG = [one for one in ALL if "wrong" in one.name or "not promised" in one.name]


def kind_and_name(design: Design) -> str:
    return f"{design.kind}: {design.name}"


@pytest.mark.parametrize("design", [one for one in SMALL if one.promised], ids=kind_and_name)
def test_equal_systems_are_told_apart_as_seldom_as_promised(design: Design) -> None:
    found, _, _ = lines_of(design, RUNS, seed=5)
    assert found.seen <= most_by_luck(RUNS, found.nominal)


@pytest.mark.parametrize("design", WRONG, ids=kind_and_name)
def test_what_is_called_wrong_is_wrong(design: Design) -> None:
    """What Holm, the unit and the clusters guard against."""
    found, _, _ = lines_of(design, RUNS, seed=5)
    assert found.seen > most_by_luck(RUNS, found.nominal)


@pytest.mark.parametrize("design", list(discovery_designs()), ids=kind_and_name)
def test_false_discoveries_are_as_few_as_declared(design: Design) -> None:
    found, _, _ = lines_of(replace(design, measured=False), RUNS, seed=5)
    assert found.seen <= most_by_luck(RUNS, found.nominal)


@pytest.mark.parametrize("design", [one for one in single.designs() if one.promised], ids=lambda one: one.name)
def test_single_tests_keep_their_level(design: single.Design) -> None:
    found = single.simulate(design, RUNS, seed=5)
    assert found.seen <= most_by_luck(RUNS, found.nominal)


def test_equivalence_error_at_the_margin() -> None:
    """A difference as large as the margin is seldom called none."""
    found = single.equivalence(50, RUNS, seed=5)
    assert 0 < found.seen <= most_by_luck(RUNS, found.nominal)


@pytest.mark.parametrize("kind", ["preferences", "ratings", "choices"])
def test_a_simulated_study_takes_the_way_of_a_report(kind: str) -> None:
    """What the calibration runs in one go is what ``analyse`` gives for each study alone."""
    rng = np.random.default_rng(1)
    people = People(annotators=12, liking=(0.0, 0.0, 0.5))
    table = {
        "preferences": lambda: draw.preferences(rng, 2, people, both=True),
        "ratings": lambda: draw.ratings(rng, 2, people, Items(number=3)),
        "choices": lambda: draw.choices(rng, 2, people, Items(number=3)),
    }[kind]()
    tests, means = run_studies(kind, table, Plan())
    results = analyse(check_frames({kind: table}, Reading()), Plan())
    rows = results[kind] if kind == "preferences" else results[kind]["pairs"]
    assert [(test.group, test.verdict) for test in tests] == [(row["group"], row["verdict"]) for row in rows]
    assert [test.p_adjusted for test in tests] == pytest.approx([row["p_adjusted"] for row in rows], rel=1e-9)
    if means:
        assert [one.ci_low for one in means] == pytest.approx([row["ci_low"] for row in results["ratings"]["means"]])


@pytest.mark.parametrize("words", ["close, the same order, 30", "close, tau 0.8, 30", "apart, tau 0.2, 30"])
def test_intervals_of_tau_hold_the_true_one(words: str) -> None:
    (design,) = (one for one in rankings.designs() if one.name.startswith(f"5 systems {words}"))
    found = rankings.coverage(design, 100, seed=5)
    assert 1 - found.seen <= most_by_luck(100, 1 - found.nominal)
