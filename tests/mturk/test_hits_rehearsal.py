"""The rehearsal with half a dozen annotators: everything is killed at random, and everything is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mturk.rehearsal import rehearse
from tests.mturk.studies import STUDY
from tests.spa.small_study import write_study


@pytest.mark.slow
def test_annotators_are_paid_once_whatever_is_killed(tmp_path: Path) -> None:
    text = STUDY.replace("ANNOTATORS", "6").replace("[mturk]", '[mturk]\nform = "external"')
    found = rehearse(write_study(tmp_path, text), annotators=6, kills=2, seed=4)
    assert found["paid"] == found["estimate"] == "7.20"
    assert found["endpoint_kills"] + sum(found["commands_killed"].values()) >= 1  # how many depends on the machine
