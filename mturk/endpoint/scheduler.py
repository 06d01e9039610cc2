"""What goes on without requests: time passes, and events are delivered."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mturk.endpoint.service import MTurkService
from mturk.endpoint.webhooks import deliver_due, new_client
from spa.errors import SpaError

SECONDS = 1.0
log = logging.getLogger("uvicorn.error")


@contextmanager
def ticking(endpoint: MTurkService, host_key: bytes, *, seconds: float = SECONDS) -> Iterator[None]:
    """Let time pass and events be delivered, every so many seconds, while a block runs."""
    stop = threading.Event()
    thread = threading.Thread(target=_tick, args=(endpoint, host_key, seconds, stop), name="endpoint-ticking")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _tick(endpoint: MTurkService, host_key: bytes, seconds: float, stop: threading.Event) -> None:
    with new_client() as client:
        while not stop.wait(seconds):
            try:
                endpoint.call(lambda tx: None)
                while not stop.is_set() and deliver_due(endpoint, host_key, client, wall=time.time):
                    pass
            except SpaError as error:  # a full disk, a lock: told, and tried again at the next tick
                log.error("%s", error)
