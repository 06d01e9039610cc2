"""The tutorial's commands run as they are written, one after the other, in an empty folder."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_leads_to_the_report_that_it_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```", TUTORIAL.read_text(), flags=re.M | re.S)
    commands = [line.removeprefix("$ spa ") for block in blocks for line in block.splitlines()]
    assert len(commands) >= 6
    monkeypatch.chdir(tmp_path)
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command), catch_exceptions=False)
        assert done.exit_code == 0, f"{command}: {done.output}"
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    orders = {row["group"]: row["order"] for row in results["rankings"] if row["source"] == "preferences"}
    assert orders["simulated"][0] == ["novelist"]
    assert orders["simulated"][-1] == ["salad"]
    assert "simulated-rater" in orders
