"""STUDY, as every command takes it: a file, the folder of its study.toml, or nothing for the one of this folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from tests.parsed_commands import every_command
from tests.spa.study_files import write_study

OWN_DEFAULT = {"spa plan", "spa dashboard", "spa report"}  # which do something without a study, too


def spa(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_every_command_takes_the_study_of_this_folder() -> None:
    found = {
        name: argument.default
        for name, command in every_command()
        for argument in command.params
        if isinstance(argument, click.Argument) and argument.name == "study" and name not in OWN_DEFAULT
    }
    assert len(found) > 40
    assert set(found.values()) == {"study.toml"}


def test_nothing_else_stands_beside_an_optional_study() -> None:
    """With a second positional argument nobody could tell which of the two was left out."""
    for name, command in every_command():
        places = [each.name for each in command.params if isinstance(each, click.Argument)]
        assert "study" not in places or len(places) == 1 or name == "spa report", name


def test_study_argument_folder_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder means its study and nothing that of this folder."""
    file = write_study(tmp_path)
    told = [spa("check", file, "--json").stdout, spa("check", tmp_path, "--json").stdout]
    monkeypatch.chdir(tmp_path)
    told.append(spa("check", "--json").stdout)
    assert told[0] == told[1] == told[2]
    assert json.loads(told[0])["problems"] == []


@pytest.mark.parametrize(
    "words", [("check",), ("build",), ("forget", "--person", "x"), ("metrics",), ("heds", "--out", "x")]
)
def test_no_study_is_one_line_that_says_what_to_do(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begin = "no such file; name the study, or begin one with `spa init FOLDER`"
    found = spa(*words)
    assert (found.exit_code, found.stdout, found.stderr) == (1, "", f"spa: study.toml: {begin}\n")
    command, *rest = words
    assert spa(command, "nosuch.toml", *rest).stderr == f"spa: nosuch.toml: {begin}\n"
    (tmp_path / "empty").mkdir()
    assert spa(command, "empty", *rest).stderr == f"spa: empty/study.toml: {begin}\n"


def test_plan_is_of_this_folders_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is of the study of this folder unless options describe another."""
    monkeypatch.chdir(tmp_path)
    quick = ("--simulations", 0, "--json", "--elicitation", "spa")
    assert json.loads(spa("plan", *quick).stdout)["conclusions"] == []
    write_study(tmp_path)
    found = spa("plan", *quick)
    assert "planning study.toml, the study of this folder" in found.stderr
    assert json.loads(found.stdout)["conclusions"] != []
    assert json.loads(spa("plan", *quick, "--pairs", 3).stdout)["conclusions"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--truth", "nosuch"),
        ("rate", "--prices", "nosuch", "--simulate"),
        ("rate", "--rater", "nosuch.toml"),
        ("metrics", "--metric", "mine=nosuch.csv"),
        ("rehearse", "--openapi", "nosuch"),
        ("report", "--ratings", "nosuch.csv", "--out", "out"),
        ("import", "csv", "nosuch.csv", "--map", "map.toml", "--out", "out"),
        ("import", "csv", "outputs.jsonl", "--map", "nosuch", "--out", "out"),
        ("mturk", "import", "outputs.jsonl", "--mapping", "nosuch", "--out", "out"),
    ],
    ids=" ".join,
)
def test_a_file_that_is_missing_is_said_in_one_way(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_study(tmp_path)
    (tmp_path / "map.toml").write_text(
        'annotator = "who"\n[[questions]]\n'
        'kind = "rating"\ncolumn = "score"\nsystem = "x"\nitem = "i"\ncriterion = "c"\n'
    )
    monkeypatch.chdir(tmp_path)
    spa("build")
    found = spa(*words)
    assert found.exit_code == 1
    assert re.fullmatch(r"spa: (mine=)?nosuch(\.toml|\.csv)?: no such file; check its name\n", found.stderr)
