"""``spa import csv`` on tables as people keep them: who, which systems, which item, and what the cells mean."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spa.cli import main
from spa.importers.csv.mapping import QuestionColumn, Wide
from spa.importers.csv.wide import read_wide
from spa.importers.csv.words import NotUnderstood, RowPair, WordMeanings, winner
from spa.importers.mapping import read_mapping

EVERY_EXAMPLE = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
Rows = dict[str, list[dict[str, Any]]]


def imported(folder: Path, mapping: str, **files: str) -> Rows:
    """Return the rows of each table, from files called by their names (with ``.csv``)."""
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "import.toml").write_text(mapping, encoding="utf-8")
    paths = [folder / f"{name}.csv" for name in files]
    made = read_wide(paths, read_mapping(folder / "import.toml", Wide), folder / "import.toml")
    return {table: rows for table, rows in made.rows.items() if rows}


def refused(folder: Path, mapping: str, **files: str) -> list[str]:
    """Return the lines of the refusal; each is short."""
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "import.toml").write_text(mapping, encoding="utf-8")
    paths = [str(folder / f"{name}.csv") for name in files]
    done = CliRunner().invoke(
        main, ["import", "csv", *paths, "--map", str(folder / "import.toml"), "--out", str(folder / "out")]
    )
    assert done.exit_code == 1, done.output
    assert not (folder / "out").exists()
    lines = done.output.splitlines()
    assert all(len(line.replace(str(folder), "")) < 500 for line in lines)
    return lines


def told(folder: Path, mapping: str, *arguments: str, **files: str) -> str:
    """Return what the command says."""
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "import.toml").write_text(mapping, encoding="utf-8")
    paths = [str(folder / f"{name}.csv") for name in files]
    done = CliRunner().invoke(
        main, ["import", "csv", *paths, "--map", str(folder / "import.toml"), "--out", str(folder / "t"), *arguments]
    )
    assert done.exit_code == 0, done.output
    return done.output


def winners(rows: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count who won each answer, by who answered."""
    names = {"tie": "tie", None: "missing"}
    return Counter((row["annotator_id"], names.get(row["winner"]) or row[f"system_{row['winner']}"]) for row in rows)


ROUNDS = """
annotator = "code"
[[questions]]
column = "r1.spa"
kind = "preference"
percent = true
system_x_column = "r1.x"
system_y_column = "r1.y"
item_column = "r1.item"
[[questions]]
column = "r2.spa"
kind = "preference"
percent = true
system_x_column = "r2.x"
system_y_column = "r2.y"
item_column = "r2.item"
[[questions]]
column = "r1.fluency"
system_column = "r1.x"
item_column = "r1.item"
criterion = "fluency"
"""


def test_import_rounds_with_their_own_columns(tmp_path: Path) -> None:
    """Each round names its item and systems in columns of its own."""
    table = (
        "code,r1.item,r1.x,r1.y,r1.spa,r1.fluency,r2.item,r2.x,r2.y,r2.spa\n"
        "p1,i4,east,north,70,3,i1,north,south,60\n"
        "p2,i1,north,south,80,2,i3,south,east,\n"
        "p3,i2,north,south,,,i0,south,east,\n"
    )
    rows = imported(tmp_path, ROUNDS, wide=table)
    compared = [
        (row["annotator_id"], row["item_id"], row["system_x"], row["system_y"], row["preference"])
        for row in rows["preferences"]
    ]
    assert compared == [
        ("p1", "i4", "east", "north", 0.7),
        ("p1", "i1", "north", "south", 0.6),
        ("p2", "i1", "north", "south", 0.8),
        ("p2", "i3", "south", "east", None),
    ]
    rated = [(row["annotator_id"], row["item_id"], row["system"], row["score"]) for row in rows["ratings"]]
    assert rated == [("p1", "i4", "east", 3), ("p2", "i1", "north", 2)]
    said = told(tmp_path, ROUNDS, wide=table)
    assert "not asked: 1 annotators without any answer" in said  # p3, though the rounds name systems
    assert "missing: 1 of 4 preferences" in said


def test_import_preferences_of_several_items(tmp_path: Path) -> None:
    """Preferences name their items where a pair is judged of several."""
    mapping = (
        'annotator = "who"\nitem = "item"\n[[questions]]\ncolumn = "p"\nkind = "preference"\nscale = [2, 1]\n'
        'system_x = "a"\nsystem_y = "b"\n'
    )
    once = imported(tmp_path, mapping, q="who,item,p\np,i,1\nq,j,1.75\n")["preferences"]
    assert [(row["item_id"], row["preference"]) for row in once] == [(None, 1), (None, 0.25)]
    twice = imported(tmp_path, mapping, q="who,item,p\np,i,1\np,j,2\n")["preferences"]
    assert [(row["item_id"], row["preference"]) for row in twice] == [("i", 1), ("j", 0)]


def test_a_constant_that_is_a_column_is_asked_about(tmp_path: Path) -> None:
    table = "who,item,model_a,model_b,winner\na,i,m1,m2,model_a\n"
    mapping = (
        'annotator = "who"\nitem = "item"\n[[questions]]\ncolumn = "winner"\nkind = "choice"\n'
        'system_x = "model_a"\nsystem_y = "model_b"\n'
    )
    lines = refused(tmp_path, mapping, q=table)
    assert 'system_x = "model_a" is a column of the file: did you mean system_x_column = "model_a"?' in lines[0]
    assert "system_y_column" in lines[1]
    (row,) = imported(tmp_path, 'constants = ["model_a", "model_b"]\n' + mapping, q=table)["choices"]
    assert (row["system_x"], row["system_y"]) == ("model_a", "model_b")
    (row,) = imported(tmp_path, mapping.replace("system_x", "system_x_column").replace("y =", "y_column ="), q=table)[
        "choices"
    ]
    assert (row["system_x"], row["system_y"], row["winner"]) == ("m1", "m2", "x")


def test_a_column_of_ratings_may_be_called_as_its_system_is(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\n'
        'questions = [{ column = "alp", system = "alp" }, { column = "gpt", system = "gpt" },\n'
        '  { column = "better", kind = "choice", system_x = "alp", system_y = "gpt" }]\n'
    )
    rows = imported(tmp_path, mapping, q="who,item,alp,gpt,better\na,i,4,3,alp\n")
    assert [(row["system"], row["score"]) for row in rows["ratings"]] == [("alp", 4), ("gpt", 3)]
    assert rows["choices"][0]["winner"] == "x"


@pytest.mark.parametrize(
    ("annotator", "item", "question", "both"),
    [
        ("q1", "item", 'column = "q1", system = "a"', "annotator and as question"),
        ("who", "who", 'column = "q1", system = "a"', "annotator and as item"),
        ("who", "item", 'column = "q1", system_column = "item"', "item and as system"),
        ("who", "item", 'column = "q1", system_column = "q1"', "system and as question"),
        ("who", "item", 'annotators = ["q1", "who"], system = "a"', "annotator and as question"),
        ("who", "item", 'column = "q1", system = "a", criterion_column = "q1"', "criterion and as question"),
    ],
)
def test_a_column_is_for_one_thing(annotator: str, item: str, question: str, both: str, tmp_path: Path) -> None:
    mapping = f'annotator = "{annotator}"\nitem = "{item}"\nquestions = [{{ {question} }}]\n'
    (line,) = refused(tmp_path, mapping, q="who,item,q1,q2\np,i,1,2\n")
    assert both in line


COLUMNS_OF_PEOPLE = """
item = "idx"
[[questions]]
annotators = ["ann1", "ann2", "ann3"]
kind = "choice"
systems_in = "pair"
separator = "_"
values = { "1" = "x", "2" = "y", "0" = "tie", garbage = "" }
"""


def test_annotators_have_columns_and_both_systems_one_cell(tmp_path: Path) -> None:
    table = "idx,pair,ann1,ann2,ann3\n0,birch_cedar,1,1.0,0\n1,cedar_maple,2,,garbage\n2,birch_maple,1,2,\n"
    rows = imported(tmp_path, COLUMNS_OF_PEOPLE, q=table)["choices"]
    assert winners(rows) == {
        ("ann1", "birch"): 2,
        ("ann1", "maple"): 1,
        ("ann2", "birch"): 1,
        ("ann2", "maple"): 1,
        ("ann3", "tie"): 1,
        ("ann3", "missing"): 1,
    }
    assert "not asked: 2 empty cells in columns of annotators" in told(tmp_path, COLUMNS_OF_PEOPLE, q=table)
    (line,) = refused(tmp_path, COLUMNS_OF_PEOPLE, q=table.replace("birch_maple", "gpt_4_maple"))
    assert "row 4, pair: expected two systems around one '_', got 'gpt_4_maple'; a name holds the separator" in line


def test_a_header_is_one_person_within_its_group(tmp_path: Path) -> None:
    mapping = (
        'item = "task"\n[[questions]]\nannotators = ["rater1", "rater2"]\ngroup = "group"\nkind = "choice"\n'
        'system_x_column = "A_origin"\nsystem_y_column = "B_origin"\n'
    )
    table = "group,task,A_origin,B_origin,rater1,rater2\n1,t1,mt,human,mt,human\n2,t2,human,mt,tie,mt\n"
    rows = imported(tmp_path, mapping, q=table)["choices"]
    assert winners(rows) == {
        ("1/rater1", "mt"): 1,
        ("1/rater2", "human"): 1,
        ("2/rater1", "tie"): 1,
        ("2/rater2", "mt"): 1,
    }
    merged = imported(tmp_path, mapping.replace('group = "group"\n', ""), q=table)["choices"]
    assert {row["annotator_id"] for row in merged} == {"rater1", "rater2"}


def test_one_side_is_constant_and_the_winner_a_name(tmp_path: Path) -> None:
    mapping = (
        'annotator = "worker"\nitem = "sentence"\n[[questions]]\ncolumn = "winner"\nkind = "choice"\n'
        'system_x = "newset"\nsystem_y_column = "other"\ncriterion_column = "aspect"\n'
    )
    table = (
        "worker,sentence,aspect,other,winner\nw1,1,fluency,oldset,newset\nw1,1,meaning,split,split\n"
        "w2,1,fluency,oldset,similar\nw2,2,meaning,split,garbage\n"
    )
    (line,) = refused(tmp_path, mapping, q=table)
    assert "row 4, winner: expected x, y or tie" in line
    proposed = 'values = { similar = "tie", garbage = "missing" }'
    assert line.endswith(f"add {proposed}")
    rows = imported(tmp_path, mapping + proposed, q=table)["choices"]
    assert [(row["criterion"], row["system_y"], row["winner"]) for row in rows] == [
        ("fluency", "oldset", "x"),
        ("meaning", "split", "y"),
        ("fluency", "oldset", "tie"),
        ("meaning", "split", None),
    ]
    assert rows[3]["missing_reason"] == "garbage"


@pytest.mark.parametrize(
    ("sides", "cells", "won"),
    [
        (("model_a", "model_b"), ("model_a", "model_b", "tie (bothbad)"), ["x", "y", "both_bad"]),
        (("model_b", "model_a"), ("model_a", "A", "[[C]]"), ["y", "y", "tie"]),
        (("output_2", "output_1"), ("1", "2", "draw"), ["y", "x", "tie"]),
        (("left", "right"), ("right", "m1", "m1>m2"), ["y", "x", "x"]),
    ],
)
def test_words_of_places_are_read_by_the_columns_of_the_pair(
    sides: tuple[str, str], cells: tuple[str, ...], won: list[str], tmp_path: Path
) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\n[[questions]]\ncolumn = "won"\nkind = "choice"\n'
        f'system_x_column = "{sides[0]}"\nsystem_y_column = "{sides[1]}"\n'
    )
    table = f"who,item,{sides[0]},{sides[1]},won\n" + "".join(
        f"p,i{number},m1,m2,{cell}\n" for number, cell in enumerate(cells)
    )
    assert [row["winner"] for row in imported(tmp_path, mapping, q=table)["choices"]] == won


@pytest.mark.parametrize("cell", ["X", "x", "Y"])
def test_an_x_where_places_are_called_a_and_b_is_asked_about(cell: str, tmp_path: Path) -> None:
    """On sheets of A and B people write X for a tie."""
    mapping = (
        'annotator = "who"\nitem = "item"\n[[questions]]\ncolumn = "won"\nkind = "choice"\n'
        'system_x_column = "A_origin"\nsystem_y_column = "B_origin"\n'
    )
    (line,) = refused(tmp_path, mapping, q=f"who,item,A_origin,B_origin,won\np,i,m1,m2,A\np,j,m1,m2,{cell}\n")
    assert f'add values = {{ {cell} = "?" }}' in line


def test_a_name_that_is_also_a_side_is_refused_until_it_is_said(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\n[[questions]]\ncolumn = "won"\nkind = "choice"\n'
        'system_x_column = "one"\nsystem_y_column = "other"\n'
    )
    table = "who,item,one,other,won\na,i1,x,y,x\na,i2,y,x,x\n"
    (line,) = refused(tmp_path, mapping, q=table)
    assert line.endswith('got \'x\'; say which it is by winner_is = "name" or winner_is = "side"')
    named, sided = (
        [row["winner"] for row in imported(tmp_path, f'{mapping}winner_is = "{how}"\n', q=table)["choices"]]
        for how in ("name", "side")
    )
    assert (named, sided) == (["x", "y"], ["x", "x"])


SHEETS = """
annotator = "{file}"
item = ["form", "number"]
split = { ID = '(?P<kind>[bm])(?P<form>[0-9]d)-(?P<number>[0-9]+)' }
key = { file = "key/items.csv", on = { form = "file_id", number = "order" } }
[[questions]]
column = "Judgement"
kind = "choice"
system_x_column = "A_origin"
system_y_column = "B_origin"
criterion_column = "kind"
criteria = { m = "fluency", b = "adequacy" }
values = { A = "x", B = "y", X = "tie" }
"""


def sheets(
    folder: Path, mapping: str, key: str = "file_id,order,A_origin,B_origin\n1d,1,mt,human\n1d,2,human,mt\n"
) -> str:
    """Import a folder with one sheet a person, beside a key, and return what is said."""
    for path, content in {
        "sheets/lima.csv": "ID,Judgement\nm1d-1,A\nm1d-2,A\n",
        "sheets/oslo.csv": "ID,Judgement\nb1d-1,B\nb1d-2,X\n",
        "key/items.csv": key,
        "import.toml": mapping,
    }.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(content)
    arguments = ["import", "csv", str(folder / "sheets"), "--map", str(folder / "import.toml"), "--keep-ids"]
    return CliRunner().invoke(main, [*arguments, "--out", str(folder / "t")]).output


def test_sheets_of_one_person_each_are_read_by_a_key(tmp_path: Path) -> None:
    said = sheets(tmp_path, SHEETS)
    assert "read: 4 rows of 2 files" in said
    assert "items.csv: 2 rows joined on form, number" in said
    rows = pl.read_csv(tmp_path / "t" / "choices.csv").to_dicts()
    assert [(row["annotator_id"], row["item_id"], row["criterion"]) for row in rows] == [
        ("lima", "1d/1", "fluency"),
        ("lima", "1d/2", "fluency"),
        ("oslo", "1d/1", "adequacy"),
        ("oslo", "1d/2", "adequacy"),
    ]
    assert winners(rows) == {("lima", "mt"): 1, ("lima", "human"): 1, ("oslo", "human"): 1, ("oslo", "tie"): 1}


def test_import_key_joins_floats_to_numbers(tmp_path: Path) -> None:
    """A key may hold its numbers as floats and be joined on what both have."""
    (tmp_path / "key.csv").write_text("form,one,other\n1.0,mt,human\n2.0,human,mt\n")
    mapping = (
        'annotator = "who"\nitem = "form"\nkey = "key.csv"\nquestions = [{ column = "won", kind = "choice", '
        'system_x_column = "one", system_y_column = "other" }]\n'
    )
    rows = imported(tmp_path, mapping, q="who,form,won\np,1,mt\np,2,mt\n")["choices"]
    assert [(row["item_id"], row["winner"]) for row in rows] == [("1", "x"), ("2", "y")]
    (line,) = refused(tmp_path, mapping, q="who,form,won\np,3,mt\n")
    assert "got none; mend the key, say by key = { file = ..., on = ... } what is joined" in line


@pytest.mark.parametrize(
    ("old", "new", "key", "line"),
    [
        ("order", "place", None, "expected a column 'place', got file_id, order"),
        ("", "", "file_id,order,A_origin,B_origin\n1d,1,mt,human\n", "form '1d', number '2', got none; mend the key"),
        (
            "",
            "",
            "file_id,order,A_origin,B_origin\n1d,1,a,b\n1d,1,b,a\n1d,2,a,b\n",
            "row 3: expected one row with file_id",
        ),
        ("", "", "file_id,order,A_origin,B_origin,Judgement\n1d,1,a,b,A\n", "stands in the answers and in the key"),
        ("[bm]", "[b]", None, "row 2, ID: expected '(?P<kind>[b])"),
        ("[0-9]+)'", "[0-9+)'", None, "expected a regular expression"),
        ("(?P<kind>[bm])(?P<form>[0-9]d)-(?P<number>[0-9]+)", ".*", None, "expected groups with names"),
    ],
)
def test_what_keeps_a_key_from_being_joined_is_told(
    old: str, new: str, key: str | None, line: str, tmp_path: Path
) -> None:
    said = sheets(tmp_path, SHEETS.replace(old, new), **({} if key is None else {"key": key}))
    assert line in said
    assert len(said.splitlines()) == 1


ORDER = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "order", kind = "order" }]\n'


@pytest.mark.parametrize(
    ("cell", "ranks"),
    [
        ('"b,a,c"', {"b": 1, "a": 2, "c": 3}),
        ("b > a > c", {"b": 1, "a": 2, "c": 3}),
        ("b > a = c", {"b": 1, "a": 2, "c": 2}),
        ('"[""b"", ""a"", ""c""]"', {"b": 1, "a": 2, "c": 3}),
        ('"[[""b"", ""a""], ""c""]"', {"b": 1, "a": 1, "c": 3}),
    ],
)
def test_an_order_is_a_cell_of_systems_best_first(cell: str, ranks: Mapping[str, int], tmp_path: Path) -> None:
    rows = imported(tmp_path, ORDER, q=f"who,item,order\np,i,{cell}\n")["orders"]
    assert {row["system"]: row["rank"] for row in rows} == ranks


def test_an_order_of_json_lines_and_names_with_the_separator(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"who": "p", "item": 3, "order": ["b", "a"]}\n{"who": "q", "item": 3}\n')
    (tmp_path / "import.toml").write_text(ORDER)
    made = read_wide([tmp_path / "q.jsonl"], read_mapping(tmp_path / "import.toml", Wide), tmp_path / "import.toml")
    assert [(row["item_id"], row["system"], row["rank"]) for row in made.rows["orders"]] == [
        ("3", "b", 1),
        ("3", "a", 2),
    ]
    labelled = ORDER.replace('"order" }', '"order", systems = ["beta, v2", "alpha"], values = { B = "beta, v2" } }')
    rows = imported(tmp_path, labelled, q='who,item,order\np,i,"alpha,beta, v2"\np,j,"B,alpha"\nq,i,\nq,j,alpha\n')[
        "orders"
    ]
    assert [(row["annotator_id"], row["system"], row["rank"]) for row in rows] == [
        ("p", "alpha", 1),
        ("p", "beta, v2", 2),
        ("p", "beta, v2", 1),
        ("p", "alpha", 2),
        ("q", "beta, v2", None),
        ("q", "alpha", None),
        ("q", "alpha", 1),
    ]
    assert "each system once, got 'a' twice" in refused(tmp_path, ORDER, q='who,item,order\np,i,"a,b,a"\n')[0]


def test_an_object_in_a_cell_is_a_rating_of_each_system(tmp_path: Path) -> None:
    mapping = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "scores", values = { good = 5 } }]\n'
    cell = json.dumps({"alpha": 4, "beta": "good", "gamma": None}).replace('"', '""')
    rows = imported(tmp_path, mapping, q=f'who,item,scores\np,i,"{cell}"\n')["ratings"]
    assert [(row["system"], row["score"], row["missing_reason"]) for row in rows] == [
        ("alpha", 4.0, None),
        ("beta", 5.0, None),
        ("gamma", None, "empty"),
    ]
    (line,) = refused(tmp_path, mapping, q="who,item,scores\np,i,4\n")
    assert "expected `system` or `system_column` of a rating" in line


def test_answers_inside_json_are_named_by_paths(tmp_path: Path) -> None:
    """In a cell of a CSV file, and in records of JSON lines; a text "" is no answer."""
    mapping = (
        'annotator = "who"\nitem = "item"\nkeep = { task = ["likert"] }\nquestions = [\n'
        '  { column = "response.fluency", system_column = "system", criterion = "fluency" },\n'
        '  { column = "response.order", kind = "order" },\n'
        '  { column = "response.scores", criterion = "all" },\n]\n'
    )
    answers = [
        {"fluency": 4, "order": ["b", "a"], "scores": {"a": 1, "b": 2}},
        {"fluency": "", "order": ["a", "b"], "scores": {"a": 3, "b": None}},
    ]
    table = "who,item,system,task,response\np,i0,a,slider,6\n" + "".join(
        f'p,i{number},a,likert,"{json.dumps(answer).replace(chr(34), chr(34) * 2)}"\n'
        for number, answer in enumerate(answers, start=1)
    )
    rows = imported(tmp_path, mapping, q=table)
    assert [(row["item_id"], row["system"], row["score"]) for row in rows["ratings"]] == [
        ("i1", "a", 4),
        ("i1", "a", 1),
        ("i1", "b", 2),
        ("i2", "a", None),
        ("i2", "a", 3),
        ("i2", "b", None),
    ]
    assert [(row["item_id"], row["system"], row["rank"]) for row in rows["orders"]] == [
        ("i1", "b", 1),
        ("i1", "a", 2),
        ("i2", "a", 1),
        ("i2", "b", 2),
    ]
    lines = [
        {"who": "p", "item": f"i{number}", "system": "a", "task": "likert", "response": answer}
        for number, answer in enumerate(answers, start=1)
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = read_wide([tmp_path / "q.jsonl"], read_mapping(tmp_path / "import.toml", Wide), tmp_path / "import.toml")
    assert {table: several for table, several in made.rows.items() if several} == rows
    (line,) = refused(tmp_path, mapping.replace("response.order", "respond.order"), q=table)
    assert "expected a column 'respond.order'" in line


def test_records_are_taken_apart(tmp_path: Path) -> None:
    record = {"who": "p", "doc": {"id": "d"}, "answers": [{"sys": "a", "s": 4}, {"sys": "b", "s": 3}]}
    (tmp_path / "q.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "import.toml").write_text(
        'annotator = "who"\nitem = "doc.id"\neach = "answers"\nquestions = [{ column = "s", system_column = "sys" }]\n'
    )
    made = read_wide([tmp_path / "q.jsonl"], read_mapping(tmp_path / "import.toml", Wide), tmp_path / "import.toml")
    assert [(row["item_id"], row["system"], row["score"]) for row in made.rows["ratings"]] == [
        ("d", "a", 4),
        ("d", "b", 3),
    ]


@EVERY_EXAMPLE
@given(st.lists(st.tuples(st.permutations(["mt", "human", "post"]), st.permutations("ABC")), min_size=1, max_size=5))
def test_labels_of_an_order_stand_for_the_systems_of_their_row(
    tmp_path: Path, sheets: list[tuple[list[str], list[str]]]
) -> None:
    """Whichever label a system had on a row's sheet, the order is that of the systems; ratings in a cell likewise."""
    mapping = (
        'annotator = "who"\nitem = "item"\nquestions = [\n'
        '  { column = "best", kind = "order", labels = { A = "at_a", B = "at_b", C = "at_c" } },\n'
        '  { column = "scores", labels = { A = "at_a", B = "at_b", C = "at_c" } },\n]\n'
    )
    lines = ["who,item,at_a,at_b,at_c,best,scores"]
    for number, (order, labels) in enumerate(sheets):
        at = dict(zip(labels, order, strict=True))
        scores = json.dumps({label: place for place, label in enumerate(labels)}).replace('"', '""')
        lines.append(f'p,i{number},{at["A"]},{at["B"]},{at["C"]},{">".join(labels)},"{scores}"')
    rows = imported(tmp_path, mapping, q="\n".join(lines) + "\n")
    for number, (order, _) in enumerate(sheets):
        own = [row for row in rows["orders"] if row["item_id"] == f"i{number}"]
        assert [row["system"] for row in sorted(own, key=lambda row: row["rank"])] == order
        scored = {row["system"]: row["score"] for row in rows["ratings"] if row["item_id"] == f"i{number}"}
        assert scored == {system: place for place, system in enumerate(order)}


def test_true_and_false_are_a_choice_by_a_mapping(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\nquestions = [{ column = "a_better", kind = "choice", system_x = "a", '
        'system_y = "b" }]\n'
    )
    table = "who,item,a_better\np,i,True\np,j,False\np,k,NA\n"
    (line,) = refused(tmp_path, mapping, q=table)
    assert line.endswith('add values = { True = "?", False = "?" }; write x, y, tie or missing for "?"')
    mapped = mapping.replace('"b" }', '"b", values = { true = "x", false = "y" } }')
    assert [row["winner"] for row in imported(tmp_path, mapped, q=table)["choices"]] == ["x", "y", None]


def test_times_have_a_unit_and_unreadable_ones_are_missing(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\nseconds = "rt"\nseconds_unit = "ms"\n'
        'questions = [{ column = "q", system = "s" }]\n'
    )
    table = "who,item,rt,q\np,i,1500,4\np,j,null,4\np,k,1:30,4\np,l,,4\n"
    assert [row["seconds"] for row in imported(tmp_path, mapping, q=table)["ratings"]] == [1.5, None, None, None]
    said = told(tmp_path, mapping, q=table)
    assert "rt: 2 times are no numbers and left empty, the first 'null' in" in said
    twice = mapping.replace('"s" }', '"s" }, { column = "q", system = "t" }')
    assert "rt: 2 times are no numbers" in told(tmp_path, twice, q=table)
    chosen = mapping.replace('system = "s"', 'kind = "choice", system_x = "a", system_y = "b"')
    assert "rt: times are kept of ratings alone" in told(tmp_path, chosen, q=table.replace(",4", ",x"))


def test_who_is_an_llm_is_said_on_import(tmp_path: Path) -> None:
    table = "who,kind,item,q\ngpt-4,llm,1,4\nann,human,1,4\nann,,2,5\n"
    mapping = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "s" }]\n'
    by_name = imported(tmp_path, 'llms = ["gpt-4"]\n' + mapping, q=table)["ratings"]
    by_column = imported(tmp_path, 'kind_column = "kind"\n' + mapping, q=table)["ratings"]
    assert [row["annotator_kind"] for row in by_name] == ["llm", "human", "human"]
    assert by_column == by_name
    assert "LLMs: none named" not in told(tmp_path, 'llms = ["gpt-4"]\n' + mapping, q=table)
    ids = pl.read_csv(tmp_path / "t" / "ratings.csv")["annotator_id"].to_list()
    assert ids[0] == "gpt-4"
    assert ids[1] == ids[2] != "ann"
    assert "LLMs: none named" in told(tmp_path, mapping, "--keep-ids", q=table)
    assert "annotator_kind" not in pl.read_csv(tmp_path / "t" / "ratings.csv").columns  # so that --llm may say it
    named_so = 'llms = ["q"]\n' + mapping  # a column of ratings is no annotator
    assert "llms: no annotator is called 'q'" in refused(tmp_path, named_so, q=table)[0]
    (line,) = refused(tmp_path, 'llms = ["gpt4"]\n' + mapping, q=table)
    assert "no annotator is called 'gpt4'; did you mean 'gpt-4'?" in line
    (line,) = refused(tmp_path, 'kind_column = "item"\n' + mapping, q=table)
    assert "row 2, item: expected human or llm, got '1'" in line


def test_import_names_near_matches_of_annotators(tmp_path: Path) -> None:
    """Annotators that may be one person are told before pseudonyms hide it."""
    mapping = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "s" }]\n'
    table = "who,item,q\nanna,1,4\nAnna,2,4\nben\u200b,1,5\nben,2,5\nzoe\u0301,1,3\nzo\u00e9,2,3\n"
    said = told(tmp_path, mapping, q=table)
    assert "annotators: anna and Anna, ben and ben<U+200B> may be one" in said
    assert len(set(pl.read_csv(tmp_path / "t" / "ratings.csv")["annotator_id"])) == 5
    joined = 'people = { "Anna" = "anna", "ben\\u200b" = "ben" }\n' + mapping
    assert 'people = { "Anna" = "anna" }' in said
    assert "may be one" not in told(tmp_path, joined, q=table)
    assert len(set(pl.read_csv(tmp_path / "t" / "ratings.csv")["annotator_id"])) == 3
    (tmp_path / "people.csv").write_text("login,who\nAnna,anna\nben\u200b,ben\nzed,zoe\n", encoding="utf-8")
    by_file = 'people = "people.csv"\n' + mapping
    assert len({row["annotator_id"] for row in imported(tmp_path, by_file, q=table)["ratings"]}) == 3
    (line,) = refused(tmp_path, 'people = { Anna = "anna", anna = "ben" }\n' + mapping, q=table)
    assert "people: 'Anna' is 'anna', who is somebody else again" in line
    (line,) = refused(tmp_path, 'people = { "Ben" = "ben" }\n' + mapping, q=table)
    assert "people: no annotator is called 'Ben'; did you mean 'ben'?" in line


def test_rows_are_kept_or_dropped_and_words_missing(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\nmissing = ["-99"]\ndrop = { status = ["spam"] }\n'
        'questions = [{ column = "q", system = "s" }]\n'
    )
    table = "who,item,status,q\np,i,ok,4\np,j,spam,1\nq,i,ok,-99\nq,j,ok,N/A\n"
    assert [row["score"] for row in imported(tmp_path, mapping, q=table)["ratings"]] == [4, None, None]
    assert "skipped: 1 of status spam" in told(tmp_path, mapping, q=table)
    (line,) = refused(tmp_path, mapping.replace("drop", "keep").replace("spam", "fine"), q=table)
    assert (
        "keep: expected rows that stay, got none of 4; left out were status 'ok' (3 rows), status 'spam' (1 rows)"
        in line
    )


def test_words_that_nobody_explained_are_told_together(tmp_path: Path) -> None:
    mapping = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "s" }]\n'
    (line,) = refused(tmp_path, mapping, q="who,item,q\np,i,Good\np,j,very bad\np,k,Good\n")
    assert "row 2, q: expected a finite number" in line
    assert line.endswith("got 'Good' and another word; add values = { Good = 4, \"very bad\" = 1 }")
    (line,) = refused(tmp_path, mapping, q="who,item,q\np,i,green\np,j,4\n")
    assert line.endswith('got \'green\'; add values = { green = "?" }; write a number or missing for "?"')
    rows = imported(
        tmp_path,
        mapping.replace('"s" }', '"s", values = { good = 4, "Very bad" = 1.5 } }'),
        q="who,item,q\np,i,Good\np,j,very bad\n",
    )
    assert [row["score"] for row in rows["ratings"]] == [4.0, 1.5]


@pytest.mark.parametrize("name", ["q.json", "q.jsonl", "q.parquet", "q.csv.gz", "q.txt"])
def test_a_table_of_any_format_is_read(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"who": ["a", "b"], "item": [1, 2], "q": [4, None], "won": ["m", "tie"]})
    path = tmp_path / name
    if name.endswith(".json"):
        path.write_text(json.dumps(frame.to_dicts()))
    elif name.endswith(".jsonl"):
        frame.write_ndjson(path)
    elif name.endswith(".parquet"):
        frame.write_parquet(path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path)
    (tmp_path / "import.toml").write_text(
        'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "m" }, '
        '{ column = "won", kind = "choice", system_x = "m", system_y = "n" }]\n'
    )
    made = read_wide([path], read_mapping(tmp_path / "import.toml", Wide), tmp_path / "import.toml").rows
    assert [(row["annotator_id"], row["item_id"], row["score"]) for row in made["ratings"]] == [
        ("a", "1", 4.0),
        ("b", "2", None),
    ]
    assert [row["winner"] for row in made["choices"]] == ["x", "tie"]


def test_a_decimal_comma_is_read_where_the_mapping_says_so(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\nseconds = "rt"\nquestions = [{ column = "q", system = "s", '
        "values = { good = 4.5 } }]\n"
    )
    table = 'who,item,rt,q\np,i,"1,5","3,5"\np,j,2,good\np,k,"0,5",4\n'
    (line,) = refused(tmp_path, mapping, q=table)
    assert line.endswith("got '3,5'; add decimal = \",\" if the comma is one")
    rows = imported(tmp_path, 'decimal = ","\n' + mapping, q=table)["ratings"]
    assert [(row["score"], row["seconds"]) for row in rows] == [(3.5, 1.5), (4.5, 2), (4, 0.5)]
    both = table + 'p,l,1,"1.234,5"\n'
    assert "expected a finite number" in refused(tmp_path, 'decimal = ","\n' + mapping, q=both)[0]


def test_an_item_may_be_named_by_several_columns(tmp_path: Path) -> None:
    mapping = 'annotator = "who"\nitem = ["doc", "seg"]\nquestions = [{ column = "q", system = "s" }]\n'
    rows = imported(tmp_path, mapping, q="who,doc,seg,q\np,d,1,4\np,d,2,5\n")["ratings"]
    assert [row["item_id"] for row in rows] == ["d/1", "d/2"]
    apart = mapping.replace('["doc", "seg"]', '"doc"\nsample = "seg"')
    rows = imported(tmp_path, apart, q="who,doc,seg,q\np,d,1,4\np,d,2,5\n")["ratings"]
    assert [(row["item_id"], row["sample"]) for row in rows] == [("d", "1"), ("d", "2")]
    (line,) = refused(tmp_path, mapping, q="who,doc,seg,q\np,d/1,2,4\np,d,1/2,5\n")
    assert "would both be called 'd/1/2'" in line


QUALTRICS = (
    "Status,Finished,PID,q1,q2\nResponse Type,Finished,PID,How?,How?\n"
    '"{""ImportId"":""status""}","{""ImportId"":""finished""}","{""ImportId"":""PID""}",'
    '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\n'
    "0,1,p1,4,-99\n0,1,p2,5,2\n1,1,p3,1,5\n8,1,p4,1,5\n0,0,p5,1,\n"
)


def test_the_further_headers_and_codes_of_qualtrics_are_known(tmp_path: Path) -> None:
    mapping = (
        'annotator = "PID"\nquestions = [{ column = "q1", system = "a", item = "t" }, '
        '{ column = "q2", system = "b", item = "t" }]\n'
    )
    lines = refused(tmp_path, mapping, q=QUALTRICS)
    assert 'got 1 of 1 (a preview), 1 of 8 (spam); leave them out by keep = { Status = ["0"] }' in lines[0]
    assert 'got 1 of 0 (not finished); leave them out by keep = { Finished = ["1"] }' in lines[1]
    kept = 'keep = { Status = ["0"], Finished = ["1"] }\n' + mapping
    rows = imported(tmp_path, kept, q=QUALTRICS)["ratings"]
    assert [(row["annotator_id"], row["score"]) for row in rows] == [("p1", 4), ("p1", None), ("p2", 5), ("p2", 2)]


def test_zeros_of_pages_whose_time_ran_out_are_missing(tmp_path: Path) -> None:
    mapping = 'annotator = "participant.code"\n' + "".join(
        f'[[questions]]\ncolumn = "app.{number}.player.q"\nsystem = "a"\nitem = "i{number}"\n' for number in (1, 2)
    )
    table = "participant.code,participant._index_in_pages,app.1.player.q,app.2.player.q\nc1,3,5,0\nc2,3,0,4\nc3,0,,\n"
    (tmp_path / "pages.csv").write_text(
        "participant_code,app_name,round_number,timeout_happened\nc1,,1,0\nc1,app,1,1\nc1,app,2,1\nc2,app,1,0\n"
    )
    assert "oTree: 2 cells of 0 may stand for pages whose time ran out" in told(tmp_path, mapping, q=table)
    rows = imported(tmp_path, 'page_times = "pages.csv"\n' + mapping, q=table)["ratings"]
    assert [(row["annotator_id"], row["score"]) for row in rows] == [("c1", 5), ("c1", None), ("c2", 0), ("c2", 4)]
    assert rows[1]["missing_reason"] == "page timed out"
    of_app = (
        "participant.code,participant._index_in_pages,subsession.round_number,player.q\n"
        "c1,3,1,5\nc1,3,2,0\nc2,3,1,0\nc2,3,2,4\n"
    )
    one = (
        'annotator = "participant.code"\nitem = "subsession.round_number"\npage_times = "pages.csv"\n'
        'questions = [{ column = "player.q", system = "a" }]\n'
    )
    found = imported(tmp_path, one, app_2026=of_app)["ratings"]
    assert [row["score"] for row in found] == [5, None, 0, 4]
    other = one.replace("player.q", "participant._index_in_pages")
    (line,) = refused(tmp_path, other, q=of_app)
    assert "page_times: expected questions in columns such as app.1.player.q" in line


def test_sliders_that_nobody_moved_are_counted(tmp_path: Path) -> None:
    mapping = (
        'annotator = "who"\nitem = "item"\n'
        'questions = [{ column = "q", system = "a", start_column = "slider_start", ends = [1, 7] }]\n'
    )
    table = "who,item,slider_start,q\np,i,50,7\np,j,50,6\nr,i,50,7\nr,j,50,null\n"
    assert "q: 2 sliders were not moved; they count as answers" in told(tmp_path, mapping, q=table)
    rows = imported(tmp_path, mapping.replace("7] }", '7], untouched = "missing" }'), q=table)["ratings"]
    assert [(row["score"], row["missing_reason"]) for row in rows] == [
        (None, "slider not moved"),
        (6, None),
        (None, "slider not moved"),
        (None, "null"),
    ]
    plain = mapping.replace(', start_column = "slider_start", ends = [1, 7]', "")
    assert 'jsPsych: sliders that were not moved are counted where start_column = "slider_start"' in told(
        tmp_path, plain, q=table
    )


def test_what_was_read_and_the_next_command_are_said(tmp_path: Path) -> None:
    said = told(tmp_path, COLUMNS_OF_PEOPLE, q="idx,pair,ann1,ann2,ann3\n0,a_b,1,2,0\n")
    lines = said.splitlines()
    assert lines[0] == f"read: 1 rows of {tmp_path / 'q.csv'}"
    assert lines[-1] == f"next: spa report --choices {tmp_path / 't' / 'choices.csv'} --out report"
    facts = json.loads(told(tmp_path, COLUMNS_OF_PEOPLE, "--json", q="idx,pair,ann1,ann2,ann3\n0,a_b,1,2,0\n"))
    assert facts["files"] == {str(tmp_path / "t" / "choices.csv"): 3}
    assert (facts["notes"][0], facts["twice"], facts["key_created"]) == (lines[0], {}, False)


names = st.text(alphabet="abcdefgxyAB12", min_size=1, max_size=3)


@EVERY_EXAMPLE
@given(
    st.lists(
        names.filter(lambda name: name.casefold() not in ("x", "y")), min_size=2, max_size=4, unique_by=str.casefold
    ),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 2), st.booleans()), min_size=1, max_size=8),
    st.sampled_from(["name", "side"]),
    st.data(),
)
def test_sides_may_change_from_row_to_row(
    tmp_path: Path, systems: list[str], answers: list[tuple[int, int, bool]], cells: str, data: st.DataObject
) -> None:
    """Sides and winner swapped in some rows are the same answers."""
    mapping = (
        'annotator = "who"\nitem = "item"\nquestions = [{ column = "won", kind = "choice", '
        f'system_x_column = "one", system_y_column = "other", winner_is = "{cells}" }}]\n'
    )
    plain, swapped = ["who,item,one,other,won"], ["who,item,one,other,won"]
    for number, (seed, outcome, swap) in enumerate(answers):
        one = systems[seed % len(systems)]
        other = systems[(seed // len(systems)) % len(systems)]
        if one == other:
            other = systems[(systems.index(one) + 1) % len(systems)]
        words = {"name": (one, other, "tie"), "side": ("x", "y", "tie")}[cells]
        back = {"name": (one, other, "tie"), "side": ("y", "x", "tie")}[cells]
        plain.append(f"p,i{number},{one},{other},{words[outcome]}")
        swapped.append(f"p,i{number},{other},{one},{back[outcome]}" if swap else plain[-1])
    order = data.draw(st.permutations(swapped[1:]))
    first = imported(tmp_path, mapping, q="\n".join(plain) + "\n")["choices"]
    second = imported(tmp_path, mapping, q="\n".join([swapped[0], *order]) + "\n")["choices"]

    def won(rows: list[dict[str, Any]]) -> dict[str, str]:
        return {row["item_id"]: row.get(f"system_{row['winner']}", "tie") for row in rows}

    assert won(first) == won(second)


@EVERY_EXAMPLE
@given(
    st.lists(
        st.tuples(names, names, st.sampled_from(["1", "4", "", "NA"]), st.sampled_from(["alpha", "beta", "tie", ""])),
        min_size=2,
        max_size=8,
        unique_by=lambda row: row[:2],
    ),
    st.integers(1, 7),
    st.data(),
)
def test_order_files_spaces_and_names_change_nothing(
    tmp_path: Path, rows: list[tuple[str, str, str, str]], cut: int, data: st.DataObject
) -> None:
    """Reordered, split in two files, padded, with people under other names, as JSON: the same tables."""
    mapping = (
        'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "alpha" }, '
        '{ column = "won", kind = "choice", system_x = "alpha", system_y = "beta" }]\n'
    )
    header = "who,item,q,won"

    def table(given: list[tuple[str, str, str, str]], pad: str = "") -> str:
        return "\n".join([header, *(",".join(pad + cell + pad for cell in row) for row in given)]) + "\n"

    def as_set(found: Rows, called: Mapping[str, str]) -> dict[str, Counter[tuple[Any, ...]]]:
        return {
            name: Counter(
                (
                    called.get(row["annotator_id"], row["annotator_id"]),
                    *(row.get(key) for key in ("item_id", "score", "winner")),
                )
                for row in several
            )
            for name, several in found.items()
        }

    plain = imported(tmp_path, mapping, q=table([*rows, ("w0", "i0", "3", "tie")]))
    people = {row[0] for row in rows}
    renamed = {name: f"person {number}" for number, name in enumerate(sorted(people))}
    other = data.draw(st.permutations([(renamed[who], *rest) for who, *rest in rows] + [("w0", "i0", "3", "tie")]))
    changed = imported(
        tmp_path,
        mapping,
        a=table(other[:cut], " "),
        b=table([*other[cut:]], "  ") if other[cut:] else header + "\n" + ",,,\n",
    )
    assert as_set(plain, {}) == as_set(changed, {new: old for old, new in renamed.items()})
    lines = [dict(zip(header.split(","), row, strict=True)) for row in [*rows, ("w0", "i0", "3", "tie")]]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    as_json = read_wide([tmp_path / "q.jsonl"], read_mapping(tmp_path / "import.toml", Wide), tmp_path / "import.toml")
    assert as_set({table: several for table, several in as_json.rows.items() if several}, {}) == as_set(plain, {})


def test_gaps_of_a_column_of_floats_are_no_names(tmp_path: Path) -> None:
    pl.DataFrame({"who": [1.0, float("nan")], "item": [7.0, None], "q": [3.5, float("nan")]}).write_parquet(
        tmp_path / "q.parquet"
    )
    (tmp_path / "import.toml").write_text(
        'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "s" }]\n'
    )
    made = read_wide([tmp_path / "q.parquet"], read_mapping(tmp_path / "import.toml", Wide), tmp_path / "import.toml")
    assert [(row["annotator_id"], row["item_id"], row["score"]) for row in made.rows["ratings"]] == [("1", "7", 3.5)]


def test_many_problems_are_counted(tmp_path: Path) -> None:
    columns = [f"c{number}" for number in range(9)]
    mapping = 'annotator = "who"\nitem = "item"\n' + "".join(
        f'[[questions]]\ncolumn = "{column}"\nsystem = "model"\n' for column in columns
    )
    lines = refused(tmp_path, mapping, q=f"who,item,model,{','.join(columns)}\np,i,m{',1' * 9}\n")
    assert len(lines) == 5
    assert lines[-1].endswith("(and 4 more problems)")


def test_ids_written_as_floats_are_whole_numbers(tmp_path: Path) -> None:
    mapping = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "s" }]\n'
    rows = imported(tmp_path, mapping, q="who,item,q\n1.0,007,4\n2.0,1.0,5\n")["ratings"]
    assert [(row["annotator_id"], row["item_id"]) for row in rows] == [("1", "007"), ("2", "1.0")]


def test_import_ids_floats_in_one_file_only(tmp_path: Path) -> None:
    """Ids of one file are floats where those of another are whole numbers."""
    mapping = 'annotator = "who"\nitem = "text"\n[[questions]]\ncolumn = "s"\nsystem = "x"\n'
    rows = imported(tmp_path, mapping, a="who,text,s\n1.0,1.0,3\n2.0,1.0,4\n", b="who,text,s\n1,2,5\nbob,1,5\n")
    assert Counter((row["annotator_id"], row["item_id"]) for row in rows["ratings"]) == Counter(
        [("1", "1"), ("2", "1"), ("1", "2"), ("bob", "1")]
    )
    rows = imported(tmp_path, mapping, a="who,text,s\n1.0,1,3\n2.0,1,4\n", b="who,text,s\n1.0,2,5\nbob,1,5\n")
    assert Counter(row["annotator_id"] for row in rows["ratings"]) == {"1.0": 2, "2.0": 1, "bob": 1}


def test_values_that_no_row_has_are_refused(tmp_path: Path) -> None:
    mapping = 'annotator = "who"\nitem = "item"\n{}\nquestions = [{{ column = "q", system = "s" }}]\n'
    for option in ("keep", "drop"):
        (line,) = refused(
            tmp_path, mapping.format(f'{option} = {{ item = ["a", "zz"] }}'), q="who,item,q\n1,a,4\n1,b,5\n"
        )
        assert f"{option}: expected rows whose item is 'zz', got none (there are: 'a', 'b')" in line


def test_rows_that_stand_twice_are_counted(tmp_path: Path) -> None:
    mapping = 'annotator = "who"\nitem = "item"\nquestions = [{ column = "q", system = "s" }]\n'
    rows = "1,a,4\n1,b,5\n"
    said = told(tmp_path, mapping, q=f"who,item,q\n{rows}{rows}")
    assert "ratings: 2 answers are the second of one annotator about the same" in said
    assert "next:" not in said
    assert "next: spa report" in told(tmp_path, mapping, q=f"who,item,q\n{rows}")


def test_the_help_names_every_key_of_a_mapping() -> None:
    help_text = CliRunner().invoke(main, ["import", "csv", "--help"]).output.split("Options:")[0]
    words = set(
        help_text.replace(",", " ").replace(";", " ").replace("(", " ").replace(")", " ").replace(".", " ").split()
    )
    keys = {*Wide.model_fields, *QuestionColumn.model_fields} - {"questions"}
    columns = {f"{name}_column" for name in ("system", "system_x", "system_y", "item", "criterion")}
    assert keys - columns <= words


def test_systems_called_x_and_y_are_asked_about() -> None:
    pair = RowPair(systems=("y", "x"))
    with pytest.raises(NotUnderstood) as caught:
        winner("y", WordMeanings(values={}), pair)
    assert "a system's name or a place" in caught.value.expected
    assert winner("A", WordMeanings(values={"A": "x"}), pair) == "x"
