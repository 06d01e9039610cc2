"""Battles and MT-Bench's judgments: winners by words and in three columns, games in both orders, single scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import json_file, lines_file, problem, read


def battle(winner: str | None, **changes: Any) -> dict[str, Any]:
    return {"question_id": "q1", "model_a": "alpha", "model_b": "beta", "winner": winner, "judge": "u1", **changes}


@pytest.mark.parametrize(
    ("word", "winner"),
    [
        ("model_a", "x"),
        ("model_b", "y"),
        ("tie", "tie"),
        ("tie (inconsistent)", "tie"),
        ("tie (bothbad)", "both_bad"),
        ("both_bad", "both_bad"),
        ("beta", "y"),
        ("", None),
        (None, None),
    ],
)
def test_a_winner_is_read_by_its_word(word: str | None, winner: str | None, tmp_path: Path) -> None:
    (row,) = read("arena", json_file(tmp_path / "battles.json", [battle(word)])).rows["choices"]
    assert (row["system_x"], row["system_y"], row["winner"]) == ("alpha", "beta", winner)
    assert row["missing_reason"] == (None if winner else "no winner")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_three_columns_say_who_won_and_nobody_is_named(ending: str, tmp_path: Path) -> None:
    hot = {"model_a": (1, 0, 0), "model_b": (0, 1, 0), "tie": (0, 0, 1), "none": (0, 0, 0)}
    rows = [
        {"id": n, "model_a": "alpha", "model_b": "beta"}
        | {f"winner_{name}": one for name, one in zip(("model_a", "model_b", "tie"), own, strict=True)}
        for n, own in enumerate(hot.values())
    ]
    path = tmp_path / f"train.{ending}"
    frame = pl.DataFrame(rows)
    {"csv": frame.write_csv, "json": frame.write_json, "parquet": frame.write_parquet}[ending](path)  # type: ignore[operator]
    done = read("arena", path)
    assert [row["winner"] for row in done.rows["choices"]] == ["x", "y", "tie", None]
    assert {row["annotator_id"] for row in done.rows["choices"]} == {UNNAMED}
    assert "the unit of their tests is the item" in "\n".join(done.notes)


def test_each_turn_is_a_criterion_where_turns_differ(tmp_path: Path) -> None:
    rows = [battle("tie", turn=1), battle("tie", turn=2)]
    found = read("arena", json_file(tmp_path / "j.json", rows)).rows["choices"]
    assert [(row["item_id"], row["criterion"]) for row in found] == [("q1", "turn 1"), ("q1", "turn 2")]
    lengths = [battle("tie", turn=1), battle("tie", turn=3, question_id="q2")]  # of whole conversations
    found = read("arena", json_file(tmp_path / "j.json", lengths)).rows["choices"]
    assert [(row["item_id"], row["criterion"]) for row in found] == [("q1", "overall"), ("q2", "overall")]


def test_judges_are_people_unless_they_are_named_as_llms(tmp_path: Path) -> None:
    rows = [battle("tie", judge=judge) for judge in ("u1", "gpt4_pair", "other")]
    path = json_file(tmp_path / "j.json", rows)
    kinds = [row["annotator_kind"] for row in read("arena", path, llms=("other",)).rows["choices"]]
    assert kinds == ["human", "llm", "llm"]
    assert "--llm nobody: expected one of the judges" in problem("arena", path, llms=("nobody",))


def test_battles_that_are_not_anonymous_are_told(tmp_path: Path) -> None:
    rows = [battle("tie", anony=True), battle("tie", anony=False), battle("both_bad")]
    notes = read("arena", json_file(tmp_path / "j.json", rows)).notes
    assert notes[0].startswith("1 battles are not anonymous")
    assert "1 battles in which both are bad" in notes[1]


def pair(first: str | None, second: str | None) -> dict[str, Any]:
    judge = ["gpt-4", "pair-v2"]
    return {
        **{"question_id": 81, "model_1": "alpha", "model_2": "beta", "judge": judge, "turn": 1},
        **{"g1_winner": first, "g2_winner": second, "g1_judgment": "[[A]]", "g2_judgment": "[[A]]"},
    }


@pytest.mark.parametrize(
    ("first", "second", "winners"),
    [
        ("model_1", "model_1", ["x", "y"]),  # in the second game model_2 stood first, and lost again
        ("model_2", "model_1", ["y", "y"]),
        ("tie", "error", ["tie", None]),
        (None, "model_2", [None, "x"]),
    ],
)
def test_both_games_of_a_pair_are_answers(
    first: str | None, second: str | None, winners: list[str | None], tmp_path: Path
) -> None:
    found = read("arena", lines_file(tmp_path / "gpt-4_pair.jsonl", [pair(first, second)])).rows["choices"]
    assert [row["winner"] for row in found] == winners
    assert [(row["system_x"], row["system_y"]) for row in found] == [("alpha", "beta"), ("beta", "alpha")]
    assert {(row["annotator_id"], row["annotator_kind"], row["item_id"]) for row in found} == {("gpt-4", "llm", "81")}


def test_single_scores_of_minus_one_are_missing(tmp_path: Path) -> None:
    one = {"question_id": 81, "model": "alpha", "judge": ["gpt-4", "single-v1"], "user_prompt": "?", "judgment": "!"}
    rows = [{**one, "score": score, "turn": turn} for turn, score in ((1, 9), (2, -1))]
    found = read("arena", lines_file(tmp_path / "gpt-4_single.jsonl", rows)).rows["ratings"]
    assert [(row["item_id"], row["criterion"], row["score"], row["missing_reason"]) for row in found] == [
        ("81", "turn 1", 9, None),
        ("81", "turn 2", None, "no score"),
    ]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([battle("left")], "row 1, winner: expected model_a, model_b, tie, both_bad or nothing, got 'left'"),
        ([battle("tie", question_id=None)], "row 1: expected one of question_id, id, conversation_id, got none"),
        ([battle("tie", model_a=None)], "expected model_a, got an empty one"),
        ([pair("A", "tie")], "g1_winner: expected model_1, model_2, tie or error, got 'A'"),
        ([{"x": 1}], "expected model_a, model_b and winner"),
        ([battle(None, winner_model_a=1, winner_model_b=1, winner_tie=0)], "expected one of three columns to be 1"),
        ([battle(None, winner_model_a=2, winner_model_b=0, winner_tie=0)], "got winner_model_a=2"),
    ],
)
def test_what_an_arena_does_not_write_is_one_line(rows: list[dict[str, Any]], told: str, tmp_path: Path) -> None:
    assert told in problem("arena", json_file(tmp_path / "battles.json", rows))
