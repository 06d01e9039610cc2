"""Security headers, the check of a request's origin, and a limit on failed sign-ins."""

from __future__ import annotations

import threading
from collections.abc import Callable

from starlette.datastructures import Headers

from spa.server.security_headers import HEADERS, content_policy

SITE_HEADERS = {**HEADERS, "x-frame-options": "DENY", "cross-origin-resource-policy": "same-origin"}
TRIES = 10  # failed sign-ins of one address
WINDOW = 60.0  # seconds
MOST_ADDRESSES = 10_000


def site_policy(frame_source: str) -> str:
    """Return the content security policy of a page with a frame of another origin."""
    return f"{content_policy()}; frame-src {frame_source}"


def is_same_origin(headers: Headers, origin: str) -> bool:
    """Return whether, by the browser's headers, a page of ``origin`` sent a request.

    A sandboxed frame sends the origin ``null``, and a page on another port of the same host sends ``same-site``: both
    are refused.
    """
    fetched = headers.get("sec-fetch-site")
    if fetched is not None and fetched != "same-origin":
        return False
    sent = headers.get("origin")
    if sent is not None:
        return sent == origin
    return fetched == "same-origin"


class FailureLimit:
    """Counts recent failures of each IP address, in bounded memory."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def is_over(self, address: str) -> bool:
        """Return whether an IP address failed too often recently."""
        with self._lock:
            return len(self._recent(address)) >= TRIES

    def note(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            recent = self._recent(address)
            self._failures.pop(address, None)
            self._failures[address] = [*recent, self._clock()][-TRIES:]
            while len(self._failures) > MOST_ADDRESSES:
                self._failures.pop(next(iter(self._failures)))

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - WINDOW
        return [at for at in self._failures.get(address, []) if at > since]
