"""``spa import csv`` on tables as people keep them: who, which systems, which item, and what the cells mean."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from spa.cli import main
from spa.importers.csv.mapping import QuestionColumn, Wide
from spa.importers.csv.wide import read_wide
from spa.importers.csv.words import NotUnderstood, RowPair, WordMeanings, winner
from spa.importers.mapping import read_mapping
from tests.spa.importers.wide_tables import EVERY_EXAMPLE, Rows, imported, refused, told, winners

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
