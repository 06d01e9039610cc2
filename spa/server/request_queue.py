"""Group commit for requests: those that wait for the disk share the next transaction.

Nobody is answered before their own page is on disk.
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
        """Run ``work`` on a read connection; it sees every acknowledged write."""
        return await self._reader.read(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a write transaction and return its result once it is on disk.

        It may run again after a conflict; its own error rolls back only itself.
        """
        return await self._writer.write(work)

    def close(self) -> None:
        """Finish the waiting work."""
        self._reader.close()
        self._writer.close()
