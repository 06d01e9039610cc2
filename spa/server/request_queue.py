"""Where the routes of the survey server hand in their work for the store.

Hundreds of people send pages in the same second. What waits while the disk is busy with the work
before it shares the next transaction, so that one synchronisation of the disk serves them all, and
nobody is answered before their own page is on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from spa.responses.batches import BatchedReader, BatchedWriter
from spa.responses.store import Store

T = TypeVar("T")


class RequestQueue:
    """Reads and writes of many requests."""

    def __init__(self, store: Store) -> None:
        self._reader = BatchedReader(store)
        self._writer = BatchedWriter(store)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection to read from; it sees all that was acknowledged before."""
        return await self._reader.read(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction and return its result when all of it is on disk.

        It may be run again where another's work, or a conflict with another process, undid it; an error
        of its own undoes it alone.
        """
        return await self._writer.write(work)

    def close(self) -> None:
        """Finish what waits."""
        self._reader.close()
        self._writer.close()
