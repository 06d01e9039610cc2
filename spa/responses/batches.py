"""Database work of many tasks, a few at a time in one transaction.

One synchronisation of the disk then serves all who wait for it, and the promise to each is the same: it
goes on when its own work is on disk.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqlalchemy import Connection

from spa.responses.database import again_on_conflict
from spa.responses.store import Store

T = TypeVar("T")
Work = Callable[[Connection], Any]
Waiting = tuple[Work, Future[Any]]
MOST = 128  # pieces of work in one transaction, so that nobody waits for hundreds of others


class _Batches:
    """One thread that runs what waits, in the order in which it came; for the tasks of any event loop."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._waiting: deque[Waiting] = deque()
        self._alone: deque[Waiting] = deque()  # what shared a transaction with a failure; each again in one of its own
        self._busy = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batches")

    def close(self) -> None:
        """End the thread when it has done what it is doing."""
        self._thread.shutdown()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((work, future))
            begin = not self._busy
            self._busy = True
        if begin:
            self._next()
        return await asyncio.wrap_future(future)

    def _next(self) -> None:
        """Start on what waits; only whoever made the thread busy, or the thread itself, calls this."""
        batch: list[Waiting] = []
        with self._lock:
            queue, most = (self._alone, 1) if self._alone else (self._waiting, MOST)
            while queue and len(batch) < most:
                work, future = queue.popleft()
                if future.running() or future.set_running_or_notify_cancel():  # else whoever waited has gone
                    batch.append((work, future))
            if not batch:
                self._busy = False
                return
        done = self._thread.submit(self._commit, [work for work, _ in batch])
        done.add_done_callback(lambda done: self._hand_out(batch, done))

    def _hand_out(self, batch: list[Waiting], done: Future[list[Any]]) -> None:
        error = done.exception()
        if error is None:
            for (_, future), result in zip(batch, done.result(), strict=True):
                future.set_result(result)
        elif len(batch) == 1:
            batch[0][1].set_exception(error)
        else:
            with self._lock:
                self._alone.extend(batch)
        self._next()

    def _commit(self, batch: list[Work]) -> list[Any]:
        return again_on_conflict(lambda: self._commit_once(batch))

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
