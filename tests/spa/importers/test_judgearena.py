"""JudgeArena's runs: both files of a run, and to whom a preference of the exchanged half belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spa.importers.foreign import json_file, problem, read


def write(folder: Path, rows: list[str], preferences: list[float | None] | None) -> Path:
    shown = folder / "run-annotations.csv"
    shown.write_text("\n".join(["judge_completion,instruction_index,model_A,model_B,judge", *rows]) + "\n")
    if preferences is not None:
        results = {"model_A": "mine", "model_B": "base", "swap_mode": "both", "preferences": preferences}
        json_file(folder / "results-run.json", results)
    return shown


ROWS = ["score_A: 9,0,mine,base,j", "score_A: 2,0,base,mine,j", "?,1,base,mine,j"]


@pytest.mark.parametrize("named", ["run-annotations.csv", "results-run.json", "."])
def test_a_preference_is_for_model_b_of_the_results(named: str, tmp_path: Path) -> None:
    write(tmp_path, ROWS, [0.2, 0.3, None])
    done = read("judgearena", tmp_path / named)
    mine = [
        row["preference"] if row["system_x"] == "mine" or row["preference"] is None else 1 - row["preference"]
        for row in done.rows["preferences"]
    ]
    assert mine == pytest.approx([0.8, 0.7, None])
    assert [row["system_x"] for row in done.rows["preferences"]] == ["mine", "base", "base"]
    assert done.missing == {"preferences": (1, 3)}
    assert "softmax" in done.notes[0]


@pytest.mark.parametrize(
    ("rows", "preferences", "told"),
    [
        (ROWS, None, "expected results-run.json beside it, which has the verdicts"),
        (ROWS, [0.2], "expected 3 preferences, as many as rows in the CSV file, got 1"),
        (["?,0,mine,other,j"], [0.2], "row 2: expected mine and base"),
        (["?,0,mine,base,j"], [1.2], "a preference of 0 to 1"),
    ],
)
def test_files_that_are_no_run_are_one_line(
    rows: list[str], preferences: list[float | None] | None, told: str, tmp_path: Path
) -> None:
    assert told in problem("judgearena", write(tmp_path, rows, preferences))
