"""Ctrl-C, or a polite end (SIGTERM), during a run of a rater."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPED = "stopped with Ctrl-C; run the command again to resume, what is answered is kept"


@contextmanager
def ended_politely() -> Iterator[None]:
    """Have SIGTERM end a command as Ctrl-C does: what is open is closed, and it says how to go on.

    >>> with ended_politely():
    ...     try:
    ...         signal.raise_signal(signal.SIGTERM)
    ...     except KeyboardInterrupt:
    ...         print("as Ctrl-C")
    as Ctrl-C
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stop_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C or SIGTERM call ``stop``, and the second act as ever; only the main thread can do so.

    >>> with stop_on_interrupt(lambda: print("at once")), stop_on_interrupt(lambda: print("soon")):
    ...     signal.raise_signal(signal.SIGINT)
    ...     signal.raise_signal(signal.SIGINT)
    soon
    at once
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(*_: object) -> None:
        restore()
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
