"""Whether an SQLite file holds every answer by itself: a mark in its header, set while answers may stand in its log.

A copy of the file alone, made while somebody writes, opens like any other and lacks what only the log holds. Whoever
writes sets the mark first and shares a lock beside the file; the last of them to close moves the log into the file and
takes the mark away. A file that is marked and has no log beside it lacks answers.

The mark is SQLite's ``user_version``, equal to its ``schema_version``. What SQLite itself copies (``.backup``, ``VACUUM
INTO``) holds the log's content and gets another ``schema_version``, so that it is not marked; so does a table that is
made, after which the mark is set again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

CLOSE_WAIT = 1.0  # seconds that closing waits for readers
COMPLETE = 0  # the user_version of a file that needs no log
Connect = Callable[[float], sqlite3.Connection]


class LogMark:
    """The mark of one SQLite file, as one process that writes to it sets and clears it.

    ``connect`` opens a connection of its own to the file, which waits for others so many seconds.
    """

    def __init__(self, path: Path, connect: Connect, *, wait: float) -> None:
        self._connect = connect
        self._wait = wait
        self._place = _lock_beside(path)
        self._shared: int | None = None  # descriptor of the lock file, while this process may write
        self._process = os.getpid()
        self._cleared = False

    def set(self) -> None:
        """Say in the file itself that its log is needed; only the first call does anything, see :meth:`renew`."""
        if self._shared is not None:
            return
        with suppress(OSError, ImportError):  # without a lock nobody could tell who closes last
            import fcntl  # there, as SQLite itself works where this module does not exist

            while True:
                descriptor = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_SH)  # waits for one who is closing, and removes the file
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.stat(self._place)):
                        break
                os.close(descriptor)
            with ExitStack() as unmarked:
                unmarked.callback(os.close, descriptor)
                self.renew()
                unmarked.pop_all()
            self._shared = descriptor

    def renew(self) -> None:
        """Say it again, where the tables have changed."""
        with closing(self._connect(self._wait)) as connection:
            if not needs_log(connection):
                (schema,) = connection.execute("PRAGMA schema_version").fetchone()
                connection.execute(f"PRAGMA user_version = {int(schema)}")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # so that a copy of the file has it

    def clear(self) -> None:
        """Move the log into the file and say that this holds everything, unless others write to it still."""
        if os.getpid() != self._process:  # a fork, whose parent goes on
            return
        if self._cleared and self._shared is None:  # nothing was written since
            return
        self._cleared = True
        with suppress(OSError, ImportError, sqlite3.Error), closing(self._connect(CLOSE_WAIT)) as connection:
            if _mark_of(connection) == COMPLETE and self._shared is None:
                return
            with self._alone() as alone:
                if alone:
                    connection.execute(f"PRAGMA user_version = {COMPLETE}")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if self._shared is not None:  # the file was removed meanwhile
            os.close(self._shared)
            self._shared = None

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Hold the lock alone, if nobody else has it; it is free, and its file gone, afterwards."""
        import fcntl

        descriptor = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600) if self._shared is None else self._shared
        self._shared = None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of two that try, one succeeds
            except BlockingIOError:
                yield False
            else:
                yield True
                self._place.unlink(missing_ok=True)
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a fork has the descriptor, too
            os.close(descriptor)


def _lock_beside(path: Path) -> Path:
    real = path.resolve()
    return real.with_name(f".{real.name}.open.lock")


def is_written(path: Path) -> bool:
    """Return whether somebody who may write has the file open; no copy of it is."""
    with suppress(OSError, ImportError):
        import fcntl

        descriptor = os.open(_lock_beside(path), os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the log of a file: where the file itself is, not a link to it."""
    real = path.resolve()
    return real.with_name(real.name + "-wal")


def has_log(path: Path) -> bool:
    """Return whether there is a log with anything in it; who only reads makes an empty one."""
    with suppress(OSError):
        return log_of(path).stat().st_size > 0
    return False


def needs_log(connection: sqlite3.Connection) -> bool:
    """Return whether a file is marked."""
    (schema,) = connection.execute("PRAGMA schema_version").fetchone()
    return bool(schema) and _mark_of(connection) == int(schema)


def _mark_of(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)
