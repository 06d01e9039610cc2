"""One run at a time of a rater, or of a bridge to a platform: two at once would each pay for everything."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import InterfaceError, OperationalError

from spa.errors import ResponseError
from spa.responses.database import parse_target

LOCKS = Path("/proc/locks")
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of file systems that have none
Connect = Callable[[], AbstractContextManager[Connection]]
HOLDERS = """
    SELECT application_name || ' since ' || to_char(query_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND datname = current_database()
        AND (classid::bigint << 32 | objid::bigint) = :number
    ORDER BY query_start
"""


class AlreadyRunning(ResponseError):
    """Another process works on the store in the same way."""


@contextmanager
def exclusive_run(
    store_name: str, name: str, connect: Connect | None = None, *, holder: str = "rater"
) -> Iterator[None]:
    """Hold a lock while a rater runs, or ``holder`` else has this name; it is freed when the process dies.

    SQLite: a lock file beside the store. PostgreSQL: an advisory lock of a connection that ``connect`` gives. In other
    databases starting one run at a time is left to the user. Raise AlreadyRunning if another process runs it on this
    store. Raise ResponseError if no file can be made beside it.
    """
    with _lock(store_name, name, connect, holder, shared=False):
        yield


@contextmanager
def shared_run(store_name: str, name: str, connect: Connect) -> Iterator[None]:
    """Share the lock of a rater with others; :func:`exclusive_run` gets it when all have ended."""
    with _lock(store_name, name, connect, "rater", shared=True):
        yield


@contextmanager
def exclusive_server(store_name: str) -> Iterator[None]:
    """Hold the lock of the one server of an SQLite file, which no second one may have; other databases take several.

    Raise AlreadyRunning if another process serves it.
    """
    place = Path(store_name).resolve()  # by whatever name the file is known
    with ExitStack() as held:
        try:
            held.enter_context(exclusive_run(str(place), "serve", holder="server"))
        except AlreadyRunning:
            holders = _file_holders(_lock_file(place, "serve", "server"))
            who = f" ({', '.join(holders)})" if holders else ""
            raise AlreadyRunning(
                f"{store_name}: expected no other server of this store, got one that is running{who}; stop it first, "
                "or use PostgreSQL, which takes several"
            ) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        yield


def lock_holders(store_name: str, name: str, connect: Connect) -> list[str]:
    """Return which processes hold a rater's lock, in PostgreSQL also since when; of a lock file only Linux knows."""
    if (store := parse_target(store_name).path) is not None:
        return _file_holders(_lock_file(store, name, "rater"))
    with connect() as connection:
        if connection.dialect.name != "postgresql":
            return []
        return list(connection.scalars(text(HOLDERS), {"number": _lock_number(store_name, name, "rater")}))


@contextmanager
def _lock(store_name: str, name: str, connect: Connect | None, what: str, *, shared: bool) -> Iterator[None]:
    store = parse_target(store_name).path
    if store is None:
        with _advisory_lock(store_name, name, connect, what, shared):
            yield
        return
    place = _lock_file(store, name, what)
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ResponseError(f"{place}: cannot be written ({error.strerror}); make its folder writable") from error
    try:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _running(str(store), name, what) from error
        yield
    finally:
        os.close(descriptor)


def _lock_file(store: Path, name: str, what: str) -> Path:
    key = name if what == "rater" else f"{what} {name}"
    return store.with_name(f".{store.name}.{sha256(key.encode()).hexdigest()[:12]}.lock")


def _file_holders(place: Path) -> list[str]:
    with suppress(OSError):
        inode = f":{place.stat().st_ino}"
        locks = [line.split() for line in LOCKS.read_text().splitlines()]
        held = [lock for lock in locks if lock[1] == "FLOCK" and lock[5].endswith(inode)]  # one that waits has "->"
        return [f"process {lock[4]} on {socket.gethostname()}" for lock in held]
    return []


@contextmanager
def _advisory_lock(store_name: str, name: str, connect: Connect | None, what: str, shared: bool) -> Iterator[None]:
    if connect is None:
        yield
        return
    with connect() as connection:
        if connection.dialect.name != "postgresql":
            yield
            return
        number = _lock_number(store_name, name, what)
        end = "_shared" if shared else ""
        connection.execute(text("SELECT set_config('application_name', :holder, false)"), {"holder": _this_process()})
        got = connection.scalar(text(f"SELECT pg_try_advisory_lock{end}(:number)"), {"number": number})
        connection.commit()  # the lock is the session's; no transaction stays open beside it
        if not got:
            raise _running(store_name, name, what)
        try:
            yield
        finally:
            with suppress(OperationalError, InterfaceError):  # the database has restarted, which frees the lock
                connection.execute(text(f"SELECT pg_advisory_unlock{end}(:number)"), {"number": number})
                connection.commit()


def _lock_number(store_name: str, name: str, what: str) -> int:
    """Return the number of a lock in PostgreSQL, where a database may hold several stores, each in a schema."""
    options = make_url(parse_target(store_name).url).query.get("options", "")
    name = f"{name}{options}"
    return int.from_bytes(sha256(f"spa {what} {name}".encode()).digest()[:8], "big", signed=True)


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _running(store_name: str, name: str, what: str) -> AlreadyRunning:
    return AlreadyRunning(
        f"{store_name}: {what} {name!r} is running on this store already, and two runs would pay twice; "
        "wait for the other run, or stop it and start again"
    )
