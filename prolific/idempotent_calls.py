"""Calls that create or pay, each with its effect once, wherever a run is broken off.

A call is on record before it is sent. Where nobody knows whether it took effect, the platform is
looked at before it may be sent again; what cannot be told by looking is left to a person.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prolific.api.problems import ProlificError, ProlificRequestRefused, Unanswered, Unreachable
from spa.journal import STARTED, Journal, JournalEntry

KIND = "prolific"
DONE = "done"
REFUSED = "refused"  # the platform said no, or was never reached
NO_EFFECT = "no effect"  # looked at afterwards
Facts = Mapping[str, Any]


def silent(text: str) -> None:
    """Tell nobody."""


class UnknownOutcome(ProlificError):
    """Looking at the platform does not tell whether a call took effect; a person must say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentProlificCalls:
    """Makes calls of one study so that each takes effect once.

    Parameters
    ----------
    journal : Journal
        The write-ahead record.
    scope : str
        The study's key.
    clock, sleep : callables
        Seconds since 1970, and a wait of so many seconds.
    settle : float
        Seconds after which a call that got no answer shows its effect, if it has one.
    tell : callable
        Told in a line what is waited for.
    """

    journal: Journal
    scope: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    settle: float
    tell: Callable[[str], None] = silent  # what a person who waits is told

    def done(self, key: str) -> Facts | None:
        """Return what is known of a call that took effect; ``None`` where it has not been seen to."""
        calls = self.journal.calls(KIND, self.scope, key)
        return next((call.facts for call in reversed(calls) if call.outcome == DONE), None)

    def acknowledge(self, key: str, facts: Facts) -> None:
        """Settle earlier calls whose effect was seen on the platform."""
        for call in self.journal.calls(KIND, self.scope, key):
            if call.outcome == STARTED:
                self.journal.finish(call, DONE, **facts)

    def carry_out(
        self,
        key: str,
        request: Any,
        *,
        send: Callable[[], Facts],
        find: Callable[[JournalEntry], Facts | None],
    ) -> Facts:
        """Have an effect once and return what is known of it.

        Parameters
        ----------
        key : str
            What the call is for; the same purpose has the same key.
        request : JSON value
            What is sent, for the record.
        send : callable
            Makes the call and returns facts worth keeping.
        find : callable
            Looks for the effect of an earlier call: its facts, or ``None`` where it certainly has none.

        Raises
        ------
        UnknownOutcome
            If ``find`` cannot tell.
        ProlificError
            If the platform refuses, or cannot be reached.
        """
        for last in (False, True):
            facts = self.done(key)
            facts = self._recovered(key, find) if facts is None else facts
            if facts is not None:
                return facts
            call = self.journal.begin(KIND, self.scope, key, json.dumps(request, sort_keys=True))
            try:
                facts = send()
            except (ProlificRequestRefused, Unreachable) as error:
                self.journal.finish(call, REFUSED, response=str(error))
                raise
            except Unanswered:
                if last:
                    raise
                continue
            self.journal.finish(call, DONE, **facts)
            return facts
        raise AssertionError("the last round returns or raises")

    def _recovered(self, key: str, find: Callable[[JournalEntry], Facts | None]) -> Facts | None:
        """Settle the calls of which nobody knows whether they took effect."""
        for call in self.journal.calls(KIND, self.scope, key):
            if call.outcome != STARTED:
                continue
            wait = call.begun_at + self.settle - self.clock()
            if wait > 0:
                self.tell(f"an earlier call got no answer ({key}); looking at the platform in {wait:.0f} seconds")
                self.sleep(min(wait, self.settle))
            facts = find(call)
            self.journal.finish(call, NO_EFFECT if facts is None else DONE, **(facts or {}))
            if facts is not None:
                return facts
        return None
