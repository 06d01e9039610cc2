"""Arena-Hard's judgments: who is A in which game, games without a verdict, files without a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spa.importers.foreign import lines_file, problem, read


def question(*games: object, **changes: Any) -> dict[str, Any]:
    return {"uid": "u1", "judge": "j", "model": "mine", "baseline": "ref", "games": [*games], **changes}


@pytest.mark.parametrize(
    ("scores", "better"),
    [
        (("B>A", "A>B"), ["mine", "mine"]),
        (("A>>B", "B>>A"), ["ref", "ref"]),
        (("A>B", "A>B"), ["ref", "mine"]),
        (("A=B", "B=A"), ["tie", "tie"]),
        (("A<<B", "B<A"), ["mine", "mine"]),
        ((None, "A>B"), [None, "mine"]),
    ],
)
def test_a_is_the_baseline_in_game_1_and_the_model_in_game_2(
    scores: tuple[str | None, str], better: list[str | None], tmp_path: Path
) -> None:
    games = [{"score": score, "judgment": {"answer": "[[A>B]]"}} for score in scores]
    found = read("arena-hard", lines_file(tmp_path / "mine.jsonl", [question(*games)])).rows["choices"]
    won = [{"x": row["system_x"], "y": row["system_y"]}.get(row["winner"], row["winner"]) for row in found]
    assert won == better
    assert [(row["system_x"], row["system_y"]) for row in found] == [("ref", "mine"), ("mine", "ref")]


def test_a_null_game_is_one_missing_answer_and_not_the_question(tmp_path: Path) -> None:
    done = read("arena-hard", lines_file(tmp_path / "mine.jsonl", [question(None, {"score": "A>B"})]))
    assert [(row["winner"], row["missing_reason"]) for row in done.rows["choices"]] == [(None, "no game"), ("x", None)]
    assert done.missing == {"choices": (1, 2)}


def test_version_01_asks_for_a_baseline_version_2_has_several(tmp_path: Path) -> None:
    game = {"score": "B>A"}
    old = {"question_id": "q1", "judge": "j", "model": "mine", "games": [game, game]}
    path = lines_file(tmp_path / "old.jsonl", [old])
    assert "line 1: expected a baseline, got none" in problem("arena-hard", path)
    assert "--baseline NAME" in problem("arena-hard", path)
    assert {row["system_x"] for row in read("arena-hard", path, baseline="ref").rows["choices"]} == {"ref", "mine"}
    rows = [question(game, category="a"), question(game, category="b", baseline="ref-b")]
    done = read("arena-hard", lines_file(tmp_path / "new.jsonl", rows), baseline="unused")
    assert [row["system_x"] for row in done.rows["choices"]] == ["ref", "ref-b"]
    assert "categories: 1 of a, 1 of b" in done.notes


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (question({"score": "B wins"}), "game 1: expected a score such as A>>B, B>A or A=B, got 'B wins'"),
        (question({"score": "A"}), "expected a score such as"),
        (question("A>B"), "game 1: expected an object"),
        (question(), "expected one or two games, got 0 games"),
        (question(games=None), "expected one or two games, got nothing"),
        (question({}, uid=None), "expected uid or question_id"),
    ],
)
def test_what_arena_hard_does_not_write_is_one_line(row: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in problem("arena-hard", lines_file(tmp_path / "mine.jsonl", [row]))
