"""The tutorial's commands run as they are written, one after the other, in an empty folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.guides.reader import reader_in
from tests.guides.walking import walk

pytestmark = pytest.mark.slow


def test_the_tutorial_leads_to_the_report_that_it_promises(tmp_path: Path) -> None:
    with reader_in(tmp_path) as reader:
        walk(reader, "tutorial.md")
    assert len(reader.printed) >= 6
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    orders = {row["group"]: row["order"] for row in results["rankings"] if row["source"] == "preferences"}
    assert orders["simulated"][0] == ["novelist"]
    assert orders["simulated"][-1] == ["parrot"]
    assert "simulated-rater" in orders
