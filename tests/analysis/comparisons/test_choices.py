"""Choices: win rates over units, exact sign test, orientation, strengths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis import Plan
from tests.analysis.made_answers import choices, run


def test_a_hand_worked_pair() -> None:
    """One annotator, five items: x wins 3, y wins 1, one tie; win rate 3.5 / 5."""
    rows = [("a", f"i{place}", "x", "y", winner) for place, winner in enumerate(["x", "x", "tie", "y", "x"])]
    (row,) = run(choices=choices(rows))["choices"]["pairs"]
    assert (row["wins_x"], row["wins_y"], row["ties"], row["win_rate"]) == (3, 1, 1, 0.7)
    assert (row["unit"], row["n"]) == ("item", 5)
    wanted = stats.ttest_1samp([1, 1, 0.5, 0, 1], 0.5)
    assert row["p_value"] == pytest.approx(wanted.pvalue, rel=1e-9)
    assert row["ci_low"] == pytest.approx(wanted.confidence_interval().low, rel=1e-9)
    assert row["p_binomial"] == pytest.approx(stats.binomtest(3, 4).pvalue, rel=1e-9)


def test_the_order_in_which_a_pair_was_shown_does_not_matter() -> None:
    rows = [
        ("a", "i", "x", "y", "x"),
        ("a", "j", "y", "x", "y"),
        ("b", "i", "y", "x", "x"),
        ("b", "j", "x", "y", "tie"),
    ]
    (row,) = run(choices=choices(rows))["choices"]["pairs"]
    assert (row["system_x"], row["wins_x"], row["wins_y"], row["ties"]) == ("x", 2, 1, 1)


def test_ten_annotators_are_the_unit() -> None:
    rng = np.random.default_rng(5)
    winners = rng.choice(["x", "y", "tie"], size=(10, 4))
    rows = [(f"p{a}", f"i{i}", "x", "y", str(winners[a, i])) for a in range(10) for i in range(4)]
    (row,) = run(choices=choices(rows))["choices"]["pairs"]
    share = np.select([winners == "x", winners == "tie"], [1.0, 0.5], 0.0).mean(axis=1)
    assert (row["unit"], row["n"], row["win_rate"]) == ("annotator", 10, pytest.approx(share.mean()))
    assert row["p_value"] == pytest.approx(stats.ttest_1samp(share, 0.5).pvalue, rel=1e-9)


def test_pairs_stand_in_the_order_of_the_systems() -> None:
    rows = [("a", "i", "x", "y", "x"), ("a", "i", "z", "x", "x"), ("a", "i", "z", "y", "y"), ("a", "j", "y", "z", "y")]
    pairs = run(choices=choices(rows))["choices"]["pairs"]
    assert [(row["system_x"], row["system_y"]) for row in pairs] == [("x", "y"), ("x", "z"), ("y", "z")]


def test_a_tie_is_half_a_win_in_the_strengths() -> None:
    rows = [("a", f"i{place}", "x", "y", winner) for place, winner in enumerate(["x", "tie", "tie", "y", "x"])]
    strength = {row["system"]: row["strength"] for row in run(choices=choices(rows))["bradley_terry"]}
    assert strength["x"] - strength["y"] == pytest.approx(math.log(3 / 2))


def test_who_wins_everything_is_first_at_no_finite_distance() -> None:
    rows = [
        ("a", "i", "x", "y", "x"),
        ("a", "i", "x", "z", "x"),
        ("a", "i", "y", "z", "tie"),
        ("a", "j", "x", "y", "x"),
    ]
    results = run(choices=choices(rows))
    rows_by_system = {row["system"]: row for row in results["bradley_terry"]}
    assert (rows_by_system["x"]["strength"], rows_by_system["x"]["rank"]) == (None, 1)
    assert rows_by_system["x"]["reason_code"] == "won_all"
    (ranking,) = results["rankings"]
    assert (ranking["order"], ranking["unranked"]) == ([["x"], ["y", "z"]], [])
    assert any("won every comparison" in line for line in results["warnings"])
    regular = run(choices=choices(rows), plan=Plan(regularisation=0.5))
    assert regular["rankings"][0]["order"] == [["x"], ["z"], ["y"]]
    assert {row["regularisation"] for row in regular["bradley_terry"]} == {0.5}


def test_repeats_are_averaged_within_their_cell() -> None:
    rows = [("a", "i", "x", "y", "x"), ("a", "i", "x", "y", "y"), ("a", "i", "x", "y", "x"), ("a", "j", "x", "y", "y")]
    (row,) = run(choices=choices(rows, repeat=["1", "2", "3", "1"]))["choices"]["pairs"]
    assert (row["n"], row["wins_x"], row["wins_y"], row["win_rate"]) == (2, 1, 1, pytest.approx(1 / 3))
