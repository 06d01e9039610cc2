"""Connections whose clients keep the server waiting: counted by network and in all, and cut where they are many.

A head that is sent in part, a body that does not go on and a connection that sends nothing cost a file each, of which
a process has few. While few wait, each has its full time. Where many wait, later ones have less, and beyond a number
of one network, or of all, those that wait longest have a second to go on, however much time they had. Nobody who sends
a request in one piece is ever cut: what has come in is read before any time ends.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Protocol

FEW_OF_ONE = 16  # connections of a network that may wait at once as long as they like
FEW = 128  # of all networks
MOST_OF_ONE = 64
MOST = 1024
HURRIED_SECONDS = 5.0  # for the next piece of a request, where more than few wait
LAST_SECONDS = 1.0  # where more than most do
RESERVED_FILES = 256  # of a process, for the store, the study and the platforms
MOST_FILES = 65_536
FEWEST = 16  # connections, however few files a process may have
FILES_UNKNOWN = 512  # on a system that does not say


class Waiting(Protocol):
    """A connection, as far as the counting goes."""

    block: str  # the network of its client

    def give_up_in(self, seconds: float) -> None:
        """Close in ``seconds``, or earlier if that was due, unless the client goes on."""


class WaitingConnections:
    """Who waits, the longest first, and who has nothing to ask; ``open_files`` says how many a process may have."""

    def __init__(self, open_files: int) -> None:
        room = max(open_files - RESERVED_FILES, open_files // 2, FEWEST)
        self._room = room  # connections at once, those at work included
        self._most = min(MOST, max(room // 2, FEWEST))
        self._waiting: set[Waiting] = set()
        self._of_block: Counter[str] = Counter()
        self._in_time: dict[str, dict[Waiting, None]] = {"": {}}  # who was not hurried, by block; in all: ""
        self._idle: dict[Waiting, None] = {}

    def begin(self, connection: Waiting, seconds: float) -> float:
        """Count a connection that owes a request or a part of one; return the seconds that it has, of ``seconds``."""
        self.end(connection)
        block = f"block {connection.block}"
        self._waiting.add(connection)
        self._of_block[block] += 1
        for group in ("", block):
            self._in_time.setdefault(group, {})[connection] = None
        if self._of_block[block] > MOST_OF_ONE:
            self._hurry(block, LAST_SECONDS)
        if len(self._waiting) > self._most:
            self._hurry("", LAST_SECONDS)
        few = self._of_block[block] <= FEW_OF_ONE and len(self._waiting) <= FEW
        return seconds if few else min(seconds, HURRIED_SECONDS)

    def end(self, connection: Waiting) -> None:
        """Count a connection no more."""
        if connection in self._waiting:
            self._waiting.remove(connection)
            self._hurried(connection)
            block = f"block {connection.block}"
            self._of_block[block] -= 1
            if not self._of_block[block]:
                del self._of_block[block], self._in_time[block]

    def rest(self, connection: Waiting) -> None:
        """Note a connection whose requests are answered; it is kept for the next one while there is room."""
        self._idle[connection] = None

    def wake(self, connection: Waiting) -> None:
        """Note that a connection is at work again, or gone."""
        self._idle.pop(connection, None)

    def make_room(self, connections: int) -> None:
        """Close the one that has been idle longest, or has waited longest, if ``connections`` are more than fit."""
        if connections <= self._room:
            return
        idle = next(iter(self._idle), None)
        if idle is None:
            self._hurry("", 0.0)
        else:
            self.wake(idle)
            idle.give_up_in(0.0)

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def _hurry(self, group: str, seconds: float) -> None:
        """Give the one that has waited longest its last seconds."""
        first = next(iter(self._in_time[group]), None)
        if first is not None:
            self._hurried(first)
            first.give_up_in(seconds)

    def _hurried(self, connection: Waiting) -> None:
        for group in ("", f"block {connection.block}"):
            self._in_time[group].pop(connection, None)


def open_files() -> int:
    """Return how many files this process may have open."""
    try:
        import resource  # there, as Windows has none

        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except ImportError:
        return FILES_UNKNOWN
    return MOST_FILES if allowed == resource.RLIM_INFINITY else min(allowed, MOST_FILES)


def allow_more_files() -> None:
    """Let this process have as many files open as it may, and not only as many as it was started with."""
    with suppress(ImportError, OSError, ValueError):  # a system may allow less than it says
        import resource

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST_FILES if most == resource.RLIM_INFINITY else min(most, MOST_FILES)
        if allowed != resource.RLIM_INFINITY and allowed < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
