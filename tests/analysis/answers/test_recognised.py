"""``spa report FILE``: columns under any name, in any format and order, said and corrected; files, folders, options."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analysis.answers.own_files import (
    Row,
    but_inputs,
    chosen,
    people,
    rated,
    recognised,
    refused,
    report,
    results,
    write,
)


@pytest.mark.parametrize(("kind", "rows"), [("ratings", rated()), ("choices", chosen())])
def test_a_table_with_our_names_is_read_as_with_its_option(kind: str, rows: list[Row], tmp_path: Path) -> None:
    rows = [{**row, "aspect": "fluency", "rater": "somebody"} for row in rows]
    path = write(tmp_path / "answers.csv", rows)
    assert results(path) == results(f"--{kind}", path)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("kind", "rows", "names"),
    [
        ("ratings", rated(), {"annotator_id": "WorkerId", "item_id": "Prompt #", "system": "Model", "score": "Rating"}),
        ("ratings", rated(), {"annotator_id": "prolific_id", "item_id": "question_id", "system": "generator"}),
        ("ratings", rated(), {"annotator_id": "Judge", "item_id": "doc", "system": "LLM", "score": "value"}),
        ("choices", chosen(), {"annotator_id": "user", "system_x": "model_a", "system_y": "model_b"}),
        (
            "choices",
            chosen(),
            {"item_id": "id", "system_x": "Left Model", "system_y": "Right Model", "winner": "Choice"},
        ),
    ],
)
def test_other_names_formats_and_orders_change_no_result(
    kind: str, rows: list[dict[str, Any]], names: dict[str, str], ending: str, tmp_path: Path
) -> None:
    rng = random.Random(3)
    keys = [*rows[0]]
    rng.shuffle(keys)
    mixed = rng.sample([{key: row[key] for key in keys} for row in rows], len(rows))
    expected = but_inputs(results(f"--{kind}", write(tmp_path / "ours.csv", mixed)))
    found = results(write(tmp_path / f"theirs{ending}", mixed, names))
    assert but_inputs(found) == expected
    (source,) = found["settings"]["inputs"]
    assert [name for name in names.values() if not any(f"column {name}" in note for note in source["notes"])] == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    who=st.sampled_from(["rater", "Rater ID", "WORKER_ID", "participant", "annotator", "user id", "judge"]),
    what=st.sampled_from(["prompt_id", "Item", "doc_id", "id", "Question ID", "instance"]),
    which=st.sampled_from(["Model", "generator", "system_name", "method"]),
    seed=st.integers(0, 99),
)
def test_columns_are_recognised_under_any_synonym(who: str, what: str, which: str, seed: int, tmp_path: Path) -> None:
    rows = rated(3, 3)
    random.Random(seed).shuffle(rows)
    found = recognised(write(tmp_path / "a.csv", rows, {"annotator_id": who, "item_id": what, "system": which}))
    assert found.reading.mapping == {who: "annotator_id", what: "item_id", which: "system"}
    assert [*found.files] == ["ratings"]


def test_recognised_people_under_unknown_name(tmp_path: Path) -> None:
    """Else the answers of one person would count as those of many whom nobody named."""
    path = write(tmp_path / "a.csv", rated(), {"annotator_id": "quem", "system": "model"})
    assert "column quem may be the annotator or the criterion" in refused(path)
    assert recognised(path, mapping={"quem": "annotator_id"}).reading.unnamed is False


# the command


def test_names_of_columns_cannot_colour_a_terminal(tmp_path: Path) -> None:
    odd = "\x1b[31mFluency"
    path = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater", "score": odd})
    shown = report(path, "--out", tmp_path / "r")
    assert shown.exit_code == 0, shown.output
    assert "\x1b" not in shown.output
    two = [{**row, "worker \u202e": f"w{n % 3}"} for n, row in enumerate(rated())]
    said = refused(write(tmp_path / "b.csv", two, {"annotator_id": "\x1brater"}))
    assert {"\x1b", "\u202e"}.isdisjoint(said)


def test_tables_beside_answers_are_named_by_their_option(tmp_path: Path) -> None:
    answers = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater"})
    out = write(tmp_path / "out.csv", [{"annotator_id": "p0", "rule": "mine"}])
    assert (
        "out.csv: expected answers, got a table of exclusions: give it beside the answers as --exclusions"
        in refused(out)
    )
    found = results(answers, "--exclusions", out)
    assert people(found) == 3
    metrics = write(tmp_path / "m.csv", [{"item_id": 1, "system": "a", "metric": "bleu", "score": 1}])
    assert "--metrics m.csv" in refused(metrics)
    counted = [{"annotator_id": "p0", "page": "p1", "page_seconds": 1.0, "unprompted": 0}]
    assert "a table of conduct, evidence that no report reads" in refused(write(tmp_path / "conduct.csv", counted))


def test_several_files_are_one_table(tmp_path: Path) -> None:
    names = {"annotator_id": "rater", "system": "model"}
    rows = rated()
    folder = tmp_path / "saved"
    folder.mkdir()
    parts = [write(folder / f"data-0000{part}-of-00002.csv", rows[part::2], names) for part in range(2)]
    whole = results(write(tmp_path / "all.csv", rows, names))
    assert but_inputs(results(*parts)) == but_inputs(whole)
    (folder / "state.json").write_text("{}")  # as data sets are saved
    assert but_inputs(results(folder)) == but_inputs(whole)
    notes = [source["notes"] for source in results(*parts)["settings"]["inputs"]]
    assert all("system: column model" in " ".join(one) for one in notes)


def test_what_is_named_is_a_study_or_files(tmp_path: Path) -> None:
    answers = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater"})
    (tmp_path / "empty").mkdir()
    for arguments, said in {
        (answers, "--ratings", answers): "--ratings: not with",
        (answers, "study.toml"): "expected one STUDY alone, or files of answers",
        ("none.csv",): "none.csv: no such file",
        (tmp_path / "empty",): "study.toml: no such file",
        (tmp_path,): "expected study.toml, or all parts of one table, got ",
        ("parts/*.csv",): "name a table in parts by its option",
    }.items():
        shown = report(*arguments)
        assert shown.exit_code != 0
        assert said in " ".join(shown.stderr.split())


def test_the_report_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", rated(3, 3))
    assert "expected a STUDY, files of answers" in " ".join(report().stderr.split())
    for _ in range(2):  # the second in the place of the first
        shown = report("a.csv")
        assert shown.exit_code == 0, shown.output
        assert "report: report/report.html" in shown.output
    (tmp_path / "report" / "results.json").write_text('{"of another": 1}')
    assert "expected a new or empty folder or one with an earlier report" in report("a.csv").stderr
