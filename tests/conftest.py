"""What all tests share: where the real annotation data lies, and what a missing part means."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from tests import postgres

settings.register_profile("unhurried", deadline=None)  # a busy machine is no defect
settings.load_profile("unhurried")


def missing_part(reason: str) -> None:
    """Skip on a user's machine; fail where everything must be there (``CI=true``)."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; on CI every part must be there")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the real annotation data of three published studies; not part of the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real annotation data at {folder}")
    return folder


@pytest.fixture(scope="session")
def postgres_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgres.Cluster]:
    """Return a running PostgreSQL server that all workers of this run share."""
    if postgres.program("initdb") is None:
        missing_part("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    base = tmp_path_factory.getbasetemp()
    meeting = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with postgres.shared_cluster(meeting) as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres_cluster: postgres.Cluster) -> Iterator[str]:
    """Return the URL of an empty PostgreSQL database of this test's own."""
    with postgres_cluster.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return where a new store may be made: an SQLite file that is not there yet, then an empty PostgreSQL database."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield str(tmp_path / "study.sqlite")
        else:
            cluster: postgres.Cluster = request.getfixturevalue("postgres_cluster")
            yield stack.enter_context(cluster.database())
