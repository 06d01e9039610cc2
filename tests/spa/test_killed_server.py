"""A server that is killed at any moment under load has kept every page that it acknowledged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.load.killed import Toll

ROOT = Path(__file__).parents[2]
TRIALS = 10  # on each of the two databases
LIMIT = 300.0  # seconds


@pytest.mark.slow
def test_kills_under_load_lose_no_acknowledged_page(database: str) -> None:
    kept_in = database if "://" in database else "sqlite"
    more = ["--trials", str(TRIALS), "--annotators", "24", "--seed", "5"]
    command = [sys.executable, "-m", "tests.load.killed", "--database", kept_in, *more]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=ROOT, check=False)
    assert ended.returncode == 0, ended.stderr
    toll = Toll(**json.loads(ended.stdout))
    assert toll.broken_requests > TRIALS  # the kills came while people were sending
    assert toll.pages > 5 * TRIALS
    assert toll.forms > TRIALS
    assert (toll.lost_pages, toll.lost_forms, toll.changed, toll.intact) == (0, 0, 0, True)
