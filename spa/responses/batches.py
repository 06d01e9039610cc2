"""Group commit: database work of many tasks, several in one transaction.

One disk sync serves all who wait, and each task resumes when its own work is on disk. A server hands the work to a
thread; a run whose tasks all wait for their writes commits in its event loop, which costs less processor time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from spa.responses.database import retry_on_conflict
from spa.responses.store import Store

T = TypeVar("T")
Begin = Callable[[], AbstractContextManager[Connection]]
Resolve = Callable[[asyncio.Future[Any], Any], None]
MOST = 128  # pieces of work in one transaction, so that nobody waits for hundreds of others


class Writer(Protocol):
    """Runs the writes of many tasks; each resumes when its own is on disk."""

    def write(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run ``work`` in a transaction; its result is there when it is on disk, its error undoes it alone.

        Works are run in the order in which they are given, whether anybody waits for them or not. Work that fails, or
        shares a transaction with work that does, may be run more than once: it must change nothing but the database.
        """

    def close(self) -> None:
        """Finish what was begun; work that still waits is dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A piece of work, and who waits for it."""

    work: Callable[[Connection], Any]
    future: asyncio.Future[Any]


class _Batches:
    """One thread that runs what waits, in the order in which it came; for the tasks of any event loop."""

    def __init__(self, begin: Begin, pause: float) -> None:
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
        """Stop the thread after its current batch; work that still waits is dropped."""
        with self._lock:
            self._closed = True
        self._thread.shutdown()

    def _run(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run ``work``; its result is there when it is on disk; see :class:`Writer`."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(Piece(work, future))
            begin, self._busy = not self._busy, True
        if begin:
            self._next()
        return future

    def _next(self) -> None:
        """Start the next batch; called only by the task that made the thread busy, or by the thread."""
        self._thread.submit(self._one_batch).add_done_callback(self._hand_out)

    def _one_batch(self) -> list[Any]:
        if self._pause > 0 and not self._alone:
            time.sleep(self._pause)
        with self._lock:
            queue, most = (self._alone, 1) if self._alone else (self._waiting, MOST)
            taken = [queue.popleft() for _ in range(min(most, len(queue)))]
        self._batch = [piece for piece in taken if not piece.future.cancelled()]  # else nobody waits any more
        return retry_on_conflict(lambda: _results_of(self._batch, self._begin)) if self._batch else []

    def _hand_out(self, done: Future[list[Any]]) -> None:
        error = done.exception()
        if error is None:
            _wake_from_thread(self._batch, done.result(), asyncio.Future.set_result)
        elif len(self._batch) == 1:
            _wake_from_thread(self._batch, [error], asyncio.Future.set_exception)
        else:
            self._alone.extend(self._batch)
        with self._lock:
            self._busy = further = bool(self._waiting or self._alone) and not self._closed
        if further:  # outside of the lock, as what was begun may have ended by the time that it is looked at
            self._next()


def _results_of(batch: Sequence[Piece], begin: Begin) -> list[Any]:
    with begin() as connection:
        return [piece.work(connection) for piece in batch]


def _wake(batch: Iterable[Piece], results: Iterable[Any], resolve: Resolve) -> None:
    """Resume the waiting tasks, in their own event loop."""
    for piece, result in zip(batch, results, strict=True):
        if not piece.future.cancelled():
            resolve(piece.future, result)


def _wake_from_thread(batch: Sequence[Piece], results: Sequence[Any], resolve: Resolve) -> None:
    """Resume the waiting tasks, each in its event loop, which is woken once."""
    waiting: dict[asyncio.AbstractEventLoop, list[tuple[Piece, Any]]] = {}
    for piece, result in zip(batch, results, strict=True):
        waiting.setdefault(piece.future.get_loop(), []).append((piece, result))
    for loop, pairs in waiting.items():
        pieces, theirs = zip(*pairs, strict=True)
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(partial(_wake, pieces, theirs, resolve))


class LoopWriter:
    """Runs the writes of the tasks of one event loop a few at a time in one transaction, in that loop.

    Nothing else happens in the loop while the database works: for a store on this machine, and never in a server.
    ``pause`` is the seconds to wait for others before a transaction begins.
    """

    def __init__(self, store: Store, *, pause: float = 0.0) -> None:
        store.queue_writers()
        self._begin = store.transaction
        self._pause = pause
        self._waiting: list[Piece] = []
        self._committing: asyncio.Task[None] | None = None  # the loop itself keeps no hold of its tasks

    def close(self) -> None:
        """Begin nothing more; the loop has ended with its tasks."""
        self._waiting = []

    def write(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Run ``work``; its result is there when it is on disk; see :class:`Writer`."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(Piece(work, future))
        if self._committing is None or self._committing.done():
            self._committing = asyncio.create_task(self._commit_all())
        return future

    async def _commit_all(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._pause)
            taken, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            batch = [piece for piece in taken if not piece.future.cancelled()]
            if not await self._commit_and_notify(batch):
                for piece in batch:  # one of them failed, and each gets a transaction of its own
                    await self._commit_and_notify([piece])

    async def _commit_and_notify(self, batch: Sequence[Piece]) -> bool:
        """Run a batch and resume its tasks; False, with nobody resumed, where one of several failed."""
        commit = asyncio.create_task(self._commit(batch))
        await asyncio.wait([commit])
        error = commit.exception()
        if error is None:
            _wake(batch, commit.result(), asyncio.Future.set_result)
        elif len(batch) == 1:
            _wake(batch, [error], asyncio.Future.set_exception)
        return error is None or len(batch) == 1

    async def _commit(self, batch: Sequence[Piece]) -> list[Any]:
        return retry_on_conflict(lambda: _results_of(batch, self._begin)) if batch else []


class BatchedWriter(_Batches):
    """Runs the writes of many tasks a few at a time in one transaction; each resumes when its own is on disk.

    ``pause`` is the seconds to wait for others before a transaction begins.
    """

    def __init__(self, store: Store, *, pause: float = 0.0) -> None:
        super().__init__(store.transaction, pause)

    write = _Batches._run


class BatchedReader(_Batches):
    """Runs the reads of many tasks a few at a time on one connection; each sees all that was acknowledged before."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.reading, 0.0)

    read = _Batches._run
