"""Database work of many tasks, a few at a time in one transaction.

One synchronisation of the disk then serves all who wait for it, and the promise to each is the same: it
goes on when its own work is on disk.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from spa.responses.database import again_on_conflict
from spa.responses.store import Store

T = TypeVar("T")
MOST = 128  # pieces of work in one transaction, so that nobody waits for hundreds of others


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A piece of work, and who waits for it."""

    work: Callable[[Connection], Any]
    future: asyncio.Future[Any]


class _Batches:
    """One thread that runs what waits, in the order in which it came; for the tasks of any event loop."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Connection]], pause: float) -> None:
        self._begin = begin
        self._pause = pause
        self._lock = threading.Lock()
        self._waiting: deque[Piece] = deque()
        self._alone: deque[Piece] = deque()  # what shared a transaction with a failure; each again in one of its own
        self._batch: Sequence[Piece] = ()  # what the thread is at
        self._busy = False
        self._closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batches")

    def close(self) -> None:
        """End the thread when it has done what it is doing; what waits still is not begun."""
        with self._lock:
            self._closed = True
        self._thread.shutdown()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(Piece(work, future))
            begin, self._busy = not self._busy, True
        if begin:
            self._next()
        return await future

    def _next(self) -> None:
        """Start on what waits; only whoever made the thread busy, or the thread itself, calls this."""
        self._thread.submit(self._one_batch).add_done_callback(self._hand_out)

    def _one_batch(self) -> list[Any]:
        if self._pause > 0 and not self._alone:
            time.sleep(self._pause)
        with self._lock:
            queue, most = (self._alone, 1) if self._alone else (self._waiting, MOST)
            taken = [queue.popleft() for _ in range(min(most, len(queue)))]
        self._batch = [piece for piece in taken if not piece.future.cancelled()]  # else whoever waited has gone
        return again_on_conflict(self._commit) if self._batch else []

    def _commit(self) -> list[Any]:
        with self._begin() as connection:
            return [piece.work(connection) for piece in self._batch]

    def _hand_out(self, done: Future[list[Any]]) -> None:
        error = done.exception()
        if error is None:
            _tell(self._batch, done.result(), asyncio.Future.set_result)
        elif len(self._batch) == 1:
            _tell(self._batch, [error], asyncio.Future.set_exception)
        else:
            self._alone.extend(self._batch)
        with self._lock:
            self._busy = further = bool(self._waiting or self._alone) and not self._closed
        if further:  # outside of the lock, as what was begun may have ended by the time that it is looked at
            self._next()


def _tell(batch: Sequence[Piece], results: Sequence[Any], tell: Callable[[asyncio.Future[Any], Any], None]) -> None:
    """Let those who wait go on, each in its event loop, which is woken once."""
    waiting: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for piece, result in zip(batch, results, strict=True):
        waiting.setdefault(piece.future.get_loop(), []).append((piece.future, result))

    def wake(pairs: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
        for future, result in pairs:
            if not future.cancelled():
                tell(future, result)

    for loop, pairs in waiting.items():
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(wake, pairs)


class BatchedWriter(_Batches):
    """Runs the writes of many tasks a few at a time in one transaction; each goes on when its own is on disk.

    Parameters
    ----------
    store : Store
        Where they go.
    pause : float
        Seconds to wait for others before a transaction begins.
    """

    def __init__(self, store: Store, *, pause: float = 0.0) -> None:
        super().__init__(store.transaction, pause)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction and return its result when it is on disk; its error undoes it alone.

        Work that fails, or shares a transaction with work that does, may be run more than once: it must
        change nothing but the database.
        """
        return await self._run(work)


class BatchedReader(_Batches):
    """Runs the reads of many tasks a few at a time on one connection; each sees all that was acknowledged before."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.reading, 0.0)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` and return its result."""
        return await self._run(work)
