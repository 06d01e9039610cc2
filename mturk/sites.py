"""The origins of an endpoint's worker site, which show HITs and receive submissions.

The protocol does not name them, since MTurk had one worker site. An endpoint of ``spa mturk serve`` publishes them at
a well-known URL; those of other endpoints are named in the study file.
"""

from __future__ import annotations

import re
from json import JSONDecodeError

import httpx2

from mturk.endpoints import MTurkEndpoint
from spa.errors import PlatformError

ADDRESS = "/.well-known/hit-sites"
ORIGIN = re.compile(r"https?://[^/?#\s@\"';,]{1,200}", re.ASCII)
MOST = 8  # origins
LARGEST = 10_000  # bytes
SECONDS = 10.0


def write_sites(*origins: str) -> dict[str, list[str]]:
    """Return an endpoint's reply at the well-known URL."""
    return {"sites": list(origins)}


def fetch_sites(endpoint: MTurkEndpoint) -> tuple[str, ...]:
    """Fetch the origins of an endpoint's worker site; none if it does not publish them.

    Raises
    ------
    PlatformError
        If the endpoint does not answer, or not with origins.
    """
    try:
        answer = httpx2.get(endpoint.origin + ADDRESS, timeout=SECONDS)
    except httpx2.HTTPError as error:
        raise PlatformError(
            f"{endpoint.origin}: does not answer ({error or type(error).__name__}); is it running?"
        ) from error
    if answer.status_code != 200 or "json" not in answer.headers.get("content-type", ""):
        return ()
    try:
        found = answer.json()["sites"] if len(answer.content) <= LARGEST else None
    except (JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
        found = None
    if (
        not isinstance(found, list)
        or len(found) > MOST
        or not all(isinstance(one, str) and ORIGIN.fullmatch(one) for one in found)
    ):
        raise PlatformError(f"{endpoint.origin}{ADDRESS}: expected up to {MOST} origins, got something else")
    return tuple(dict.fromkeys(found))
