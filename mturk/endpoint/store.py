"""The store of an endpoint: one thread runs all work in order, and queued work shares a commit.

Nobody gets a response before the transaction with their change is on disk; one synchronisation of the disk serves all
who wait for it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from mturk.endpoint.schema import SCHEMA_VERSION, meta, metadata
from spa.errors import ResponseError, SpaError
from spa.responses.database import LOCK_WAIT, Target, created_file, database_errors, open_engine, parse_target, writing
from spa.responses.migration import Schema, migrate
from spa.responses.run_lock import exclusive_run
from spa.responses.sqlite_dialect import create_tables

SCHEMA = Schema(version=SCHEMA_VERSION, metadata=metadata, facts=meta, fact="version")
T = TypeVar("T")
Work = Callable[[Connection], T]
TOGETHER = 64  # calls that share a transaction at most


@dataclass(slots=True)
class QueuedWork:
    """Work in the queue, and the future of its result."""

    work: Work[Any]
    future: Future[Any]


class EndpointStore:
    """An open store; see :func:`open_store`."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._writer = writing(engine)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="endpoint-store")
        self._waiting: deque[QueuedWork] = deque()
        self._lock = threading.Lock()
        self._draining = False
        self.name = name

    def close(self) -> None:
        """Finish the queued work and close the database."""
        self._thread.shutdown(wait=True)
        self._engine.dispose()

    def submit(self, work: Work[T]) -> Future[T]:
        """Queue ``work``; its result is set when its changes are on disk, and an error rolls back this work only."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append(QueuedWork(work, future))
            start, self._draining = not self._draining, True
        if start:
            self._thread.submit(self._drain)
        return future

    def call(self, work: Work[T]) -> T:
        """Run ``work`` in a transaction and return its result when it is on disk."""
        return self.submit(work).result()

    async def run(self, work: Work[T]) -> T:
        """Run ``work`` as :meth:`call` does, without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(work))

    @property
    def connection(self) -> Callable[[], Any]:
        """A function that opens a connection for locks."""
        return self._engine.connect

    def _drain(self) -> None:
        while True:
            with self._lock:
                batch = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
                self._draining = bool(batch)
            if not batch:
                return
            results: list[Any] | None = None
            try:
                results = self._commit(batch)
            except SpaError as error:  # the database failed as a whole: nothing of the batch is on disk
                results = [error] * len(batch)
            finally:
                if results is None:  # an unexpected error goes only to the caller whose work raised it
                    self._each_alone(batch)
                    self._thread.submit(self._drain)
            for waiting, result in zip(batch, results, strict=True):
                _settle(waiting.future, result)

    def _commit(self, batch: list[QueuedWork]) -> list[Any]:
        with database_errors(self.name), self._writer.begin() as connection:
            return [_savepoint(connection, waiting.work) for waiting in batch]

    def _each_alone(self, batch: list[QueuedWork]) -> None:
        for waiting in batch:
            alone = self._thread.submit(self._commit, [waiting])
            alone.add_done_callback(partial(_copy, waiting.future))


def _savepoint(connection: Connection, work: Work[Any]) -> Any:
    connection.exec_driver_sql("SAVEPOINT work")
    try:
        result = work(connection)
    except SpaError as error:
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT work")
        result = error
    connection.exec_driver_sql("RELEASE SAVEPOINT work")
    return result


def _settle(future: Future[Any], result: Any) -> None:
    if isinstance(result, SpaError):
        future.set_exception(result)
    else:
        future.set_result(result)


def _copy(future: Future[Any], done: Future[list[Any]]) -> None:
    error = done.exception()
    if error is not None:
        future.set_exception(error)
    else:
        _settle(future, done.result()[0])


@contextmanager
def open_store(target: str | Path, *, create: bool = False) -> Iterator[EndpointStore]:
    """Yield the store at a path or SQLAlchemy URL; ``create`` a missing one, migrate an old one.

    Raise ResponseError if it is missing, of a later version, or no store of an endpoint.
    """
    place = parse_target(target)
    if place.path is not None and not os.path.lexists(place.path):
        if not create:
            raise ResponseError(f"{place.path}: no such store; `spa mturk keys add` and `spa mturk serve` create one")
        _create_file(place.path)
    engine = open_engine(place, read_only=False, wait=LOCK_WAIT)
    try:
        _check(engine, place, create)
        store = EndpointStore(engine, place.name)
        try:
            yield store
        finally:
            store.close()
    finally:
        engine.dispose()


def secret_of(connection: Connection) -> bytes:
    """Return the store's random secret, which authenticates page tokens and URLs."""
    return bytes.fromhex(str(connection.scalar(select(meta.c.value).where(meta.c.name == "secret"))))


def _create_file(path: Path) -> None:
    try:
        with created_file(path) as temporary:
            engine = open_engine(parse_target(temporary), read_only=False, wait=LOCK_WAIT)
            try:
                _create_tables(engine)
            finally:
                engine.dispose()
    except ResponseError:
        if not path.exists():  # else another process created it meanwhile, and that one is used
            raise


def _create_tables(engine: Engine) -> None:
    with writing(engine).begin() as connection:
        create_tables(connection, metadata, checkfirst=True)
        connection.execute(
            insert(meta),
            [{"name": SCHEMA.fact, "value": str(SCHEMA.version)}, {"name": "secret", "value": secrets.token_hex(32)}],
        )


def _check(engine: Engine, place: Target, create: bool) -> None:
    with database_errors(place.name):
        if not inspect(engine).has_table(meta.name):
            if not create or place.path is not None:
                raise ResponseError(
                    f"{place.name}: expected the store of an endpoint, but it has no such tables; "
                    "`spa mturk serve` makes one, and `spa mturk keys add` too"
                )
            try:
                _create_tables(engine)
            except DBAPIError:  # two processes at once: the other one's tables are used
                if not inspect(engine).has_table(meta.name):
                    raise
        with engine.connect() as connection:
            found = SCHEMA.version_of(connection)
    if not SCHEMA.is_current(found, place.name):
        engine.dispose()  # nobody else may have it open
        migrate(place, SCHEMA, wait=LOCK_WAIT)


def get_meta(connection: Connection, name: str) -> str | None:
    """Return a value of the table ``endpoint_meta``."""
    return cast("str | None", connection.scalar(select(meta.c.value).where(meta.c.name == name)))


@contextmanager
def server_lock(store: EndpointStore, target: str) -> Iterator[None]:
    """Hold the store's lock while a server runs; it is released when the process dies.

    Raise ResponseError if another process serves it.
    """
    lock = exclusive_run(target, "mturk endpoint", store.connection)
    try:
        lock.__enter__()
    except ResponseError as error:
        raise ResponseError(
            f"{store.name}: another `spa mturk serve` is running on this store; stop it, or name another store"
        ) from error
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
