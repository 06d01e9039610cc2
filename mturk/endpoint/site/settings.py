"""The URLs of the site and its frames, and what the host allows in a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from mturk.questions import is_loopback
from spa.errors import PlatformError


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """Settings of the site; raise PlatformError if a URL is no origin, or both are the same."""

    site_url: str  # of the worker site, such as https://hits.example.org
    frame_url: str  # at which HITs are shown and submitted
    place: str = "HITs"  # what the site calls itself
    popups: bool = False  # whether HITs may open other windows (to search the web), without more rights than the frame
    clock: Callable[[], float]  # seconds since 1970, for limits on sign-in

    def __post_init__(self) -> None:
        for name, url in (("site address", self.site_url), ("frame address", self.frame_url)):
            if origin(url) != url:
                raise PlatformError(f"{name}: expected an origin such as https://hits.example.org, got {url!r}")
        if self.site_url == self.frame_url:
            raise PlatformError(
                f"frame address: expected another origin than the site's, got {self.frame_url!r} for both; "
                "choose another port or host name, so that no HIT can reach the site"
            )

    @property
    def secure(self) -> bool:
        """Whether browsers reach the site by https."""
        return self.site_url.startswith("https:")

    @property
    def cookie(self) -> str:
        """The session cookie's name; browsers restrict the prefix ``__Host-`` to https, this host and the path /."""
        return "__Host-worker" if self.secure else f"worker-{urlsplit(self.site_url).port or 80}"

    @property
    def mark_cookie(self) -> str:
        """The name of the cookie by which the browser that redeemed an invitation is recognised."""
        return f"{self.cookie}-mark"


def origin(url: str) -> str | None:
    """Return the origin of a URL, or None if it has none.

    >>> origin("https://example.org/a?b"), origin("http://127.0.0.1:8470"), origin("example.org")
    ('https://example.org', 'http://127.0.0.1:8470', None)
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{shown}" + (f":{port}" if port not in (None, usual) else "")


def host_of(url: str) -> str:
    """Return the host name of an origin."""
    return urlsplit(url).hostname or ""


def on_this_machine(url: str) -> bool:
    """Return whether an origin is on this machine."""
    return is_loopback(host_of(url))
