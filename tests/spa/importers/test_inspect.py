"""Logs of Inspect: words, NaN and errors, epochs, what no log is."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spa.importers import format_of
from spa.importers.answer_format import Fit
from tests.spa.importers.foreign import json_file, problem, read


def sample(name: str, epoch: int, scores: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "epoch": epoch,
        "scores": {scorer: {"value": value} for scorer, value in scores.items()},
        **more,
    }


def log(model: str, *samples: dict[str, Any], **more: Any) -> dict[str, Any]:
    described = {"eval_id": "e", "task": "stories", "model": model, "scorers": [{"name": "letters"}]}
    return {"version": 2, "status": "success", "eval": described, "samples": list(samples), **more}


def test_words_dicts_and_what_was_not_scored(tmp_path: Path) -> None:
    """Words are 1, 0.5 and 0; null, NaN and a sample with an error are missing; keys of a value are criteria."""
    made = log(
        "m/a",
        sample("s1", 1, {"letters": "C", "rubric": {"fluency": 4, "faith": float("nan")}}),
        sample("s1", 2, {"letters": "P", "rubric": {"fluency": 3, "faith": 2}}),
        sample("s2", 1, {"letters": "N", "rubric": None}),
        sample("s2", 2, {}, error={"message": "x"}, limit={"type": "token", "limit": 5}),
        reductions=[{"scorer": "letters", "samples": [{"value": 0.0, "sample_id": "s1"}]}],
    )
    found = read("inspect", json_file(tmp_path / "a.json", made))
    scores = {
        (row["item_id"], row["repeat"], row["criterion"]): (row["score"], row.get("missing_reason"))
        for row in found.rows["ratings"]
    }
    assert scores == {
        ("s1", 1, "letters"): (1.0, None),
        ("s1", 1, "fluency"): (4.0, None),
        ("s1", 1, "faith"): (None, "no value"),
        ("s1", 2, "letters"): (0.5, None),
        ("s1", 2, "fluency"): (3.0, None),
        ("s1", 2, "faith"): (2.0, None),
        ("s2", 1, "letters"): (0.0, None),
        ("s2", 1, "fluency"): (None, "not scored"),
        ("s2", 1, "faith"): (None, "not scored"),
        ("s2", 2, "letters"): (None, "error in the sample"),
        ("s2", 2, "fluency"): (None, "error in the sample"),
        ("s2", 2, "faith"): (None, "error in the sample"),
    }
    assert {row["system"] for row in found.rows["ratings"]} == {"m/a"}
    said = "\n".join(found.notes)
    assert "4 samples of 1 log" in said
    assert "errors: 1 sample ended in one" in said
    assert "limits: 1 sample met one (token)" in said


def test_a_value_of_null_is_no_criterion_of_its_own(tmp_path: Path) -> None:
    made = log("m", sample("s1", 1, {"rubric": {"fluency": 4}}), sample("s2", 1, {"rubric": None}))
    found = read("inspect", json_file(tmp_path / "a.json", made))
    assert [(row["criterion"], row["score"]) for row in found.rows["ratings"]] == [("fluency", 4.0), ("fluency", None)]


def test_annotators_are_llms_unless_said(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", log("m", sample("s1", 1, {"letters": True})))
    assert [row["annotator_kind"] for row in read("inspect", path).rows["ratings"]] == ["llm"]
    assert [row["annotator_kind"] for row in read("inspect", path, people=("letters",)).rows["ratings"]] == ["human"]
    assert "--human-scorer nobody: no such scorer; there are: letters" in problem("inspect", path, people=("nobody",))


def test_two_logs_of_one_model_need_names(tmp_path: Path) -> None:
    one = json_file(tmp_path / "one.json", log("m", sample("s1", 1, {"letters": "C"})))
    two = json_file(tmp_path / "two.json", log("m", sample("s1", 1, {"letters": "I"})))
    assert "name its system with --log-system two.json=NAME" in problem("inspect", one, two)
    found = read("inspect", one, two, systems={"two.json": "later"})
    assert {row["system"]: row["score"] for row in found.rows["ratings"]} == {"m": 1.0, "later": 0.0}
    assert "--log-system no.json: no such log" in problem("inspect", one, systems={"no.json": "x"})


def test_items_of_two_tasks_are_two(tmp_path: Path) -> None:
    other = log("m", sample("s1", 1, {"letters": "I"}))
    other["eval"]["task"] = "poems"
    paths = [
        json_file(tmp_path / f"{name}.json", one) for name, one in (("a", log("m", *other["samples"])), ("b", other))
    ]
    assert [row["item_id"] for row in read("inspect", *paths).rows["ratings"]] == ["stories/s1", "poems/s1"]


def test_words_without_a_score_are_asked_about(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", log("m", sample("s1", 1, {"letters": "good"})))
    assert "such as --score 'good=NUMBER'" in problem("inspect", path)
    assert [row["score"] for row in read("inspect", path, scores={"good": 3.0}).rows["ratings"]] == [3.0]


def test_what_is_no_log_is_one_line(tmp_path: Path) -> None:
    table = tmp_path / "samples.csv"
    table.write_text("sample_id,eval_id,input\n1,e,user: hi\n")
    assert format_of("inspect").recognise(table) == Fit.CERTAIN
    assert "name the logs from which it was made" in problem("inspect", table)
    parquet = tmp_path / "samples.parquet"
    pl.DataFrame({"sample_id": ["1"], "eval_id": ["e"], "epoch": [1], "input": ["user: hi"]}).write_parquet(parquet)
    assert format_of("inspect").recognise(parquet) == Fit.CERTAIN
    assert "name the logs from which it was made" in problem("inspect", parquet)
    broken = tmp_path / "a.eval"
    broken.write_bytes(b"PK\x03\x04 and no more")
    assert "expected a log, a whole zip file" in problem("inspect", broken)
    assert "expected an object, got a list" in problem("inspect", json_file(tmp_path / "b.json", []))
    assert "eval.model: expected a text" in problem("inspect", json_file(tmp_path / "c.json", {"eval": {"task": "t"}}))
    assert "samples, entry 2: expected each sample and epoch once" in problem(
        "inspect", json_file(tmp_path / "d.json", log("m", sample("s", 1, {}), sample("s", 1, {})))
    )
    (tmp_path / "none").mkdir()
    assert "expected logs of Inspect" in problem("inspect", tmp_path / "none")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_archives_give_what_json_gives(method: int, tmp_path: Path) -> None:
    """Members of Zstandard (93), as Inspect writes them, need the extra below Python 3.14."""
    module: Any = pytest.importorskip("backports.zstd.zipfile") if method == 93 else zipfile
    made = log("m", sample("s1", 1, {"letters": "C"}), sample("s2", 1, {"letters": "I"}))
    buffer = io.BytesIO()
    with module.ZipFile(buffer, "w", method) as archive:
        for one in made["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_1.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({name: made[name] for name in ("version", "status", "eval")}))
        archive.writestr("reductions.json", "[]")
    path = tmp_path / "a.eval"
    path.write_bytes(buffer.getvalue())
    assert read("inspect", path).rows == read("inspect", json_file(tmp_path / "a.json", made)).rows


def test_a_member_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spa.importers.inspect.most_unpacked", lambda path: 2_000)
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log("m")))
        archive.writestr("samples/s_epoch_1.json", " " * 5_000)
    assert "expected at most 2000 bytes in a file of its size" in problem("inspect", path)


def test_a_log_that_was_not_finished_is_told(tmp_path: Path) -> None:
    path = json_file(tmp_path / "a.json", log("m", sample("s1", 1, {"letters": "C"}), status="cancelled"))
    assert any("not finished: a.json (cancelled)" in note for note in read("inspect", path).notes)


def test_samples_marked_as_invalid_leave(tmp_path: Path) -> None:
    """As by invalidate_samples of Inspect; they are counted."""
    marked = {"timestamp": "2026-11-29T07:56:33+00:00", "author": "me", "reason": "broken"}
    made = log(
        "m/a",
        sample("s1", 1, {"letters": "C"}, invalidation=marked),
        sample("s2", 1, {"letters": "I"}, invalidation=None),
    )
    found = read("inspect", json_file(tmp_path / "a.json", made))
    assert [(row["item_id"], row["score"]) for row in found.rows["ratings"]] == [("s2", 0.0)]
    assert found.skipped == {"samples that were marked as invalid": 1}
