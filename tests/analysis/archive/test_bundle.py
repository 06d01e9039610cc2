"""One archive for reviewers: the same bytes each time, no secret in it, and the report made again from it alone."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from analysis.answers.plan import Plan
from analysis.answers.study_answers import GatheredAnswers
from analysis.answers.study_facts import StudyFacts
from analysis.archive import Contents, compare_reports
from analysis.archive.contents import WORD
from analysis.archive.crate import METADATA
from analysis.archive.study_files import without_words
from spa.cli import main
from spa.commands.workspace import open_answers
from spa.errors import AnalysisError
from tests.conftest import need
from tests.spa.rehearsed import built_example

CODE = "CODE7Q2X9ZK"
RATINGS = "annotator_id,item_id,system,score\n" + "".join(
    f"r{who},i{item},{system},{1 + (who * item + who + 2 * (system == 'y')) % 5}\n"
    for who in range(4)
    for item in range(4)
    for system in "xy"
)


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def done(*words: object) -> str:
    """Return what a command prints that works."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.output


def line_of(result: Result) -> str:
    """Return the one line with which a command refuses."""
    assert result.exit_code in (1, 2), result.output
    lines = [line for line in result.output.splitlines() if line.startswith("spa: ")]
    assert len(lines) == 1, result.output
    assert len(lines[0]) < 500
    return lines[0]


def files_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(archive: Path, files: Mapping[str, bytes], *, hashes: bool = True) -> Path:
    """Write an archive with other contents of files beside it, and in its metadata their hashes."""
    held = {**files_of(archive), **files}
    if hashes:
        metadata = json.loads(held[METADATA])
        for entity in metadata["@graph"]:
            if entity["@id"] in files:
                entity["sha256"] = hashlib.sha256(files[entity["@id"]]).hexdigest()
        held[METADATA] = json.dumps(metadata).encode()
    path = archive.with_name("changed.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in held.items():
            opened.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study with a completion code, answered by four simulated annotators."""
    need("rocrate")
    path = built_example(tmp_path_factory.mktemp("bundled"), annotators=4)
    text = path.read_text()
    path.write_text(text.replace("[people]\n", f'[people]\ncompletion_code = "{CODE}"\n'))
    done("simulate", path)
    return path


@pytest.fixture(scope="module")
def archive(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "study.zip"
    done("bundle", study, "--out", path)
    return path


@pytest.fixture(scope="module")
def held(archive: Path) -> dict[str, bytes]:
    return files_of(archive)


def test_bundle_same_input_gives_same_bytes(study: Path, archive: Path, tmp_path: Path) -> None:
    done("bundle", study.parent, "--out", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_bundle_holds_report_of_spa_report(study: Path, held: dict[str, bytes], tmp_path: Path) -> None:
    """Byte by byte, whatever files a report has."""
    done("report", study, "--out", tmp_path / "report")
    made = {
        f"report/{path.relative_to(tmp_path / 'report').as_posix()}": path.read_bytes()
        for path in (tmp_path / "report").rglob("*")
        if path.is_file()
    }
    assert {name: content for name, content in held.items() if name.startswith("report/")} == made
    assert len(made) > 20


def test_bundle_holds_what_a_committee_asks_for(held: dict[str, bytes]) -> None:
    expected = {
        *("study/study.toml", "outputs.csv", "tables/preferences.csv", "tables/ratings.csv", "tables/annotators.csv"),
        *("forms/form.html", "forms/prompt.txt", "forms/assignments.csv", "datasheet/heds.md", "report/results.json"),
        *("inputs.json", "README.md"),
    }
    assert expected <= held.keys()
    assert {"python", "numpy", "scipy", "polars", "spa-eval"} <= json.loads(held["inputs.json"])["versions"].keys()


def test_bundle_is_read_by_the_library(archive: Path, held: dict[str, bytes]) -> None:
    from rocrate.rocrate import ROCrate

    crate = ROCrate(archive)
    assert {entity.id for entity in crate.data_entities} == held.keys() - {METADATA}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(crate.root_dataset["datePublished"]))
    assert crate.root_dataset["license"].id == "#licence"


def test_bundle_holds_no_secret(study: Path, held: dict[str, bytes]) -> None:
    """No link, key, code or store: neither as a file nor among the words of one."""
    assert [name for name in held if name.endswith((".sqlite", ".key", ".env"))] == []
    with open_answers(study) as workspace:
        secrets = {value.encode() for value in workspace.store.secrets()} | {CODE.encode()}
    assert len(secrets) > 5
    assert CODE in study.read_text()
    words = {word for content in held.values() for word in WORD.findall(content)}
    assert words & secrets == set()
    assert not any(secret in content for content in held.values() for secret in secrets)


def test_bundle_secret_in_a_text_is_refused(study: Path, tmp_path: Path) -> None:
    """A code that somebody wrote into a comment of the study stops the archive, which is not written."""
    text = study.read_text()
    study.write_text(f"{text}\n# {CODE}\n")
    try:
        refused = line_of(run("bundle", study, "--out", tmp_path / "a.zip"))
    finally:
        study.write_text(text)
    assert "study/study.toml: expected no secret in an archive, got the completion code" in refused
    assert list(tmp_path.iterdir()) == []


def test_bundle_without_texts_holds_none(study: Path, held: dict[str, bytes], tmp_path: Path) -> None:
    """Neither of an output nor of an item, as it is or as HTML or JSON have it; with texts they are there."""
    done("bundle", study, "--without-texts", "--paper", "generic", "--out", tmp_path / "a.zip")
    without = files_of(tmp_path / "a.zip")
    assert any(name.startswith("report/paper/") for name in without)
    with open_answers(study) as workspace:
        texts = [one.text[:60] for one in workspace.outputs.all() if one.text is not None]
    assert len(texts) > 20
    plain = re.compile("|".join(re.escape(text.splitlines()[0]) for text in texts if len(text.splitlines()[0]) > 30))
    assert plain.search(held["forms/prompt.txt"].decode())
    assert [name for name, content in without.items() if plain.search(content.decode(errors="replace"))] == []
    assert {"study/study.toml", "outputs.csv", "forms/form.html"} <= without.keys()
    assert "same" in done("replay", tmp_path / "a.zip", "--json")


def test_without_words_keeps_what_is_counted() -> None:
    """Marked texts, explanations and the interview go; places, codes and numbers stay."""
    spans = pl.DataFrame({"start": [3, None], "text": ["an error", None], "reason": [None, "no errors"]})
    annotators = pl.DataFrame({"annotator_id": ["a"], "interview:why": ["Because."], "screening:age": ["18"]})
    ratings = pl.DataFrame({"score": [4.0], "explanation": ["It reads well."]})
    facts = StudyFacts(id="s", title="S", language="en", systems=(), criteria=())
    frames = {"spans": spans, "annotators": annotators, "ratings": ratings}
    found = without_words(GatheredAnswers(frames=frames, files={}, plan=Plan(), facts=facts)).frames
    assert found["spans"].to_dict(as_series=False) == {
        "start": [3, None], "text": [None, None], "reason": [None, "no errors"]
    }  # fmt: skip
    assert found["annotators"].columns == ["annotator_id", "screening:age"]
    assert found["ratings"].to_dict(as_series=False) == {"score": [4.0], "explanation": [None]}
    with pytest.raises(AnalysisError, match=r"--without-texts: expected an analysis that needs no texts"):
        without_words(GatheredAnswers(frames={}, files={}, plan=Plan(control=("length",)), facts=facts))


def test_replay_needs_the_archive_alone(archive: Path, tmp_path: Path) -> None:
    found = json.loads(done("replay", archive, "--out", tmp_path / "kept", "--json"))
    assert (found["same"], found["equal_bytes"], found["files"], found["numbers"]) == (True, True, [], [])
    assert (tmp_path / "kept" / "report-again" / "results.json").is_file()
    assert "expected a new or empty folder" in line_of(run("replay", archive, "--out", tmp_path / "kept"))


def with_another_answer(held: Mapping[str, bytes]) -> dict[str, bytes]:
    name = "tables/preferences.csv"
    header, first, *rows = held[name].decode().splitlines(keepends=True)
    column = header.split(",").index("preference")
    cells = first.split(",")
    cells[column] = "0.123"
    return {name: "".join([header, ",".join(cells), *rows]).encode()}


def test_replay_changed_answer_is_refused(archive: Path, held: dict[str, bytes]) -> None:
    path = changed(archive, with_another_answer(held), hashes=False)
    assert "expected 'tables/preferences.csv' with the SHA-256" in line_of(run("replay", path))


def test_replay_changed_answer_changes_numbers(archive: Path, held: dict[str, bytes]) -> None:
    """Whoever changes the hashes, too, is found out by the report."""
    result = run("replay", changed(archive, with_another_answer(held)))
    assert result.exit_code == 1
    assert re.search(r"^results\.json: preferences\[\d\]\.mean: recorded 0\.\d+, now 0\.\d+$", result.output, re.M)
    assert "the report DIFFERS from the recorded one" in result.output


@pytest.mark.parametrize(
    ("version", "now", "same"),
    [("2.0", 0.25, False), ("2.1", 0.25, True), ("2.1", 0.25 * (1 + 1e-10), True), ("2.1", 0.25 * (1 + 1e-7), False),
     ("2.1", None, False), ("2.1", "0.25", False)],
    ids=["same versions", "other version", "tenth digit", "seventh digit", "no number", "a text"],
)  # fmt: skip
def test_compare_with_other_versions(tmp_path: Path, version: str, now: object, same: bool) -> None:
    """With the same libraries bytes must be equal, with others numbers to nine digits, words apart."""
    for name, mean, words in (("recorded", 0.25, "One."), ("made", now, "Other words.")):
        (tmp_path / name).mkdir()
        row = {"mean": mean, "reason": words, "n": 4}
        made = {"versions": {"numpy": words}}
        results = {"settings": made, "preferences": [row], "verification": {"figures": len(words)}}
        (tmp_path / name / "results.json").write_text(json.dumps(results))
    folders = tmp_path / "recorded", tmp_path / "made"
    found = compare_reports(*folders, versions={"numpy": "2.0"}, now={"numpy": version})
    assert (found.same, found.equal_bytes) == (same, False)
    assert found.versions == ({"numpy": ("2.0", "2.1")} if version == "2.1" else {})
    assert [one.path for one in found.numbers] == (["preferences[0].mean"] if not same and version == "2.1" else [])


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"kind": "other"}, "expected what spa bundle writes"),
        ({"tables": {"../study": {"x": "String"}}}, "expected names of files of the archive"),
        ({"tables": {"ratings": {"score": "Object"}}}, "expected types"),
        ({"tables": {"ratings": {"score": "Float64"}}}, "expected the columns"),
        ({"contamination": ["/etc/hostname"]}, "expected names of files of the archive"),
    ],
)
def test_replay_strange_inputs_are_refused(
    archive: Path, held: dict[str, bytes], inputs: dict[str, Any], expected: str
) -> None:
    strange = {**json.loads(held["inputs.json"]), **inputs}
    path = changed(archive, {"inputs.json": json.dumps(strange).encode()})
    assert expected in line_of(run("replay", path))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of a table with options of its own, beside the table."""
    need("rocrate")
    folder = tmp_path_factory.mktemp("tables")
    (folder / "scores.csv").write_text(RATINGS)
    options = ("--scale", "1:5", "--pair", "x", "y", "--max-failed-checks", 0)
    done("bundle", "--ratings", folder / "scores.csv", *options, "--out", folder / "t.zip")
    return folder / "t.zip"


def test_replay_of_tables_uses_the_options(tables: Path) -> None:
    held = files_of(tables)
    assert held["tables/scores.csv"].decode() == RATINGS
    assert json.loads(held["inputs.json"])["options"] == [
        ["--ratings", ["tables/scores.csv"]],
        ["--scale", ["1:5"]],
        ["--pair", ["x", "y"]],
        ["--max-failed-checks", ["0"]],  # a 0 was given, too
    ]
    assert json.loads(held["report/results.json"])["settings"]["scales"] != []
    assert "byte by byte" in done("replay", tables)


@pytest.mark.parametrize(
    "option", [["--browser", ["/bin/sh"]], ["--out", ["/tmp"]], ["--cluster", ["tcp://x"]], ["--pair", ["x"]]]
)
def test_replay_option_beyond_a_report_is_refused(tables: Path, option: list[Any]) -> None:
    inputs = json.loads(files_of(tables)["inputs.json"])
    inputs["options"].append(option)
    path = changed(tables, {"inputs.json": json.dumps(inputs).encode()})
    assert "options: expected those of spa report" in line_of(run("replay", path))


def test_replay_table_outside_is_refused(tables: Path) -> None:
    inputs = json.loads(files_of(tables)["inputs.json"])
    inputs["options"][0] = ["--ratings", [str(tables.with_name("scores.csv"))]]
    path = changed(tables, {"inputs.json": json.dumps(inputs).encode()})
    assert "expected names of files of the archive" in line_of(run("replay", path))


def test_bundle_folder_of_tables(tmp_path: Path) -> None:
    """Tables are taken by their names, as an export has them: others are left, and those without rows."""
    need("rocrate")
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "ratings.csv").write_text(RATINGS)
    (folder / "choices.csv").write_text("annotator_id,item_id,system_x,system_y,winner\n")
    (folder / "notes.txt").write_text("Not a table.")
    done("bundle", folder, "--out", tmp_path / "a.zip")
    held = files_of(tmp_path / "a.zip")
    assert [name for name in held if name.startswith("tables/")] == ["tables/ratings.csv"]
    assert "byte by byte" in done("replay", tmp_path / "a.zip")


@pytest.mark.parametrize("who", ["ann@example.org", "5f3c0a9be7d14c2a8f6b1e90", "A1B2C3D4E5F6G7"])
def test_bundle_of_people_under_their_ids_is_refused(tmp_path: Path, who: str) -> None:
    (tmp_path / "scores.csv").write_text(RATINGS.replace("r1,", f"{who},"))
    refused = line_of(run("bundle", tmp_path / "scores.csv", "--out", tmp_path / "a.zip"))
    assert "annotator_id: expected pseudonyms" in refused
    assert who not in refused


def test_bundle_of_people_can_keep_their_ids(tmp_path: Path) -> None:
    need("rocrate")
    (tmp_path / "scores.csv").write_text(RATINGS.replace("r1,", "ann@example.org,"))
    done("bundle", tmp_path / "scores.csv", "--keep-ids", "--out", tmp_path / "a.zip")
    assert b"ann@example.org" in files_of(tmp_path / "a.zip")["tables/scores.csv"]


def test_bundle_two_tables_of_one_name_are_refused(tmp_path: Path) -> None:
    need("rocrate")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "scores.csv").write_text(RATINGS.replace("\nr", f"\n{folder}"))
    tables = [word for folder in "ab" for word in ("--ratings", tmp_path / folder / "scores.csv")]
    refused = line_of(run("bundle", *tables, "--out", tmp_path / "a.zip"))
    assert "tables/scores.csv: expected one source of this name, got two" in refused


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["scores.csv", "--without-texts"], "--without-texts: expected a STUDY"),
        (["scores.csv", "--datasheet", "."], "--datasheet: expected a STUDY"),
        (["empty"], "expected a study.toml or tables in the folder"),
    ],
)
def test_bundle_wrong_words_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text(RATINGS)
    Path("empty").mkdir()
    assert expected in line_of(run("bundle", *words, "--out", "a.zip"))


def test_bundle_study_sets_its_own_analysis(study: Path, tmp_path: Path) -> None:
    refused = line_of(run("bundle", study, "--fwer", "0.1", "--out", tmp_path / "a.zip"))
    assert "--fwer: not with a STUDY" in refused


def test_contents_take_a_name_once(tmp_path: Path) -> None:
    contents = Contents(tmp_path)
    contents.add("a/one.txt", "1", "one")
    for name in ("a/one.txt", "A/ONE.txt"):
        with pytest.raises(AnalysisError, match="one source of this name"):
            contents.add(name, "2", "two")
    for name in ("../one.txt", "/one.txt", "a:b", "nul"):
        with pytest.raises(AnalysisError, match="every system can write"):
            contents.add(name, "2", "two")


KILLED = """
import os, signal, sys, zipfile
from pathlib import Path
from analysis.archive import About, Contents, write_crate
contents = Contents(Path(sys.argv[1]))
for number in range(3):
    contents.add(f"{number}.txt", "text", "a text")
written = zipfile.ZipFile.open
def stop(self, entry, *args, **more):
    if getattr(entry, "filename", "") == "1.txt":
        os.kill(os.getpid(), signal.SIGKILL)
    return written(self, entry, *args, **more)
zipfile.ZipFile.open = stop
write_crate(contents, About(name="a", description="b", published="2026-05-04", licence="unknown", versions={}),
            Path(sys.argv[2]))
"""


def test_bundle_killed_half_way_leaves_no_archive(tmp_path: Path) -> None:
    need("rocrate")
    (tmp_path / "contents").mkdir()
    (tmp_path / "out").mkdir()
    words = [sys.executable, "-c", KILLED, str(tmp_path / "contents"), str(tmp_path / "out" / "a.zip")]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert not (tmp_path / "out" / "a.zip").exists()
    assert list((tmp_path / "out").glob(".a.zip.*")) != []
