"""The cookie by which a browser finds its own visit again."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from fastapi.responses import Response
from starlette.requests import Request

from spa.responses.tokens import is_token, random_token
from spa.server.request_guard import OWN

SECONDS = 90 * 24 * 3600
PRESSED = "visit"  # field of the first page with the token of the visit that its button begins
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
        value, name = self._sealed(token), self._name(secure)
        response.set_cookie(name, value, max_age=SECONDS, path="/", secure=secure, httponly=True, samesite="strict")
        return response

    def token(self, request: Request) -> str | None:
        """Return the token of the visit that this browser began; ``None`` without a cookie of ours."""
        return self._open(request.cookies.get(self._name(self._is_secure(request)), ""))

    def first_page_fields(self, request: Request) -> dict[str, str]:
        """Return the fields of a first page: the token of the visit to be, and whether another site led here.

        So a button that is pressed twice, or again because no answer came, takes one place.
        """
        return {PRESSED: self._sealed(random_token()), **({ELSEWHERE: "yes"} if is_from_elsewhere(request) else {})}

    def pressed(self, fields: Mapping[str, str]) -> str | None:
        """Return the token that the first page brought along; ``None`` where it did not."""
        return self._open(fields.get(PRESSED, ""))

    def _sealed(self, token: str) -> str:
        return f"{token}.{self.keyed(f'{self.kind} cookie {token}')}"

    def _open(self, sealed: str) -> str | None:
        token = sealed.rpartition(".")[0]
        return token if is_token(sealed) and hmac.compare_digest(sealed, self._sealed(token)) else None

    def _is_secure(self, request: Request) -> bool:
        return self.public_url.startswith("https:") or request.url.scheme == "https"

    def _name(self, secure: bool) -> str:
        name = f"{self.kind}-{sha256(self.study_id.encode()).hexdigest()[:8]}"
        return f"__Host-{name}" if secure else name


def is_from_elsewhere(request: Request) -> bool:
    """Return whether a page of another site led here, as browsers say over TLS and on this machine."""
    return request.headers.get("sec-fetch-site", "none") not in OWN
