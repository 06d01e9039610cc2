"""Paths into nested records, lists as numpy prints them, records taken apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.errors import TableError
from spa.tables.options import TableOptions
from spa.tables.paths import beginnings, follow, printed_list
from spa.tables.reading import open_table
from spa.tables.source import Source, Wanted

RECORD: dict[str, Any] = {
    "completions": [{"response": "first"}, {"response": "second", "model.name": "dotted"}],
    "messages": [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "answer"}],
    "a.b": {"c[0]": 1},
    "attributes": {"llm.output_messages": [{"message.content": "quoted"}]},
    "cell": '{"fluency": 4, "note": ""}',
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("completions[0].response", "first"),
        ("completions[-1].response", "second"),
        ("completions[1].model.name", "dotted"),
        ("messages[-1].content", "answer"),
        ("a.b.c[0]", 1),
        ('attributes.llm.output_messages[-1]["message.content"]', "quoted"),
        ("cell.fluency", "4"),
        ("cell.note", ""),
        ("completions[7].response", None),
        ("completions.response", None),
        ("nothing.at.all", None),
    ],
)
def test_a_path_leads_to_what_stands_there(path: str, found: object) -> None:
    assert follow(RECORD, path) == found


@given(st.lists(st.integers(-99, 99) | st.floats(-9, 9, width=16).map(float), min_size=1, max_size=9))
def test_numbers_that_numpy_printed_are_read(values: list[float]) -> None:
    printed = str(np.array(values))
    found = printed_list(printed)
    assert found is not None
    assert [float(str(one)) for one in found] == pytest.approx(values, abs=1e-6)


@given(st.lists(st.text("abc ,.[]{}'\"é", min_size=1, max_size=30), min_size=1, max_size=8))
def test_texts_that_numpy_printed_are_read(values: list[str]) -> None:
    assert printed_list(str(np.array(values))) == [str(one) for one in np.array(values).tolist()]


def test_a_list_that_numpy_cut_is_refused() -> None:
    with pytest.raises(TableError, match=r"with \.\.\. in it"):
        printed_list(str(np.arange(2000)))


def table(tmp_path: Path, records: list[Any], columns: set[str], **options: Any) -> Source:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return open_table(path, Wanted(columns=frozenset(columns)), TableOptions(**options))


def rows_of(source: Source, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(source.column(name).to_list() for name in columns), strict=True))


KEYS = st.text("ab.[]0\" '", min_size=1, max_size=5)


@given(st.lists(st.tuples(KEYS, KEYS, st.integers(0, 9)), min_size=1, max_size=5))
def test_a_key_in_quotes_is_that_key(parts: list[tuple[str, str, int]]) -> None:
    for outer, inner, value in parts:
        quoted = json.dumps(inner)
        assert follow({outer: {inner: value}}, f"{outer}[{quoted}]") == value


@given(st.lists(st.tuples(st.text("xyz", max_size=3), st.integers(0, 99)), min_size=1, max_size=9))
def test_a_nested_table_equals_the_flat_one(rows: list[tuple[str, int]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        deep = [{"m": {"name": name}, "s": [{"v": score}]} for name, score in rows]
        mapping = {"m.name": "system", "s[0].v": "score"}
        source = table(Path(folder), deep, {"system", "score"}, mapping=mapping)
        assert rows_of(source, "m.name", "s[0].v") == [(name or None, str(score)) for name, score in rows]


def test_path_to_nothing_names_the_keys(tmp_path: Path) -> None:
    """A path that ends at nothing everywhere is told with the keys."""
    with pytest.raises(TableError, match=r"expected values at m\.nme, got none; m holds name, size"):
        table(tmp_path, [{"m": {"name": "a", "size": 1}}], {"system"}, mapping={"m.nme": "system"})


def test_a_path_that_ends_at_a_list_is_told(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"row 1: expected one value at m\.s, got a list"):
        table(tmp_path, [{"m": {"s": [1, 2]}}], {"score"}, mapping={"m.s": "score"})


REVIEWS = [
    {
        "story": "s1",
        "questions": {
            "0": {"tern": {"reviews": [{"who": "1", "score": 5}, {"who": "2", "score": 4}]}, "overall": {"mean": 4.5}},
            "1": {"tern": {"reviews": [{"who": "1", "score": 3}]}},
        },
    },
    {"story": "s2", "questions": {"0": {"gull": {"reviews": [{"who": "3", "score": 1}]}}}},
]
EACH = "questions{question}.{system}.reviews[]"


def test_steps_name_columns_by_their_keys(tmp_path: Path) -> None:
    names = ("story", "question", "system", "who", "score")
    source = table(tmp_path, REVIEWS, {*names}, each=EACH)
    assert rows_of(source, *names) == [
        ("s1", "0", "tern", "1", "5"),
        ("s1", "0", "tern", "2", "4"),
        ("s1", "1", "tern", "1", "3"),
        ("s2", "0", "gull", "3", "1"),
    ]
    assert list(source.numbers()) == [1, 1, 1, 2]
    assert [note for note in source.notes if "overall" in note] == [
        "parts of system (overall) without reviews, left out: 1"
    ]


def test_what_a_part_says_of_its_own_key_must_agree(tmp_path: Path) -> None:
    wrong = {"questions": {"0": {"tern": {"reviews": [{"system": "gull", "score": 1}]}}}}
    with pytest.raises(TableError, match="expected system 'tern', as its key says, got 'gull' inside"):
        table(tmp_path, [wrong], {"score"}, each=EACH)


def test_lists_of_one_row_are_taken_apart_together(tmp_path: Path) -> None:
    records = [{"id": "a", "fluency": [1, 2], "style": [3, 4]}, {"id": "b", "fluency": [5], "style": [6]}]
    source = table(tmp_path, records, {"id", "fluency", "style"}, each="fluency, style")
    assert rows_of(source, "id", "fluency", "style") == [("a", "1", "3"), ("a", "2", "4"), ("b", "5", "6")]
    records[1]["style"] = [6, 7]
    with pytest.raises(TableError, match="row 2: expected lists of equal length, got 1 of fluency, 2 of style"):
        table(tmp_path, records, {"id"}, each="fluency, style")


def test_the_place_in_a_list_can_be_a_column(tmp_path: Path) -> None:
    records = [{"id": "a", "experts": [{"fluency": 1}, {"fluency": 2}]}]
    source = table(tmp_path, records, {"expert", "fluency"}, each="experts{expert}")
    assert rows_of(source, "expert", "fluency") == [("1", "1"), ("2", "2")]


def test_empty_lists_are_counted(tmp_path: Path) -> None:
    records = [{"id": "a", "rows": [{"score": 1}]}, {"id": "b", "rows": []}, {"id": "c", "rows": []}, {"id": "d"}]
    source = table(tmp_path, records, {"id", "score"}, each="rows")
    assert source.notes == ("records with nothing in rows, left out: 2", "records without rows, left out: 1")


def test_a_list_beside_those_taken_apart_is_no_name(tmp_path: Path) -> None:
    records = [{"id": "a", "scores": [1], "who": '["ann"]'}]
    with pytest.raises(TableError, match=r"got the list \[\"ann\"\]; lists that belong together .* 'scores, who'"):
        table(tmp_path, records, {"id", "scores", "annotator_id"}, each="scores", mapping={"who": "annotator_id"})


def test_two_names_made_of_several_columns_are_never_one(tmp_path: Path) -> None:
    records = [{"doc": "a/b", "seg": "1"}, {"doc": "a", "seg": "b/1"}]
    with pytest.raises(TableError, match=r"would both be called 'a/b/1'"):
        table(tmp_path, records, {"item_id"}, mapping={"doc+seg": "item_id"})


def test_a_cell_of_broken_json_is_no_missing_answer(tmp_path: Path) -> None:
    records = [{"response": '{"fluency": 4}'}, {"response": '{"fluency": '}, {"response": "null"}]
    with pytest.raises(TableError, match="row 2, response: expected JSON, got text that is none"):
        table(tmp_path, records, {"score"}, mapping={"response.fluency": "score"})
    del records[1]
    source = table(tmp_path, records, {"score"}, mapping={"response.fluency": "score"})
    assert rows_of(source, "response.fluency") == [("4",), (None,)]


def test_paths_names_of_marks_alone_are_read_at_once() -> None:
    """A file that is cut off or damaged may have a name of a hundred thousand brackets."""
    assert list(beginnings("[" * 100_000)) == ["[" * 100_000]
    assert len(list(beginnings("a" + ".a" * 100))) == 101
