"""Gradio's logs: thumbs that change and are taken back, four cells under five names, guarded cells."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import problem, read

TALK = ("Hello", "Hi there", "And you?", "Fine")


def log(folder: Path, *thumbs: tuple[int, int, str]) -> Path:
    """Write a log: how long the talk was, which message, which thumb."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "log.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["conversation", "index", "value", "flag", "timestamp"])
        for length, index, thumb in thumbs:
            talk = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in TALK[:length]]
            writer.writerow([json.dumps(talk), index, thumb, "2026-11-01 10:00:00.5"])
    return path


def test_the_last_thumb_of_a_message_counts(tmp_path: Path) -> None:
    path = log(tmp_path / "alpha", (2, 1, "Like"), (4, 3, "Like"), (4, 1, "Dislike"))
    done = read("gradio", path)
    told = {(row["item_id"], row["score"]) for row in done.rows["ratings"]}
    assert told == {("Hello", 0), ("Hello\nHi there\nAnd you?", 1)}
    assert {(row["annotator_id"], row["system"]) for row in done.rows["ratings"]} == {(UNNAMED, "alpha")}
    assert done.skipped == {"thumbs that were changed later": 1}
    assert "the system is called as the folder, alpha" in done.notes[0]
    assert "nobody is named, so the unit is the item" in done.notes[1]


def test_an_empty_thumb_takes_the_one_before_back(tmp_path: Path) -> None:
    done = read("gradio", log(tmp_path, (2, 1, "Like"), (2, 1, "")), of={"thumb": "alpha"})
    assert not done.rows["ratings"]
    assert done.skipped == {"thumbs that were changed later": 1, "thumbs that were taken back": 1}


def test_flags_of_other_words_count_what_is_said(tmp_path: Path) -> None:
    path = log(tmp_path, (2, 1, "Inappropriate"))
    assert "expected Like or Dislike, got 'Inappropriate'; say --value" in problem("gradio", path)
    (row,) = read("gradio", path, values={"Inappropriate": "-1"}).rows["ratings"]
    assert row["score"] == -1


def test_several_logs_are_of_several_systems(tmp_path: Path) -> None:
    for system, thumb in (("alpha", "Like"), ("beta", "Dislike")):
        log(tmp_path / system, (2, 1, thumb))
    found = read("gradio", tmp_path).rows["ratings"]
    assert {(row["system"], row["item_id"], row["score"]) for row in found} == {
        ("alpha", "Hello", 1),
        ("beta", "Hello", 0),
    }


@pytest.mark.parametrize(
    ("talk", "index", "told"),
    [
        ("[]", "0", "expected messages with roles and the number of one of them, got 0 and 0"),
        ('[["a", "b"]]', "0", "expected messages with roles"),
        ('[{"role": "user"}]', "one", "index: expected a number, got 'one'"),
        ('[{"role": "user"', "0", "line 2: expected JSON, got a mistake"),
        ("{}", "0", "conversation: expected a list, got an object"),
    ],
)
def test_a_talk_that_is_none_is_one_line(talk: str, index: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["conversation", "index", "value", "flag", "timestamp"], [talk, index, "Like", "t"]]
        )
    assert told.replace("line 2", "row 2") in problem("gradio", path)
    assert str(path) in problem("gradio", path)


def test_flagged_samples_are_read_by_the_columns_named(tmp_path: Path) -> None:
    path = tmp_path / "dataset1.csv"
    path.write_text(
        "story,fluency,better,username,timestamp\n"
        "'=s1,'-1,model_b,Ana,2026-11-01\ns2,2,tie,Bo,2026-11-01\n'quoted',,model_a,,2026-11-01\n"
    )
    asked = {"item_column": "story", "of": {"fluency": "alpha"}}
    done = read("gradio", path, **asked)
    told = [(row["annotator_id"], row["item_id"], row.get("score")) for row in done.rows["ratings"]]
    assert told == [("Ana", "=s1", -1), ("Bo", "s2", 2), (UNNAMED, "'quoted'", None)]
    assert "2 cells lost the apostrophe that the logger puts before signs of formulas" in done.notes[0]
    compared = read("gradio", path, item_column="story", only=("better",), sides=("alpha", "beta")).rows["choices"]
    assert [row["winner"] for row in compared] == ["y", "tie", "x"]
    assert "say --of COLUMN=SYSTEM of ratings" in problem("gradio", path)
    assert "say --item-column COLUMN" in problem("gradio", path, of={"fluency": "alpha"})
