"""An endpoint: its store, its clock and its rules, and each unit of work as one transaction."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from mturk.endpoint.expiry import apply_due_changes
from mturk.endpoint.store import EndpointStore
from mturk.endpoint.transaction import HostRules, Transaction

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

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Put ``work`` in line."""
        return self.store.submit(partial(self._in_transaction, work))

    def call(self, work: Callable[[Transaction], T]) -> T:
        """Carry out ``work`` and return its result when it is on disk."""
        return self.store.call(partial(self._in_transaction, work))

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """Carry out ``work`` without blocking the event loop."""
        return await self.store.run(partial(self._in_transaction, work))

    def _in_transaction(self, work: Callable[[Transaction], T], connection: Connection) -> T:
        tx = Transaction(connection=connection, now=self.clock(), rules=self.rules)
        if self.alone:  # a command beside a server leaves to it what time does
            apply_due_changes(tx)
        return work(tx)
