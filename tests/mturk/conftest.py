"""What the tests of the MTurk bridge share: emulators, and studies to publish there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.postgres import database as database
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url

if TYPE_CHECKING:
    from tests.mturk.emulated import Emulator
    from tests.mturk.studies import Bench


@pytest.fixture(scope="session", autouse=True)
def models_read_once() -> Iterator[None]:
    """Read the service models once, not for each client."""
    if find_spec("botocore") is None:
        yield
        return
    from botocore.loaders import JSONFileLoader, create_loader

    remembered = cache(partial(JSONFileLoader.load_file, JSONFileLoader()))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("botocore.loaders.create_loader", cache(create_loader))
        monkeypatch.setattr("botocore.loaders.JSONFileLoader.load_file", lambda loader, path: remembered(path))
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Return an emulator that all tests of a run share; its clock only ever goes on, and nobody resets it."""
    from tests.mturk.emulated import emulator

    with emulator(tmp_path_factory.mktemp("endpoint") / "lab.sqlite") as running:
        yield running


@pytest.fixture
def own(place: Emulator, request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """Return the shared emulator as a requester of this test's own sees it."""
    with place.seen_by(request.node.name[:100]) as other:
        yield other


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Yield an emulator of the test's own, with faults of its own, named by the environment."""
    from tests.mturk.emulated import emulator

    with emulator(tmp_path / "lab.sqlite") as running:
        monkeypatch.setenv("MTURK_ENDPOINT_URL", running.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", running.key.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", running.key.secret_access_key)
        yield running


@pytest.fixture
def bench(tmp_path: Path, emulated: Emulator, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a study of three annotators, built and not published; nobody waits between tries of a call."""
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from tests.mturk.studies import make_bench

    monkeypatch.setitem(IdempotentMTurkCalls.__init__.__kwdefaults__, "sleep", lambda seconds: None)
    return make_bench(tmp_path, emulated)
