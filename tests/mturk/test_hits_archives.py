"""Archives of old studies: every kind of file, hostile cells, and worker ids that never leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from mturk.answers import render_answers
from spa.cli import main

MAPPING = """
[[ratings]]
item_id = {column = "Input.story"}
system = {column = "Input.system"}
criterion = {value = "grammar"}
score = {column = "Answer.grammar", levels = {"1 (worst)" = 1, "2" = 2, "5 (best)" = 5}}

[[preferences]]
system_x = {value = "gpt"}
system_y = {value = "human"}
preference = {column = "Answer.chance", scale = 100}

[[choices]]
item_id = {column = "Input.story"}
system_x = {value = "gpt"}
system_y = {value = "human"}
winner = {one_of = {"Answer.better.left" = "x", "Answer.better.right" = "y"}}
"""
HEADER = (
    "HITId,AssignmentId,WorkerId,AssignmentStatus,WorkTimeInSeconds,RequesterFeedback,Input.story,Input.system,"
    "Answer.grammar,Answer.chance,Answer.better.left,Answer.better.right"
)
ROWS = (
    "H1,A1,AWORKER1,Approved,60,,s1,gpt,5 (best),70,true,false",
    "H1,A2,AWORKER2,Approved,30,,s1,gpt,7,700,true,true",
    "H2,A3,AWORKER1,Rejected,5,Only one letter typed,s2,human,1 (worst),,false,true",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.toml").write_text(MAPPING)
    (tmp_path / "batch.csv").write_text("\n".join((HEADER, *ROWS)) + "\n")
    return tmp_path


def imported(folder: Path, *names: str, code: int = 0, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Import files and return what the command says; with a code, its error."""
    files = [str(folder / name) for name in names]
    options = ["--mapping", str(folder / "old.toml"), "--out", str(folder / "tables"), "--json", *more]
    result = CliRunner().invoke(main, ["mturk", "import", *files, *options], catch_exceptions=False)
    assert result.exit_code == code, result.output + result.stderr
    return dict(json.loads(result.stdout)) if code == 0 else {"error": result.stderr}


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    return pl.read_csv(folder / "tables" / f"{name}.csv").to_dicts()


def test_a_result_file_becomes_tidy_tables(folder: Path) -> None:
    told = imported(folder, "batch.csv")
    assert (told["submissions"], told["annotators"], told["rejected"], told["missing"]) == (3, 2, 1, 3)
    ratings = table(folder, "ratings")
    assert [(row["item_id"], row["system"], row["score"]) for row in ratings] == [
        ("s1", "gpt", 5.0),
        ("s1", "gpt", None),
    ]
    assert ratings[1]["missing_reason"] == "expected one of 1 (worst), 2, 5 (best), got '7'"
    preferences = table(folder, "preferences")
    assert [row["preference"] for row in preferences] == [0.7, None]
    assert preferences[1]["missing_reason"] == "expected 0 to 1, got 7 (give scale = 100 for percent)"
    choices = table(folder, "choices")
    assert [row["winner"] for row in choices] == ["x", None]
    assert choices[1]["missing_reason"] == "answered twice: Answer.better.left, Answer.better.right"
    assert table(folder, "exclusions") == []
    [excluded] = table(folder, "rejected/exclusions")
    assert (excluded["assignment_id"], excluded["evidence"]) == ("A3", "Only one letter typed")
    people = {row["annotator_id"]: row for row in table(folder, "annotators")}
    assert sorted((row["submissions"], row["seconds"]) for row in people.values()) == [(1, 30.0), (1, 65.0)]
    assert [row["winner"] for row in table(folder, "rejected/choices")] == ["y"]
    written = "".join(path.read_text() for path in (folder / "tables").glob("*.csv"))
    assert "AWORKER" not in written
    assert (folder / "pseudonyms.key").stat().st_mode & 0o777 == 0o600


def test_the_same_person_has_the_same_code_in_every_import(folder: Path) -> None:
    imported(folder, "batch.csv")
    first = {row["annotator_id"] for row in table(folder, "annotators")}
    imported(folder, "batch.csv")
    assert {row["annotator_id"] for row in table(folder, "annotators")} == first
    (folder / "pseudonyms.key").unlink()
    imported(folder, "batch.csv")
    assert not {row["annotator_id"] for row in table(folder, "annotators")} & first


def test_answers_of_the_api_and_answer_xml_are_read(folder: Path) -> None:
    """Pages of a list call, one answer a line, and the XML of one answer alone."""
    (folder / "old.toml").write_text(
        '[[choices]]\nitem_id = {value = "s1"}\nsystem_x = {value = "a"}\nsystem_y = {value = "b"}\n'
        'winner = {column = "Answer.taskAnswers.winner", levels = {"left" = "x", "right" = "y"}}\n'
    )
    answer = render_answers([("taskAnswers", '[{"winner": "left"}]')])
    other = render_answers([("taskAnswers", '[{"winner": "right"}]')])
    assignments = [
        {"AssignmentId": "B1", "WorkerId": "AW1", "AssignmentStatus": "Approved", "Answer": answer},
        {"AssignmentId": "B2", "WorkerId": "AW2", "AssignmentStatus": "Submitted", "Answer": "<!DOCTYPE a><a/>"},
    ]
    (folder / "page.json").write_text(json.dumps({"NumResults": 2, "Assignments": assignments}))
    (folder / "lines.jsonl").write_text(json.dumps({**assignments[0], "AssignmentId": "B3"}) + "\n")
    (folder / "B4.xml").write_text(other)
    told = imported(folder, "page.json", "lines.jsonl", "B4.xml")
    assert (told["submissions"], told["annotators"]) == (4, 3)
    rows = {row["assignment_id"]: row for row in table(folder, "choices")}
    assert [rows[name]["winner"] for name in ("B1", "B2", "B3", "B4")] == ["x", None, "x", "y"]
    assert "DOCTYPE" in rows["B2"]["missing_reason"] or "document type" in rows["B2"]["missing_reason"]


def test_a_submission_that_was_downloaded_twice_counts_once(folder: Path) -> None:
    (folder / "again.csv").write_text("\n".join((HEADER, ROWS[0])) + "\n")
    told = imported(folder, "batch.csv", "again.csv")
    assert (told["submissions"], told["repeated"]) == (3, 1)
    (folder / "again.csv").write_text("\n".join((HEADER, ROWS[0].replace("5 (best)", "2"))) + "\n")
    assert "another Answer.grammar" in imported(folder, "batch.csv", "again.csv", code=1)["error"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"Answer.grammar"', '"Answer.grammer"'), "no result has the column 'Answer.grammer'"),
        (("[[ratings]]\nitem_id", "[[ratings]]\nitem"), "[[ratings]] 1 has no item_id"),
        (('criterion = {value = "grammar"}', "criterion = {}"), "give one of column, value and one_of"),
        (("[[choices]]", "[[choice]]"), "choice: Extra inputs are not permitted"),
    ],
)
def test_a_mapping_that_does_not_fit_is_told(folder: Path, change: tuple[str, str], told: str) -> None:
    (folder / "old.toml").write_text(MAPPING.replace(*change))
    assert told in imported(folder, "batch.csv", code=1)["error"]


def test_rejected_answers_count_nowhere_unless_they_are_kept(folder: Path) -> None:
    imported(folder, "batch.csv", more=("--keep-rejected",))
    assert [row["assignment_id"] for row in table(folder, "ratings")] == ["A1", "A2", "A3"]
    assert [row["assignment_id"] for row in table(folder, "exclusions")] == ["A3"]
    assert not (folder / "tables" / "rejected").exists()
    imported(folder, "batch.csv")
    assert [row["assignment_id"] for row in table(folder, "ratings")] == ["A1", "A2"]
    assert [row["assignment_id"] for row in table(folder, "rejected/ratings")] == ["A3"]
    done = CliRunner().invoke(
        main,
        [
            "mturk",
            "import",
            str(folder / "batch.csv"),
            "--mapping",
            str(folder / "old.toml"),
            "--out",
            str(folder / "t"),
        ],
    )
    assert "1 submissions rejected" in done.output
    assert str(folder / "t" / "rejected") in done.output.replace("\n", "")


PLAIN = """
[[ratings]]
item_id = {column = "seg"}
system = {column = "sys"}
score = {column = "score"}
"""
UNPAIRED = [
    "AssignmentId,WorkerId,sys,seg,target,score",
    "a1,w1,S,1,plain 1,1",
    'a2,w1,S,2,"Hallo,2',
    "a3,w1,S,3,plain 3,3",
    'a4,w1,S,4,"Welt ist,4',
    "a5,w1,S,5,plain 5,5",
]


@pytest.mark.parametrize(("name", "separator"), [("q.csv", ","), ("q.tsv", "\t"), ("q.csv", ";"), ("q.results", "\t")])
def test_an_unpaired_quote_swallows_no_submission(tmp_path: Path, name: str, separator: str) -> None:
    (tmp_path / "old.toml").write_text(PLAIN)
    (tmp_path / name).write_text("\n".join(UNPAIRED).replace(",", separator))
    assert imported(tmp_path, name)["submissions"] == 5
    assert [row["score"] for row in table(tmp_path, "ratings")] == [1, 2, 3, 4, 5]


def test_two_quotes_far_apart_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(PLAIN)
    text = "\n".join(UNPAIRED).replace('"Welt ist', 'Welt"')
    (tmp_path / "q.csv").write_text(text)
    assert "q.csv, line 3: expected a quoted cell or a row" in imported(tmp_path, "q.csv", code=1)["error"]
    assert imported(tmp_path, "q.csv", more=("--quotes", "text"))["submissions"] == 5
    (tmp_path / "q.tsv").write_text(text.replace(",", "\t"))
    assert imported(tmp_path, "q.tsv")["submissions"] == 5


def test_hits_of_one_batch_are_one_participation(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(PLAIN)
    header = "HITTypeId,AssignmentId,WorkerId,sys,seg,score,Approve,Reject"
    first = [f"T1,a{number},w{number % 2},S,{number},3" for number in range(8)]  # as the site writes: two cells absent
    again = ["T1,b0,w0,S,0,4", "T1,b1,w1,S,9,4"]
    (tmp_path / "one.csv").write_text("\n".join([header, *first]))
    (tmp_path / "two.csv").write_text("\n".join([header, *again]))
    imported(tmp_path, "one.csv")
    assert [row["submissions"] for row in table(tmp_path, "annotators")] == [1, 1]
    imported(tmp_path, "one.csv", "two.csv")  # w0 rated item 0 in both
    assert [row["submissions"] for row in table(tmp_path, "annotators")] == [2, 1]
    (tmp_path / "one.csv").write_text("\n".join([header, *first, "T1,c,w0,S,1,2,,,,"]))
    assert "one.csv, row 10: expected 8 cells, got 10" in imported(tmp_path, "one.csv", code=1)["error"]


def test_archive_winners_follow_sides_of_their_row(tmp_path: Path) -> None:
    """Winners named by system or by their column follow the sides of their row."""
    (tmp_path / "old.toml").write_text(
        '[[choices]]\nitem_id = {column = "Input.story"}\nsystem_x = {column = "Input.model_b"}\n'
        'system_y = {column = "Input.model_a"}\nwinner = {column = "Answer.winner"}\n'
    )
    header = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.story,Input.model_a,Input.model_b,Answer.winner"
    cells = [
        ("gpt", "base", "gpt", "y"),
        ("base", "gpt", "gpt", "x"),
        ("gpt", "base", "A", "y"),
        ("base", "gpt", "model_b", "x"),
        ("gpt", "base", "tie (bothbad)", "both_bad"),
        ("gpt", "base", "similar", None),
    ]
    rows = [f"H{n},A{n},W{n},Approved,s{n},{a},{b},{said}" for n, (a, b, said, _) in enumerate(cells)]
    (tmp_path / "batch.csv").write_text("\n".join((header, *rows)) + "\n")
    imported(tmp_path, "batch.csv")
    found = {row["item_id"]: row["winner"] for row in table(tmp_path, "choices")}
    assert found == {f"s{n}": won for n, (*_, won) in enumerate(cells)}
