"""An emulated Prolific that really listens, for all tests of the bridge."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx2
import pytest

from prolific.emulator.app import create_app
from prolific.emulator.contract import Contract
from prolific.emulator.platform import ClockMode, EmulatedPlatform
from prolific.emulator.webhooks import deliver_webhooks
from spa.server.http_server import serve_on_loopback
from tests import patience
from tests.postgres import database as database
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url
from tests.prolific.people import People

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "reference" / "prolific_openapi.yaml"


@cache
def contract() -> Contract | None:
    """Return the platform's published description; None where it does not lie beside the project."""
    return Contract(PUBLISHED) if PUBLISHED.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """A running emulated platform: where it listens, and its people and switches."""

    url: str
    people: People
    platform: EmulatedPlatform
    api: httpx2.Client  # bare, with a token


@contextmanager
def running(path: Path, *, clock: ClockMode = "manual", token: str | None = None) -> Iterator[Emulator]:
    """Run an emulated platform on a free port of this machine."""
    platform = EmulatedPlatform(path, clock=clock, token=token)
    try:
        with (
            deliver_webhooks(platform, rng=random.Random(1)),
            serve_on_loopback(create_app(platform, contract())) as url,
            People.at(url) as people,
            httpx2.Client(
                base_url=url, headers={"Authorization": "Token any"}, timeout=patience.SECONDS, trust_env=False
            ) as api,
        ):
            yield Emulator(url=url, people=people, platform=platform, api=api)
    finally:
        platform.close()


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Yield one emulated platform for all tests; each makes studies and people of its own in it."""
    with running(tmp_path_factory.mktemp("emulator") / "platform.sqlite") as emulator:
        yield emulator


@pytest.fixture
def fresh_emulator(tmp_path: Path) -> Iterator[Emulator]:
    """Yield an emulated platform that no other test uses: for faults, behaviour and money."""
    with running(tmp_path / "platform.sqlite") as emulator:
        yield emulator
