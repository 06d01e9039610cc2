"""What keeps strangers out: headers of every answer, requests from other origins, and guessing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SITE_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With "no-referrer" a browser would send "Origin: null" with our own forms, which are then refused.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex",
}
TRIES = 10  # failed sign-ins of one address
WINDOW = 60.0  # seconds
MOST_ADDRESSES = 10_000


class HeaderMiddleware:
    """Adds headers to every answer, errors included; an answer's own value of one of them stands."""

    def __init__(self, app: ASGIApp, *, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)


def site_policy(frame_source: str) -> str:
    """Return the policy of a page of the site that holds a frame from one other origin."""
    return SITE_HEADERS["content-security-policy"] + f"; frame-src {frame_source}"


def is_same_origin(headers: Headers, origin: str) -> bool:
    """Say whether a page of the site at ``origin`` sent a request, as the browser reports it.

    A frame without an origin sends ``null``; a page on another port of the same host sends its own address and
    ``same-site``: both are refused.
    """
    fetched = headers.get("sec-fetch-site")
    if fetched is not None and fetched != "same-origin":
        return False
    sent = headers.get("origin")
    if sent is not None:
        return sent == origin
    return fetched == "same-origin"


class FailureLimit:
    """Counts failures of each address within a minute; kept in memory, and bounded."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def is_over(self, address: str) -> bool:
        """Say whether an address failed too often of late."""
        with self._lock:
            return len(self._recent(address)) >= TRIES

    def note(self, address: str) -> None:
        """Note a failure."""
        with self._lock:
            recent = self._recent(address)
            self._failures.pop(address, None)
            self._failures[address] = [*recent, self._clock()][-TRIES:]
            while len(self._failures) > MOST_ADDRESSES:
                self._failures.pop(next(iter(self._failures)))

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - WINDOW
        return [at for at in self._failures.get(address, []) if at > since]
