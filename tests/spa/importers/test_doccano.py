"""doccano: a file a person; labels as answers, marks as errors, and what an empty list of either may be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.importers import recognised
from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import lines_file, problem, read

TEXT = "A good tale ends."


def example(number: int, system: str, item: str = "i1", text: str = TEXT, **given: Any) -> dict[str, Any]:
    return {"id": number, "text": text, "item": item, "system": system, **given, "Comments": []}


def export(path: Path, members: Mapping[str, Iterable[object]]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, examples in members.items():
            archive.writestr(name, "".join(f"{json.dumps(one)}\n" for one in examples))
    return path


def told(found: Any, table: str, *names: str) -> list[tuple[object, ...]]:
    return [tuple(row.get(name) for name in names) for row in found.rows[table]]


def test_labels_of_each_person_are_scores(tmp_path: Path) -> None:
    """Everybody's file has every example, so one without a label is left out; two labels of one are no answer."""
    members = {
        "ana.jsonl": [
            example(1, "north", label=["5"]),
            example(2, "south", label=["1"]),
            example(3, "south", label=[]),
        ],
        "bo.jsonl": [
            example(1, "north", label=["4", "5"]),
            example(2, "south", label=[]),
            example(3, "south", label=[]),
        ],
    }
    path = export(tmp_path / "export.zip", members)
    assert [one.key for one in recognised(path)] == ["doccano"]
    found = read("doccano", path)
    names = ("annotator_id", "item_id", "system", "criterion", "score", "missing_reason")
    assert told(found, "ratings", *names) == [
        ("ana", "i1", "north", "overall", 5, None),
        ("ana", "i1", "south", "overall", 1, None),
        ("bo", "i1", "north", "overall", None, "several labels"),
    ]
    assert list(found.skipped.values()) == [3]
    confirmed = read("doccano", path, confirmed=True)
    assert confirmed.missing == {"ratings": (4, 6)}
    assert confirmed.skipped == {}


def test_marks_are_errors_with_the_end_excluded(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "ana.jsonl", [example(1, "north", label=[[7, 11, "minor"], [2, 6, "major"]])])
    found = read("doccano", path)
    names = ("annotator_id", "system", "start", "end", "text", "severity", "characters")
    assert told(found, "spans", *names) == [
        ("ana", "north", 2, 6, "good", "major", 17),
        ("ana", "north", 7, 11, "tale", "minor", 17),
    ]
    objects = [{"id": 9, "label": "major", "start_offset": 2, "end_offset": 6}]
    related = lines_file(tmp_path / "bo.jsonl", [example(1, "north", entities=objects, relations=[])])
    assert told(read("doccano", related), "spans", "text", "severity") == [("good", "major")]


def test_an_empty_list_is_asked_about(tmp_path: Path) -> None:
    """It is no errors where people confirmed it; else nobody may have looked. A report asks the same."""
    lines = [example(1, "north", label=[[2, 6, "major"]]), example(2, "south", label=[])]
    path = lines_file(tmp_path / "ana.jsonl", lines)
    line = problem("doccano", path)
    assert "line 2: expected marks, got an empty list" in line
    assert "--confirmed if only confirmed examples were exported, else --labelled" in line
    assert told(read("doccano", path, confirmed=True), "spans", "system", "severity", "reason") == [
        ("north", "major", None),
        ("south", None, "no errors"),
    ]
    left = read("doccano", path, labelled=True)
    assert told(left, "spans", "system") == [("north",)]
    assert list(left.skipped.values()) == [1]
    done = CliRunner().invoke(main, ["report", str(path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1
    assert "`spa import doccano` --confirmed" in done.output


def test_labels_and_marks_of_one_example(tmp_path: Path) -> None:
    lines = [example(1, "north", cats=["5"], entities=[[0, 1, "minor"]]), example(2, "south", cats=["3"], entities=[])]
    found = read("doccano", lines_file(tmp_path / "ana.jsonl", lines), confirmed=True)
    assert told(found, "ratings", "system", "score") == [("north", 5), ("south", 3)]
    assert told(found, "spans", "system", "reason") == [("north", None), ("south", "no errors")]


def test_a_shared_project_names_nobody(tmp_path: Path) -> None:
    path = export(tmp_path / "export.zip", {"all.jsonl": [example(1, "north", label=["5"])]})
    found = read("doccano", path)
    assert told(found, "ratings", "annotator_id") == [(UNNAMED,)]
    assert any("name nobody" in note for note in found.notes)
    both = export(tmp_path / "b.zip", {"all.jsonl": [example(1, "n", label=["5"])], "bo.jsonl": []})
    assert told(read("doccano", both), "ratings", "annotator_id") == [("all",)]


def test_labels_in_csv_are_joined(tmp_path: Path) -> None:
    """By a sign that may stand in a label as well; words are verdicts where an option says so."""
    path = tmp_path / "ana.csv"
    path.write_text(
        'id,text,item,label,Comments\n1,"a, b",i1,first,"hm, ok"\n2,b,i2,first#tie,\n3,"c\nd",i3,,\n4,d,i4,C#,\n'
    )
    assert [one.key for one in recognised(path)] == ["doccano"]
    options = {"sides": ("north", "south"), "values": {"first": "x", "tie": "tie", "C#": "y"}}
    found = read("doccano", path, **options)
    names = ("item_id", "system_x", "system_y", "winner", "missing_reason")
    assert told(found, "choices", *names)[::2] == [
        ("i1", "north", "south", "x", None),
        ("i4", "north", "south", "y", None),
    ]
    assert sum(found.skipped.values()) == 1


@pytest.mark.parametrize(
    ("text", "start", "end", "offsets", "quote"),
    [
        ("\U0001f600 good", 3, 7, "utf-16", "good"),
        ("\U0001f600 good", 2, 6, "graphemes", "good"),
        ("e\u0301 good", 3, 7, "utf-16", "good"),
        ("\u00e9 good", 2, 6, None, "good"),
        ("good \U0001f600", 0, 4, None, "good"),
    ],
)
def test_places_are_counted_as_the_browser_does(
    tmp_path: Path, text: str, start: int, end: int, offsets: str | None, quote: str
) -> None:
    """In units of UTF-16, or in graphemes; asked where these differ."""
    path = lines_file(tmp_path / "ana.jsonl", [example(1, "north", text=text, label=[[start, end, "minor"]])])
    assert told(read("doccano", path, offsets=offsets), "spans", "text") == [(quote,)]
    if offsets is not None:
        assert "--offsets utf-16, as doccano counts, or --offsets graphemes" in problem("doccano", path)


def test_places_that_cannot_be_are_one_line(tmp_path: Path) -> None:
    def of(text: str, start: int, end: int, **options: Any) -> str:
        lines = [example(1, "north", text=text, label=[[start, end, "minor"]])]
        return problem("doccano", lines_file(tmp_path / "ana.jsonl", lines), **options)

    assert "expected a place in a text of 4 signs, got 2 to 5" in of("good", 2, 5)
    assert "expected a place in a text of 4 signs, got 2 to 2" in of("good", 2, 2)
    assert "got 1 to 3 within one" in of("\U0001f600 good", 1, 3, offsets="utf-16")
    assert "whose graphemes are not read" in of("e\u0301 good", 0, 1, offsets="graphemes")


def test_broken_exports_are_one_line(tmp_path: Path) -> None:
    fast = export(tmp_path / "fast.zip", {"ana.txt": [], "bo.jsonl": [example(1, "n", label=["1"])]})
    assert "ana.txt: expected a file of .jsonl, .json, .csv; fastText keeps no ids" in problem("doccano", fast)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(fast.read_bytes()[:60])
    assert "expected a whole zip file, got:" in problem("doccano", cut)
    empty = lines_file(tmp_path / "ana.jsonl", [example(1, "north", label=[])])
    assert "expected labels, got none in 1 examples" in problem("doccano", empty)
    words = lines_file(tmp_path / "cy.jsonl", [example(1, "north", label=["fine words"])])
    assert "expected answers, got none; not read: labels of examples, which are no verdicts" in problem(
        "doccano", words
    )
    twice = tmp_path / "twice"
    twice.mkdir()
    for name in ("ana.jsonl", "ana.json"):
        lines_file(twice / name, [example(1, "north", label=["1"])])
    assert "expected one file of ana" in problem("doccano", twice)
    (twice / "ana.json").unlink()
    assert [one.key for one in recognised(twice)] == ["doccano"]
