"""Where annotators of an endpoint work: the origins that show HITs, and that take what is handed in.

The protocol does not tell them, since there was one worker site. An endpoint of ``spa mturk serve`` says so
itself at a well-known address; those of other endpoints are named in the study file.
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
    """Return what an endpoint answers at the well-known address."""
    return {"sites": list(origins)}


def fetch_sites(endpoint: MTurkEndpoint) -> tuple[str, ...]:
    """Ask an endpoint for the origins of its worker site; none where it does not say.

    Raises
    ------
    PlatformError
        If the endpoint does not answer, or with something else than origins.
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
