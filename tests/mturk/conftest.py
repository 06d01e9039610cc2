"""What the tests of the MTurk bridge share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mturk.emulated import Emulator, emulator


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Return an emulator that all tests of a run share; its clock only ever goes on, and nobody resets it."""
    with emulator(tmp_path_factory.mktemp("endpoint") / "lab.sqlite") as running:
        yield running


@pytest.fixture
def own(place: Emulator, request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """Return the shared emulator as a requester of this test's own sees it."""
    with place.seen_by(request.node.name[:100]) as other:
        yield other
