"""Headers that every answer carries, so that nothing in an output can load, run or leak."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spa.media import page_sources

HEADERS: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # "no-referrer" would hide from us where our own forms come from
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex",
}


@lru_cache
def content_policy(places: frozenset[str] = frozenset(), *, frames: frozenset[str] = frozenset()) -> str:
    """Return the content security policy of all pages.

    A browser follows the redirect after the last page only to places (scheme and host) that ``form-action`` names,
    and shows a page in a frame only of the sites that ``frame-ancestors`` names.
    """
    form_action = " ".join(("'self'", *sorted(places)))
    ancestors = " ".join(sorted(frames)) or "'none'"
    files = page_sources("'self' data:")
    return (
        "default-src 'none'; style-src 'self'; script-src 'self'; "
        f"{files}font-src 'self'; connect-src 'self'; "
        f"form-action {form_action}; frame-ancestors {ancestors}; base-uri 'none'"
    )


class SecurityHeaders:
    """Adds the headers to every answer, errors included; a header that the response sets itself is kept.

    The token in the address is the credential; the one cookie only leads the open link back to it. No other
    site learns the address: ``same-origin`` hides it from the completion page, and the policy from everything else.
    """

    def __init__(self, app: ASGIApp, *, policy: Callable[[], str], headers: Mapping[str, str] = HEADERS) -> None:
        self.app = app
        self.policy = policy  # adapters add sites while the server runs
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                headers = [(b"content-security-policy", self.policy().encode()), *self.headers]
                message["headers"] = [*message["headers"], *(each for each in headers if each[0] not in own)]
            await send(message)

        await self.app(scope, receive, send_with_headers)
