"""Delivering events by signed HTTP posts, with retries for about a day, and never into the host's own network.

The signature is ``X-Spa-Signature: t=<seconds>,v1=<hex>``, an HMAC-SHA-256 under the requester's hook secret of
``<seconds>.<body>``. A receiver answers with a status of 200 to 299; an event may arrive twice and carries an
``EventDocId`` by which that is seen.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx2
from sqlalchemy import Row, select

from mturk.endpoint.keys import hook_secret
from mturk.endpoint.schema import deliveries
from mturk.endpoint.service import MTurkService
from mturk.endpoint.transaction import Transaction
from spa.errors import SpaError

WAITS = (2.0, 10.0, 60.0, 600.0, 3600.0, 14_400.0, 43_200.0)  # seconds before the next attempt; then it is given up
TIMEOUT = 10.0  # seconds
AT_ONCE = 50
SIGNATURE = "X-Spa-Signature"
SECONDS = 1.0
log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDestination:
    """A resolved destination: the checked IP address to which the connection is made."""

    host: str
    address: str
    port: int
    url: str  # with the address in the host's stead


def check_destination(url: str, *, private: bool) -> str | None:
    """Return what is wrong with a URL for events, or None; ``private`` allows private addresses."""
    found = resolve(url, private=private)
    return found if isinstance(found, str) else None


def resolve(url: str, *, private: bool) -> WebhookDestination | str:
    """Resolve a URL, or return what is wrong with it; a host with any private address is refused."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        return "expected http:// or https:// with a host and without a password"
    if parts.scheme == "http" and not private:
        return "expected https://"
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)}
    except OSError as error:
        return f"its host cannot be found ({error.strerror})"
    addresses = [ipaddress.ip_address(address.partition("%")[0]) for address in sorted(found)]
    if not private and not all(is_public(address) for address in addresses):
        return "it leads into a private network, and this endpoint sends events to public addresses only"
    address = addresses[0]
    name = f"[{address}]" if address.version == 6 else str(address)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookDestination(
        host=parts.netloc, address=str(address), port=port, url=f"{parts.scheme}://{name}:{port}{path}"
    )


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an IP address is public, also if it is embedded in an IPv6 address.

    >>> is_public(ipaddress.ip_address("::ffff:127.0.0.1")), is_public(ipaddress.ip_address("93.184.216.34"))
    (False, True)
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is not None and not is_public(inner):
            return False
    return address.is_global and not address.is_multicast


def sign(secret: str, body: bytes, at: int) -> str:
    """Return the signature header of an event.

    >>> sign("secret", b"{}", 7)[:9]
    't=7,v1=76'
    """
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def deliver_due(endpoint: MTurkService, host_key: bytes, client: httpx2.Client, *, wall: Callable[[], float]) -> int:
    """Send the events that are due, record the outcomes, and return their number.

    ``client`` must not follow redirects; ``wall`` is this machine's clock, seconds since 1970.
    """
    due = endpoint.call(lambda tx: _due(tx, wall()))
    for row in due:
        secret = hook_secret(host_key, row.requester_id)
        problem = _post(row.destination, row.body.encode(), secret, client, endpoint.rules.private_hooks, int(wall()))
        endpoint.call(partial(_write_outcome, row, problem, wall()))
    return len(due)


def new_client() -> httpx2.Client:
    """Return a client that follows no redirects and uses no proxy."""
    return httpx2.Client(timeout=TIMEOUT, follow_redirects=False, trust_env=False)


def _due(tx: Transaction, now: float) -> list[Row[Any]]:
    query = select(deliveries).where(deliveries.c.next_at <= now)
    return list(tx.connection.execute(query.order_by(deliveries.c.number).limit(AT_ONCE)))


def _post(url: str, body: bytes, secret: str, client: httpx2.Client, private: bool, now: int) -> str | None:
    """Send one event; return what went wrong, or None."""
    place = resolve(url, private=private)
    if isinstance(place, str):
        return place
    headers = {"Host": place.host, "Content-Type": "application/json", SIGNATURE: sign(secret, body, now)}
    name = urlsplit(url).hostname or ""
    try:
        with client.stream(  # the body of an answer is not read
            "POST", place.url, content=body, headers=headers, extensions={"sni_hostname": name}
        ) as answer:
            return None if answer.is_success else f"it answered {answer.status_code}"
    except httpx2.HTTPError as error:
        return f"{type(error).__name__}: {error}"[:200]


def _write_outcome(row: Row[Any], problem: str | None, now: float, tx: Transaction) -> None:
    attempts = row.attempts + 1
    if problem is None:
        next_at, outcome = None, "delivered"
    elif attempts > len(WAITS):
        next_at, outcome = None, f"given up: {problem}"
    else:
        next_at, outcome = now + WAITS[attempts - 1], problem
    tx.update(deliveries, deliveries.c.number == row.number, attempts=attempts, next_at=next_at, outcome=outcome)


@contextmanager
def ticking(endpoint: MTurkService, host_key: bytes, *, seconds: float = SECONDS) -> Iterator[None]:
    """Apply due changes and deliver events at an interval, while a block runs."""
    stop = threading.Event()
    thread = threading.Thread(target=_tick, args=(endpoint, host_key, seconds, stop), name="endpoint-ticking")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _tick(endpoint: MTurkService, host_key: bytes, seconds: float, stop: threading.Event) -> None:
    with new_client() as client:
        while not stop.wait(seconds):
            try:
                endpoint.call(lambda tx: None)
                while not stop.is_set() and deliver_due(endpoint, host_key, client, wall=time.time):
                    pass
            except SpaError as error:  # a full disk, a lock: told, and tried again at the next tick
                log.error("%s", error)
