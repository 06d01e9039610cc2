"""Calls that create something or move money, each with its effect once: across faults, kills and repeated commands.

A call is in the journal before it is sent. Where nobody knows whether it took effect, the platform is looked at
first. It is then sent again only as the same attempt, where the platform recognises a repeat, or as a new attempt
once looking has shown that the last one had no effect. What looking cannot determine is left to a person.
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
    """What is known after a call was sent.

    ``state`` is "done", "refused" (it had no effect and never will as it is), "later" (it had none; try again) or
    "unknown" (nobody knows whether it took effect). ``content`` is kept where it is done, else ``error`` says why.
    """

    state: Literal["done", "refused", "later", "unknown"]
    content: Content = field(default_factory=dict)
    note: str | None = None  # how the effect was seen, where the answer did not say it
    response: str | None = None  # of a refusal, for the journal
    error: PlatformError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformCall:
    """One effect on a platform; ``scope`` and ``key`` name it for ever.

    ``find`` looks for the effect of an attempt: its content, or ``None`` where it certainly has none (or, of an
    attempt that may be sent again, does not show yet). ``keep`` saves what follows from the content, in the
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
        """Return whether nobody knows what became of the last attempt."""
        entries = self.journal.calls(self.kind, scope, key)
        return bool(entries) and entries[-1].outcome == STARTED

    def find_done(self, scope: str, key: str) -> Content | None:
        """Return what is known of a call that took effect; ``None`` where none is known to have."""
        entries = self.journal.calls(self.kind, scope, key)
        done = next((entry for entry in reversed(entries) if entry.outcome == DONE), None)
        return None if done is None else self.content_of(done)

    def execute_call(self, call: PlatformCall) -> Content:
        """Send a call unless it took effect already, and return its content.

        Raise PlatformError if the platform refuses, or it stays unknown whether the call took effect; the journal then
        has an open entry, which the next run looks into first.
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
        """Find out what became of an interrupted attempt and close it; ``None`` if it certainly had no effect."""
        content = self._look(call, entry)
        if content is not None:
            return self._close(call, entry, content, "found by looking")
        if call.may_resend(entry):
            return self._send(call, entry, uncertain=True, final=True)
        self._close_absent(call, entry)
        return None

    def content_of(self, entry: JournalEntry) -> Content:
        """Return what is known of a call that took effect."""
        return entry.facts

    def columns_of(self, content: Content, note: str | None) -> tuple[str | None, Mapping[str, Any]]:
        """Return content as response and facts of the journal; the reverse of :meth:`content_of`."""
        return None, content

    def _send(self, call: PlatformCall, entry: JournalEntry, *, uncertain: bool, final: bool) -> Content | None:
        """Send an attempt until its outcome is known; ``None`` if it had no effect and is not the ``final`` one.

        ``uncertain`` says that it may have taken effect before: a refusal then proves nothing, since a repeat is
        refused too and what was made may not be listed for some seconds.
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
