"""Keys come from the environment, reach the endpoint and nothing else; so do passwords in URLs."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from spa.errors import PlatformError
from spa.study.raters import Rater

NO_KEY = "none"


def find_key(rater: Rater, base_url: str, environment: Mapping[str, str]) -> str:
    """Return the rater's key; a server on this machine needs none."""
    place = f"rater {rater.id!r}"
    key = "" if rater.api_key_env == NO_KEY else environment.get(rater.api_key_env, "").strip()
    if not key:
        if is_loopback(base_url):
            return NO_KEY
        if rater.api_key_env == NO_KEY:
            raise PlatformError(
                f'{place}: api_key_env = "none" is for servers on this machine, got base_url '
                f"{without_password(base_url)}; name the environment variable that holds the key"
            )
        raise PlatformError(
            f"{place}: wanted a key in the environment variable {rater.api_key_env}, found none; "
            f"set it (export {rater.api_key_env}=...)"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise PlatformError(
            f"{place}: the environment variable {rater.api_key_env} holds characters that no key has; set it again"
        )
    return key


def is_loopback(url: str) -> bool:
    """Tell whether a URL leads to this machine.

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("https://localhost.example.org/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def without_password(url: str) -> str:
    """Return a URL without the user, the password and the query that it may carry.

    >>> without_password("https://me:secret@example.org:8443/v1?key=k")
    'https://example.org:8443/v1'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
