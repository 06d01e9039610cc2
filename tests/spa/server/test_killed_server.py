"""A server that is killed at any moment under load has kept every page that it acknowledged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.load.killed import Toll
from tests.spa.forks import FORKS, kill_under_load, load_before

TRIALS = 10  # on each of the two databases
LIMIT = 300.0  # seconds


@pytest.mark.slow
def test_kills_under_load_lose_no_acknowledged_page(database: str, tmp_path: Path) -> None:
    kept_in = database if "://" in database else "sqlite"
    more = ["--trials", str(TRIALS), "--annotators", "24", "--seed", "5"]
    load_before()
    ended = FORKS.Process(target=kill_under_load, args=(tmp_path / "said", "--database", kept_in, *more))
    ended.start()
    ended.join(LIMIT)
    ended.kill()
    said = (tmp_path / "said").read_text()
    assert ended.exitcode == 0, said
    toll = Toll(**json.loads(said.splitlines()[-1]))
    assert toll.broken_requests > TRIALS  # the kills came while people were sending
    assert toll.pages > 5 * TRIALS
    assert toll.forms > TRIALS
    assert (toll.lost_pages, toll.lost_forms, toll.changed, toll.intact) == (0, 0, 0, True)
