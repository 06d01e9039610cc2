"""An endpoint: its store, its clock and its rules, and every piece of work as one moment of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from mturk.endpoint.lapse import let_time_pass
from mturk.endpoint.moment import HostRules, Moment
from mturk.endpoint.store import EndpointStore

T = TypeVar("T")
Clock = Callable[[], float]  # seconds since 1970


class MTurkService:
    """A store together with its clock and rules; every piece of work finds all done that time alone does."""

    def __init__(self, store: EndpointStore, *, clock: Clock, rules: HostRules, alone: bool = True) -> None:
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
        moment = Moment(connection=connection, now=self.clock(), rules=self.rules)
        if self.alone:  # a command beside a server leaves to it what time does
            let_time_pass(moment)
        return work(moment)
