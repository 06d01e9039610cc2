"""Idempotent calls: each creates something or moves money once, across faults, kills and repeated commands.

A call is written to the journal before it is sent. If it is unknown whether it took effect, its effect is looked up on
the platform. It is sent again only if the platform recognises a repeat, or if looking has shown that it had no effect.
What cannot be determined is left to a person.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection

from spa.errors import PlatformError
from spa.journal import STARTED, Journal, JournalEntry, finish
from spa.responses.store import Store

DONE, REFUSED, NO_EFFECT = "done", "refused", "no effect"  # outcomes in the journal
LONGEST_PAUSE = 20.0  # seconds between two sends
Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReply:
    """The result of sending a call.

    ``state`` is "done", "refused" (no effect, and none if repeated), "later" (no effect, may be repeated) or "unknown"
    (it may have taken effect). ``content`` is kept if it is done, else ``error`` says why it is not.
    """

    state: Literal["done", "refused", "later", "unknown"]
    content: Content = field(default_factory=dict)
    note: str | None = None  # how the effect was seen, where the answer did not say it
    response: str | None = None  # of a refusal, for the journal
    error: PlatformError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformCall:
    """One effect on a platform, which ``scope`` and ``key`` name permanently.

    ``find`` looks for the effect of an attempt and returns its content, or ``None`` if it certainly had none (or, for
    an attempt that may be sent again, does not show yet). ``keep`` saves what follows from the content, in the
    transaction that closes the journal entry.
    """

    scope: str
    key: str
    request: str  # for the journal, without secrets
    send: Callable[[JournalEntry], CallReply]
    find: Callable[[JournalEntry], Content | None]
    keep: Callable[[Connection, Content], None] = lambda connection, content: None
    may_resend: Callable[[JournalEntry], bool] = lambda entry: False  # the platform recognises a repeat of the attempt
    once: bool = True  # False: its effect may be undone elsewhere, so that it can be wanted again
    sends: int = 1  # of one attempt
    attempts: int = 1  # in one run
    visible_after: float = 0.0  # seconds after which an effect shows, if there is one
    refused: str = REFUSED  # outcome in the journal of an attempt that the platform refused
    absent: str = NO_EFFECT  # outcome in the journal of an attempt that had no effect
    absent_facts: Content = field(default_factory=dict)


class IdempotentCalls:
    """Executes calls to one platform on the journal of one store; ``announce`` gets a line about each long wait."""

    def __init__(
        self,
        store: Store,
        kind: str,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        announce: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.store = store
        self.kind = kind
        self.journal = Journal(store)
        self.clock = clock
        self.sleep = sleep
        self.announce = announce

    def is_open(self, scope: str, key: str) -> bool:
        """Return whether the outcome of the last attempt is unknown."""
        entries = self.journal.calls(self.kind, scope, key)
        return bool(entries) and entries[-1].outcome == STARTED

    def find_done(self, scope: str, key: str) -> Content | None:
        """Return the content of a call that took effect; ``None`` if none is known to have."""
        entries = self.journal.calls(self.kind, scope, key)
        done = next((entry for entry in reversed(entries) if entry.outcome == DONE), None)
        return None if done is None else self.content_of(done)

    def execute_call(self, call: PlatformCall) -> Content:
        """Send a call unless it took effect already, and return its content.

        Raises
        ------
        PlatformError
            If the platform refuses, or it remains unknown whether the call took effect; the journal then has an open
            entry, which the next run resolves first.
        """
        if call.once and (done := self.find_done(call.scope, call.key)) is not None:
            return done
        for entry in self.journal.calls(self.kind, call.scope, call.key):
            if entry.outcome == STARTED and (content := self.resolve_call(call, entry)) is not None:
                return content
        for remaining in reversed(range(call.attempts)):
            entry = self.journal.begin(self.kind, call.scope, call.key, call.request)
            content = self._send(call, entry, uncertain=False, final=remaining == 0)
            if content is not None:
                return content
        raise AssertionError("the last attempt returns or raises")

    def resolve_call(self, call: PlatformCall, entry: JournalEntry) -> Content | None:
        """Determine the outcome of an interrupted attempt and close it; ``None`` if it certainly had no effect."""
        content = self._look(call, entry)
        if content is not None:
            return self._close(call, entry, content, "found by looking")
        if call.may_resend(entry):
            return self._send(call, entry, uncertain=True, final=True)
        self._close_absent(call, entry)
        return None

    def content_of(self, entry: JournalEntry) -> Content:
        """Return the content of a call that took effect."""
        return entry.facts

    def columns_of(self, content: Content, note: str | None) -> tuple[str | None, Mapping[str, Any]]:
        """Return content as response and facts of the journal; the reverse of :meth:`content_of`."""
        return None, content

    def _send(self, call: PlatformCall, entry: JournalEntry, *, uncertain: bool, final: bool) -> Content | None:
        """Send an attempt until its outcome is known; ``None`` if it had no effect and is not the ``final`` one.

        ``uncertain`` says that it may have taken effect already: a refusal then proves nothing, since a repeat is
        refused too, and a new object may not be listed for some seconds.
        """
        reply = CallReply(state="later")
        for number in range(call.sends):
            if number:
                self.sleep(min(2.0 ** (number - 1), LONGEST_PAUSE))
            reply = call.send(entry)
            if reply.state == "done":
                return self._close(call, entry, reply.content, reply.note)
            if reply.state == "later":
                continue
            if reply.state == "refused" and not uncertain:
                self.journal.finish(entry, call.refused, response=reply.response)
                break
            uncertain = True
            if reply.state == "unknown" and (content := self._look(call, entry)) is not None:
                return self._close(call, entry, content, f"found after: {reply.error}")
            if not call.may_resend(entry):
                if reply.state == "unknown" and not final:
                    self._close_absent(call, entry)
                    return None
                break
        assert reply.error is not None
        raise reply.error

    def _look(self, call: PlatformCall, entry: JournalEntry) -> Content | None:
        wait = entry.begun_at + call.visible_after - self.clock()
        if call.visible_after and wait > 0:
            self.announce(f"an earlier call got no answer ({call.key}); looking at the platform in {wait:.0f} seconds")
            self.sleep(min(wait, call.visible_after))
        return call.find(entry)

    def _close(self, call: PlatformCall, entry: JournalEntry, content: Content, note: str | None) -> Content:
        response, facts = self.columns_of(content, note)
        with self.store.transaction() as connection:
            closed = finish(connection, entry, DONE, response=response, facts=facts)
            content = self.content_of(closed)
            call.keep(connection, content)
        return content

    def _close_absent(self, call: PlatformCall, entry: JournalEntry) -> None:
        self.journal.finish(entry, call.absent, **call.absent_facts)
