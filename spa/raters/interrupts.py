"""Ctrl-C during a run of a rater."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPED = "stopped with Ctrl-C; run the command again to resume, what is answered is kept"


@contextmanager
def stop_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C call ``stop``, and the second act as ever; only the main thread can do so.

    >>> with stop_on_interrupt(lambda: print("at once")), stop_on_interrupt(lambda: print("soon")):
    ...     signal.raise_signal(signal.SIGINT)
    ...     signal.raise_signal(signal.SIGINT)
    soon
    at once
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
