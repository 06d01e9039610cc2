"""The address and API token of the platform; the token is never printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from prolific.api.problems import ProlificError
from spa.addresses import is_loopback

PLATFORM = "https://api.prolific.com"
URL_VARIABLE = "PROLIFIC_API_URL"
TOKEN_VARIABLE = "PROLIFIC_API_TOKEN"
IDENTIFIER = re.compile(r"[0-9a-f]{24}")  # of studies, submissions, participants, projects ...


class NoToken(ProlificError):
    """There is no token in the environment."""

    def __init__(self) -> None:
        super().__init__(
            f"Prolific: expected a token in the environment variable {TOKEN_VARIABLE}, found none; make one under "
            f"Settings, API tokens of your workspace and set it (export {TOKEN_VARIABLE}=...)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An address and a token. The token shows in no representation."""

    base_url: str  # without a slash at the end
    token: str = field(repr=False)

    @property
    def local(self) -> bool:
        """Whether the address is on this machine, as that of an emulator is."""
        return is_loopback(self.base_url)

    def redacted(self, text: str) -> str:
        """Return a text with the token replaced."""
        return text.replace(self.token, "[token]")


def find_access(endpoint_url: str | None, environment: Mapping[str, str]) -> Access:
    """Return the API's address (``endpoint_url``, else ``PROLIFIC_API_URL``, else Prolific's own) and the token.

    Raises
    ------
    ProlificError
        If the address is neither https nor on this machine, or the token is missing or malformed.
    """
    base_url = endpoint_url or environment.get(URL_VARIABLE, "").strip() or PLATFORM
    _check_address(base_url)
    token = environment.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise NoToken
    if not token.isascii() or not token.isprintable() or " " in token or len(token) < 8:
        raise ProlificError(
            f"Prolific: the environment variable {TOKEN_VARIABLE} holds what no token is (at least 8 characters, no "
            "spaces, without the word Token in front); set it again"
        )
    return Access(base_url=base_url.rstrip("/"), token=token)


def checked_id(name: str, value: str) -> str:
    """Return an id of the platform, or raise if it is malformed and must not go into a URL.

    >>> checked_id("study", "60f6acb180a7b59ac0621f9e")
    '60f6acb180a7b59ac0621f9e'
    """
    if IDENTIFIER.fullmatch(value) is None:
        raise ProlificError(f"Prolific: {name}: expected an id of 24 characters 0-9 and a-f, got {value[:60]!r}")
    return value


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if host and plain and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url))):
        return
    raise ProlificError(
        f"Prolific: --endpoint-url or {URL_VARIABLE}: expected an https address without user, password and query "
        f"(http only for this machine), got {parts.scheme or 'no scheme'}://{host or ''}; leave it out for {PLATFORM}"
    )
