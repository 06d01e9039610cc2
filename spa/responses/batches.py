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

from spa.errors import ResponseError
from spa.responses.store import Store

T = TypeVar("T")
Work = Callable[[Connection], Any]
Waiting = tuple[Work, asyncio.Future[Any]]
MOST = 128  # pieces of work in one transaction, so that nobody waits for hundreds of others
TRIES = 8  # of a transaction that PostgreSQL broke off because two processes waited for one another
CONFLICTS = ("40001", "40P01")  # its codes for that


class _Batches:
    """One thread that runs what waits, in the order in which it came."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._begin = begin
        self._waiting: list[Waiting] = []
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
        batch: list[Waiting] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                together = await self._submit([work for work, _ in batch])
                if together.exception() is None:
                    for (_, future), result in zip(batch, together.result(), strict=True):
                        if not future.done():  # else whoever waited has gone
                            future.set_result(result)
                else:
                    await self._one_by_one(batch, together.exception())
        finally:  # where this task is cancelled nobody is left waiting
            for _, future in (*batch, *self._waiting):
                future.cancel()

    async def _one_by_one(self, batch: list[Waiting], error: BaseException | None) -> None:
        """Run each piece in a transaction of its own, after one of them failed and took the others along."""
        for work, future in batch:
            alone = None if len(batch) == 1 else await self._submit([work])
            error = error if alone is None else alone.exception()
            if future.done():
                continue
            if error is None and alone is not None:
                future.set_result(alone.result()[0])
            elif error is not None:
                future.set_exception(error)

    async def _submit(self, batch: list[Work]) -> asyncio.Future[list[Any]]:
        """Return what came of a batch once it is over, well or not."""
        done = asyncio.get_running_loop().run_in_executor(self._thread, self._commit, batch)
        await asyncio.wait([done])
        return done

    def _commit(self, batch: list[Work]) -> list[Any]:
        for attempt in range(1, TRIES):
            try:
                return self._commit_once(batch)
            except ResponseError as error:
                if not _is_conflict(error):
                    raise
                time.sleep(random.uniform(0, 0.01 * attempt))
        return self._commit_once(batch)

    def _commit_once(self, batch: list[Work]) -> list[Any]:
        with self._begin() as connection:
            return [work(connection) for work in batch]


class BatchedWriter(_Batches):
    """Runs the writes of many tasks a few at a time in one transaction; each goes on when its own is on disk."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.transaction)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction and return its result when it is on disk; its error undoes it alone.

        Work that fails, or shares a transaction with work that does, may be run more than once: it must
        change nothing but the database.
        """
        return await self._run(work)


class BatchedReader(_Batches):
    """Runs the reads of many tasks a few at a time on one connection; each sees all that was acknowledged before."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.reading)

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
