"""``spa build``: what it draws, what it refuses, and what it never touches."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import delete

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.errors import ResponseError, StudyError
from spa.responses.store import Store
from spa.responses.store_schema import meta
from spa.responses.stored_assignments import BALANCING
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.small_study import STUDY, answer_form, write_study
from tests.spa.store_steps import complete, lease_assignment
from tests.spa.study_files import write_study as write_small


def run(*arguments: object, status: int = 0) -> str:
    """Run the script and return all that it said."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result.output


def build(path: Path, *arguments: object) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(run("build", path, "--json", *arguments))
    return facts


def assignments_of(path: Path) -> list[str]:
    with Store.open(path) as store:
        return [repr(assignment) for assignment in store.assignments]


def test_a_study_is_built_beside_its_file(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    said = run("build", path)
    assert f"{tmp_path}/study.sqlite: 6 assignments, seed 3" in said
    assert "6 items, each shown in 4 assignments" in said
    assert "each system under each label in 2 assignments" in said
    assert "6 personal links; write them to a file with --links FILE" in said
    assert said.endswith(f"Next: spa serve {path}\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["outputs.jsonl", "study.sqlite", "study.toml"]


def test_where_single_outputs_are_dealt_they_are_counted(tmp_path: Path) -> None:
    path = write_small(tmp_path, rest='[likert]\npages = "output"\n[design]\noutputs = 4\n')
    assert "  12 outputs, each shown in 2 assignments\n  6 personal" in run("build", path, "--annotators", 6)
    balance = build(path, "--annotators", 7)["balance"]
    assert (balance["outputs"], balance["output_uses"]) == (12, [2, 3])


def test_the_next_step_names_the_store_that_was_named(tmp_path: Path) -> None:
    path, store = write_study(tmp_path), tmp_path / "my answers.sqlite"
    assert run("build", path, "--store", store).endswith(f"Next: spa serve {path} --store '{store}'\n")


@pytest.mark.parametrize("command", ["build", "serve", "preview", "rate", "simulate", "export --out tables"])
def test_a_study_file_that_is_not_there_is_one_line(command: str, tmp_path: Path) -> None:
    name, *options = command.split()
    assert run(name, tmp_path / "none.toml", *options, status=1).count("\n") == 1
    assert f"{tmp_path / 'study.toml'}: no such file" in run(name, tmp_path, *options, status=1)
    assert list(tmp_path.iterdir()) == []


def test_building_twice_says_so_and_changes_nothing(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    run("build", path)
    before = assignments_of(tmp_path / "study.sqlite")
    assert "nothing to do, the 6 assignments already exist" in run("build", path)
    assert build(path, "--annotators", 2)["new"] == 0
    assert assignments_of(tmp_path / "study.sqlite") == before


def test_more_annotators_go_on_with_the_same_draw(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    build(path, "--annotators", 30, "--seed", 11)
    links = tmp_path / "links.txt"
    facts = build(path, "--annotators", 60, "--links", links)
    assert {name: facts[name] for name in ("assignments", "new", "tokens", "seed")} == {
        "assignments": 60,
        "new": 30,
        "tokens": 60,
        "seed": 11,
    }
    build(path, "--annotators", 60, "--seed", 11, "--store", tmp_path / "at-once.sqlite")
    assert assignments_of(tmp_path / "study.sqlite") == assignments_of(tmp_path / "at-once.sqlite")
    with Store.open(tmp_path / "study.sqlite") as store:
        assert links.read_text().split() == [f"/a/{token}" for token in store.tokens()]


def test_build_keeps_draw_of_older_store(tmp_path: Path) -> None:
    """A store built before neighbours were balanced goes on with its draw."""
    path = write_study(tmp_path)
    study = load_study(path)
    outputs, places = load_outputs(study), partial(sample_assignments, balancing="places")
    former = list(places(study, outputs, count=40, rng=study_rng(study.seed)))
    with Store.being_created(tmp_path / "study.sqlite") as store:
        store.assignments.save(study_fingerprint(study), former[:10], seed=study.seed)
        with store.transaction() as connection:
            connection.execute(delete(meta).where(meta.c.name == BALANCING))
    assert build(path, "--annotators", 40)["new"] == 30
    with Store.open(tmp_path / "study.sqlite") as store:
        assert list(store.assignments) == [assignment for assignment, _ in former]
    build(path, "--annotators", 40, "--store", tmp_path / "new.sqlite")
    assert assignments_of(tmp_path / "new.sqlite") != assignments_of(tmp_path / "study.sqlite")


def test_answers_outlive_every_build(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    build(path)
    with open_workspace(path) as workspace:
        store = workspace.store
        lease = lease_assignment(store, store.keyed("someone"), source="link", annotator_kind="human")
        submission = answer_form(lease, workspace.form(lease.assignment_id))
        complete(store, submission, completion_code="C")
    build(path, "--annotators", 12)
    path.write_text(path.read_text().replace("A small study", "A changed study"))
    said = run("build", path, status=1)
    assert said.startswith(f"spa: {tmp_path}/study.sqlite: holds another version of the study")
    assert "build into a new store with --store" in said
    with Store.open(tmp_path / "study.sqlite") as store:
        assert list(store.submissions()) == [submission]


def test_another_seed_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    build(path)
    assert "was drawn with seed 3, got seed 4" in run("build", path, "--seed", 4, status=1)


def test_mistakes_are_one_line_and_leave_nothing(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    before = sorted(tmp_path.iterdir())
    for arguments, said in (
        (["--store", tmp_path / "none" / "study.sqlite"], "cannot be written (No such file or directory)"),
        (["--store", tmp_path], "expected the file of a store, got a folder"),
        (["--store", tmp_path / "outputs.jsonl"], "not a database"),
        (["--store", "sqlite://"], "kept in memory only"),
    ):
        output = run("build", path, *arguments, status=1)
        assert said in output
        assert output.startswith("spa: ")
        assert output.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_study_of_which_no_form_can_be_made_is_not_built(tmp_path: Path) -> None:
    path = write_study(tmp_path, STUDY.replace(", against_source = true", ""))
    assert "identical_pairs" in run("build", path, status=1)
    assert not (tmp_path / "study.sqlite").exists()


def test_a_study_and_its_store_must_belong_together(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    with pytest.raises(ResponseError, match="no such store; run `spa build` first"):
        open_workspace(path)
    build(path)
    with open_workspace(path, read_only=True) as workspace:
        form = workspace.form("a00001")
        assert workspace.form("a00001") is form
        assert form.assignment_id == "a00001"
        with pytest.raises(ResponseError, match="no assignment 'a99999'"):
            workspace.form("a99999")
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text(outputs.read_text().replace("alpha", "alpha", 1) + "\n")
    with pytest.raises(StudyError, match="another study's store, or the study file, a text, an output or an image has"):
        open_workspace(path)
