"""JUDGE-BENCH: lists of scores without names, scales with a direction, places, and systems inside ids."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import json_file, problem, read

GRADED = {"metric": "fluency", "category": "graded", "prompt": "{{ instance }}", "worst": 1, "best": 6}
TOXIC = {"metric": "toxicity", "category": "categorical", "labels_list": ["0", "1"], "worst": "1", "best": "0"}
PAIRED = {"metric": "quality_single_turn", "category": "categorical", "labels_list": ["model_a", "model_b"]}
IDS = re.compile(r"(?P<item>.+)_(?P<system>[^_]+)")


def bench(folder: Path, metric: dict[str, Any], lists: dict[str, list[Any]], called: str | None = None) -> Path:
    """Write a file with an instance an id, each with the scores of nobody in particular."""
    name = called or metric["metric"]
    instances = [
        {
            "id": own,
            "instance": "text",
            "annotations": {name: {"mean_human": 9.9, "majority_human": 9, "individual_human_scores": scores}},
        }
        for own, scores in lists.items()
    ]
    whole = {"dataset": "d", "dataset_url": "u", "annotations": [metric], "instances": instances}
    return json_file(folder / "data.json", whole)


LISTS = {
    "r1_oak": [2, 6, 3],
    "r1_elm": [1, 2, 3],
    "r2_oak": [5, 5, 4],
    "r2_elm": [2, None, 1],
    "r3_oak": [],
    "r3_elm": [4],
}


def test_single_scores_are_read_and_means_are_none(tmp_path: Path) -> None:
    found = read("judge-bench", bench(tmp_path, GRADED, LISTS), id_pattern=IDS)
    rows = found.rows["ratings"]
    expected = Counter((*own.split("_"), score) for own, scores in LISTS.items() for score in scores)
    assert Counter((row["item_id"], row["system"], row.get("score")) for row in rows) == expected
    assert {row["annotator_id"] for row in rows} == {UNNAMED}
    assert [row["missing_reason"] for row in rows if row.get("score") is None] == ["no answer"]
    assert found.skipped == {"lists without a single score (mean_human and majority_human are no answers)": 1}
    assert "nobody is named: the unit of tests is the item" in found.notes


@pytest.mark.parametrize("order", ["published", "sorted", "turned"])
def test_the_order_within_a_list_changes_no_result(order: str, tmp_path: Path) -> None:
    """The place in a list is no person."""
    lists = {own: [score for score in scores if score] for own, scores in LISTS.items() if "r3" not in own}
    turned = {"published": lists, "sorted": {own: sorted(scores) for own, scores in lists.items()}}
    turned["turned"] = {own: scores[::-1] for own, scores in reversed(lists.items())}
    results = []
    for name in ("published", order):
        folder = tmp_path / name
        path = bench(folder, GRADED, turned[name])
        words = ["import", "judge-bench", path, "--id-pattern", IDS.pattern, "--out", folder / "t"]
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code == 0, done.output
        words = ["report", "--ratings", folder / "t" / "ratings.csv", "--scale", "1:6", "--out", folder / "r"]
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code == 0, done.output
        (pair,) = json.loads((folder / "r" / "results.json").read_text())["ratings"]["pairs"]
        results.append(
            (pair["unit"], {pair["system_x"], pair["system_y"]}, abs(pair["mean_difference"]), pair["p_value"])
        )
    assert results[0][0] == "item"
    assert results[0][:2] == results[1][:2]
    assert results[0][2:] == pytest.approx(results[1][2:])
    assert results[0][2] == pytest.approx(((11 / 3 - 2) + (14 / 3 - 1.5)) / 2)


def test_a_scale_whose_best_is_below_its_worst_is_told(tmp_path: Path) -> None:
    """Its ends are written as texts; a 1 is the worse answer."""
    found = read("judge-bench", bench(tmp_path, TOXIC, {"a_x": ["0", "1"], "a_y": ["0"]}), id_pattern=IDS)
    assert [row["score"] for row in found.rows["ratings"]] == [0, 1, 0]
    assert "toxicity: low is good, as its best is 0: add --lower-is-better toxicity" in found.notes


def test_scores_outside_the_scale_are_counted(tmp_path: Path) -> None:
    notes = read("judge-bench", bench(tmp_path, GRADED, {"a_x": [7, 6], "a_y": [0]}), id_pattern=IDS).notes
    assert "fluency: 2 scores lie outside 1 (worst) to 6 (best)" in notes


def test_places_are_asked_for_their_systems(tmp_path: Path) -> None:
    """LLMBar declares its metric under another name than its instances have."""
    path = bench(tmp_path, PAIRED, {"Natural_0": ["model_a"], "Natural_1": ["model_b"]}, called="quality")
    assert "--compared X,Y" in problem("judge-bench", path)
    rows = read("judge-bench", path, sides=("gpt", "t5")).rows["choices"]
    assert [(row["item_id"], row["system_x"], row["winner"], row["criterion"]) for row in rows] == [
        ("Natural_0", "gpt", "x", "quality_single_turn"),
        ("Natural_1", "gpt", "y", "quality_single_turn"),
    ]


def test_the_system_is_asked_for_where_no_id_says_it(tmp_path: Path) -> None:
    path = bench(tmp_path, GRADED, {"1": [3], "2": [4]})
    assert "--id-pattern '(?P<item>.+)_(?P<system>[^_]+)', --system-column FIELD, or --of fluency=SYSTEM" in problem(
        "judge-bench", path
    )
    assert {row["system"] for row in read("judge-bench", path, of={"fluency": "gpt"}).rows["ratings"]} == {"gpt"}
    assert "expected an id that --id-pattern" in problem("judge-bench", path, id_pattern=IDS)


def test_categories_need_what_they_count(tmp_path: Path) -> None:
    metric = {"metric": "grammatical", "category": "categorical", "labels_list": ["Yes", "No"]}
    path = bench(tmp_path, metric, {"a_x": ["Yes", "No"], "a_y": ["No"]})
    assert any(note.startswith("not read: grammatical") for note in read("judge-bench", path, id_pattern=IDS).notes)
    rows = read("judge-bench", path, id_pattern=IDS, values={"Yes": "1", "No": "0"}).rows["ratings"]
    assert [row["score"] for row in rows] == [1, 0, 0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"instances": {}}, "instances: expected a list, got an object"),
        ({"annotations": [{"category": "graded"}]}, "annotation 1, metric: expected a text, got nothing"),
        ({"instances": [{"annotations": {}}]}, "instance 1: expected an id, got none"),
        (
            {"instances": [{"id": 1, "annotations": {"a": {"individual_human_scores": [1]}, "b": {}}}]},
            "expected one of the metrics fluency, got 'a'",
        ),
        (
            {"instances": [{"id": 1, "system": "x", "annotations": {"fluency": {"individual_human_scores": ["bad"]}}}]},
            "expected a number, got 'bad'; say what it counts with --value 'bad=NUMBER'",
        ),
        (
            {"instances": [{"id": 1, "annotations": {"fluency": {"individual_human_scores": [[1]]}}}]},
            "expected texts or numbers, got a list",
        ),
    ],
)
def test_what_a_bench_does_not_hold_is_one_line(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    whole = {"dataset": "d", "annotations": [GRADED], "instances": [], **changes}
    assert told in problem("judge-bench", json_file(tmp_path / "data.json", whole))
