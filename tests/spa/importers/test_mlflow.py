"""Feedback of MLflow: withdrawn values, whose a correction is, judges, what is no answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.spa.importers.foreign import json_file, lines_file, problem, read


def value(name: str, who: str, given: object, kind: str = "HUMAN", **more: Any) -> dict[str, Any]:
    source = {"source_type": kind, "source_id": who}
    one = {"assessment_id": f"{who}-{name}-{given}", "assessment_name": name, "source": source, "valid": True}
    return {**one, "feedback": {"value": given}, "last_update_time": "2026-11-28T00:00:01Z", **more}


def trace(name: str, *assessments: dict[str, Any], system: str = "m", **more: Any) -> dict[str, Any]:
    request = {"model": system, "question": "q1"}
    return {"trace_id": name, "state": "OK", "request": request, "assessments": list(assessments), **more}


WHERE = {"system": "request.model", "item": "request.question"}


def told(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    rows = read("mlflow", path, **{**WHERE, **options}).rows["ratings"]
    return [tuple(row.get(name) for name in ("annotator_id", "annotator_kind", "criterion", "score")) for row in rows]


def test_a_correction_is_the_corrected_persons(tmp_path: Path) -> None:
    """Its own source is that of code; a chain leads to the first."""
    assessments = [
        value("quality", "ann", 1, valid=False),
        value("quality", "default", 2, "CODE", overrides="ann-quality-1", valid=False),
        value("quality", "default", 3, "CODE", overrides="default-quality-2"),
        value("quality", "bob", 4),
        value("quality", "judge", 5, "LLM_JUDGE"),
    ]
    path = lines_file(tmp_path / "traces.jsonl", [trace("t1", *assessments)])
    assert sorted(told(path)) == [
        ("ann", "human", "quality", 3),
        ("bob", "human", "quality", 4),
        ("judge", "llm", "quality", 5),
    ]
    found = read("mlflow", path, **WHERE)
    assert found.skipped == {"values that were withdrawn or corrected (valid false)": 2}
    assert any("corrections: 1 values" in note for note in found.notes)


def test_what_is_no_answer_is_counted(tmp_path: Path) -> None:
    """Expectations, values of code, corrections of what is not there or of an LLM by nobody named."""
    expected = {key: one for key, one in value("quality", "ann", 1).items() if key != "feedback"}
    assessments = [
        {**expected, "expectation": {"value": 5}},
        value("length", "default", 80, "CODE"),
        value("quality", "judge", 2, "LLM_JUDGE", valid=False),
        value("quality", "default", 3, "CODE", overrides="judge-quality-2"),
        value("quality", "default", 4, "CODE", overrides="gone"),
        value("quality", "ann", 5, last_update_time="2026-11-28T00:00:09Z"),
        value("quality", "ann", 1),
    ]
    path = lines_file(tmp_path / "traces.jsonl", [trace("t1", *assessments)])
    assert told(path) == [("ann", "human", "quality", 5)]
    assert read("mlflow", path, **WHERE).skipped == {
        "expectations, which are no answers": 1,
        "values of code (CODE)": 1,
        "values that were withdrawn or corrected (valid false)": 1,
        "values whose person is not known": 2,
        "earlier values of the same annotator": 1,
    }


def test_values_of_all_kinds(tmp_path: Path) -> None:
    assessments = [
        value("ok", "ann", True),
        value("fits", "judge", "yes", "LLM_JUDGE"),
        value("parts", "ann", {"fluency": 3, "faith": None}),
        value("style", "ann", None, feedback={"error": {"error_code": "X"}}),
    ]
    path = lines_file(tmp_path / "traces.jsonl", [trace("t1", *assessments)])
    assert told(path) == [
        ("ann", "human", "ok", 1),
        ("judge", "llm", "fits", 1),
        ("ann", "human", "fluency", 3),
        ("ann", "human", "faith", None),
        ("ann", "human", "style", None),
    ]
    other = lines_file(tmp_path / "more.jsonl", [trace("t1", value("ok", "ann", "good"))])
    assert "such as --score 'good=NUMBER'" in problem("mlflow", other, **WHERE)
    assert told(other, scores={"good": 2.0}) == [("ann", "human", "ok", 2)]


def test_systems_are_asked_for(tmp_path: Path) -> None:
    one = trace("t1", value("ok", "ann", 1))
    path = lines_file(tmp_path / "traces.jsonl", [one])
    assert "name it, such as --system-key request.model" in problem("mlflow", path)
    assert "--system-key tags.model: expected a text there, got none" in problem("mlflow", path, system="tags.model")
    runs = [{**one, "trace_metadata": {"mlflow.sourceRun": "r1", "mlflow.modelId": "m-1"}}]
    (row,) = read("mlflow", lines_file(path, runs)).rows["ratings"]
    assert (row["system"], json.loads(row["item_id"])) == ("m-1", {"model": "m", "question": "q1"})


def test_several_traces_of_one_output_are_samples(tmp_path: Path) -> None:
    traces = [trace(name, value("ok", "ann", at)) for at, name in enumerate(("t2", "t1", "t3"))]
    found = read("mlflow", lines_file(tmp_path / "traces.jsonl", traces), **WHERE)
    assert {row["sample"]: row["score"] for row in found.rows["ratings"]} == {"1": 1, "2": 0, "3": 2}


def test_one_trace_as_json_and_a_table_as_csv(tmp_path: Path) -> None:
    """The time of a trace is ISO there and milliseconds in the table; neither is read."""
    one = trace("t1", value("ok", "ann", 4))
    info = {"trace_id": "t1", "request_time": "2026-11-28T00:00:01Z", "assessments": one["assessments"]}
    info |= {"trace_metadata": {"mlflow.sourceRun": "r1"}, "tags": {"model": "m"}, "request_preview": "hi"}
    path = json_file(tmp_path / "trace.json", {"info": info, "data": {"spans": []}})
    assert told(path, system="tags.model", item="request_preview") == [("ann", "human", "ok", 4)]
    table = tmp_path / "traces.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(
            [list(one), [json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in one.values()]]
        )
    assert told(table) == [("ann", "human", "ok", 4)]


def test_broken_traces_are_one_line(tmp_path: Path) -> None:
    assert "assessments: expected a list, got 'x'" in problem(
        "mlflow", lines_file(tmp_path / "a.jsonl", [{"trace_id": "t", "request": "q", "assessments": "x"}])
    )
    twice = lines_file(tmp_path / "b.jsonl", [trace("t", value("ok", "ann", 1))] * 2)
    assert "expected each trace once" in problem("mlflow", twice, **WHERE)
