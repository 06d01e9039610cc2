"""Rows of bradley_terry in the results: what intervals are clustered by, ranks, warnings, reasons."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from analysis import Plan, bradley_terry
from tests.analysis.made_answers import Results, choices, preferences, ratings, run


def likes(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    pairs = (("x", "y", 0.8), ("y", "z", 0.6), ("x", "z", 0.85))
    return preferences(
        [(f"p{who}", a, b, round(float(rng.beta(8 * p, 8 * (1 - p))), 2)) for who in range(n) for a, b, p in pairs]
    )


def strengths(results: Results, source: str) -> list[Results]:
    return [row for row in results["bradley_terry"] if row["source"] == source]


def test_strength_rows_of_preferences() -> None:
    """Preferences are clustered by annotator and agree with the function."""
    table = likes(12)
    rows = strengths(run(preferences=table), "preferences")
    found = bradley_terry(
        table["system_x"],
        table["system_y"],
        table["preference"].cast(pl.Float64),
        clusters={"annotator": table["annotator_id"]},
    )
    assert found.systems == tuple(row["system"] for row in rows)
    for name in ("strength", "ci_low", "ci_high"):
        assert [row[name] for row in rows] == pytest.approx(getattr(found, name).tolist(), abs=1e-9)
    assert {(row["interval"], row["n_clusters"]) for row in rows} == {("clustered by annotator (CR2)", 12)}
    assert [(row["rank_low"], row["rank_high"]) for row in rows] == [(1, 1), (2, 3), (2, 3)]


@pytest.mark.parametrize(("people", "unit"), [(9, "item"), (10, "annotator")])
@pytest.mark.parametrize("source", ["choices", "ratings_bt"])
def test_the_item_stands_in_for_fewer_than_ten_annotators(people: int, unit: str, source: str) -> None:
    rows = strengths(answered_by(people, source), source)
    assert {row["interval"] for row in rows} == {f"clustered by {unit} (CR2)"}
    assert {row["n_clusters"] for row in rows} == {8 if unit == "item" else people}


@pytest.mark.parametrize("source", ["choices", "ratings_bt"])
@pytest.mark.parametrize(("people", "repeats", "alike"), [(6, 2, None), (6, 20, "annotator"), (2, 20, "annotator")])
def test_the_item_does_not_stand_in_where_one_gave_most(
    people: int, repeats: int, alike: str | None, source: str
) -> None:
    """By items one person would speak for all; annotators alike, and no interval where they are too few."""
    rows = strengths(answered_by(people, source, repeats), source)
    assert {row["alike"] for row in rows} == {alike}
    if people == 2:
        assert {row["ci_low"] for row in rows} == {None}
    else:
        assert {row["interval"] for row in rows} == {f"clustered by {alike or 'item'} (CR2)"}


def answered_by(people: int, source: str, repeats: int = 1) -> Results:
    """Return the results of people who answered on eight items, the first of them ``repeats`` times as many."""
    rng = np.random.default_rng(3)
    asked = [(f"p{who}", f"i{item}") for who in range(people) for item in range(8 * (repeats if who == 0 else 1))]
    if source == "choices":
        picks = [(who, item, "x", "y", str(rng.choice(["x", "y", "tie"]))) for who, item in asked]
        return run(choices=choices(picks))
    scores = [(who, item, system, int(rng.integers(1, 6))) for who, item in asked for system in "xy"]
    return run(ratings=ratings(scores))


def test_an_llm_is_clustered_by_assignment() -> None:
    table = likes(11).with_columns(assignment_id=pl.col("annotator_id"), annotator_id=pl.lit("m"))
    rows = strengths(run(preferences=table, llms=("m",)), "preferences")
    assert {(row["interval"], row["n_clusters"]) for row in rows} == {("clustered by assignment (CR2)", 11)}


def test_what_the_plan_fixes_goes_before() -> None:
    picks = [
        (f"p{who}", f"i{item}", "x", "y", "x" if who * item % 3 else "y") for who in range(12) for item in range(7)
    ]
    rows = strengths(run(choices=choices(picks), plan=Plan(unit="item")), "choices")
    assert {row["interval"] for row in rows} == {"clustered by item (CR2)"}


def test_rank_intervals_turn_with_a_lower_is_better_criterion() -> None:
    rng = np.random.default_rng(4)
    scores = [
        (f"p{who}", f"i{item}", system, int(rng.integers(1, 3)) + 3 * place)
        for who in range(12)
        for item in range(6)
        for place, system in enumerate("xyz")
        if rng.random() < 0.95
    ]
    scores += [
        (f"p{who}", "i9", system, score) for who in range(12) for system, score in zip("xyz", (5, 5, 5), strict=True)
    ]
    table = ratings(scores, criterion="errors")
    plain = strengths(run(ratings=table), "ratings_bt")
    turned = strengths(run(ratings=table, plan=Plan(lower_is_better=frozenset({"errors"}))), "ratings_bt")
    assert [row["strength"] for row in plain] == [row["strength"] for row in turned]
    for one, two in zip(plain, turned, strict=True):
        assert (one["rank_low"], one["rank_high"]) == (4 - two["rank_high"], 4 - two["rank_low"])
        assert two["rank_low"] <= two["rank"] <= two["rank_high"]
    assert plain[0]["rank_low"] == 3


def test_a_strength_without_an_interval_says_why() -> None:
    rows = strengths(run(preferences=preferences([("p", "x", "y", 0.7)])), "preferences")
    assert all(row["strength"] is not None and row["ci_low"] is None and row["rank_low"] is None for row in rows)
    assert {row["reason"] for row in rows} == {"one annotator only: no spread to make an interval from"}
    same = [(f"p{who}", "x", "y", 0.7) for who in range(12)]
    assert "no variation" in strengths(run(preferences=preferences(same)), "preferences")[0]["reason"]


def test_repeats_and_the_order_of_rows_do_not_matter() -> None:
    table = likes(12)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=5)
    by_system = [
        {row["system"]: row for row in strengths(run(preferences=frame), "preferences")} for frame in (table, shuffled)
    ]
    for system, row in by_system[0].items():
        other = by_system[1][system]
        for name in ("strength", "ci_low", "ci_high"):
            assert other[name] == pytest.approx(row[name], abs=1e-9)
        assert (other["rank_low"], other["rank_high"]) == (row["rank_low"], row["rank_high"])
