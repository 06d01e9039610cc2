"""Middleware before all routes: addresses, our own host, same-origin posts, trusted proxies and rate limits.

A slash at the end of an address changes nothing: it is served, and never redirected to what a Host header names. A form
post that a browser sends says where it comes from (``Sec-Fetch-Site``, ``Origin``); one from
another site is refused. Programs such as webhooks send neither header; they cannot act for
a person, since no cookie identifies one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from spa.errors import ResponseError
from spa.server.rate_limits import BLOCK, Buckets, Limits, address_block, is_network

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OWN = frozenset({"same-origin", "none"})
FORBIDDEN, MISDIRECTED, TOO_MANY = 403, 421, 429
MONITORED = frozenset({"/health", "/metrics", "/admin/status"})  # asked for by address, and the same under any name
log = logging.getLogger("uvicorn.error")
FORWARDED_FOR = b"x-forwarded-for"
MOST_LISTED = 3  # web servers that nobody named, in the log
DEFAULT_PORTS = (":80", ":443")
Refuse = Callable[[str, int], Response]
Network = IPv4Network | IPv6Network


def parse_networks(proxies: Iterable[str]) -> tuple[Network, ...]:
    """Read addresses or networks of proxies.

    Raise ResponseError if one is neither.
    """
    found: list[Network] = []
    for proxy in proxies:
        try:
            found.append(ip_network(proxy))
        except ValueError:
            raise ResponseError(
                f"--trusted-proxy: expected an address or a network such as 127.0.0.1 or 10.0.0.0/8, got {proxy!r}"
            ) from None
    return tuple(found)


def strip_slashes(scope: Scope) -> None:
    """Take the slashes off the end of a request's path."""
    if scope["path"].endswith("/"):
        scope["path"] = scope["path"].rstrip("/") or "/"


class PlainPaths:
    """Serves an address with a slash at its end like the one without."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http":
            strip_slashes(scope)
        await self.app(scope, receive, send)


class RequestGuard:
    """Lets a request pass, or answers it with a polite page.

    ``refuse`` takes a notice and a status and returns a page in the study's language. People reach the server at
    ``public_url``, whose host is ours too, and with ``only_public_host`` the only one that is answered but for what
    machines ask to see whether we work. ``X-Forwarded-For``, ``-Host`` and ``-Proto`` are believed from
    ``trusted_proxies`` only. Posts to ``doors``, the paths at which anybody may ask for a place, are limited;
    ``tell_of_block`` hears of a block that waits.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        refuse: Refuse,
        public_url: str = "",
        only_public_host: bool = False,
        trusted_proxies: tuple[Network, ...] = (),
        limits: Limits | None = None,
        doors: Collection[str] = ("/",),
        tell_of_block: Callable[[], None] = lambda: None,
    ) -> None:
        self.app = app
        self._doors = doors
        self._refuse = refuse
        self._tell_of_block = tell_of_block
        self._public_host = host_of(public_url)
        self._only_public_host = only_public_host
        self._misdirected = False  # somebody was told that already
        self._untrusted: set[str] = set()  # web servers in front of us that nobody named, as was told
        self._proxies = trusted_proxies
        limits = limits or Limits()
        self._link_buckets = Buckets(limits.requests)
        self._start_buckets = Buckets(limits.new_visits)
        self._block_buckets = Buckets(limits.block_visits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] == "http":
            answer = self._refusal_of(scope)
            if answer is not None:
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal_of(self, scope: Scope) -> Response | None:
        strip_slashes(scope)
        scope[BLOCK] = address_block(self._client(scope))
        if self._proxies:
            self._apply_forwarded_headers(scope)
        if self._only_public_host and scope["path"] not in MONITORED and not self._is_for_us(scope):
            return self._refuse("unknown", MISDIRECTED)
        if scope["path"].startswith("/a/"):
            wait = self._link_buckets.take(scope["path"][3:].partition("/")[0][:40])
            if wait:
                return self._busy(wait)
        if scope["method"] not in SAFE and not self._is_own(scope):
            return self._refuse("refused", FORBIDDEN)
        wait = self._wait_for_visit(scope[BLOCK]) if self._asks_for_place(scope) else 0.0
        return self._busy(wait) if wait else None

    def _busy(self, wait: float) -> Response:
        answer = self._refuse("busy", TOO_MANY)
        answer.headers["retry-after"] = str(math.ceil(wait))
        return answer

    def _asks_for_place(self, scope: Scope) -> bool:
        return scope["method"] == "POST" and scope["path"] in self._doors

    def _wait_for_visit(self, block: str) -> float:
        """Return the seconds for which a new visit comes too early; what a block is refused is taken of nobody else."""
        wait = self._block_buckets.take(block) if is_network(block) else 0.0
        if wait:
            self._tell_of_block()
        return wait or self._start_buckets.take("")

    def _client(self, scope: Scope) -> str:
        """Return who asks: the peer, or for whom the nearest proxy that is not ours asks; "" where ours do not say."""
        peer = str((scope.get("client") or ("", 0))[0])
        if not self._is_proxy(peer):
            return "" if self._is_unnamed_proxy(scope, peer) else peer
        named = b",".join(value for name, value in scope["headers"] if name == FORWARDED_FOR)
        steps = [step.strip() for step in named.decode("latin-1").split(",")]
        return next((step for step in reversed(steps) if step and not self._is_proxy(step)), "")

    def _is_unnamed_proxy(self, scope: Scope, peer: str) -> bool:
        """Return whether a web server on this machine, which nobody named, asks for others: they are no one block.

        It is said once, of one on another machine of the same network too, which anybody there may pretend to be.
        """
        address = address_of(peer)
        if address is None or not address.is_private or not any(name == FORWARDED_FOR for name, _ in scope["headers"]):
            return False
        if peer not in self._untrusted and len(self._untrusted) < MOST_LISTED:
            self._untrusted.add(peer)
            log.warning(
                "%s asks for other machines (X-Forwarded-For) and is not trusted; if it is your web server, name "
                "it with --trusted-proxy: else visitors are not told apart by address, and few may begin in a minute",
                peer,
            )
        return address.is_loopback

    def _is_for_us(self, scope: Scope) -> bool:
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        if [without_default_port(host) for host in hosts] == [self._public_host]:
            return True
        if not self._misdirected:  # once, as it may be the proxy that names another for everybody
            self._misdirected = True
            log.warning(
                "a request for the host %.100r was refused: --public-url names %s; if people came that way, have the "
                "web server pass the Host header on, or name its address in --public-url",
                ", ".join(hosts),
                self._public_host,
            )
        return False

    def _is_own(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            return site.decode("latin-1") in OWN
        origin = headers.get(b"origin")
        if origin is None:
            return True
        host = headers.get(b"host", b"").decode("latin-1").lower()
        return host_of(origin.decode("latin-1")) in {without_default_port(host), self._public_host} - {""}

    def _apply_forwarded_headers(self, scope: Scope) -> None:
        """Take over what a proxy of ours says about the request that it passes on; from others it is dropped."""
        headers = scope["headers"]
        if self._is_proxy((scope.get("client") or ("", 0))[0]):
            forwarded = {name: value for name, value in headers if name.startswith(b"x-forwarded-")}
            scheme = forwarded.get(b"x-forwarded-proto", b"").decode("latin-1").rpartition(",")[2].strip()
            if scheme in ("http", "https"):
                scope["scheme"] = scheme
            host = forwarded.get(b"x-forwarded-host", b"").rpartition(b",")[2].strip()
            if host:
                headers = [*((name, value) for name, value in headers if name != b"host"), (b"host", host)]
        scope["headers"] = [(name, value) for name, value in headers if not name.startswith(b"x-forwarded-")]

    def _is_proxy(self, peer: str) -> bool:
        address = address_of(peer)
        return address is not None and any(address in network for network in self._proxies)


def address_of(peer: str) -> IPv4Address | IPv6Address | None:
    """Return the address of a peer; ``None`` of a Unix socket, or a test without a peer."""
    try:
        return ip_address(peer)
    except ValueError:
        return None


def host_of(url: str) -> str:
    """Return the host of a URL, with its port unless it is the usual one.

    >>> host_of("https://study.example.org"), host_of("http://Study.example.org:8000/x"), host_of("null")
    ('study.example.org', 'study.example.org:8000', '')
    """
    try:
        return without_default_port(urlsplit(url).netloc.lower())
    except ValueError:  # such as a bracket that is never closed
        return ""


def without_default_port(host: str) -> str:
    """Leave out the port that a browser leaves out."""
    for port in DEFAULT_PORTS:
        host = host.removesuffix(port)
    return host
