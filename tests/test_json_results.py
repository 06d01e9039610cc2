"""Results that scripts read: what --json says is what the text says, and stdout holds nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spa.cli import main
from tests.spa.study_files import write_study


def told(*arguments: object) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in arguments else result.stdout


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    study = write_study(tmp_path)
    told("build", study)
    told("simulate", study, "--annotators", 2)
    return study


def test_a_frozen_plan_is_printed_as_it_is_written(answered: Path, tmp_path: Path) -> None:
    facts = told("freeze", answered, "--out", tmp_path / "plan.json", "--json")
    assert facts == json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert f"SHA-256 {facts['sha256']}" in told("freeze", answered)


def test_a_datasheet_says_what_is_left_open(answered: Path, tmp_path: Path) -> None:
    facts = told("heds", answered, "--out", tmp_path / "sheet", "--json")
    assert f"{len(facts['left_open'])} questions are left to be filled in" in told(
        "heds", answered, "--out", tmp_path / "sheet"
    )
    assert all(Path(file).is_file() for file in facts["files"])
