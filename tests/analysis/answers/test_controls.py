"""Systems that are attention checks: they leave, and say who preferred them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, Reading, check_frames, read_tables
from analysis.answers.controls import control_checks
from analysis.answers.tables import AnswerTables
from spa import AnalysisError
from tests.analysis.made_answers import analyse, choices, preferences, ratings, render_report

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "cases" / "published" / "controls_as_a_system"


def read(control: tuple[str, ...] = ("spam",), **frames: pl.DataFrame) -> AnswerTables:
    return check_frames(frames, Reading(controls=control))


def failed(tables: AnswerTables, plan: Plan | None = None) -> dict[str, tuple[int, int, int]]:
    checks = control_checks(tables.controls, (plan or Plan()).lower_is_better)
    return {row.annotator_id: (row.failed, row.total, row.left_out) for row in checks}


def chosen(wins: dict[str, int], *, asked: int = 8, control: str = "spam") -> pl.DataFrame:
    """Return choices between a and b, and between a and a control, which each annotator chose so many times."""
    rows = [
        (who, f"i{item}", "a", "b", "x" if (item + at) % 3 else "y")
        for at, who in enumerate(wins)
        for item in range(12)
    ]
    for who, n in wins.items():
        rows += [(who, f"c{item}", "a", control, "y" if item < n else "x") for item in range(asked)]
    return choices(rows)


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published shapes are not there")
def test_the_published_controls_say_who_failed_and_leave() -> None:
    tables = read_tables({"choices": PUBLISHED / "choices.csv"}, Reading(controls=("spam",)))
    found = analyse(tables, Plan())
    assert {row["annotator_id"]: (row["failed"], row["total"]) for row in found["controls"]} == {
        "ann": (0, 16),
        "bo": (1, 16),
    }
    assert sum(row["left_out"] for row in found["controls"]) == 32
    pairs = found["choices"]["pairs"]
    assert sum(row["n_answers"] for row in pairs) == 240
    assert [(row["system_x"], row["system_y"], row["n_tests"]) for row in pairs] == [
        ("mt", "human_b", 2),
        ("human_b", "human_a", 2),
    ]
    assert [round(row["win_rate"], 4) for row in pairs] == [0.3417, 0.3708]
    assert [row["order"] for row in found["rankings"]] == [[["human_a"], ["human_b"], ["mt"]]]


def test_everything_else_is_as_if_the_rows_had_not_been_there() -> None:
    frame = chosen({"ann": 0, "bo": 2})
    with_control = analyse(read(choices=frame), Plan())
    without = analyse(read((), choices=frame.filter(pl.col("system_y") != "spam")), Plan())
    for key in ("choices", "bradley_terry", "rankings", "agreement", "families", "groups", "exclusions"):
        assert with_control[key] == without[key]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, 8), min_size=2, max_size=4), st.data())
def test_the_side_of_the_control_and_the_names_do_not_matter(wins: list[int], data: st.DataObject) -> None:
    frame = chosen({f"p{at}": n for at, n in enumerate(wins)})
    turn = pl.Series(data.draw(st.lists(st.booleans(), min_size=frame.height, max_size=frame.height)))
    swapped = frame.with_columns(
        system_x=pl.when(turn).then("system_y").otherwise("system_x"),
        system_y=pl.when(turn).then("system_x").otherwise("system_y"),
        winner=pl.when(turn).then(pl.col("winner").replace({"x": "y", "y": "x"})).otherwise("winner"),
    )
    shuffled = swapped.sample(fraction=1, shuffle=True, seed=3)
    expected = {f"p{at}": (n, 8, 8) for at, n in enumerate(wins)}
    assert failed(read(choices=frame)) == failed(read(choices=swapped)) == failed(read(choices=shuffled)) == expected


def test_nobody_leaves_until_the_plan_counts_controls() -> None:
    tables = read(choices=chosen({"ann": 0, "bo": 2}))
    assert analyse(tables, Plan())["exclusions"] == []
    assert analyse(tables, Plan(max_failed_controls=2))["exclusions"] == []
    [row] = analyse(tables, Plan(max_failed_controls=1))["exclusions"]
    assert (row["annotator_id"], row["rule"]) == ("bo", "attention_checks")
    assert row["evidence"] == "failed 2 of 8 attention checks (controls: spam), 1 allowed"


def test_controls_count_with_the_checks_of_the_annotators_table() -> None:
    people = pl.DataFrame({"annotator_id": ["ann", "bo"], "checks_failed": [1, 1], "checks_total": [4, 4]})
    tables = read(choices=chosen({"ann": 0, "bo": 1}), annotators=people)
    [row] = analyse(tables, Plan(max_failed_checks=1, max_failed_controls=1))["exclusions"]
    assert row["annotator_id"] == "bo"
    assert row["evidence"].startswith("failed 2 of 12 attention checks")


def test_controls_ties_and_missing_choices() -> None:
    """A tie with a control fails and a missing choice does not."""
    rows = [("a", f"i{at}", "x", "y", "x") for at in range(3)]
    rows += [("a", "c1", "x", "spam", "tie"), ("a", "c2", "x", "spam", ""), ("a", "c3", "spam", "x", "y")]
    assert failed(read(choices=choices(rows))) == {"a": (1, 2, 3)}


def test_controls_rating_fails_at_mean_of_others() -> None:
    """A rating fails where it is at least the mean of the others of the item."""
    rows = [
        *[("a", "i1", "x", 4), ("a", "i1", "y", 2), ("a", "i1", "spam", 3)],  # at the mean
        *[("a", "i2", "x", 4), ("a", "i2", "y", 2), ("a", "i2", "spam", 2)],
        *[("b", "i1", "x", 5), ("b", "c", "spam", 5)],  # no other of its item: beside all that b gave
        *[("c", "i1", "x", 5), ("c", "c", "spam", 4)],
    ]
    tables = read(ratings=ratings(rows))
    assert failed(tables) == {"a": (1, 2, 2), "b": (1, 1, 1), "c": (0, 1, 1)}
    assert tables.ratings is not None
    assert tables.ratings.height == len(rows) - 4


def test_where_low_ratings_are_good_a_low_control_fails() -> None:
    rows = [("a", "i1", "x", 4), ("a", "i1", "spam", 2), ("b", "i1", "x", 2), ("b", "i1", "spam", 4)]
    tables = read(ratings=ratings(rows, criterion="errors"))
    assert failed(tables) == {"a": (0, 1, 1), "b": (1, 1, 1)}
    assert failed(tables, Plan(lower_is_better=frozenset({"errors"}))) == {"a": (1, 1, 1), "b": (0, 1, 1)}


def test_preferences_and_orders_know_controls() -> None:
    stated = preferences([("a", "x", "y", 0.6), ("a", "x", "spam", 0.9), ("a", "spam", "x", 0.5)])
    assert failed(read(preferences=stated)) == {"a": (1, 2, 2)}
    order = pl.DataFrame(
        {
            "annotator_id": ["a"] * 3 + ["b"] * 3,
            "item_id": ["i"] * 6,
            "system": ["x", "y", "spam"] * 2,
            "rank": [1, 2, 3, 3, 2, 1],
        }
    )
    tables = read(orders=order)
    assert failed(tables) == {"a": (0, 1, 1), "b": (1, 1, 1)}
    assert tables.choices is not None
    assert "spam" not in tables.choices["system_y"].to_list()


def test_llms_are_told_of_and_never_leave() -> None:
    tables = check_frames({"choices": chosen({"gpt": 5, "ann": 0})}, Reading(controls=("spam",), llms=("gpt",)))
    found = analyse(tables, Plan(max_failed_controls=0))
    assert found["exclusions"] == []
    assert {row["annotator_id"]: row["failed"] for row in found["controls"]} == {"gpt": 5, "ann": 0}


def test_controls_of_unnamed_people_leave_and_blame_nobody() -> None:
    frame = chosen({"ann": 0, "bo": 1})
    found = analyse(check_frames({"choices": frame}, Reading(controls=("spam",), unnamed=True)), Plan())
    assert [(row["failed"], row["total"], row["left_out"]) for row in found["controls"]] == [(0, 0, 16)]


@pytest.mark.parametrize(("control", "said"), [(("spim",), "no such system"), (("a", "b", "spam"), "all answers")])
def test_controls_refused(control: tuple[str, ...], said: str) -> None:
    """Controls that are not there or leave nothing are refused."""
    with pytest.raises(AnalysisError, match=said):
        read(control, choices=chosen({"ann": 0, "bo": 1}))


def doubts(found: dict[str, Any]) -> list[str]:
    return [row["text"] for row in found["warning_rows"] if row["kind"] == "control_like"]


@pytest.mark.parametrize("name", ["spam", "Control", "wmt-tutorial1", "bad_ref", "attention"])
def test_a_system_named_as_controls_are_is_a_caveat(name: str) -> None:
    found = analyse(read((), choices=chosen({"ann": 2, "bo": 3}, control=name)), Plan())
    [text] = doubts(found)
    assert f"--control {name}" in text
    assert "control_like" in {row["kind"] for row in found["headline"]["problems"]}


def test_controls_weak_system_is_a_caveat() -> None:
    """A system that met one other and lost nearly always is a caveat."""
    found = analyse(read((), choices=chosen({"ann": 0, "bo": 1}, control="human_c")), Plan())
    [text] = doubts(found)
    assert "human_c (met a alone and lost nearly always)" in text
    close = analyse(read((), choices=chosen({"ann": 3, "bo": 4}, control="human_c")), Plan())
    assert doubts(close) == []
    assert (
        doubts(analyse(read((), choices=chosen({"ann": 0, "bo": 1}).filter(pl.col("system_y") == "b")), Plan())) == []
    )


def test_controls_baseline_makes_no_control() -> None:
    """A baseline that all systems met makes no control of the weakest."""
    rows = [("a", f"i{item}", "base", name, "x") for item in range(12) for name in ("weak", "good", "fair")]
    rows = [(*row[:4], "y" if row[3] != "weak" and at % 2 else "x") for at, row in enumerate(rows)]
    assert doubts(analyse(read((), choices=choices(rows)), Plan())) == []


def test_what_left_is_said_in_the_report() -> None:
    found = analyse(read(choices=chosen({"ann": 0, "bo": 2})), Plan())
    page = render_report(found, full=False)["report.md"]
    assert "16 answers are in no test or ranking" in page
    assert "bo 2 of 8" in page


def test_controls_random_annotator_fails_half() -> None:
    """An annotator who answers at random fails half of the controls."""
    rng = np.random.default_rng(5)
    rows = [("a", "i", "x", "y", "x")] + [
        ("a", f"c{at}", *(("x", "spam") if rng.random() < 0.5 else ("spam", "x")), "xy"[rng.integers(2)])
        for at in range(2000)
    ]
    [(n, total, _)] = failed(read(choices=choices(rows))).values()
    assert abs(n / total - 0.5) < 4 * np.sqrt(0.25 / total)
