"""Rate limits: token buckets in memory, and the blocks of addresses that have one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import Scope

log = logging.getLogger("uvicorn.error")
MINUTE = 60.0  # seconds
BLOCK = "client_block"  # in a request's scope
BLOCK_SHARE, LEAST_OF_BLOCK = 10, 5


LONGEST_ADDRESS = 64  # characters; a proxy passes on whatever it was sent


def address_block(address: str) -> str:
    """Return the network of a client's address: ``/24`` of IPv4, ``/56`` of IPv6; what is no address stays whole.

    >>> address_block("192.0.2.77"), address_block("2001:db8:1:2ff::9"), address_block("testclient")
    ('192.0.2.0/24', '2001:db8:1:200::/56', 'testclient')
    """
    return _block_of(address[:LONGEST_ADDRESS])


@lru_cache(maxsize=4096)  # it is asked for with every request
def _block_of(address: str) -> str:
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:  # a Unix socket, or a test
        return address
    mapped = known.ipv4_mapped if isinstance(known, IPv6Address) else None
    known = mapped or known
    return str(ip_network((known, 24 if known.version == 4 else 56), strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """As many as ``burst`` at once, and ``a_second`` in the long run."""

    burst: float
    a_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is limited: requests by one link, pages full of pictures included; new visits, of all and of a block."""

    requests: Rate = Rate(burst=400, a_second=20)
    new_visits: Rate = Rate(burst=3000, a_second=50)
    block_visits: Rate = Rate(burst=12, a_second=12 / MINUTE)

    @classmethod
    def of_new_visits(cls, a_minute: int) -> Limits:
        """Return the usual limits with another number of new visits; a tenth of them may come from one block."""
        of_block = max(LEAST_OF_BLOCK, a_minute // BLOCK_SHARE)
        return cls(
            new_visits=Rate(burst=a_minute, a_second=a_minute / MINUTE),
            block_visits=Rate(burst=of_block, a_second=of_block / MINUTE),
        )


def client_block(scope: Scope) -> str:
    """Return the address block that a request came from, as the guard found it; "" where nobody can tell.

    Nobody can behind a proxy that is trusted and does not say for whom it asks.
    """
    return str(scope.get(BLOCK, ""))


class Buckets:
    """One bucket a key, filled at a rate; the keys used last are kept; safe to use from several threads."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float] = time.monotonic, most: int = 20_000) -> None:
        self.rate = rate
        self._clock = clock
        self._most = most
        self._left: dict[str, tuple[float, float]] = {}  # key -> what was left, when; in the order of use
        self._lock = threading.Lock()  # platforms' doors are answered by threads

    def take(self, key: str) -> float:
        """Take one from a bucket; return 0 where there was one, else the seconds after which there will be."""
        with self._lock:
            now = self._clock()
            left, then = self._left.pop(key, (self.rate.burst, now))
            left = min(self.rate.burst, left + (now - then) * self.rate.a_second)
            allowed = left >= 1
            self._left[key] = (left - allowed, now)
            if len(self._left) > self._most:
                del self._left[next(iter(self._left))]
        return 0.0 if allowed else (1 - left) / self.rate.a_second

    def __len__(self) -> int:
        """Return how many keys are known."""
        return len(self._left)


class UnbegunVisits:
    """Visits of which nothing was sent yet, by address block: of one block, ``most`` may hold places at a time.

    A rate alone would let one block hold every place of a study for good, though none for long.
    """

    def __init__(self, most: float, *, clock: Callable[[], float], remember: int = 20_000) -> None:
        self.most = most
        self._clock = clock
        self._remember = remember
        self._until: dict[str, dict[str, float]] = {}  # block -> token -> when its place is given up, in this order
        self._block_of: dict[str, str] = {}
        self._lock = threading.RLock()  # pages are saved by a thread
        self._told = False

    def tell(self) -> None:
        """Tell the operator once that people of one block were asked to wait: a class has one address, too."""
        if not self._told:
            log.warning(
                "visitors of one address block were asked to wait; if they are a class or a campus, start with "
                "--new-visits N, ten times as many as may begin from one address in a minute, or give personal links"
            )
        self._told = True

    def wait(self, block: str) -> float:
        """Return 0 where a block may take another place, else the seconds after which it may at the latest."""
        with self._lock:
            held = self._until.get(block, {})
            if len(held) < self.most:
                return 0.0
            now = self._clock()
            for token in [token for token, until in held.items() if until < now]:
                self.forget(token)
            ends = sorted(held.values())
        return 0.0 if len(ends) < self.most else max(1.0, ends[-int(self.most)] - now)

    def add(self, block: str, token: str, *, seconds: float) -> None:
        """Note who took a place, and for how long it is theirs if they send nothing."""
        if not is_network(block):
            return
        with self._lock:
            self.forget(token)
            self._until.setdefault(block, {})[token] = self._clock() + seconds
            self._block_of[token] = block
            if len(self._block_of) > self._remember:
                self.forget(next(iter(self._block_of)))

    def forget(self, token: str) -> None:
        """Count a visit no more: something was sent in it, or its place was given up."""
        with self._lock:
            block = self._block_of.pop(token, "")
            held = self._until.get(block, {})
            held.pop(token, None)
            if not held:
                self._until.pop(block, None)


def is_network(block: str) -> bool:
    """Return whether a block is one of addresses, by which visitors are told apart."""
    return "/" in block
