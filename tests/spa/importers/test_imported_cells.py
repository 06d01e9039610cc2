"""What cells of tables hold: orders, objects and records, words, times, decimals, and what tools leave in them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.importers.csv.mapping import Wide
from spa.importers.csv.wide import read_wide
from spa.importers.mapping import read_mapping
from tests.spa.importers.wide_tables import EVERY_EXAMPLE, imported, refused, told

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
