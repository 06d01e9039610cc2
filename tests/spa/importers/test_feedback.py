"""Published sets of feedback: which number is an answer, which side it prefers, and what does not count."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.importers import recognised
from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import json_file, lines_file, problem, read


def written(folder: Path, ending: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"set.{ending}"
    if ending == "parquet":
        pl.DataFrame(rows).write_parquet(path)
        return path
    return json_file(path, rows) if ending == "json" else lines_file(path, rows)


def completion(model: str, rating: str, **changes: Any) -> dict[str, Any]:
    annotations = {"honesty": {"Rating": rating, "Rationale": "r"}, "helpfulness": {"Rating": "3", "Type": ["1"]}}
    return {"model": model, "response": f"of {model}", "annotations": annotations, "overall_score": 10.0, **changes}


ULTRA = [
    {
        "source": "s",
        "instruction": f"do {n}",
        "models": ["alpha", "beta"],
        "completions": [completion("alpha", "5"), completion("beta", "N/A" if n else "2")],
    }
    for n in range(2)
]


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet"])
def test_ultrafeedback_is_read_by_aspect(ending: str, tmp_path: Path) -> None:
    """By an LLM; the overall score, in which a 1 became 10, is no answer."""
    rows = read("feedback", written(tmp_path, ending, ULTRA)).rows["ratings"]
    honest = {(row["item_id"], row["system"]): row["score"] for row in rows if row["criterion"] == "honesty"}
    assert honest == {("do 0", "alpha"): 5, ("do 0", "beta"): 2, ("do 1", "alpha"): 5, ("do 1", "beta"): None}
    assert {row["criterion"] for row in rows} == {"honesty", "helpfulness"}
    assert {(row["annotator_id"], row["annotator_kind"]) for row in rows} == {("gpt-4", "llm")}


def test_outputs_of_one_system_for_one_item_are_samples(tmp_path: Path) -> None:
    """In the order of their texts, whatever the order of the rows."""
    rows = [ULTRA[0], {**ULTRA[0], "completions": [completion("alpha", "1", response="another")]}]
    for given in (rows, rows[::-1]):
        found = read("feedback", lines_file(tmp_path / "u.jsonl", given)).rows["ratings"]
        own = {
            row.get("sample"): row["score"]
            for row in found
            if (row["system"], row["criterion"]) == ("alpha", "honesty")
        }
        assert own == {"1": 1, "2": 5}
        assert {row.get("sample") for row in found if row["system"] == "beta"} == {None}


def summaries(choice: int | None, *policies: str, worker: str | None = "w1", post: str = "t3_a") -> dict[str, Any]:
    return {
        **{"info": {"id": post, "post": "x"}, "choice": choice, "worker": worker, "batch": "b", "split": "train"},
        "summaries": [{"text": f"of {policy}", "policy": policy} for policy in policies],
        "extra": {"confidence": 7},
    }


def better(rows: list[dict[str, Any]]) -> list[str | None]:
    return [row[f"system_{row['winner']}"] if row["winner"] in ("x", "y") else row["winner"] for row in rows]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_choice_0_is_the_first_summary(ending: str, tmp_path: Path) -> None:
    rows = [summaries(0, "sup1", "sup2"), summaries(1, "sup1", "sup2"), summaries(0, "sup1", "sup1")]
    found = read("feedback", written(tmp_path, ending, rows))
    assert better(found.rows["choices"]) == ["sup1", "sup2"]
    assert [row["repeat"] for row in found.rows["choices"]] == [1, 2]  # one worker, the same two texts
    assert found.skipped == {"comparisons of a policy with itself": 1}


def test_turned_sides_say_the_same(tmp_path: Path) -> None:
    """Both ways of a comparison of the same texts are one cell, not two samples."""
    rows = [summaries(0, "sup1", "sup2"), summaries(1, "sup2", "sup1", worker="w2")]
    found = read("feedback", lines_file(tmp_path / "c.jsonl", rows)).rows["choices"]
    assert better(found) == ["sup1", "sup1"]
    assert {row.get("sample") for row in found} == {None}


def test_axes_of_summaries_are_criteria(tmp_path: Path) -> None:
    axes = {"overall": 6, "accuracy": None, "compatible": True}
    summary = {"text": "x", "policy": "sup1", "axes": axes}
    path = lines_file(tmp_path / "axis.json", [{"info": {"id": "a"}, "summary": summary, "worker": "w"}] * 2)
    found = read("feedback", path)
    rows = found.rows["ratings"]
    assert "not read: compatible, which is true or false" in found.notes
    assert [(row["criterion"], row["score"], row["repeat"]) for row in rows] == [
        *(("overall", 6, 1), ("accuracy", None, 1)),
        *(("overall", 6, 2), ("accuracy", None, 2)),
    ]


def picture(first: float, **changes: Any) -> dict[str, Any]:
    row = {"caption": "a cat", "user_id": 7, "has_label": True, "model_0": "alpha", "model_1": "beta"}
    labels = {"label_0": first, "label_1": 1 - first, "image_0_uid": "i0", "image_1_uid": "i1"}
    return {**row, **labels, "jpg_0": b"\xff\xd8\x00", **changes}


def test_pick_a_pic_has_labels_of_both_pictures(tmp_path: Path) -> None:
    rows = [
        picture(1.0),
        picture(0.0, user_id=8, has_label="1"),
        picture(0.5, user_id=9),
        picture(1.0, user_id=10, has_label=False),
        picture(1.0, model_1="alpha"),
        picture(1.0, image_1_uid="i0"),
    ]
    found = read("feedback", written(tmp_path, "parquet", rows))
    assert better(found.rows["choices"]) == ["alpha", "beta", "tie", None]
    assert found.rows["choices"][3]["missing_reason"] == "no answer"
    assert found.skipped == {"comparisons of a model with itself": 1, "comparisons of a picture with itself": 1}


def utterance(turn: int, model: str, score: int) -> dict[str, Any]:
    own = {"conversation_id": "c1", "user_id": "u1", "turn": turn, "model_name": model, "score": score}
    return {**own, "user_prompt": "?", "model_response": "!", "if_chosen": False}


def test_prism_counts_its_first_turn_alone(tmp_path: Path) -> None:
    rows = [utterance(0, "alpha", 90), utterance(0, "beta", 20), utterance(1, "alpha", 80), utterance(1, "alpha", 5)]
    found = read("feedback", lines_file(tmp_path / "utterances.jsonl", rows))
    expected = [("u1", "c1", "alpha", 90), ("u1", "c1", "beta", 20)]
    names = ("annotator_id", "item_id", "system", "score")
    assert [tuple(row[name] for name in names) for row in found.rows["ratings"]] == expected
    assert found.skipped == {"scores of turns after the first, which compare a model with itself": 2}
    said = [{"role": "user", "turn": 0, "content": "?"}]
    said += [
        {"role": "model", "content": "!", **{name: row[name] for name in ("turn", "model_name", "score")}}
        for row in rows
    ]
    whole = [{"conversation_id": "c1", "user_id": "u1", "conversation_history": said}]
    again = read("feedback", lines_file(tmp_path / "conversations.jsonl", whole))
    assert [tuple(row[name] for name in names) for row in again.rows["ratings"]] == expected
    assert again.skipped == found.skipped
    both = read("feedback", tmp_path)
    assert both.rows["ratings"] == found.rows["ratings"]
    assert any("the utterances beside it hold the same scores" in note for note in both.notes)


def preference(prompt: str, *strengths: int, **changes: Any) -> dict[str, Any]:
    row = {"prompt": prompt, "response_1": "a", "response_2": "b", "preference_strength": strengths[0]}
    return {
        **row,
        "all_preferences_unprocessed": [{"strength": one, "justification": "."} for one in strengths],
        **changes,
    }


HELPSTEER = [preference("p1", -2, -1, 3), preference("p2", 1, 0, -100), preference("p3", -3, -1, -1)]


def test_helpsteer2_names_no_generators(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "preference.jsonl", HELPSTEER)
    assert "HelpSteer2 does not name; say --compared X,Y" in problem("feedback", path)
    ratings = {name: 3 for name in ("helpfulness", "correctness", "coherence", "complexity", "verbosity")}
    rated = [{"prompt": "p", "response": "r", "gen": system, **ratings} for system in ("alpha", "beta")]
    other = lines_file(tmp_path / "train.jsonl", rated)
    assert "name a column of yours with --system-column" in problem("feedback", other)
    rows = read("feedback", other, system_column="gen").rows["ratings"]
    assert {(row["system"], row["score"]) for row in rows} == {("alpha", 3.0), ("beta", 3.0)}
    assert {row["annotator_id"] for row in rows} == {UNNAMED}


def test_helpsteer2_prefers_response_1_below_0(tmp_path: Path) -> None:
    """Of every person, who have no name; -100 is no strength."""
    found = read("feedback", lines_file(tmp_path / "preference.jsonl", HELPSTEER), sides=("alpha", "beta"))
    rows = found.rows["choices"]
    assert Counter(better(rows)) == {"alpha": 5, "beta": 2, "tie": 1, None: 1}
    assert {row["annotator_id"] for row in rows} == {UNNAMED}
    assert "nobody is named: the unit of tests is the item" in found.notes
    named = [{**row, "left": "beta", "right": "alpha"} for row in HELPSTEER]
    turned = read("feedback", lines_file(tmp_path / "preference.jsonl", named), sides=("left", "right"))
    assert Counter(better(turned.rows["choices"])) == {"beta": 5, "alpha": 2, "tie": 1, None: 1}


def test_unnamed_preferences_are_tested_by_item(tmp_path: Path) -> None:
    """The share of an item is that of its people, a tie half, here (2/3 + 1/4 + 1) / 3."""
    path = lines_file(tmp_path / "preference.jsonl", HELPSTEER)
    for words in (
        ["import", "feedback", path, "--compared", "alpha,beta", "--out", tmp_path / "t"],
        ["report", "--choices", tmp_path / "t" / "choices.csv", "--out", tmp_path / "r"],
    ):
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code == 0, done.output
    (pair,) = json.loads((tmp_path / "r" / "results.json").read_text())["choices"]["pairs"]
    assert pair["unit"] == "item"
    assert pair["win_rate"] == pytest.approx((2 / 3 + 1 / 4 + 1) / 3)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([summaries(2, "sup1", "sup2")], "choice: expected 0 or 1, got '2'"),
        ([summaries(0, "sup1")], "summaries: expected two, got 1"),
        ([summaries(0, "sup1", "")], "summary 1: expected policy, got ''"),
        (
            [{**ULTRA[0], "completions": [completion("alpha", "five")]}],
            "honesty, Rating: expected a number, got 'five'",
        ),
        ([{**ULTRA[0], "completions": [{"model": "alpha"}]}], "annotations: expected an object, got nothing"),
        ([picture(1.0, label_1=1.0, jpg_0="")], "expected label_0 and label_1 of 0, 0.5 or 1 that add up to 1"),
        ([{"x": 1}], "expected a file of ultrafeedback, "),
    ],
)
def test_what_a_set_does_not_hold_is_one_line(rows: list[dict[str, Any]], told: str, tmp_path: Path) -> None:
    assert told in problem("feedback", lines_file(tmp_path / "set.jsonl", rows))


def test_a_packed_file_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    """As HelpSteer2's preferences are published."""
    path = tmp_path / "preference.jsonl.gz"
    path.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in HELPSTEER).encode()))
    assert [one.key for one in recognised(path)] == ["feedback"]
    assert len(read("feedback", path, sides=("alpha", "beta")).rows["choices"]) == 9
    path.write_bytes(path.read_bytes()[:20])
    assert "feedback" not in [one.key for one in recognised(path)]
