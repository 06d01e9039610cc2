"""Database work of many tasks, a few at a time in one transaction.

One synchronisation of the disk then serves all who wait for it, and the promise to each is the same: it
goes on when its own work is on disk.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from spa.responses import database
from spa.responses.store import Store

T = TypeVar("T")
Work = Callable[[Connection], Any]
MOST = 128  # pieces of work in one transaction, so that nobody waits for hundreds of others
TRIES = 8  # of a transaction that PostgreSQL broke off because two processes waited for one another
CONFLICTS = ("40001", "40P01")  # its codes for that


class _Batches:
    """One thread that runs what waits, in the order in which it came."""

    def __init__(self, name: str, begin: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._name = name
        self._begin = begin
        self._waiting: list[tuple[Work, asyncio.Future[Any]]] = []
        self._drain: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batches")

    def close(self) -> None:
        """End the thread when it has done what it is doing."""
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append((work, future))
        if self._drain is None or self._drain.done():
            self._drain = loop.create_task(self._empty())
        return await future

    async def _empty(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            results: list[Any] = []
            try:
                results = await loop.run_in_executor(self._thread, self._commit, [work for work, _ in batch])
            except Exception as error:  # nothing of the batch is on disk, and everybody who waits for it is told
                results = [error] * len(batch)
            finally:
                if not results:  # this task is being cancelled; nobody is left waiting
                    for _, future in [*batch, *self._waiting]:
                        future.cancel()
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():  # whoever waited has gone
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    def _commit(self, batch: list[Work]) -> list[Any]:
        for attempt in range(1, TRIES + 1):
            try:
                return self._commit_once(batch)
            except Exception as error:
                if attempt == TRIES or not _is_conflict(error):
                    raise
                time.sleep(random.uniform(0, 0.01 * attempt))
        raise AssertionError("the last attempt returns or raises")

    def _commit_once(self, batch: list[Work]) -> list[Any]:
        try:
            with self._begin() as connection:
                return [work(connection) for work in batch]
        except Exception as error:
            if len(batch) == 1 or _is_conflict(error):
                raise
        results: list[
            Any
        ] = []  # one piece failed and took the others along: again, each so that it undoes itself alone
        with self._begin() as connection:
            for work in batch:
                try:
                    with database.told(self._name), connection.begin_nested():
                        results.append(work(connection))
                except Exception as error:
                    if _is_conflict(error):
                        raise
                    results.append(error)
        return results


class BatchedWriter(_Batches):
    """Runs the writes of many tasks a few at a time in one transaction; each goes on when its own is on disk."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.name, store.transaction)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction and return its result when it is on disk; its error undoes it alone.

        Work that fails, or shares a transaction with work that does, may be run more than once: it must
        change nothing but the database.
        """
        return await self._run(work)


class BatchedReader(_Batches):
    """Runs the reads of many tasks a few at a time on one connection; each sees all that was acknowledged before."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.name, store.reading)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` and return its result."""
        return await self._run(work)


def _is_conflict(error: BaseException | None) -> bool:
    """Say whether PostgreSQL broke a transaction off in favour of another; it may then be run again."""
    while error is not None:
        if isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in CONFLICTS:
            return True
        error = error.__cause__
    return False
