"""Argilla's records: which responses count, how CSV files write lists, suggestions with and without names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.spa.importers.foreign import json_file, lines_file, problem, read

SIDES = {"sides": ("alpha", "beta")}


def record(**changes: Any) -> dict[str, Any]:
    return {
        **{"id": "r1", "status": "pending", "system": "alpha"},
        **{"quality.responses": [4, 5, 1], "quality.responses.users": ["u1", "u2", "u3"]},
        "quality.responses.status": ["submitted", "draft", "discarded"],
        **changes,
    }


def label(*words: str, suggestion: Any = None) -> dict[str, Any]:
    users = [f"u{number}" for number, _ in enumerate(words)]
    found = {
        "pref.responses": [*words],
        "pref.responses.users": users,
        "pref.responses.status": ["submitted"] * len(words),
    }
    return found | {"pref.suggestion": suggestion, "pref.suggestion.score": 0.9, "pref.suggestion.agent": "gpt"}


def test_submitted_responses_count_and_others_are_counted(tmp_path: Path) -> None:
    done = read("argilla", lines_file(tmp_path / "dataset.jsonl", [record()]))
    (row,) = done.rows["ratings"]
    assert (row["annotator_id"], row["item_id"], row["system"], row["score"]) == ("u1", "r1", "alpha", 4)
    assert done.skipped == {"responses that are draft": 1, "responses that are discarded": 1}


def test_lists_of_csv_files_stand_without_commas_and_over_lines(tmp_path: Path) -> None:
    path = tmp_path / "dataset.csv"
    path.write_text(
        "id,system,quality.responses,quality.responses.users,quality.responses.status\n"
        "r1,alpha,[4 5],\"['user one'\n 'user two']\",['submitted' 'submitted']\n"
    )
    rows = read("argilla", path, of={"quality": "alpha"}).rows["ratings"]
    assert [(row["annotator_id"], row["score"]) for row in rows] == [("user one", 4), ("user two", 5)]


def test_lists_of_lists_in_csv_files_are_told_and_left(tmp_path: Path) -> None:
    path = tmp_path / "dataset.csv"
    path.write_text(
        "id,system,order.responses,order.responses.users,order.responses.status\n"
        "r1,alpha,\"[array(['b', 'a'], dtype=object)]\",['u1'],['submitted']\n"
    )
    done = read("argilla", path)
    assert done.notes == (
        "not read: order (lists in CSV: several labels, or a ranking, whose ranks Argilla's exports leave out; spans "
        "stand in Parquet and JSONL)",
    )
    assert not any(done.rows.values())


def test_suggested_labels_are_read_with_their_names_alone(tmp_path: Path) -> None:
    """The codes of a data set count from whatever stood first in it."""
    rows = [record(**label("model_a", suggestion=code)) for code in (0, 1)]
    done = read("argilla", lines_file(tmp_path / "dataset.jsonl", rows), **SIDES)
    assert [row["annotator_kind"] for row in done.rows["choices"]] == ["human", "human"]
    assert "not read: 2 suggestions to pref, which are codes; the Parquet file has their names" in done.notes
    features = {"pref.suggestion": {"names": ["model_b", "tie"], "_type": "ClassLabel"}}
    path = tmp_path / "dataset.parquet"
    pl.DataFrame(rows).write_parquet(path, metadata={"huggingface": json.dumps({"info": {"features": features}})})
    found = [row for row in read("argilla", path, **SIDES).rows["choices"] if row["annotator_kind"] == "llm"]
    assert [(row["annotator_id"], row["winner"]) for row in found] == [("gpt", "y"), ("gpt", "tie")]


def test_labels_that_compare_need_the_systems(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "dataset.jsonl", [record(**label("model_a", "tie", "model_b"))])
    assert "pref: expected which systems are compared" in problem("argilla", path)
    found = read("argilla", path, **SIDES).rows["choices"]
    assert [row["winner"] for row in found] == ["x", "tie", "y"]


def test_records_json_has_no_status_and_is_read_only_if_asked(tmp_path: Path) -> None:
    responses = {"quality": [{"value": 4, "user_id": "u1"}, {"value": 1, "user_id": "u2"}]}
    whole = {
        **{"id": "r1", "fields": {"text": "t"}, "metadata": {"system": "alpha"}, "status": "pending"},
        **{"suggestions": {"quality": {"value": 5, "agent": "gpt"}}, "responses": responses, "_server_id": None},
    }
    path = json_file(tmp_path / "records.json", [whole])
    line = problem("argilla", path)
    assert "got records.json, which has none" in line
    assert "--all-statuses" in line
    done = read("argilla", path, all_statuses=True)
    assert "drafts and discarded answers count" in done.notes[0]
    assert [(row["annotator_id"], row["annotator_kind"], row["score"]) for row in done.rows["ratings"]] == [
        ("u1", "human", 4),
        ("u2", "human", 1),
        ("gpt", "llm", 5),
    ]


def test_several_labels_and_texts_are_told_and_left(tmp_path: Path) -> None:
    lists = {"tags.responses": [["a", "b"]], "tags.responses.users": ["u1"], "tags.responses.status": ["submitted"]}
    texts = {"why.responses": ["clear"], "why.responses.users": ["u1"], "why.responses.status": ["submitted"]}
    notes = read("argilla", lines_file(tmp_path / "dataset.jsonl", [record(**lists, **texts)])).notes
    assert any(note.startswith("not read: tags (several labels") for note in notes)
    assert any(note.startswith("not read: why, whose words") for note in notes)


def marked(*spans: Any, suggestion: Any = None) -> dict[str, Any]:
    users = [f"u{number}" for number, _ in enumerate(spans)]
    found = {"errors.responses": [*spans], "errors.responses.users": users}
    found["errors.responses.status"] = ["submitted"] * len(spans)
    return found | {"errors.suggestion": suggestion, "errors.suggestion.agent": "gpt"}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "json"])
def test_marked_spans_are_errors(suffix: str, tmp_path: Path) -> None:
    """The end is outside; who marks nothing says that there are no errors; an LLM's are suggestions."""
    span = {"label": "minor", "start": 2, "end": 6}
    row = record(**marked([span], [], suggestion=[{**span, "label": "major"}]))
    if suffix == "parquet":
        path = tmp_path / "dataset.parquet"
        pl.DataFrame([row]).write_parquet(path)
    elif suffix == "jsonl":
        path = lines_file(tmp_path / "dataset.jsonl", [row])
    else:
        users = [{"user_id": who, "value": value} for who, value in (("u0", [span]), ("u1", []))]
        suggested = {"errors": {"value": [{**span, "label": "major"}], "agent": "gpt"}}
        kept = {"id": "r1", "fields": {}, "metadata": {"system": "alpha"}, "suggestions": suggested}
        path = json_file(tmp_path / "records.json", [{**kept, "responses": {"errors": users}, "_server_id": None}])
    done = read("argilla", path, all_statuses=True)
    names = ("annotator_id", "annotator_kind", "system", "criterion", "start", "end", "severity", "reason")
    assert [tuple(one.get(name) for name in names) for one in done.rows["spans"]] == [
        ("u0", "human", "alpha", "errors", 2, 6, "minor", None),
        ("u1", "human", "alpha", "errors", None, None, None, "no errors"),
        ("gpt", "llm", "alpha", "errors", 2, 6, "major", None),
    ]


def test_rankings_are_told_and_left(tmp_path: Path) -> None:
    """The lists stand in the order of the question's options, whatever the ranks were."""
    row = record(**{"order.responses": [["a", "b"]], "order.responses.users": ["u1"]})
    row |= {"order.responses.status": ["submitted"], "order.suggestion": ["b", "a"], "order.suggestion.agent": "gpt"}
    done = read("argilla", lines_file(tmp_path / "dataset.jsonl", [row]))
    assert any("order (several labels, or a ranking, whose ranks" in note for note in done.notes)
    assert {one["criterion"] for one in done.rows["ratings"]} == {"quality"}


def test_items_with_one_system_each_are_told(tmp_path: Path) -> None:
    rows = [record(), record(id="r2", system="beta")]
    path = lines_file(tmp_path / "dataset.jsonl", [one | {"story": "s"} for one in rows])
    assert "no item has ratings of two systems" in read("argilla", path).notes[-1]
    assert not read("argilla", path, item_column="story").notes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"quality.responses.status": ["submitted"]}, "expected as many users and states as responses"),
        ({"quality.responses": "[1 ... 2]"}, "expected a list such as [4 5], got '[1 ... 2]'"),
        ({"quality.responses": "4"}, "expected a list such as [4 5]"),
        ({"system": None}, "quality: expected the system that it rates"),
    ],
)
def test_what_argilla_does_not_write_is_one_line(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in problem("argilla", lines_file(tmp_path / "dataset.jsonl", [record(**changes)]))
