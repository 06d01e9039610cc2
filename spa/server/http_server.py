"""A port of this machine, taken before anything is promised, and the server that runs on it."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import uvicorn
from uvicorn.supervisors import Multiprocess

from spa.errors import PlatformError, ResponseError
from spa.server.http_connection import LimitedConnection
from spa.server.http_waiting import allow_more_files

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

RARELY = 1000  # searches of young objects between two of all; Python's default is 10
BACKLOG = 2048  # connections that wait while hundreds of people arrive at once
START_SECONDS = 15.0  # that a server on this machine may take
KEEP_ALIVE = 75  # seconds; longer than a proxy keeps a connection for the next request, or a person thinks about a page
STOP_SECONDS = 4  # for requests at hand when the server is to stop
LAST_SECONDS = 8.0  # from there to the end of the process, whatever it waits for: service managers kill after ten
log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A bound socket and the address that a browser on this machine opens."""

    socket: socket.socket
    address: str


@contextmanager
def listen(host: str, port: int) -> Iterator[Listener]:
    """Yield a listening socket; port 0 takes any free one.

    Raise ResponseError if the address cannot be used, such as a port that another program has.
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
            bound.listen(BACKLOG)  # who gets the address may connect at once and waits until the server runs
        except OSError as error:
            raise ResponseError(
                f"{host}:{port}: cannot listen here ({error.strerror}); choose another --port, or 0 for any free one"
            ) from error
        address = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
        name = f"[{address}]" if ":" in address else address
        yield Listener(socket=bound, address=f"http://{name}:{bound.getsockname()[1]}")


def run(app: ASGIApp, *listeners: Listener, when_ready: Callable[[], object] = lambda: None, **more: Any) -> None:
    """Serve until interrupted, by SIGTERM as by Ctrl-C, and return; ``more`` goes to :func:`server_config`.

    ``when_ready`` is called once the server handles interrupts: one that falls into an import could be lost, and leave
    the lock of imports taken.
    """
    server = _Server(server_config(app, **more), when_ready)
    with suppress(KeyboardInterrupt), _terminated_as_interrupted(), closing(server.ending):
        server.run(sockets=[listener.socket for listener in listeners])


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM raise what Ctrl-C does, so that everything is closed on the way out."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # where no signals arrive
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Ending:
    """Ends the process some seconds after it was told to stop, unless it has stopped by then."""

    _timer: threading.Timer | None = None

    def begin(self) -> None:
        """Count from now, if that was not begun."""
        if self._timer is None:
            self._timer = threading.Timer(LAST_SECONDS, _end_process)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """End nothing any more."""
        if self._timer is not None:
            self._timer.cancel()


def _end_process() -> None:
    log.error(
        "the server did not end within %g s, as something that it waits for does not come; it ends now. Saved answers "
        "are on disk; a file that ends in -wal belongs to the store: copy and move both together",
        LAST_SECONDS,
    )
    os._exit(1)


class _Server(uvicorn.Server):
    """A server that calls ``when_ready`` once it has started and handles interrupts."""

    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._when_ready = when_ready
        self.ending = _Ending()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        self.ending.begin()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, within the handlers of signals that ``serve`` installs."""
        allow_more_files()
        await super().startup(sockets)
        collect_rarely()
        self._when_ready()


def collect_rarely() -> None:
    """Look for garbage among all objects a hundred times less often, and never in what is loaded already.

    Each search would hold up everybody who sends a page meanwhile, for a tenth of a second and more.
    """
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, RARELY)


class _Workers(Multiprocess):
    """Processes that end together, those that hang with the others."""

    def join_all(self) -> None:
        """Wait for all of them, and kill those that do not end."""
        ends = time.monotonic() + LAST_SECONDS
        for worker in self.processes:
            worker.process.join(max(ends - time.monotonic(), 0.0))
            if worker.process.is_alive():
                log.error("a process of the server did not end within %g s and is killed", LAST_SECONDS)
                worker.kill()
                worker.join()


def _make_worker(make_app: Callable[[], FastAPI]) -> FastAPI:
    allow_more_files()
    app = make_app()
    collect_rarely()
    return app


def run_workers(
    make_app: Callable[[], FastAPI],
    listener: Listener,
    *,
    workers: int,
    when_ready: Callable[[], object],
    own_logs: bool,
) -> None:
    """Serve from several processes until interrupted; one that dies is replaced.

    ``make_app`` is called in each of them, and must be something that can be pickled.
    """
    config = server_config(partial(_make_worker, make_app), factory=True, workers=workers, own_logs=own_logs)
    with suppress(KeyboardInterrupt):
        supervisor = _Workers(config, sockets=[listener.socket])  # handles interrupts from here on
        when_ready()
        supervisor.run()


@contextmanager
def serve_on_loopback(app: FastAPI) -> Iterator[str]:
    """Serve ``app`` on loopback, yield its URL and stop it on leaving.

    The port is chosen by the system and bound here, so that nobody can take it in between.
    """
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


def server_config(
    app: ASGIApp | Callable[[], FastAPI], *, own_logs: bool = False, log_level: str = "warning", **more: Any
) -> uvicorn.Config:
    """Return how every server of ours runs; with ``own_logs`` logging is left as it is set up.

    Requests are not logged: their addresses hold people's tokens. Which headers of a proxy are believed is
    decided by our own guard.
    """
    logs: dict[str, Any] = {"log_config": None} if own_logs else {"log_level": log_level}
    return uvicorn.Config(
        app,
        http=LimitedConnection,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        **{"timeout_graceful_shutdown": STOP_SECONDS} | logs | more,
    )
