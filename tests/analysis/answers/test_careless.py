"""Declared rules of careless answering: what each counts, whom it finds, and who is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan
from analysis.answers.careless import reading_speeds, same_answers
from analysis.answers.exclusions import find_exclusions
from analysis.answers.other_tables import KNOWN_BY
from analysis.answers.preregistration import planned
from analysis.report.excluded import excluded
from analysis.results.files import from_plain
from spa import AnalysisError
from spa.responses.reading_rows import KnownBy
from tests.analysis.made_answers import check, choices, preferences, ratings, render_report, run
from tests.calibration.careless import RULES, habits, shares, simulate

Row = tuple[str, str, str, float, float, float, int | None]  # who, page, item, page's and own seconds, scrolled, words


@cache
def rated() -> pl.DataFrame:
    return ratings([(who, f"i{n}", system, 1 + n % 5) for who in "abc" for n in range(10) for system in "xy"])


def reading(rows: Sequence[Row], **columns: object) -> pl.DataFrame:
    names = ["annotator_id", "page", "item_id", "page_seconds", "seconds", "scrolled", "words"]
    frame = pl.DataFrame(rows, names, orient="row", infer_schema_length=None)
    system = pl.when(pl.col("item_id") != "").then(pl.lit("x"))
    frame = frame.with_columns(pl.lit("a1").alias("assignment_id"), system.alias("system"), pl.lit(1).alias("sample"))
    return frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())


def pages(who: str, speed: float, *, words: int = 100, n: int = 10) -> list[Row]:
    """One output a page, read at one speed."""
    seconds = 60 * words / speed
    return [(who, f"p{item}", f"i{item}", seconds + 5, seconds, 1.0, words) for item in range(n)]


def found(plan: Plan, **frames: pl.DataFrame) -> list[tuple[str, str, str]]:
    return [(row.annotator_id, row.rule, row.evidence) for row in find_exclusions(check(**frames), plan)]


def test_careless_what_the_server_knows() -> None:
    """Served alone is seen, with no share of the height; what the server's clock refutes is neither seen nor paced."""
    shown = [(who, "p1", f"i{n}", 60.0, 6.0, None if who == "b" else 1.0, 50) for who in "abc" for n in range(10)]
    known_by = pl.col("annotator_id").replace_strict({"a": "script", "b": "server", "c": "refuted"})
    read = reading(shown).with_columns(known_by=known_by)
    rows = found(Plan(min_outputs_seen=0.9), ratings=rated(), reading=read)
    assert rows == [("c", "outputs_seen", "saw 0 of 10 outputs (0%), at least 90% required")]
    speeds = reading_speeds(check(ratings=rated(), reading=read).reading)
    assert {who: round(speed) for who, (speed, _) in speeds.items()} == {"a": 500, "b": 500}
    assert found(Plan(min_outputs_seen=0.9), ratings=rated(), reading=reading(shown)) == [
        ("b", "outputs_seen", "saw 0 of 10 outputs (0%), at least 90% required")
    ]
    with pytest.raises(AnalysisError, match="expected script, server, refuted or nothing"):
        check(ratings=rated(), reading=read.with_columns(known_by=pl.lit("magic")))
    assert KNOWN_BY == get_args(KnownBy)


def test_careless_outputs_count_once() -> None:
    """Outputs count once and are seen to their end on any page."""
    rows: list[Row] = [("a", "p0", "", 9.0, 0.0, 0.0, None)]  # a page without outputs
    rows += [("a", "p1", f"i{n}", 9.0, 9.0 if n < 9 else 0.0, 0.9, 50) for n in range(10)]
    rows += [("b", "p1", f"i{n}", 9.0, 9.0, 0.9 if n < 8 else 0.5, 50) for n in range(10)]
    rows += [("b", "p2", "i9", 9.0, 1.0, 0.2, 50), ("c", "p1", "i0", 9.0, 9.0, 0.3, 50), ("c", "p2", "i0", 9, 1, 1, 50)]
    tables = {"ratings": rated(), "reading": reading(rows)}
    evidence = "saw 8 of 10 outputs (80%), at least 90% required"
    assert found(Plan(min_outputs_seen=0.9), **tables) == [("b", "outputs_seen", evidence)]
    assert found(Plan(), **tables) == []


def test_careless_speed_is_a_median() -> None:
    """By hand: outputs side by side share the page's time; an output on two pages was read on both."""
    together: list[Row] = [("a", "p1", f"i{n}", 30.0, 30.0, 1.0, 50) for n in range(5)]  # 250 words in 30 s
    assert reading_speeds(check(ratings=rated(), reading=reading(together)).reading)["a"] == (pytest.approx(500), 5)
    again: list[Row] = [*together, *(("a", "p2", f"i{n}", 60.0, 6.0, 1.0, 50) for n in range(5))]  # 30 s more
    assert reading_speeds(check(ratings=rated(), reading=reading(again)).reading)["a"] == (pytest.approx(250), 5)
    half: list[Row] = [(*row[:5], 0.5, row[6]) for row in together]  # of each output half was on screen
    assert reading_speeds(check(ratings=rated(), reading=reading(half)).reading)["a"] == (pytest.approx(250), 5)
    pause: list[Row] = [*pages("a", 1000), ("a", "p10", "i10", 3600.0, 3600.0, 1.0, 100)]
    assert reading_speeds(check(ratings=rated(), reading=reading(pause)).reading)["a"] == (pytest.approx(1000), 11)


@settings(max_examples=15, deadline=None)
@given(st.floats(50, 5000), st.integers(1, 500), st.floats(1, 1000))
def test_speeds_above_the_bound_leave_and_those_at_it_stay(speed: float, words: int, bound: float) -> None:
    tables = check(ratings=rated(), reading=reading(pages("a", speed, words=words)))
    assert tables.reading is not None
    (measured, _) = reading_speeds(tables.reading)["a"]
    assert measured == pytest.approx(speed)
    assert bool(find_exclusions(tables, Plan(max_words_per_minute=bound))) == (measured > bound)
    assert not find_exclusions(tables, Plan(max_words_per_minute=measured))


def test_images_and_what_was_never_on_screen_have_no_speed() -> None:
    rows: list[Row] = [("a", f"p{n}", f"i{n}", 1.0, 1.0, 1.0, None) for n in range(9)]
    rows += [("b", f"p{n}", f"i{n}", 1.0, 0.0, 0.0, 100) for n in range(9)]
    rows += pages("c", 5000, n=4)
    assert found(Plan(max_words_per_minute=600), ratings=rated(), reading=reading(rows)) == []


def test_ratings_of_one_kind_are_compared_with_one_another() -> None:
    likert = [("a", f"i{n}", "x", 3 if n else 4) for n in range(20)]
    table = ratings(likert, elicitation="likert")
    plan = Plan(max_same_answers=0.9)
    assert found(plan, ratings=table) == [
        ("a", "same_answers", "the same answer to 19 of 20 questions (95%), at most 90% allowed")
    ]
    assert found(Plan(max_same_answers=0.95), ratings=table) == []  # equal to the bound
    both = pl.concat([table, ratings([("a", f"i{n}", "x", 50) for n in range(20)], elicitation="continuous")])
    assert [row[2] for row in found(plan, ratings=both)] == [
        "the same answer to 39 of 40 questions (98%), at most 90% allowed"
    ]
    assert found(plan, ratings=table.head(9)) == []  # too few to be a habit


PAIRS = [(x, y) for x in "xyz" for y in "xyz" if x != y]


def test_careless_even_chances() -> None:
    """Even chances are indifference and other equal chances are not."""
    plan = Plan(max_same_answers=0.9, consistency_tau=None)

    def stated(value: float) -> pl.DataFrame:
        return pl.concat(
            [preferences([("a", *pair, value) for pair in PAIRS], criterion=of) for of in ("style", "sense")]
        )

    assert found(plan, preferences=stated(0.5)) == []
    assert found(plan, preferences=stated(0.4)) == [
        ("a", "same_answers", "the same answer to 12 of 12 questions (100%), at most 90% allowed")
    ]
    one_way = stated(0.8).filter(pl.col("system_x") < pl.col("system_y"))
    assert same_answers({"preferences": one_way.with_columns(value=0.8)}) == {}


def test_careless_always_left() -> None:
    """Always the left one is found and always the same system is not."""
    plan = Plan(max_same_answers=0.9)
    turned = [("x", "y") if n % 2 else ("y", "x") for n in range(12)]
    left = choices([("a", f"i{n}", *pair, "x") for n, pair in enumerate(turned)])
    loyal = choices([("a", f"i{n}", *pair, "x" if pair[0] == "x" else "y") for n, pair in enumerate(turned)])
    fixed = choices([("a", f"i{n}", "x", "y", "x") for n in range(12)])
    ties = choices([("a", f"i{n}", *pair, "tie") for n, pair in enumerate(turned)])
    assert [row[1] for row in found(plan, choices=left)] == ["same_answers"]
    assert [found(plan, choices=table) for table in (loyal, fixed, ties)] == [[], [], []]


def test_llms_and_visits_that_do_not_count_are_not_judged() -> None:
    same = [(who, f"i{n}", "x", 3) for who in ("a", "g") for n in range(12)]
    table = ratings(same, assignment_id="a1")
    assert find_exclusions(check(ratings=table, llms=("a", "g")), Plan(max_same_answers=0.9)) == []
    late = table.with_columns(visit=pl.lit("extra"))
    assert {row.rule for row in find_exclusions(check(ratings=late), Plan(max_same_answers=0.9))} == {"extra_answers"}


def test_whoever_cannot_be_checked_is_kept_and_counted() -> None:
    plan = Plan(min_outputs_seen=0.9, max_words_per_minute=600, max_same_answers=0.9)
    results = run(ratings=rated(), reading=reading([*pages("a", 250), *pages("b", 2000)]), plan=plan)
    assert [tuple(row.values()) for row in results["careless"]] == [
        ("outputs_seen", 0.9, "human", 3, 1, 0),
        ("reading_speed", 600, "human", 3, 1, 1),
        ("same_answers", 0.9, "human", 3, 0, 0),
    ]
    assert results["headline"]["excluded"] == (
        "1 of 3 people: outputs seen 0, reading speed 1, same answers 0. Kept, as there was too little to judge "
        "by: outputs seen 1, reading speed 1. This does not affect pay."
    )
    text = render_report(results)["report.md"]
    assert "Who was excluded" in text[: text.index("## ")] + text.split("## ")[1]
    assert "Rules of careless answering, declared beforehand" in text
    alone = run(ratings=rated(), plan=plan)
    assert [row["not_checkable"] for row in alone["careless"]] == [3, 3, 0]
    assert alone["exclusions"] == []
    assert excluded(from_plain(alone)) is not None


def test_without_declared_rules_nothing_more_is_said() -> None:
    results = run(ratings=rated(), reading=reading(pages("a", 9000)))
    assert (results["careless"], results["headline"]["excluded"], results["exclusions"]) == ([], None, [])
    assert "careless" not in render_report(results)["report.md"].casefold()


def test_the_rules_are_frozen_with_the_plan() -> None:
    content = planned(Plan(max_words_per_minute=600), fingerprint="f", annotators=3)
    assert {name: content["plan"][name] for name in ("max_words_per_minute", "min_outputs_seen")} == {
        "max_words_per_minute": 600,
        "min_outputs_seen": None,
    }


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("min_outputs_seen", 0, r"min_outputs_seen must lie in \(0, 1\], got 0"),
        ("min_outputs_seen", float("nan"), r"min_outputs_seen must lie in \(0, 1\], got nan"),
        ("max_words_per_minute", 0, "max_words_per_minute"),
        ("max_words_per_minute", float("inf"), "max_words_per_minute"),
        ("max_same_answers", 1, r"max_same_answers must lie in \[0.5, 1\), got 1"),
    ],
)
def test_bounds_that_make_no_rule_are_refused(name: str, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Plan(), **{name: value})


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("seconds", "-1", "reading table, rows 1, 2, 3, 4, 5 and 5 more: seconds must be 0 or more, got -1.0"),
        ("scrolled", "1.5", "at most 1, got 1.5"),
        ("words", "many", "words must be a whole number, got 'many'"),
        ("page_seconds", "long", "page_seconds must be a number with a decimal point or empty, got 'long'"),
        ("annotator_id", "", "annotator_id must not be empty, got nothing"),
    ],
)
def test_bad_evidence_is_one_line(column: str, value: str, message: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        check(ratings=rated(), reading=reading(pages("a", 250), **{column: value}))
    (line,) = caught.value.problems
    assert message in line
    with pytest.raises(AnalysisError, match="column words is missing"):
        check(ratings=rated(), reading=reading(pages("a", 250)).drop("words"))


def test_careless_simulated_habits_are_found() -> None:
    """Known truth, small; the large table is ``make calibrate``."""
    rows = {habit.name: habit for habit in habits()}

    def found_share(name: str, number: int) -> dict[str, float]:
        tables = simulate(rows[name], number, np.random.default_rng(7))
        return dict(zip(RULES, shares(tables, number), strict=False))

    none = dict.fromkeys(RULES, 0.0)
    for name, rule in (
        ("skip outputs", "outputs_seen"),
        ("race, side by side", "reading_speed"),
        ("race, a pause", "reading_speed"),
        ("straight-line", "same_answers"),
    ):
        assert found_share(name, 20) == {**none, rule: 1.0}
    fast = found_share("honest, fast, 5 outputs", 200)
    assert fast["reading_speed"] < 0.01
    assert {**fast, "reading_speed": 0.0} == none
