"""Size and time limits of an HTTP connection before the application sees the request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Literal
from weakref import WeakKeyDictionary

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from spa.server.http_waiting import WaitingConnections, open_files
from spa.server.rate_limits import address_block

LARGEST_HEAD = 16_384  # bytes of the request line and all headers; what browsers and proxies send is far smaller
HEAD_SECONDS = 20.0  # from the connection, or the first byte of a further request, to the end of the headers
BODY_SECONDS = 90.0  # from there to the end of the body; the survey server itself answers 408 earlier
READ_SECONDS = 300.0  # for a client to take what is sent to it: the time of a large image on a slow line
ONCE_MORE_SECONDS = 0.02  # in which the loop looks at all connections
STOP_BODY_SECONDS = 2.0  # for a body that is on its way when the server stops

_SERVERS: WeakKeyDictionary[ServerState, WaitingConnections] = WeakKeyDictionary()


class _TooLarge(Exception):
    """Leaves the parser, which reports it as any bad request."""


class LimitedConnection(HttpToolsProtocol):
    """Uvicorn's connection with limits on headers and slow clients, which uvicorn lacks.

    The parser joins a header that arrives in pieces, and copies what it has with each piece, before it reports
    anything. What it was fed without a report is therefore counted here, as bytes.
    """

    _timer: asyncio.TimerHandle | None = None
    _head = 0  # bytes of the request line and headers that the parser has reported
    _unparsed = 0  # bytes since the parser last reported the end of headers, of a body or of a request
    _progressed = False  # whether it did for the bytes that came in now
    _ends = 0.0  # when the timer is over, in the loop's seconds
    _awaited: Literal["head", "body"] | None = None  # the part of a request that has begun and is not complete
    _began = False  # whether that began with the bytes that came in now
    _read_timer: asyncio.TimerHandle | None = None
    block = ""

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.app = _without_disconnects(self.app)
        if self.server_state not in _SERVERS:
            _SERVERS[self.server_state] = WaitingConnections(open_files())
        self._others = _SERVERS[self.server_state]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.block = address_block(self.client[0] if self.client else "")
        self._wait(HEAD_SECONDS)
        self._others.make_room(len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        self._others.wake(self)
        self._stop_read_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless it is too much; wait for what is missing, if anything is."""
        self._others.wake(self)
        self._progressed = self._began = False
        super().data_received(data)
        self._unparsed = 0 if self._progressed else self._unparsed + len(data)
        if self._unparsed > LARGEST_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._began and self._awaited == "body":
            self._wait(BODY_SECONDS)
        elif self._began and self._awaited is None:
            self._stop_waiting()
        elif (self._progressed and self._awaited == "head") or (self._timer is None and self._unparsed):
            self._wait(HEAD_SECONDS)  # of a further request, or blank lines before one

    def on_message_begin(self) -> None:
        """Reset the count and wait for the end of the headers."""
        self._head, self._awaited, self._began = 0, "head", True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, or a trailer after the body."""
        self._count(name, value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        self._progressed, self._awaited, self._began = True, "body", True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait no longer: the request is complete."""
        self._progressed, self._awaited, self._began = True, None, True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Keep the connection for the next request, while there is room."""
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self._others.rest(self)

    def pause_writing(self) -> None:
        """Wait for a client that takes nothing of what is sent to it."""
        self._stop_read_timer()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Wait no longer: it took most of it."""
        self._stop_read_timer()
        super().resume_writing()

    def shutdown(self) -> None:
        """End after the request at hand, for the rest of which nobody waits long."""
        super().shutdown()
        if self._awaited == "body" and not self.transport.is_closing():
            self.give_up_in(STOP_BODY_SECONDS)

    def give_up_in(self, seconds: float) -> None:
        """Close in ``seconds``, or earlier if that was due, unless the client goes on."""
        if self._timer is None or self._ends > self.loop.time() + seconds:
            self._start_timer(seconds)

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser refused, or what left it as too large."""
        too_large = self._head > LARGEST_HEAD
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_large else HTTPStatus.BAD_REQUEST)

    def _count(self, name: bytes, value: bytes = b"") -> None:
        self._head += len(name) + len(value) + 4  # the colon and the ends of the lines count too
        if self._head > LARGEST_HEAD:
            raise _TooLarge

    def _wait(self, seconds: float) -> None:
        self._start_timer(self._others.begin(self, seconds))

    def _stop_waiting(self) -> None:
        self._others.end(self)
        self._stop_timer()

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._ends = self.loop.time() + seconds
        self._timer = self.loop.call_later(seconds, self._read_once_more)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _read_once_more(self) -> None:
        """Give up, unless something has come that a busy server has not read yet."""
        self._timer = self.loop.call_later(ONCE_MORE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if self._awaited == "head":
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        elif not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer, unless another answer is under way, and close the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            line = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            self.transport.write(line.encode())
        self.transport.close()


def _without_disconnects(app: ASGIApp) -> Any:
    """Let a client that goes away while its body is read be no error of the application."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ClientDisconnect):
            await app(scope, receive, send)

    return run
