"""Label Studio's exports: skips and second annotations, sides, blanks, rankings, what JSON-MIN and CSV cannot tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spa.importers.foreign import json_file, problem, read

SIDES = {"sides": ("alpha", "beta")}


def annotation(*results: dict[str, Any], person: Any = 1, minute: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        **{"completed_by": person, "was_cancelled": False, "lead_time": 5.0, "result": [*results]},
        **{"updated_at": f"2026-11-01T10:{minute:02}:00.5Z"},
        **changes,
    }


def result(name: str, kind: str, value: Any) -> dict[str, Any]:
    key = {"pairwise": "selected"}.get(kind, kind)
    return {"from_name": name, "to_name": "t", "type": kind, "value": {key: value}}


def task(*annotations: dict[str, Any], number: int = 7, **data: Any) -> dict[str, Any]:
    return {"id": number, "annotations": [*annotations], "drafts": [], "predictions": [], "data": data}


def verdict(word: str) -> dict[str, Any]:
    return result("better", "choices", [word])


def test_the_newest_annotation_counts_and_skips_leave(tmp_path: Path) -> None:
    first, later = annotation(verdict("model_b"), minute=1), annotation(verdict("model_a"), minute=2)
    skipped = annotation(person=2, was_cancelled=True)
    for order in ((first, later), (later, first)):
        written = task(*order, skipped, id="q1") | {"drafts": [{}], "predictions": [{}, {}]}
        done = read("label-studio", json_file(tmp_path / "export.json", [written]), **SIDES)
        (row,) = done.rows["choices"]
        assert (row["annotator_id"], row["item_id"], row["winner"], row["seconds"]) == ("1", "q1", "x", 5)
        assert done.skipped == {
            "drafts": 1,
            "predictions": 2,
            "tasks that a person skipped": 1,
            "annotations of a task that the same person did again later": 1,
        }


def test_data_called_as_a_control_is_no_answer(tmp_path: Path) -> None:
    """Where a person left the control blank, the answer is missing, whatever a judge said in the data."""
    blank = annotation(result("stars", "rating", 4), person=2)
    written = task(annotation(verdict("model_a")), blank, id="q1", better="model_b", system="alpha")
    done = read("label-studio", json_file(tmp_path / "export.json", [written]), **SIDES)
    assert [(row["winner"] if "winner" in row else None) for row in done.rows["choices"]] == ["x", None]
    assert [row.get("score") for row in done.rows["ratings"]] == [None, 4]
    assert {row.get("missing_reason") for row in done.rows["choices"]} == {None, "left blank"}


def test_pairwise_needs_to_be_told_who_is_left(tmp_path: Path) -> None:
    rows = [annotation(result("pw", "pairwise", side), person=n) for n, side in enumerate(("left", "right"))]
    path = json_file(tmp_path / "export.json", [task(*rows, annotation(person=9), first="m1", second="m2")])
    assert "pw: expected which systems are compared, got only their places; say --compared X,Y" in problem(
        "label-studio", path
    )
    found = read("label-studio", path, sides=("first", "second")).rows["choices"]
    assert [(row["system_x"], row["system_y"], row.get("winner")) for row in found] == [
        ("m1", "m2", "x"),
        ("m1", "m2", "y"),
        ("m1", "m2", None),  # a tie or a blank
    ]


@pytest.mark.parametrize(
    ("words", "values", "table"),
    [
        (("A", "B"), {"A": "x", "B": "y"}, "choices"),
        (("alpha", "beta"), {}, "choices"),  # aliases are values
        (("good", "poor"), {"good": "5", "poor": "1"}, "ratings"),
        (("4", "5"), {}, "ratings"),
    ],
)
def test_words_of_choices_count_what_is_said(
    words: tuple[str, str], values: dict[str, str], table: str, tmp_path: Path
) -> None:
    rows = [annotation(verdict(word), person=n) for n, word in enumerate(words)]
    path = json_file(tmp_path / "export.json", [task(*rows, system="alpha")])
    found = read("label-studio", path, values=values, **SIDES).rows[table]
    column = "winner" if table == "choices" else "score"
    expected = {"choices": ["x", "y"], "ratings": [5, 1] if values else [4, 5]}[table]
    assert [row[column] for row in found] == expected


def test_words_that_may_be_sides_are_asked_about(tmp_path: Path) -> None:
    path = json_file(tmp_path / "export.json", [task(annotation(verdict("A"), result("why", "choices", ["rude"])))])
    line = problem("label-studio", path, **SIDES)
    assert "better: expected words whose meaning is known" in line
    assert "--value 'A=x'" in line
    done = read("label-studio", path, values={"A": "x"}, **SIDES)
    assert "not read: why, whose words are no verdicts or scores" in done.notes[0]
    assert [row["criterion"] for row in done.rows["choices"]] == ["better"]


def test_a_rating_needs_its_system(tmp_path: Path) -> None:
    path = json_file(tmp_path / "export.json", [task(annotation(result("stars", "rating", 4)))])
    assert "stars: expected the system that it rates" in problem("label-studio", path)
    assert read("label-studio", path, of={"stars": "alpha"}).rows["ratings"][0]["system"] == "alpha"
    assert "no question 'star'; there are stars" in problem("label-studio", path, of={"star": "alpha"})


def test_a_ranking_in_the_order_of_the_list_may_be_untouched(tmp_path: Path) -> None:
    items = [{"id": "a", "system": "alpha"}, {"id": "b", "system": "beta"}]
    rankings = [annotation(result("order", "ranker", {"_": ids}), person=n) for n, ids in enumerate(("ab", "ba"))]
    for one in rankings:
        value = one["result"][0]["value"]["ranker"]
        value["_"] = [*value["_"]]
    path = json_file(tmp_path / "export.json", [task(*rankings, items=items, id="q1")])
    done = read("label-studio", path)
    assert [(row["annotator_id"], row["system"], row["rank"]) for row in done.rows["orders"]] == [
        ("1", "beta", 1),
        ("1", "alpha", 2),
    ]
    assert [count for what, count in done.skipped.items() if "untouched" in what] == [1]
    assert len(read("label-studio", path, untouched=True).rows["orders"]) == 4


def test_answers_about_regions_are_told_and_left(tmp_path: Path) -> None:
    path = json_file(tmp_path / "e.json", [task(annotation(*(result("r", "rating", n) for n in (1, 2))), system="a")])
    done = read("label-studio", path)
    assert done.notes[0] == "not read: r (rating, once for each region)"
    assert not any(done.rows.values())


HEADER = "annotation_id,annotator,better,id,lead_time,stars,system,updated_at"


def sheet(path: Path, *rows: str) -> Path:
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return path


def test_cells_of_json_are_answers_and_words_are_asked_about(tmp_path: Path) -> None:
    stars = json.dumps([{"rating": 4}]).replace('"', '""')
    path = sheet(tmp_path / "export.csv", f'1,1,model_a,q1,5.0,"{stars}",alpha,2026-11-01T10:00:00Z')
    line = problem("label-studio", path, **SIDES)
    assert "the words in 'better' may be answers, or data of the tasks such as a judge's; say --answer" in line
    done = read("label-studio", path, answers=("better",), **SIDES)
    assert [row["winner"] for row in done.rows["choices"]] == ["x"]
    assert [(row["system"], row["score"], row["item_id"]) for row in done.rows["ratings"]] == [("alpha", 4, "q1")]
    only = read("label-studio", path, only=("stars",))
    assert not only.rows["choices"]
    assert "no skipped tasks or drafts" in only.notes[0]


def test_json_min_is_refused_and_asks_for_json(tmp_path: Path) -> None:
    row = {"id": 7, "better": "B", "annotator": 1, "annotation_id": 3, "lead_time": 5.0}
    assert "got JSON-MIN" in problem("label-studio", json_file(tmp_path / "export.min.json", [row]))


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"a": 1}, "expected a list, got an object"),
        ([1], "task 1: expected an object"),
        ([{"annotations": [], "data": None, "was_cancelled": 1}], "data: expected an object, got nothing"),
        ([task(annotation(result("s", "rating", "good")), system="a")], "expected a number, got 'good'"),
        ([task(annotation(result("p", "pairwise", "up")))], "expected left or right, got 'up'"),
        ([task(annotation(result=None))], "result: expected a list"),
        ([task(annotation(), annotation(updated_at="soon"), system="a")], "expected updated_at as a time"),
    ],
)
def test_what_label_studio_does_not_write_is_one_line(written: Any, told: str, tmp_path: Path) -> None:
    assert told in problem("label-studio", json_file(tmp_path / "export.json", written), **SIDES)
