"""A PostgreSQL of the tests' own: Debian's programs, a socket in a temporary folder, a database a test.

Workers that run tests side by side share one server: the first to come starts it, the last to leave stops it.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing_part, need
from tests.forked_workers import WORKER

USER = "postgres"
PROGRAMS = Path("/usr/lib/postgresql")  # of Debian; elsewhere they are on the PATH
UNSYNCED = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")  # the machine itself is not killed in tests
COPIES = 150_000  # version from which on it is told how to copy a database


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A running server; its socket lies in ``folder``."""

    folder: Path

    def url(self, name: str) -> str:
        """Return the SQLAlchemy URL of a database."""
        return f"postgresql+psycopg://{USER}@/{name}?host={self.folder}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """Make an empty database, yield its URL and drop it with whoever is still connected."""
        name = f"t{secrets.token_hex(6)}"
        with self._connected() as connection:  # copied as files, in half the work of a log of every page
            how = " STRATEGY FILE_COPY" if connection.info.server_version >= COPIES else ""
            connection.execute(f"CREATE DATABASE {name}{how}")
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, statement: str) -> None:
        """Run one statement outside any transaction."""
        with self._connected() as connection:
            connection.execute(statement)

    def _connected(self) -> Any:
        import psycopg

        return psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True)


def program(name: str) -> str | None:
    """Return the path of one of the server's programs, the newest version's; ``None`` where it is not installed."""
    found = sorted(PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name)


@contextmanager
def cluster(*, synced: bool = False, settings: tuple[str, ...] = ()) -> Iterator[Cluster]:
    """Start a server of one's own and stop it on leaving; ``synced`` is how it runs for people."""
    started = start(synced=synced, settings=settings)
    try:
        yield started
    finally:
        stop(started)


@contextmanager
def shared_cluster(meeting: Path) -> Iterator[Cluster]:
    """Yield the server that all who name the same folder share."""
    found = _count(meeting, 1)
    try:
        yield found
    finally:
        _count(meeting, -1)


def _count(meeting: Path, step: int) -> Cluster:
    """Come (1) or leave (-1); the file holds the server's folder and how many use it."""
    note = meeting / "postgres"
    with (meeting / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder, _, count = note.read_text().partition("\n") if note.exists() else ("", "", "0")
        shared = Cluster(folder=Path(folder)) if folder else start()
        left = int(count) + step
        if left:
            note.write_text(f"{shared.folder}\n{left}")
        else:
            note.unlink()
            stop(shared)
    return shared


def start(*, synced: bool = False, settings: tuple[str, ...] = ()) -> Cluster:
    """Make a cluster and start its server, reachable by its socket only."""
    folder = Path(tempfile.mkdtemp(prefix="spa-pg-"))
    if os.geteuid() == 0:  # the server refuses to run as root
        owner = pwd.getpwnam(USER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data = folder / "data"
    _as_server("initdb", "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    with (data / "postgresql.conf").open("a") as file:
        lines = (
            "listen_addresses = ''",
            f"unix_socket_directories = '{folder}'",
            "max_connections = 200",
            "deadlock_timeout = 100ms",
            *(() if synced else UNSYNCED),
            *settings,
        )
        file.write("".join(f"{line}\n" for line in lines))
    _as_server("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-w", "-t", "120", "start")
    return Cluster(folder=folder)


def halt(running: Cluster) -> None:
    """Stop a server at once, to be resumed."""
    _as_server("pg_ctl", "-D", str(running.folder / "data"), "-m", "fast", "-w", "stop")


def resume(running: Cluster) -> None:
    """Start a server again that was halted."""
    data, log = str(running.folder / "data"), str(running.folder / "log")
    _as_server("pg_ctl", "-D", data, "-l", log, "-w", "-t", "120", "start")


def stop(running: Cluster) -> None:
    """Stop a server, without waiting for its clients, and remove its folder."""
    _as_server("pg_ctl", "-D", str(running.folder / "data"), "-m", "immediate", "-w", "stop")
    shutil.rmtree(running.folder)


def _as_server(name: str, *arguments: str) -> None:
    path = program(name)
    assert path is not None, f"{name} is not installed"
    command = [path, *arguments]
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_user = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    subprocess.run(command, check=True, cwd="/", env=environment, stdout=subprocess.DEVNULL, timeout=300, **as_user)


@pytest.fixture(scope="session")
def postgres_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a running PostgreSQL server that all workers of this run share."""
    need("psycopg")
    if program("initdb") is None:
        missing_part("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    base = tmp_path_factory.getbasetemp()
    with shared_cluster(base.parent if WORKER in os.environ else base) as running:
        yield running


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
            running: Cluster = request.getfixturevalue("postgres_cluster")
            yield stack.enter_context(running.database())
