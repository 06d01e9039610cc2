"""The cookie by which a browser finds its own visit again."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from fastapi.responses import Response
from starlette.requests import Request

from spa.responses.tokens import is_token
from spa.server.request_guard import OWN

SECONDS = 90 * 24 * 3600
ELSEWHERE = "elsewhere"  # field of the first page that another site led to: the browser is not to remember the visit


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitCookie:
    """A cookie with the token of a visit and its keyed hash, so that nobody makes one of a token that they know.

    Over TLS its name begins with ``__Host-``: no other host, nor a page without TLS, can set or replace it.
    """

    study_id: str  # a host may serve several studies
    kind: str  # of door, by which the visit began
    public_url: str
    keyed: Callable[[str], str]

    def set(self, request: Request, response: Response, token: str) -> Response:
        """Let a response give this browser the cookie of a visit; return the response."""
        secure = self._is_secure(request)
        value, name = f"{token}.{self._seal(token)}", self._name(secure)
        response.set_cookie(name, value, max_age=SECONDS, path="/", secure=secure, httponly=True, samesite="strict")
        return response

    def token(self, request: Request) -> str | None:
        """Return the token of the visit that this browser began; ``None`` without a cookie of ours."""
        given = request.cookies.get(self._name(self._is_secure(request)), "")
        token, _, seal = given.rpartition(".")
        if not is_token(given) or not hmac.compare_digest(seal, self._seal(token)):
            return None
        return token

    def _seal(self, token: str) -> str:
        return self.keyed(f"{self.kind} cookie {token}")

    def _is_secure(self, request: Request) -> bool:
        return self.public_url.startswith("https:") or request.url.scheme == "https"

    def _name(self, secure: bool) -> str:
        name = f"{self.kind}-{sha256(self.study_id.encode()).hexdigest()[:8]}"
        return f"__Host-{name}" if secure else name


def from_elsewhere(request: Request) -> dict[str, str]:
    """Return the fields by which the first page passes on that another site led to it."""
    return {ELSEWHERE: "yes"} if is_from_elsewhere(request) else {}


def is_from_elsewhere(request: Request) -> bool:
    """Return whether a page of another site led here, as browsers say over TLS and on this machine."""
    return request.headers.get("sec-fetch-site", "none") not in OWN
