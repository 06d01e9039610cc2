"""The database of a store: open and create it, its transactions and facts; explain in one line what is wrong with it.

SQLite by default: write-ahead log with ``synchronous=FULL``, so that what was acknowledged
is on disk, and ``BEGIN IMMEDIATE`` for every writing transaction, so that two writers wait
for one another instead of failing halfway. Of many that wait SQLite serves any, and some not for
ten seconds: where raters write, processes queue at a lock file.
"""

from __future__ import annotations

import errno
import os
import random
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote
from weakref import finalize

from sqlalchemy import Connection, Engine, Select, Table, create_engine, event, insert, make_url, select, update
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool, PoolProxiedConnection, QueuePool

from spa.errors import ResponseError, how_to_install
from spa.responses.log_mark import LogMark, has_log, is_written, log_of, needs_log
from spa.responses.sqlite_dialect import sqlite_engine
from spa.responses.store_schema import meta
from spa.responses.tokens import keyed

TABLE_MADE = "table made"  # of a connection, in its transaction
CHUNK = 500  # rows written or read at once, so that memory stays flat
VISITS = 100  # read at once, each with all its answers
TRIES = 8  # of a transaction that PostgreSQL aborted because two processes waited for one another
CONFLICTS = ("40001", "40P01")  # its codes for that
T = TypeVar("T")
PASSWORD = re.compile(r"(?<=[^/]:)[^/]+(?=@)")  # of a URL
PASSWORD_NAMES = ("password", "sslpassword")  # parameters of PostgreSQL's URLs
PASSWORD_PARAMETER = re.compile(rf"([?&](?:{'|'.join(PASSWORD_NAMES)})=)[^&#]*", re.IGNORECASE)
LOCK_WAIT = 10.0  # seconds that a writer waits for another process
STILL_SEEN = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL AND xact_start < %s
"""  # transactions that may read what was deleted before a moment; VACUUM leaves it to them
SCRUB_WAIT, SCRUB_PAUSE = 10.0, 0.2  # seconds for which readers may keep a log from being emptied; between two tries
KNOWN_ERRORS = (  # of SQLite's message; what was wrong; what to do
    ("locked", "it is locked by another program", "close what else is writing to it and try again"),
    ("readonly", "it is read-only", "make the file and its folder writable, or copy it to where they are"),
    ("unable to open", "it cannot be opened", "check that the folder exists and that you may read and write there"),
    ("not a database", "it is not a database", "name the store that `spa build` wrote"),
    ("malformed", "it is damaged", "restore it from a copy"),
    ("disk is full", "the disk is full", "free some space and try again; nothing half written is kept"),
    ("disk I/O", "the disk cannot be read or written", "see that it is there and not full; what was saved is kept"),
    ("no such table", "it is empty or a database of something else", "name the store that `spa build` wrote"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a store is: an SQLite file, or the URL of another database."""

    path: Path | None
    url: str

    @property
    def name(self) -> str:
        """Its name in messages; a password is never shown."""
        return str(self.path) if self.path is not None else without_passwords(self.url)


class Database:
    """Transactions of a store, and the facts noted about it; safe to use from several threads; a context manager."""

    def __init__(self, name: str, engine: Engine, mark: LogMark | None = None) -> None:
        self.name = name  # in messages
        self._engine = engine
        self._mark = mark  # of an SQLite file that is written to
        if mark is not None:
            finalize(self, mark.clear)  # where nobody closes it
        self._writer = writing(engine)
        self._secret = ""
        self._one_writer = threading.Lock()  # threads of this process queue here, not in the database
        self._queue = Path(name).absolute().with_name(f".{Path(name).name}.queue.lock") if self.is_file else None

    @property
    def is_file(self) -> bool:
        """Whether the store is an SQLite file, used by one machine."""
        return self._engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Close the connections; what was acknowledged is on disk already.

        Whoever is the last to write to an SQLite file leaves everything in the file itself, and no log beside it.
        """
        if self._mark is not None:
            self._mark.clear()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read from."""
        with database_errors(self.name), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection in a writing transaction, on disk when the block ends without an error."""
        with self._one_writer, self._turn(), database_errors(self.name):
            if self._mark is not None:
                self._mark.set()
            with self._writer.begin() as connection:
                yield connection
                new_tables = connection.info.pop(TABLE_MADE, False)
            if new_tables and self._mark is not None:
                self._mark.renew()

    def queue_writers(self) -> None:
        """Have all processes write to an SQLite file in turn from now on."""
        if self._queue is not None:
            with suppress(OSError):
                self._queue.touch(mode=0o600)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the processes that came before, if there is a queue."""
        with ExitStack() as stack:
            if self._queue is not None:
                with suppress(OSError):  # else SQLite decides
                    descriptor = os.open(self._queue, os.O_RDONLY)
                    stack.callback(os.close, descriptor)
                    import fcntl  # there, as only raters make a queue

                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    stack.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)  # a fork has the descriptor, too
            yield

    def misses_log(self, path: Path) -> bool:
        """Return whether an SQLite file was copied or moved without the log that holds its latest answers."""
        if has_log(path):
            return False
        with self.copying() as connection:
            marked = needs_log(connection)
        return marked and not has_log(path) and not is_written(path)  # or somebody began to write meanwhile

    @contextmanager
    def copying(self) -> Iterator[sqlite3.Connection]:
        """Yield SQLite's own connection to the file, to copy from."""
        with database_errors(self.name), closing(self._engine.raw_connection()) as raw:
            driver: Any = raw.driver_connection
            yield driver

    def stream(self, query: Select[Any]) -> Iterator[Any]:
        """Yield the rows of a query, a few hundred in memory at a time."""
        with self.reading() as connection, connection.execute(query.execution_options(yield_per=CHUNK)) as rows:
            yield from rows

    def scrub(self) -> None:
        """Let the database forget what was deleted: SQLite's file and log and PostgreSQL's dead rows still hold it.

        Raise ResponseError if somebody's reading keeps it from forgetting.
        """
        with database_errors(self.name), closing(self._engine.raw_connection()) as raw:
            if self.is_file:
                with self._one_writer, self._turn():
                    self._scrub_file(raw)
            elif self._engine.dialect.name == "postgresql":
                driver: Any = raw.dbapi_connection
                driver.autocommit = True
                try:
                    self._vacuum(raw)
                finally:
                    driver.autocommit = False

    def _vacuum(self, raw: PoolProxiedConnection) -> None:
        cursor = raw.cursor()
        cursor.execute("SELECT clock_timestamp()")
        deleted = cursor.fetchall()[0][0]  # before this moment
        until = time.monotonic() + SCRUB_WAIT
        cursor.execute(STILL_SEEN, (deleted,))
        while cursor.fetchall()[0][0]:
            self._refuse_to_wait(until)
            cursor.execute(STILL_SEEN, (deleted,))
        cursor.execute("VACUUM")

    def _refuse_to_wait(self, until: float) -> None:
        if time.monotonic() > until:
            raise ResponseError(
                f"{self.name}: expected to delete it from the disk as well, but another program has been reading the "
                f"store for {SCRUB_WAIT:g} seconds and keeps what was deleted; close that program and run the same "
                "command again"
            )
        time.sleep(SCRUB_PAUSE)

    def _scrub_file(self, raw: PoolProxiedConnection) -> None:
        cursor = raw.cursor()
        cursor.execute("VACUUM")  # pages that rows were moved from may hold them still
        cursor.execute(f"PRAGMA busy_timeout = {round(1000 * SCRUB_PAUSE)}")
        raw.detach()  # with this setting it serves nobody else
        until = time.monotonic() + SCRUB_WAIT
        try:
            while cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                self._refuse_to_wait(until)
        finally:
            if self._mark is not None:
                self._mark.renew()  # which VACUUM has taken away

    def meta(self, name: str) -> str | None:
        """Return a fact noted with :meth:`set_meta`; ``None`` where there is none."""
        with self.reading() as connection:
            return connection.scalar(select(meta.c.value).where(meta.c.name == name))

    def set_meta(self, name: str, value: str) -> None:
        """Note a fact about the store, such as the seed of its draw."""
        with self.transaction() as connection:
            note(connection, name, value)

    def keyed(self, text: str) -> str:
        """Return the keyed hash of a name: the same in this store, and nothing to anybody else.

        That of a link's token is the ``annotator_id`` of the person behind it.
        """
        self._secret = self._secret or self.meta("secret") or ""  # read once: it never changes
        return keyed(self._secret, text)

    def person_id(self, source: str, person: str) -> str:
        """Return the ``annotator_id`` of a platform's person: keyed with a secret of this store."""
        return self.keyed(f"{source}\x00{person}")


@event.listens_for(Table, "after_create")
def _note_table(table: Table, connection: Connection, **_: object) -> None:
    connection.info[TABLE_MADE] = True


def note(connection: Connection, name: str, value: str) -> None:
    """Write or replace a fact about the store, inside the caller's transaction."""
    if connection.execute(update(meta).where(meta.c.name == name).values(value=value)).rowcount == 0:
        connection.execute(insert(meta).values(name=name, value=value))


def note_once(connection: Connection, name: str, value: str) -> str:
    """Write a fact about the store unless there is one of this name; return what stands now."""
    known = connection.scalar(select(meta.c.value).where(meta.c.name == name))
    if known is None:
        connection.execute(insert(meta).values(name=name, value=value))
        return value
    return str(known)


def without_passwords(text: str) -> str:
    """Return a database's URL, or what was meant as one, with stars for every password.

    >>> without_passwords("postgresql://spa:secret@host/study?sslmode=require&password=secret")
    'postgresql://spa:***@host/study?password=***&sslmode=require'
    """
    try:
        text = make_url(text).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        text = PASSWORD.sub("***", text)
    return PASSWORD_PARAMETER.sub(r"\1***", text)


def has_password(url: str) -> bool:
    """Return whether a database's URL carries a password, as that of its user or as a parameter."""
    parsed = make_url(url)
    return bool(parsed.password) or any(name.lower() in PASSWORD_NAMES for name in parsed.query)


def parse_target(target: str | Path) -> Target:
    """Parse a path or an SQLAlchemy URL; a URL of an SQLite file is a path."""
    text = str(target)
    if isinstance(target, Path) or "://" not in text:
        return Target(path=Path(text), url="")
    try:
        url = make_url(text)
    except ArgumentError:
        raise ResponseError(
            f"store: expected a file or an SQLAlchemy URL such as postgresql+psycopg://host/name, got "
            f"{without_passwords(text)!r}"
        ) from None
    if url.get_backend_name() != "sqlite":
        if url.drivername in ("postgresql", "postgres"):  # the usual spelling; the library would take an older driver
            url = url.set(drivername="postgresql+psycopg")
        return Target(path=None, url=url.render_as_string(hide_password=False))
    if url.database in (None, "", ":memory:"):
        got = f"{without_passwords(text)!r}, which is kept in memory only"
        raise ResponseError(f"store: expected an SQLite file, got {got}; name a file")
    return Target(path=Path(str(url.database)), url="")


def open_engine(target: Target, *, read_only: bool, wait: float) -> Engine:
    """Return an engine whose connections are set up; nothing is read yet."""
    if target.path is None:
        try:
            engine = create_engine(target.url, pool_pre_ping=True)  # a database may restart meanwhile
        except (ModuleNotFoundError, NoSuchModuleError) as missing:
            raise ResponseError(
                f"{target.name}: the driver of this database is not installed ({missing}); "
                f"for PostgreSQL: {how_to_install('postgres')}"
            ) from missing
        return engine.execution_options(postgresql_readonly=True) if read_only else engine
    if os.path.isdir(target.path):  # these two are False, not an error, for a name that no file can have
        raise ResponseError(f"{target.path}: expected the file of a store, got a folder; name a file in it")
    if not os.path.isfile(target.path):
        raise ResponseError(f"{target.path}: no such store; run `spa build` first, or name the store with --store")
    return _sqlite_engine(target.path, read_only=read_only, wait=wait)


def writing(engine: Engine) -> Engine:
    """Return the engine as a writer uses it: its transactions begin by taking the write lock."""
    return engine.execution_options(writes=True)


@contextmanager
def created_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on leaving it is renamed to ``path`` in one step.

    Raise ResponseError if ``path`` exists, now or when the file is ready, or its folder cannot be written to, or a
    store of that name was removed while in use.
    """
    refuse_left_log(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with _file_errors(path):
        if path.exists():
            raise FileExistsError
        temporary.touch(mode=0o600, exist_ok=False)  # SQLite gives the log beside it the same rights
    try:
        yield temporary
        with _file_errors(path):
            _rename(temporary, path)
    finally:
        for leftover in (temporary, *(temporary.with_name(temporary.name + end) for end in ("-wal", "-shm"))):
            leftover.unlink(missing_ok=True)


def refuse_left_log(path: Path) -> None:
    """Raise ResponseError where SQLite would read into a new file what is left of another that had its name."""
    if not os.path.lexists(path) and (has_log(path) or is_written(path)):
        raise ResponseError(
            f"{path}: expected a name that nobody uses, but a store that was removed has left its log, "
            f"{log_of(path).name}, or is still in use; end what uses it and move the log away, or name another store"
        )


def _rename(temporary: Path, path: Path) -> None:
    """Rename, but never over a store that somebody else made in the meantime."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP):
            raise
        temporary.rename(path)  # a file system without links, such as a memory stick's


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise ResponseError(
            f"{path}: expected a new store, but the file exists; name another one, or remove it"
        ) from None
    except OSError as error:
        raise ResponseError(
            f"{path}: cannot be written ({error.strerror or error}); name a folder that you may write to"
        ) from error


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Turn a database error into a ``ResponseError`` that names the store."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        message = " ".join(str(getattr(error, "orig", error)).split())
        for part, wrong, remedy in KNOWN_ERRORS:
            if part in message:
                raise ResponseError(f"{name}: expected a store, but {wrong}; {remedy}") from error
        raise ResponseError(f"{name}: the database refused: {message}") from error


def _sqlite_engine(path: Path, *, read_only: bool, wait: float) -> Engine:
    options = "?mode=ro" if read_only else "?mode=rw"
    if read_only and not log_of(path).exists() and not os.access(path.parent, os.W_OK):
        options += "&immutable=1"  # SQLite cannot set up a log there, and nobody else can either

    def connect() -> sqlite3.Connection:
        connection = _connect(path, options, wait)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            if not read_only:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = sqlite_engine(connect, QueuePool, pool_size=10, max_overflow=90)
    event.listen(engine, "begin", _begin)
    return engine


def log_mark(path: Path, *, wait: float) -> LogMark:
    """Return what notes in an SQLite file that its log is needed."""
    return LogMark(path, lambda seconds: _connect(path, "?mode=rw", seconds), wait=wait)


def address(path: Path) -> str:
    """Return the URI of an SQLite file, whatever its name holds."""
    return f"file:{quote(str(path.absolute()))}"


def _connect(path: Path, options: str, wait: float) -> sqlite3.Connection:
    return sqlite3.connect(
        address(path) + options, uri=True, timeout=wait, isolation_level=None, check_same_thread=False
    )


@contextmanager
def exclusive_connection(path: Path, *, wait: float) -> Iterator[Connection]:
    """Yield a connection to an SQLite file that nobody else has open, and can open meanwhile.

    No transaction is open, foreign keys are not enforced; what is not committed at the end is undone.
    """
    engine = sqlite_engine(lambda: _connect(path, "?mode=rw", 0), NullPool)
    until = time.monotonic() + wait
    while True:
        with engine.connect() as connection:
            try:
                connection.exec_driver_sql("PRAGMA main.locking_mode = EXCLUSIVE")  # what is locked once stays locked
                connection.exec_driver_sql("PRAGMA synchronous = FULL")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                connection.exec_driver_sql("COMMIT")
            except OperationalError as error:  # of several that try, each holds what another needs: all let go
                if "locked" not in str(error.orig) or time.monotonic() > until:
                    raise
            else:
                yield connection
                return
        time.sleep(random.uniform(0, 0.05))


def retry_on_conflict(work: Callable[[], T]) -> T:
    """Run a transaction, again where PostgreSQL aborted it in favour of another process's."""
    for attempt in range(1, TRIES):
        try:
            return work()
        except ResponseError as error:
            if not _is_conflict(error):
                raise
            time.sleep(random.uniform(0, 0.01 * attempt))
    return work()


def _is_conflict(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in CONFLICTS:
            return True
        error = error.__cause__
    return False


def _begin(connection: Connection) -> None:
    options: dict[str, Any] = dict(connection.get_execution_options())
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")
