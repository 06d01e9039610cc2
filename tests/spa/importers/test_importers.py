"""Answers of other tools: a real POTATO folder against the published ratings, and what is wrong told in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from spa.importers.pseudonyms import load_key
from tests.golden.rows import potato_mapping

POTATO = potato_mapping()


def run(*arguments: object, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["import", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def test_a_published_potato_folder_gives_the_published_ratings(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "import.toml").write_text(POTATO)
    folder = shared_data / "sottana" / "potato_simplification"
    done = run("potato", folder, "--map", tmp_path / "import.toml", "--out", tmp_path, "--keep-ids")
    assert "skipped: 24 of attention_check_*" in done.output
    ours = pl.read_csv(tmp_path / "ratings.csv")
    published = pl.read_csv(shared_data / "sottana" / "simplification_ratings.csv", infer_schema_length=None)
    assert ours.height == published.height == 4 * 100 * 4 * 3
    key = ["annotator_id", "item_id", "system", "criterion"]
    theirs = published.with_columns(pl.col("rater").replace({"gpt4": "gpt-4"}).alias("annotator_id"))
    joined = ours.join(theirs, on=key, how="left", suffix="_published")
    assert joined["score_published"].null_count() == 0
    assert joined.filter(pl.col("score") != pl.col("raw_label")).is_empty()  # the table beside it cuts 4.5 to 4
    assert ours.filter(pl.col("score") == 4.5)["annotator_id"].unique().to_list() == ["gpt-4"]
    people = joined.filter(pl.col("annotator_kind") == "human")
    assert (people["seconds"] == people["seconds_published"]).all()
    ranks = people.with_columns(pl.col("position_published").rank("dense").over("annotator_id", "session"))
    assert (ranks["position"] == ranks["position_published"]).all()


def potato(folder: Path, **changes: Any) -> Path:
    """Write a small folder of one person and two items."""
    person = folder / "part" / "annotation_output" / "W1"
    person.mkdir(parents=True)
    label = {"fluency": {"scale_4": "4"}, "fluency_2": {"scale_5": "5"}}
    instance = {"id": "i1", "label_annotations": label, "behavioral_data": {"time_string": "Time spent: 0d 1h 0m 2s "}}
    lines = [{**instance, **changes}, {**instance, "id": "attention_check_1"}, {**instance, "id": "i2"}]
    (person / "annotated_instances.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (person / "annotation_order.txt").write_text("intro.html\ni2\nattention_check_1\ni1\n")
    (folder / "import.toml").write_text('systems = ["a", "b"]\ncriteria = ["fluency"]\n')
    return folder


def test_people_get_pseudonyms_and_places_are_those_seen(tmp_path: Path) -> None:
    folder = potato(tmp_path)
    run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out")
    rows = pl.read_csv(tmp_path / "out" / "ratings.csv").to_dicts()
    key = load_key(folder / "pseudonyms.key")
    assert {row["annotator_id"] for row in rows} == {key.pseudonym("W1")}
    assert [(row["item_id"], row["system"], row["score"], row["position"], row["seconds"]) for row in rows] == [
        ("i1", "a", 4, 2, 3602),
        ("i1", "b", 5, 2, 3602),
        ("i2", "a", 4, 1, 3602),
        ("i2", "b", 5, 1, 3602),
    ]


@pytest.mark.parametrize(
    ("answer", "score", "reason"),
    [
        ({"scale_4": "4"}, 4, None),  # likert: the label carries the point, the value a key to press
        ({"scale_10": "0"}, 10, None),
        ({"3": "3"}, 3, None),
        ({"0": "1"}, 0, None),  # radio: the label is what was chosen, the value its number among the options
        ({"2.5": "true"}, 2.5, None),
        ({"good": "2"}, 5, None),  # --score
        ({"a=b": "1"}, -1, None),
        ({"2": "3", "free_response": "or less"}, 2, None),
        ({"free_response": "who knows"}, None, "free_response"),
        ({"bad_text": "0"}, None, "bad_text"),
        ({"text_box": "7"}, 7, None),  # number, text
        ({"number": "-0.5"}, -0.5, None),
        ({"text_box": ""}, None, "empty"),
        ({"slider": "80"}, 80, None),
        ({"select-one": "good"}, 5, None),
        ({"1": "1", "2": "2"}, None, "2 values were chosen"),  # multiselect
        ({}, None, "empty"),
    ],
)
def test_a_label_is_the_score_however_potato_asked(
    answer: dict[str, str], score: float | None, reason: str | None, tmp_path: Path
) -> None:
    folder = potato(tmp_path, label_annotations={"fluency": answer, "fluency_2": {"scale_5": "5"}})
    given = ("--score", "good=5", "--score", "a=b=-1", "--format", "parquet")
    run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", *given)
    row = pl.read_parquet(tmp_path / "out" / "ratings.parquet").to_dicts()[0]
    assert (row["score"], row.get("missing_reason")) == (score, reason)


def test_labels_without_a_score_are_listed_in_one_line(tmp_path: Path) -> None:
    folder = potato(tmp_path, label_annotations={"fluency": {"good": "2"}, "fluency_2": {"poor": "1"}})
    (folder / "llm.jsonl").write_text('{"id": "i1", "a": {"fluency": "fair"}, "b": {"fluency": "0"}}\n')
    with (folder / "import.toml").open("a") as file:
        file.write('llms = [{ id = "gpt-4", file = "llm.jsonl" }]\n')
    arguments = ("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out")
    told = run(*arguments, code=1).output
    assert "'good', 'poor', 'fair'" in told
    assert "--score 'good=NUMBER'" in told
    assert len(told.splitlines()) == 1
    scores = ("--score", "good=3", "--score", "poor=1", "--score", "fair=2")
    (folder / "llm.jsonl").write_text('{"id": "i1", "a": {"fluency": "fair", "why": "x"}, "b": {"fluency": "0"}}\n')
    assert "not read: why of the LLMs' answers" in run(*arguments, *scores).output
    rows = pl.read_csv(tmp_path / "out" / "ratings.csv").filter(pl.col("annotator_kind") == "llm")
    assert rows["score"].to_list() == [2, 0]
    for wrong in ("good", "good=high", "good=1e400", "=1"):
        assert "expected LABEL=NUMBER" in run(*arguments, "--score", wrong, code=2).output
    assert "'good' has two scores" in run(*arguments, *scores, "--score", "good=4", code=2).output


NESTED = "[" * 100_000


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"label_annotations": None}, "line 1: expected label_annotations"),
        ({"label_annotations": {"fluency": "4"}}, "line 1, fluency: expected a chosen value"),
        ({"label_annotations": {"fluency": {"x": ["4"]}}}, "line 1, fluency: expected one text or number"),
        ({"label_annotations": {"fluency": {"1e400": "1"}}}, "got '1e400'"),
        ({"label_annotations": {"grammar": {"x": "1"}}}, "label 'grammar' is none of the criteria's"),
        ({"label_annotations": {"g" * 9999: {"x": "1"}}}, "is none of the criteria's"),
        ({"label_annotations": {"fluency": {"x" * 9999: "1"}}}, "--score"),
        ({"behavioral_data": {"time_string": "long"}}, "line 1: expected a time such as"),
        ({"id": None}, "line 1: expected an id"),
        ({"id": "\ud800"}, "line 1: expected UTF-8"),
        ("annotation_order.txt", "annotation_order.txt, line 2: expected UTF-8"),
        (b'{"id": "i1"', "annotated_instances.jsonl, line 1: expected one JSON object"),
        (b'{"id": "i1", "id": "i2"}', 'line 1: expected each key once, got "id" twice'),
        pytest.param(NESTED.encode(), "line 1: expected one JSON object, got lists or objects nested", id="nested"),
        (b"[1]", "line 1: expected one JSON object, got a list"),
        (b"\xff", "line 1: expected UTF-8"),
    ],
)
def test_what_potato_would_not_write_is_told_with_its_place(
    changes: dict[str, Any] | str | bytes, told: str, tmp_path: Path
) -> None:
    folder = potato(tmp_path, **(changes if isinstance(changes, dict) else {}))
    person = folder / "part" / "annotation_output" / "W1"
    if isinstance(changes, str):
        (person / changes).write_bytes(b"i2\n\xff\n")
    elif isinstance(changes, bytes):
        (person / "annotated_instances.jsonl").write_bytes(changes)
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", code=1)
    assert told in done.output
    assert len(done.output.splitlines()) == 1
    assert len(done.output.replace(str(tmp_path), "")) < 500
    assert not (tmp_path / "out").exists()


def test_an_unanswered_question_is_missing_with_its_reason(tmp_path: Path) -> None:
    folder = potato(tmp_path, label_annotations={"fluency": {"scale_4": "4"}, "fluency_2": {}})
    run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", "--format", "parquet")
    rows = pl.read_parquet(tmp_path / "out" / "ratings.parquet").to_dicts()
    assert (rows[1]["score"], rows[1]["missing_reason"]) == (None, "empty")


LIKERT = {"fluency": {"scale_4": "4"}, "fluency_2": {"scale_5": "5"}}


@pytest.mark.parametrize(
    ("texts", "criteria", "explanations"),
    [
        ({"comments": {"text_box": " fine "}}, '["fluency"]', ["fine", None]),
        ({"comments": {"text_box": "fine"}}, '["fluency", "comments"]', ["fine", None]),  # of the item, once
        ({"why": {"text_box": "one"}, "why_2": {"text_box": "other"}}, '["fluency"]', ["one", "other"]),
        ({"why_2": {"text_box": "other"}, "why": {"text_box": ""}}, '["fluency"]', [None, "other"]),
        ({"a": {"text_box": "1"}, "b": {"text_box": "two"}}, '["fluency"]', ["a: 1\nb: two", None]),
        ({"fluency_2": {"scale_5": "5", "free_response": "or 4"}}, '["fluency"]', [None, "or 4"]),
    ],
)
def test_texts_beside_ratings_are_explanations(
    texts: dict[str, Any], criteria: str, explanations: list[str | None], tmp_path: Path
) -> None:
    folder = potato(tmp_path, label_annotations={**LIKERT, **texts}, span_annotations={"x": 1})
    (folder / "import.toml").write_text(f'systems = ["a", "b"]\ncriteria = {criteria}\n')
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", "--format", "parquet")
    rows = pl.read_parquet(tmp_path / "out" / "ratings.parquet").to_dicts()
    assert [(row["system"], row["criterion"], row["score"]) for row in rows] == [
        ("a", "fluency", 4),
        ("b", "fluency", 5),
    ] * 2
    assert [row["explanation"] for row in rows[:2]] == explanations
    assert not any(row["explanation"] for row in rows[2:])
    assert "not read: marked spans of 1 instances" in done.output
    assert "fluency_2" in texts or "are explanations beside the ratings" in done.output


def test_potato_ignored_label_is_left_out(tmp_path: Path) -> None:
    """A question that is no text is left out where the mapping says so."""
    folder = potato(tmp_path, label_annotations={**LIKERT, "consent": {"yes": "1"}})
    arguments = ("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out")
    assert "leave it out by ignore = [...]" in run(*arguments, code=1).output
    with (folder / "import.toml").open("a") as file:
        file.write('ignore = ["con*"]\n')
    assert "skipped: 1 of label consent" in run(*arguments).output


WIDE = """
annotator = "WorkerId"
item = "Input.id"
keep = { AssignmentStatus = ["Approved"] }
questions = [
  { column = "q1", system = "alpha", criterion = "fluency" },
  { column = "q2", kind = "preference", system_x = "alpha", system_y = "beta", percent = true, exposure = 3 },
  { column = "q3", kind = "choice", system_x = "alpha", system_y = "beta", values = { left = "x", right = "y" } },
]
"""
CSV = """WorkerId,Input.id,AssignmentStatus,q1,q2,q3
A1,i1,Approved,4,70,left
A2,i1,Rejected,1,0,right
A3,i2,Approved,,30,tie
"""


def test_a_wide_table_becomes_three_tidy_ones(tmp_path: Path) -> None:
    (tmp_path / "import.toml").write_text(WIDE)
    (tmp_path / "results.csv").write_text(CSV)
    done = run("csv", tmp_path / "results.csv", "--map", tmp_path / "import.toml", "--out", tmp_path / "out")
    assert "skipped: 1 of AssignmentStatus Rejected" in done.output
    rated, told, chosen = (
        pl.read_csv(tmp_path / "out" / f"{name}.csv") for name in ("ratings", "preferences", "choices")
    )
    assert rated["score"].to_list() == [4.0, None]
    assert rated["missing_reason"].to_list() == [None, "empty"]
    assert (told["preference"].to_list(), told["exposure"].to_list()) == ([0.7, 0.3], [3, 3])
    assert chosen["winner"].to_list() == ["x", "tie"]
    key = load_key(tmp_path / "pseudonyms.key")
    assert rated["annotator_id"].to_list() == [key.pseudonym("A1"), key.pseudonym("A3")]


def test_two_imports_name_a_person_alike(tmp_path: Path) -> None:
    """In another order, from another file, by another mapping, and by the importer of MTurk's files."""
    (tmp_path / "import.toml").write_text(WIDE)
    (tmp_path / "results.csv").write_text(CSV)
    done = run("csv", tmp_path / "results.csv", "--map", tmp_path / "import.toml", "--out", tmp_path / "out")
    path = tmp_path / "pseudonyms.key"
    assert f"key written to {path}" in done.output
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text()
    (tmp_path / "again.csv").write_text("pid,fwd\nA9,90\nA3 ,30\nA1,20\n")
    (tmp_path / "again.toml").write_text(
        'annotator = "pid"\n[[questions]]\ncolumn = "fwd"\nkind = "preference"\n'
        'system_x = "a"\nsystem_y = "b"\npercent = true\n'
    )
    done = run("csv", tmp_path / "again.csv", "--map", tmp_path / "again.toml", "--out", tmp_path / "again")
    assert f"key read from {path}" in done.output
    assert path.read_text() == secret
    first = pl.read_csv(tmp_path / "out" / "ratings.csv")["annotator_id"].to_list()
    second = pl.read_csv(tmp_path / "again" / "preferences.csv")["annotator_id"].to_list()
    assert first == [second[2], second[1]]
    (tmp_path / "old.toml").write_text(
        '[[ratings]]\nitem_id = { value = "i" }\nsystem = { value = "a" }\nscore = { column = "Answer.q" }\n'
    )
    (tmp_path / "batch.csv").write_text("AssignmentId,WorkerId,Answer.q\n1,A1,4\n")
    arguments = ["mturk", "import", tmp_path / "batch.csv", "--mapping", tmp_path / "old.toml", "--out", tmp_path / "m"]
    told = CliRunner().invoke(main, list(map(str, arguments)))
    assert told.exit_code == 0, told.output
    assert pl.read_csv(tmp_path / "m" / "ratings.csv")["annotator_id"].to_list() == first[:1]


@pytest.mark.parametrize("content", [b"", b"secret\n", b"ab" * 31, b"\xff" * 64, None])
def test_a_broken_key_is_told_in_one_line_and_left_alone(content: bytes | None, tmp_path: Path) -> None:
    (tmp_path / "import.toml").write_text(WIDE)
    (tmp_path / "results.csv").write_text(CSV)
    path = tmp_path / "other.key"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    arguments = ("csv", tmp_path / "results.csv", "--map", tmp_path / "import.toml", "--out", tmp_path / "out")
    told = run(*arguments, "--key", path, code=1).output
    assert "expected a key of 32 bytes in hexadecimal digits" in told
    assert len(told.splitlines()) == 1
    assert content is None or path.read_bytes() == content
    assert not (tmp_path / "out").exists()
    assert "give one of them" in run(*arguments, "--key", path, "--keep-ids", code=2).output


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("70", "much", "row 2, q2: expected a finite number"),
        ("70", "1e400", "row 2, q2: expected a finite number"),
        ("70", "x" * 9999, "row 2, q2: expected a finite number"),
        ("q3\n", "q2\n", "column q2 stands in the header twice"),
        (",left", "", "line 2: expected 6 values, got 5, fewer"),
        ("70", "170", "row 2, q2: expected a preference from 0 to 1"),
        ("left", "middle", "row 2, q3: expected x, y or tie"),
        ("A1,i1", ",i1", "row 2, q1: expected who answered"),
        ("A1,i1", "A1,", "row 2, q1: expected the item"),
        ("Input.id", "Input.ID", "expected a column 'Input.id'"),
    ],
)
def test_a_cell_that_cannot_be_read_is_told_with_its_place(old: str, new: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "import.toml").write_text(WIDE)
    (tmp_path / "results.csv").write_text(CSV.replace(old, new, 1))
    done = run("csv", tmp_path / "results.csv", "--map", tmp_path / "import.toml", "--out", tmp_path / "out", code=1)
    assert told in done.output
    assert len(done.output.replace(str(tmp_path), "")) < 500


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "import.toml").write_text(
        'annotator = "w"\nquestions = [{ column = "q", system = "a", criterion = "c" }]\n'
    )
    done = run("csv", tmp_path, "--map", tmp_path / "import.toml", "--out", tmp_path / "out", code=1)
    assert "expected a file, got a folder without any ending in .csv" in done.output


def test_a_mapping_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    folder = potato(tmp_path)
    (folder / "import.toml").write_text("systems = " + "[" * 9999)
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", code=1)
    assert "expected TOML, got lists or tables nested too deeply" in done.output
    (folder / "import.toml").write_text('systems = []\ncriteria = ["fluency"]\nskipp = []\n')
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", code=1)
    assert "skipp" in done.output
    (folder / "import.toml").write_text('systems = ["a"]\ncriteria = ["fluency"]\nannotator = "who"\n')
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", code=1)
    assert "annotator: unknown key; known: systems, criteria" in done.output
    (folder / "import.toml").write_text('criteria = ["fluency"]\n[[systems]]\nid = "a"\n')
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", code=1)
    assert "systems, entry 1: expected a text in quotes" in done.output
    shutil.rmtree(folder / "part")
    (folder / "import.toml").write_text('systems = ["a"]\ncriteria = ["fluency"]\n')
    done = run("potato", folder, "--map", folder / "import.toml", "--out", tmp_path / "out", code=1)
    assert "got none; name POTATO's output folder" in done.output
