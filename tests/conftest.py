"""What all tests share: where the real annotation data lies, databases, and what a missing part means."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import httpcore2
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.postgres import Cluster

settings.register_profile("unhurried", deadline=None, max_examples=50)  # a busy machine is no defect
settings.load_profile("unhurried")

read_certificates = httpcore2.default_ssl_context
shared_certificates = cache(read_certificates)


def certificates(*, _trust_env: bool = True) -> ssl.SSLContext:
    """Read the system's certificates once, not for each client: that takes longer than most requests."""
    elsewhere = _trust_env and {"SSL_CERT_FILE", "SSL_CERT_DIR"} & os.environ.keys()
    return (read_certificates if elsewhere else shared_certificates)(_trust_env=_trust_env)


httpcore2.default_ssl_context = certificates


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out helpers without examples: each worker would import them all, benchmarks too."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith(("test_", "conftest", "__init__"))
    return True if helper and ">>>" not in collection_path.read_text() else None


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
def postgres_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a running PostgreSQL server that all workers of this run share."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (the extra postgres)")
    from tests import postgres

    if postgres.program("initdb") is None:
        missing_part("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    base = tmp_path_factory.getbasetemp()
    meeting = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with postgres.shared_cluster(meeting) as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres_cluster: Cluster) -> Iterator[str]:
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
            cluster: Cluster = request.getfixturevalue("postgres_cluster")
            yield stack.enter_context(cluster.database())
