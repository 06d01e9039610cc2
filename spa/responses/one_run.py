"""One run of one rater at a time: two at once would each pay for every answer."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from spa.errors import ResponseError
from spa.responses.database import parse_target


@contextmanager
def one_run(store_name: str, rater_id: str) -> Iterator[None]:
    """Hold a lock file beside an SQLite store while a rater runs; the system frees it when the process dies.

    Other databases have no file to lock: there, starting one run at a time is left to the user.

    Raises
    ------
    ResponseError
        If another process runs this rater on this store, or no file can be made beside it.
    """
    store = parse_target(store_name).path
    if store is None:
        yield
        return
    place = store.with_name(f".{store.name}.{sha256(rater_id.encode()).hexdigest()[:12]}.lock")
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ResponseError(f"{place}: cannot be written ({error.strerror}); make its folder writable") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResponseError(
                f"{store}: rater {rater_id!r} is running on this store already, and two runs would pay twice; "
                "wait for the other run, or stop it and start again"
            ) from error
        yield
    finally:
        os.close(descriptor)
