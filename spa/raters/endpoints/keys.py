"""Keys come from the environment, reach the endpoint and nothing else; so do passwords in URLs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from spa.addresses import is_loopback
from spa.errors import PlatformError
from spa.records.raters import FROM_ENVIRONMENT, Rater

NO_KEY = "none"
ENDS = ("/chat/completions", "/completions", "/responses", "/messages")  # of addresses of requests, not of APIs
SHORTEST_SECRET = 8  # characters; a shorter one could not be blotted out of a reply without harm to it


def find_key(rater: Rater, base_url: str, environment: Mapping[str, str]) -> str:
    """Return the rater's key; a server on this machine needs none."""
    place, variable = f"rater {rater.id!r}", rater.api_key_env
    if "?" in base_url:
        raise PlatformError(
            f"{place}: expected a base_url without a query, got {without_password(base_url)}?...; put what comes "
            'after the "?" into the key query, such as query = { "api-version" = "2024-10-21" }'
        )
    path = urlsplit(base_url).path.rstrip("/")
    if (asked := next((end for end in ENDS if path.endswith(end)), None)) is not None:
        raise PlatformError(
            f"{place}: expected a base_url without {asked}, which is added, got {without_password(base_url)}; set "
            f'base_url = "{without_password(base_url).rstrip("/").removesuffix(asked)}"'
        )
    key = "" if rater.api_key_env == NO_KEY else environment.get(rater.api_key_env, "").strip()
    if not key:
        elsewhere = any(FROM_ENVIRONMENT.fullmatch(value) for value in (*rater.headers.values(), *rater.query.values()))
        if is_loopback(base_url) or (rater.api_key_env == NO_KEY and elsewhere):
            return NO_KEY
        if rater.api_key_env == NO_KEY:
            raise PlatformError(
                f'{place}: api_key_env = "none" is for servers on this machine and for keys in headers, got base_url '
                f"{without_password(base_url)} and no such header; name the environment variable that holds the key"
            )
        raise PlatformError(
            f"{place}: expected a key in the environment variable {variable}, got none; set it (export {variable}=...)"
        )
    return check_header_value(key, place, rater.api_key_env)


def check_header_value(key: str, place: str, variable: str) -> str:
    """Return a key that can be sent in a header."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise PlatformError(
            f"{place}: the environment variable {variable} holds characters that no key has; set it again"
        )
    return key


def named_values(rater: Rater, table: Literal["headers", "query"], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the rater's headers or query as they are sent: "env:NAME" is looked up."""
    found = {}
    for name, value in getattr(rater, table).items():
        secret = FROM_ENVIRONMENT.fullmatch(value)
        if secret is None:
            found[name] = value
            continue
        place = f"rater {rater.id!r}, {table}.{name}"
        held = environment.get(secret[1], "").strip()
        if len(held) < SHORTEST_SECRET:
            raise PlatformError(
                f"{place}: expected a secret of {SHORTEST_SECRET} characters or more in the environment variable "
                f"{secret[1]}, got {'fewer' if held else 'none'}; set it (export {secret[1]}=...)"
            )
        check_header_value(held.replace(" ", ""), place, secret[1])  # "Bearer ..." is two words
        found[name] = held
    return found


def without_password(url: str) -> str:
    """Return a URL without the user, the password and the query that it may carry.

    >>> without_password("https://me:secret@example.org:8443/v1?key=k")
    'https://example.org:8443/v1'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
