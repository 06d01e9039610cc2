"""Size and time limits of an HTTP connection before the application sees the request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 16_384  # bytes of the request line and all headers; what browsers and proxies send is far smaller
HEAD_SECONDS = 20.0  # from the connection, or the first byte of a further request, to the end of the headers
BODY_SECONDS = 90.0  # from there to the end of the body; the survey server itself answers 408 earlier


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
    _in_head = False

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.app = _without_disconnects(self.app)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless it is too much."""
        self._progressed = False
        super().data_received(data)
        self._unparsed = 0 if self._progressed else self._unparsed + len(data)
        if self._unparsed > LARGEST_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._timer is None and self._unparsed:  # blank lines before a request
            self._wait(HEAD_SECONDS)

    def on_message_begin(self) -> None:
        """Reset the count and wait for the end of the headers."""
        self._head, self._in_head = 0, True
        self._wait(HEAD_SECONDS)
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
        self._progressed, self._in_head = True, False
        self._wait(BODY_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the timer: the request is complete."""
        self._progressed = True
        self._stop_waiting()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser refused, or what left it as too large."""
        too_large = self._head > LARGEST_HEAD
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_large else HTTPStatus.BAD_REQUEST)

    def _count(self, name: bytes, value: bytes = b"") -> None:
        self._head += len(name) + len(value) + 4  # the colon and the ends of the lines count too
        if self._head > LARGEST_HEAD:
            raise _TooLarge

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._in_head:
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
