"""Whether answers could be saved now: the store is written to, at most once in ten seconds however many ask."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from spa.errors import ResponseError
from spa.responses.store import Store

EVERY = 10.0  # seconds
CHECKED = "health_checked"  # a fact of the store: when, in seconds since 1970
LEAST_FREE = 4_000_000  # bytes of the disk: SQLite overwrites its log for a while after the disk is full


class HealthCheck:
    """Writes to a store to see whether that works, and remembers for a while."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._one = threading.Lock()
        self._fingerprint = ""
        self._wrong: str | None = None
        self._until = float("-inf")

    def fingerprint(self) -> str:
        """Return the fingerprint of the study in the store, to which something was just written.

        Raise ResponseError if that failed, or failed within the last ten seconds. Who asks while another tries, which
        may take long, gets what was found before.
        """
        known = self._fingerprint or self._wrong is not None
        if self._one.acquire(blocking=not known):
            try:
                if self._clock() >= self._until:
                    self._try()
                    self._until = self._clock() + EVERY
            finally:
                self._one.release()
        if self._wrong is not None:
            raise ResponseError(self._wrong)
        return self._fingerprint

    def _try(self) -> None:
        try:
            self._store.set_meta(CHECKED, f"{time.time():.0f}")
            self._fingerprint = self._store.fingerprint
            self._check_disk()
        except ResponseError as error:
            self._wrong = str(error)
        else:
            self._wrong = None

    def _check_disk(self) -> None:
        if not self._store.is_file:
            return
        free = shutil.disk_usage(Path(self._store.name).absolute().parent).free
        if free < LEAST_FREE:
            raise ResponseError(
                f"{self._store.name}: expected room for answers, but the disk has {free} bytes left; free some space"
            )
