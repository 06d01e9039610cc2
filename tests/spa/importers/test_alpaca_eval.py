"""AlpacaEval's annotations: which side is preferred, ties, what is missing, rows that stand twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spa.importers.foreign import json_file, problem, read


def annotation(preference: float | None = 1.25, **changes: Any) -> dict[str, Any]:
    return {
        "instruction": "Say hello.",
        "output_1": "Hello",
        "generator_1": "base",
        "output_2": "Hi",
        "generator_2": "mine",
        "annotator": "judge",
        "preference": preference,
        "preference_raw_completion": {"text": "M"},
        **changes,
    }


@pytest.mark.parametrize(
    ("preference", "probability"), [(1, 0), (2, 1), (1.25, 0.25), (1.5, 0.5), (0, 0.5), (0.0, 0.5), (None, None)]
)
def test_a_preference_less_one_is_for_generator_2(
    preference: float | None, probability: float | None, tmp_path: Path
) -> None:
    (row,) = read("alpaca-eval", json_file(tmp_path / "annotations.json", [annotation(preference)])).rows["preferences"]
    assert (row["system_x"], row["system_y"], row["preference"]) == ("mine", "base", probability)
    assert (row["annotator_id"], row["annotator_kind"], row["item_id"]) == ("judge", "llm", "Say hello.")
    assert (row["missing_reason"] is None) == (probability is not None)


def test_rows_of_one_instruction_are_samples(tmp_path: Path) -> None:
    rows = [annotation(1.9, output_2="Hey"), annotation(1.2), annotation(1.4, instruction="Bye")]
    for written in (rows, rows[::-1]):
        found = read("alpaca-eval", json_file(tmp_path / "annotations.json", written)).rows["preferences"]
        told = {(row["item_id"], row["sample"], round(row["preference"], 6)) for row in found}
        assert told == {("Say hello.", "1", 0.9), ("Say hello.", "2", 0.2), ("Bye", "1", 0.4)}


def test_equal_outputs_shorter_and_equal_files_are_told(tmp_path: Path) -> None:
    rows = [annotation(), annotation(1.5, instruction="Bye", output_1="Hi")]
    json_file(tmp_path / "mine" / "judge" / "annotations.json", rows)
    json_file(tmp_path / "old" / "judge" / "annotations.json", rows)
    json_file(tmp_path / "third" / "judge" / "annotations.json", [annotation(generator_2="third")])
    done = read("alpaca-eval", tmp_path)
    assert len(done.rows["preferences"]) == 3
    assert done.skipped == {"answers that stand in another file too": 2}
    notes = "\n".join(done.notes)
    assert "the same answers as" in notes
    assert "1 rows fewer than the largest file" in notes
    assert "1 rows have equal outputs" in notes


def test_a_folder_of_another_name_than_the_system_is_told(tmp_path: Path) -> None:
    path = json_file(tmp_path / "renamed" / "judge" / "annotations.json", [annotation()])
    (note,) = read("alpaca-eval", path).notes
    assert "generator_2 is mine, the folder renamed" in note


def test_annotators_whose_names_are_numbers_are_people(tmp_path: Path) -> None:
    done = read("alpaca-eval", json_file(tmp_path / "annotations.json", [annotation(annotator=7)]))
    assert done.rows["preferences"][0]["annotator_kind"] == "human"
    assert "read as people" in done.notes[0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (annotation(0.4), "row 1, preference: expected 1 (generator_1 better) to 2"),
        (annotation(2.5), "got 2.5"),
        (annotation(preference="good"), "expected a number, got 'good'"),  # type: ignore[arg-type]
        (annotation(generator_1=None), "row 1: expected generator_1, got an empty one"),
        (annotation(instruction=["a"]), "instruction: expected one text or number, got a list"),
        ({"instruction": "x"}, "expected the columns generator_1, generator_2, annotator, preference"),
    ],
)
def test_what_alpaca_eval_does_not_write_is_one_line(row: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in problem("alpaca-eval", json_file(tmp_path / "annotations.json", [row]))


def test_a_folder_without_annotations_is_one_line(tmp_path: Path) -> None:
    assert "expected files called annotations.json" in problem("alpaca-eval", tmp_path)
