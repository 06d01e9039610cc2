"""A port of this machine, taken before anything is promised, and the server that runs on it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from spa.errors import ResponseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A bound socket and the address that a browser on this machine opens."""

    socket: socket.socket
    address: str


@contextmanager
def listen(host: str, port: int) -> Iterator[Listener]:
    """Yield a listening socket; port 0 takes any free one.

    Raises
    ------
    ResponseError
        If the address cannot be used, such as a port that another program has.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ResponseError(f"{host}:{port}: cannot listen here ({error.strerror}); choose another --host") from error
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(place)
            bound.listen()  # whoever is told the address may connect at once and waits until the server runs
        except OSError as error:
            raise ResponseError(
                f"{host}:{port}: cannot listen here ({error.strerror}); choose another --port, or 0 for any free one"
            ) from error
        shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
        name = f"[{shown}]" if ":" in shown else shown
        yield Listener(socket=bound, address=f"http://{name}:{bound.getsockname()[1]}")


def run(app: FastAPI, listener: Listener) -> None:
    """Serve until interrupted. Requests are not logged: their addresses hold people's tokens."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener.socket])
