"""A server that is killed at any moment under load has kept every page that it acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.killed import kill_often

TRIALS = 25  # on each of the two databases


@pytest.mark.slow
def test_kills_under_load_lose_no_acknowledged_page(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    kept_in = database if "://" in database else "sqlite"
    toll = kill_often(kept_in, trials=TRIALS, annotators=24, seed=5, folder=folder)
    assert toll.broken_requests > TRIALS  # the kills came while people were sending
    assert toll.pages > 5 * TRIALS
    assert toll.forms > TRIALS
    assert (toll.lost_pages, toll.lost_forms, toll.changed, toll.intact) == (0, 0, 0, True)
