"""One server of a store at a time: its order of events is kept in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mturk.endpoint.store import EndpointStore
from spa.errors import ResponseError
from spa.responses.run_lock import exclusive_run


@contextmanager
def server_lock(store: EndpointStore, target: str) -> Iterator[None]:
    """Hold the store's lock while a server runs; it is freed when the process dies.

    Raises
    ------
    ResponseError
        If another process serves it.
    """
    lock = exclusive_run(target, "mturk endpoint", store.connection)
    try:
        lock.__enter__()
    except ResponseError as error:
        raise ResponseError(
            f"{store.name}: another `spa mturk serve` is running on this store; stop it, or name another store"
        ) from error
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
