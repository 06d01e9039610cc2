"""Fixtures of the bridge: one emulator for all, whose keys are in the environment; a study of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mturk.emulated import Emulator, emulator
from tests.mturk.studies import Bench, make_bench


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Yield an emulator of the test's own, named by the environment."""
    with emulator(tmp_path / "lab.sqlite") as running:
        monkeypatch.setenv("MTURK_ENDPOINT_URL", running.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", running.key.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", running.key.secret_access_key)
        yield running


@pytest.fixture
def bench(tmp_path: Path, emulated: Emulator) -> Bench:
    """Return a study of three annotators, built and not published."""
    return make_bench(tmp_path, emulated)
