"""What a server counts of its requests, in memory: how many, with what status, and how long they took."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds; Prometheus' usual ones


class RequestCounts:
    """Requests answered by one process since it started."""

    def __init__(self) -> None:
        self.by_status: Counter[str] = Counter()  # "2xx", ...
        self.seconds = 0.0  # of all requests together
        self._within = [0] * (len(BOUNDS) + 1)

    def note(self, status: int, seconds: float) -> None:
        """Count one request."""
        self.by_status[f"{status // 100}xx"] += 1
        self.seconds += seconds
        self._within[bisect_left(BOUNDS, seconds)] += 1

    def histogram(self) -> Iterator[tuple[str, int]]:
        """Yield each bound, as Prometheus writes it, and how many requests took at most so long."""
        yield from zip((*map(str, BOUNDS), "+Inf"), accumulate(self._within), strict=True)


class RequestMetrics:
    """Middleware that counts requests."""

    def __init__(self, app: ASGIApp, *, counts: RequestCounts) -> None:
        self.app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count one request, also one that fails."""
        await noted(self.app, scope, receive, send, self._counts.note)


async def noted(app: ASGIApp, scope: Scope, receive: Receive, send: Send, note: Callable[[int, float], None]) -> None:
    """Answer a request, then note its status and how many seconds it took; one that fails has status 500."""
    if scope["type"] != "http":
        await app(scope, receive, send)
        return
    began, status = time.perf_counter(), 500

    async def seen(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        await send(message)

    try:
        await app(scope, receive, seen)
    finally:
        note(status, time.perf_counter() - began)
