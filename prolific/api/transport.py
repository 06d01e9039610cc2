"""HTTP calls: authentication, timeouts, retries and errors.

Reads and idempotent calls are retried after a lost connection. Calls that create something are sent once and retried
only after a 429, which has no effect; payments are never retried.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2

from prolific.api.access import Access
from prolific.api.problems import ProlificError, ProlificRequestRefused, Unanswered, Unreachable, error_line

Repeat = Literal["always", "refused", "never"]  # try again after anything, after a 429 only, not at all
TRIES = 6
LONGEST_PAUSE = 30.0  # seconds, of our own choice
LONGEST_WAIT = 120.0  # seconds, where the platform asks for it
MOST_PAGES = 10_000
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResponse:
    """A response: its JSON value (``None`` if it has no body), the text verbatim, and the headers."""

    status: int
    value: Any
    text: str
    headers: Mapping[str, str]

    @property
    def record(self) -> dict[str, Any]:
        """The value, which must be a JSON object."""
        if not isinstance(self.value, dict):
            raise Unanswered(f"Prolific: expected a JSON object in answer, got {self.text[:80]!r}; look again later")
        return self.value


class Transport:
    """Sends calls and reads responses.

    ``rng`` draws the pauses between tries; ``timeout`` is in seconds; a call that may be repeated is made up to
    ``tries`` times.
    """

    def __init__(
        self,
        access: Access,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        timeout: float = 30.0,
        tries: int = TRIES,
    ) -> None:
        self.access = access
        self._sleep = sleep
        self._rng = rng or random.Random()
        self._tries = tries
        name = version("spa-eval")
        self._client = httpx2.Client(
            timeout=timeout,
            trust_env=not access.local,
            headers={
                "Authorization": f"Token {access.token}",
                "User-Agent": f"spa-eval/{name}",
                "Referer": f"https://pypi.org/project/spa-eval/{name}/",
                "Accept": "application/json",
            },
        )

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str | int] | None = None,
        repeat: Repeat | None = None,
    ) -> ApiResponse:
        """Make a call and return the response of a success.

        ``repeat`` says after what the call may be repeated: by default a GET after any failure, others after a 429
        only.

        Raises
        ------
        ProlificRequestRefused
            If the platform refuses; the call had no effect.
        Unreachable
            If no connection was established; the call had no effect.
        Unanswered
            If it is unknown whether the call took effect.
        """
        repeat = repeat or ("always" if method == "GET" else "refused")
        tries = 1 if repeat == "never" else self._tries
        for number in range(1, tries + 1):
            least = 0.0
            try:
                return self._once(method, path, body, query)
            except ProlificRequestRefused as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS or number == tries:
                    raise
                least = error.wait
            except Unreachable:
                if number == tries:
                    raise
            except Unanswered:
                if repeat != "always" or number == tries:
                    raise
            self._sleep(
                max(min(least, LONGEST_WAIT), self._rng.uniform(0.5, 1.0) * min(LONGEST_PAUSE, 0.5 * 2**number))
            )
        raise AssertionError("the last try returns or raises")

    def pages(self, path: str, query: Mapping[str, str | int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, page by page."""
        answer = self.call("GET", path, query=query)
        for _ in range(MOST_PAGES):
            rows = answer.record.get("results")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ProlificError(f"Prolific: GET {path}: expected a list of results, got {answer.text[:80]!r}")
            yield from rows
            link = _next(answer.record)
            if link is None:
                return
            answer = self.call("GET", self._own_path(link))
        raise ProlificError(f"Prolific: GET {path}: the list does not end after {MOST_PAGES} pages; look again later")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _once(self, method: str, path: str, body: Any, query: Mapping[str, str | int] | None) -> ApiResponse:
        place = f"Prolific: {method} {path.partition('?')[0]}"
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        url = self.access.base_url + path
        try:
            response = self._client.request(method, url, content=content, headers=headers, params=query)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError) as error:
            raise Unreachable(
                f"{place}: {self.access.base_url} cannot be reached ({type(error).__name__}); nothing was sent"
            ) from error
        except httpx2.HTTPError as error:
            raise Unanswered(
                f"{place}: no answer came ({type(error).__name__}); nobody knows whether it took effect"
            ) from error
        return self._read(place, response)

    def _read(self, place: str, response: httpx2.Response) -> ApiResponse:
        text = self.access.redacted(response.text)
        status = response.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise Unanswered(f"{place}: {error_line(status, text)}; nobody knows whether it took effect")
        if status >= HTTPStatus.BAD_REQUEST:
            raise ProlificRequestRefused(
                f"{place}: {error_line(status, text)}{_remedy(status)}",
                status=status,
                body=text,
                wait=_wait_seconds(response),
            )
        if status >= HTTPStatus.MULTIPLE_CHOICES or len(response.content) > MOST_BYTES:
            raise Unanswered(f"{place}: expected an answer of the API, got HTTP {status}; is the address right?")
        value = None
        if text.strip():
            try:
                value = json.loads(text)
            except ValueError as error:
                raise Unanswered(f"{place}: expected JSON, got {text[:60]!r}; is the address right?") from error
        return ApiResponse(status=status, value=value, text=text, headers=dict(response.headers))

    def _own_path(self, link: str) -> str:
        """Return path and query of a link, which must lead to the same API, since the token is sent there."""
        parts, own = urlsplit(link), urlsplit(self.access.base_url)
        path = parts.path.removeprefix(own.path) if parts.netloc else parts.path
        if (parts.netloc and parts.hostname != own.hostname) or not path.startswith("/api/"):
            raise ProlificError(
                f"Prolific: a list goes on at {link[:80]!r}, which is not of {own.hostname}; not followed"
            )
        return path + (f"?{parts.query}" if parts.query else "")


def _next(record: Mapping[str, Any]) -> str | None:
    links = record.get("_links")
    following = links.get("next") if isinstance(links, dict) else None
    link = following.get("href") if isinstance(following, dict) else None
    return link if isinstance(link, str) and link else None


def _wait_seconds(response: httpx2.Response) -> float:
    """Return the seconds of a Retry-After header; 0 for a date or none."""
    seconds = response.headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdigit() else 0.0


def _remedy(status: int) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "; is the token right, and does it belong to this workspace?"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "; wait a minute and run the command again"
    return ""
