"""Phoenix: annotations beside their spans, who gave them, what is no answer, how the tables are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from spa.cli import main
from spa.importers import recognised
from spa.importers.tables import UNNAMED, ImportedTables
from tests.spa.importers.foreign import json_file, lines_file, problem, read

TIMES = {"created_at": "2026-11-29T07:03:43+00:00", "updated_at": "2026-11-29T07:03:43+00:00"}


def span(number: int, system: str, item: str = "q1") -> dict[str, Any]:
    about = {"attributes.llm.model_name": system, "attributes.input.value": item, "attributes.metadata": {"n": item}}
    return {"name": "answer", "span_kind": "LLM", "context.span_id": f"{number:016x}", "events": [], **about}


def annotation(number: int, who: str, score: float | None, kind: str = "HUMAN", **more: Any) -> dict[str, Any]:
    result = {"result.label": None, "result.score": score, "result.explanation": None}
    named = {"annotation_name": "quality", "annotator_kind": kind, "identifier": who, "metadata": {}}
    return {"span_id": f"{number:016x}", "id": "U3Bh", **TIMES, **named, **result, **more}


def files(folder: Path, spans: Sequence[object], annotations: Sequence[object]) -> tuple[Path, Path]:
    return lines_file(folder / "annotations.jsonl", annotations), lines_file(folder / "spans.jsonl", spans)


def told(found: ImportedTables, *names: str) -> list[tuple[object, ...]]:
    return [tuple(row.get(name) for name in names) for row in found.rows["ratings"]]


def test_people_and_judges_give_values(tmp_path: Path) -> None:
    """An empty identifier names nobody; what code gave and notes are no answers."""
    given = [
        annotation(1, "ana", 4.0, **{"result.explanation": "fine"}),
        annotation(2, "px-app:VXNlcjox", 2.0),
        annotation(1, "", None, **{"result.label": "good"}),
        annotation(2, "", 0.5, "LLM", **{"result.label": "bad"}),
        annotation(2, "cy", None),
        annotation(1, "", 80.0, "CODE"),
        annotation(1, "px-span-note:1", None, annotation_name="note"),
    ]
    paths = files(tmp_path, [span(1, "north"), span(2, "south")], given)
    assert [[one.key for one in recognised(path)] for path in (*paths, tmp_path)] == [["phoenix"]] * 3
    found = read("phoenix", *paths, scores={"good": 1.0})
    names = ("annotator_id", "annotator_kind", "item_id", "system", "criterion", "score", "explanation")
    assert told(found, *names) == [
        ("ana", "human", "q1", "north", "quality", 4, "fine"),
        ("px-app:VXNlcjox", "human", "q1", "south", "quality", 2, None),
        (UNNAMED, "human", "q1", "north", "quality", 1, None),
        ("unnamed LLM", "llm", "q1", "south", "quality", 0.5, None),
        ("cy", "human", "q1", "south", "quality", None, None),
    ]
    assert sorted(found.skipped.values()) == [1, 1]
    assert any(note.startswith("2 have an empty identifier") for note in found.notes)
    assert "such as --score 'good=NUMBER'" in problem("phoenix", *paths)
    assert read("phoenix", tmp_path, scores={"good": 1.0}).rows == found.rows


def test_a_judge_may_have_replaced_a_person(tmp_path: Path) -> None:
    """One annotation a span, name and identifier is kept; a person's pseudonym is not the LLM's name."""
    later = {"updated_at": "2026-11-29T08:00:00+00:00"}
    given = [annotation(1, "ana", 4.0), annotation(2, "ana", 1.0, "LLM", **later)]
    found = read("phoenix", *files(tmp_path, [span(1, "north"), span(2, "south")], given))
    assert told(found, "annotator_id", "annotator_kind") == [("ana", "human"), ("ana (LLM)", "llm")]
    assert any("may have been replaced (1 were changed after they were made)" in note for note in found.notes)
    assert any("1 identifier of a person stand on values of an LLM" in note for note in found.notes)


def test_lists_and_pages_are_read(tmp_path: Path) -> None:
    """What get_span_annotations and get_spans give, and a page of the REST interface, which may be one of several."""
    flat = annotation(1, "ana", 4.0)
    one = {name: value for name, value in flat.items() if not name.startswith(("result.", "annotation_name"))}
    one |= {"name": "quality", "result": {"label": None, "score": 4.0, "explanation": None}}
    attributes = {"llm.model_name": "north", "input.value": "q1", "metadata.n": "q1"}
    whole = {"name": "answer", "context": {"trace_id": "1", "span_id": f"{1:016x}"}, "span_kind": "LLM"}
    spans = json_file(tmp_path / "spans.json", [{**whole, "attributes": attributes}])
    listed = json_file(tmp_path / "list.json", [one])
    page = json_file(tmp_path / "page.json", {"data": [one], "next_cursor": "abc"})
    for path in (listed, page):
        found = read("phoenix", path, spans, item="attributes.metadata.n")
        assert told(found, "annotator_id", "item_id", "system", "score") == [("ana", "q1", "north", 4)]
        assert any("a page of several" in note for note in found.notes) == (path == page)


def test_a_table_with_its_index_is_read(tmp_path: Path) -> None:
    """The span's id stands twice in what pandas writes: as the index, and as a column."""
    spans, joined = tmp_path / "spans.csv", tmp_path / "joined.csv"
    head = "context.span_id,name,span_kind,context.span_id,attributes.llm.model_name,attributes.input.value"
    rows = [f"{n:016x},answer,LLM,{n:016x},{system},q1" for n, system in ((1, "north"), (2, "south"), (3, "north"))]
    more = "annotation_name,annotator_kind,identifier,result.label,result.score"
    spans.write_text("\n".join((f"{head},attributes.metadata", *(f"{row},{{'n': 'q'}}" for row in rows))) + "\n")
    ends = ("quality,HUMAN,ana,,4.0", "quality,HUMAN,ana,,", ",,,,")
    joined.write_text("\n".join((f"{head},{more}", *map(",".join, zip(rows, ends, strict=True)))) + "\n")
    annotations = lines_file(tmp_path / "a.jsonl", [annotation(1, "ana", 4.0), annotation(2, "ana", None)])
    expected = [("ana", "q1", "north", 4, None), ("ana", "q1", "south", None, "no value")]
    names = ("annotator_id", "item_id", "system", "score", "missing_reason")
    assert told(read("phoenix", spans, annotations), *names) == expected
    found = read("phoenix", joined)
    assert told(found, *names) == expected
    assert found.skipped == {"spans without an annotation": 1}
    line = problem("phoenix", spans, annotations, item="attributes.metadata.n")
    assert f"{spans}, row 2: expected a text at attributes.metadata.n, got nothing" in line
    assert "pandas wrote objects as Python does, take Parquet or JSON" in line
    spans.write_text(spans.read_text() + "1,2\n")
    assert str(spans) in problem("phoenix", spans, annotations)


def test_several_spans_of_one_output_are_samples(tmp_path: Path) -> None:
    spans = [span(n, "north") for n in (3, 1, 2)]
    found = read("phoenix", *files(tmp_path, spans, [annotation(n, "ana", float(n)) for n in (2, 3, 1)]))
    assert {row["sample"]: row["score"] for row in found.rows["ratings"]} == {"1": 1, "2": 2, "3": 3}


def test_spans_and_keys_are_asked_for(tmp_path: Path) -> None:
    """A report asks the same."""
    bare = {**span(2, "south"), "attributes.llm.model_name": None}
    annotations, spans = files(
        tmp_path, [span(1, "north"), bare], [annotation(1, "ana", 4.0), annotation(2, "bo", 1.0)]
    )
    line = problem("phoenix", annotations)
    assert "got annotations alone; name the table of get_spans_dataframe beside this file" in line
    assert "expected annotations (get_span_annotations_dataframe), got none" in problem("phoenix", spans)
    line = problem("phoenix", annotations, spans)
    assert "expected a text at attributes.llm.model_name, got nothing; name the key with --system-key" in line
    done = CliRunner().invoke(main, ["report", str(annotations), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1
    assert "got annotations alone" in done.output
    lost = lines_file(tmp_path / "lost.jsonl", [annotation(9, "ana", 4.0)])
    assert "among 2 spans, got none; get_spans_dataframe takes 1,000" in problem("phoenix", lost, spans)
    own = [annotation(1, "ana", 4.0, metadata={"s": "north", "i": "q1"})]
    found = read("phoenix", lines_file(tmp_path / "own.jsonl", own), system="metadata.s", item="metadata.i")
    assert told(found, "item_id", "system") == [("q1", "north")]


def test_a_lost_index_is_one_line(tmp_path: Path) -> None:
    """As of a table that was written without it."""
    one = annotation(1, "ana", 4.0)
    del one["span_id"]
    path = lines_file(tmp_path / "a.jsonl", [one])
    assert "line 1: expected span_id, got none; it is the table's index" in problem("phoenix", path)


def test_items_that_hold_the_model_are_told(tmp_path: Path) -> None:
    spans = [span(1, "north", "{model: north}"), span(2, "south", "{model: south}")]
    found = read("phoenix", *files(tmp_path, spans, [annotation(1, "ana", 4.0), annotation(2, "ana", 2.0)]))
    assert "no item has values of two systems; say what names the item with --item-key" in found.notes
