"""What every step in an endpoint's life is given: the database, the time and the rules of the place."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from mturk.endpoint.store import EndpointStore
from mturk.fees import FeeRules

T = TypeVar("T")
Clock = Callable[[], float]  # seconds since 1970
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a host chooses."""

    fees: FeeRules = "none"
    lag: float = 0.0  # seconds until what is new shows in lists and can be changed; only an emulator has any
    private_hooks: bool = False  # whether events may be sent to addresses of the own network


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One transaction at one time."""

    connection: Connection
    now: float  # seconds since 1970
    rules: Rules


class Endpoint:
    """A store together with its clock and rules; every piece of work finds all done that time alone does."""

    def __init__(self, store: EndpointStore, *, clock: Clock, rules: Rules, alone: bool = True) -> None:
        self.store = store
        self.clock = clock
        self.rules = rules
        self.alone = alone

    def change_rules(self, **changes: object) -> None:
        """Put other rules in force."""
        self.rules = replace(self.rules, **changes)  # type: ignore[arg-type]

    def submit(self, work: Callable[[Moment], T]) -> Future[T]:
        """Put ``work`` in line."""
        return self.store.submit(partial(self._at_this_moment, work))

    def call(self, work: Callable[[Moment], T]) -> T:
        """Carry out ``work`` and return its result when it is on disk."""
        return self.store.call(partial(self._at_this_moment, work))

    async def run(self, work: Callable[[Moment], T]) -> T:
        """Carry out ``work`` without blocking the event loop."""
        return await self.store.run(partial(self._at_this_moment, work))

    def _at_this_moment(self, work: Callable[[Moment], T], connection: Connection) -> T:
        from mturk.endpoint.lapse import let_time_pass

        moment = Moment(connection=connection, now=self.clock(), rules=self.rules)
        if self.alone:  # a command beside a server leaves to it what time does
            let_time_pass(moment)
        return work(moment)


def new_id(first: str = "3", length: int = 30) -> str:
    """Return a random id of capital letters and digits, as the protocol wants them.

    >>> len(new_id("A", 14))
    14
    """
    missing = length - len(first)
    number = secrets.randbelow(len(LETTERS) ** missing)  # one call for all letters: asking the system for each is slow
    letters = []
    for _ in range(missing):
        number, place = divmod(number, len(LETTERS))
        letters.append(LETTERS[place])
    return first + "".join(letters)
