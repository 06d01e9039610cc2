"""Serve a web application on a free port of this machine while a block runs."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spa.errors import PlatformError

if TYPE_CHECKING:
    from fastapi import FastAPI

START_SECONDS = 15.0


@contextmanager
def serve_on_loopback(app: FastAPI) -> Iterator[str]:
    """Serve ``app`` on loopback, yield its URL and stop it on leaving.

    The port is chosen by the system and bound here, so that nobody can take it in between.
    """
    import uvicorn

    from spa.server.http_server import server_config

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(128)
        server = uvicorn.Server(server_config(app, log_level="error", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise PlatformError("the server on this machine did not start; see the messages above")
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
