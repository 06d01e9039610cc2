"""Idempotent calls to Prolific, on the journal of one study's store.

The platform recognises no repeats: a call that got no answer is made again only once looking has shown that it had
no effect.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from prolific.api.problems import ProlificError, ProlificRequestRefused, Unanswered, Unreachable
from spa.journal import STARTED, JournalEntry
from spa.platforms.idempotent_calls import DONE, CallReply, Content, IdempotentCalls, PlatformCall
from spa.responses.store import Store

KIND = "prolific"


class UnknownOutcome(ProlificError):
    """Looking at the platform does not show whether a call took effect; a person must say."""


class IdempotentProlificCalls(IdempotentCalls):
    """Makes calls of one study so that each takes effect once.

    Parameters
    ----------
    scope : str
        The study's key.
    visible_after : float
        Seconds after which a call that got no answer shows its effect, if it has one.
    """

    def __init__(
        self,
        store: Store,
        *,
        scope: str,
        visible_after: float,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        announce: Callable[[str], None] = lambda line: None,
    ) -> None:
        super().__init__(store, KIND, clock=clock, sleep=sleep, announce=announce)
        self.scope = scope
        self.visible_after = visible_after

    def done(self, key: str) -> Content | None:
        """Return what is known of a call that took effect; ``None`` where none is known to have."""
        return self.find_done(self.scope, key)

    def entries(self, key: str | None = None) -> tuple[JournalEntry, ...]:
        """Return the journal's calls of this study, and of one key where it is given."""
        return self.journal.calls(KIND, self.scope, key)

    def acknowledge(self, key: str, facts: Content) -> None:
        """Close earlier calls whose effect was seen on the platform."""
        for call in self.entries(key):
            if call.outcome == STARTED:
                self.journal.finish(call, DONE, **facts)

    def record(self, key: str, request: Any, **facts: Any) -> None:
        """Write down a call that was made and took effect."""
        self.journal.finish(self.journal.begin(KIND, self.scope, key, _json(request)), DONE, **facts)

    def new_call(
        self,
        key: str,
        request: Any,
        *,
        send: Callable[[], Content],
        find: Callable[[JournalEntry], Content | None],
        state_decides: bool = False,
    ) -> PlatformCall:
        """Return a call that takes effect once, however often it is sent.

        Parameters
        ----------
        key : str
            What the call is for; the same purpose has the same key.
        request : JSON value
            What is sent, for the journal.
        send : callable
            Makes the call and returns facts worth keeping.
        find : callable
            Looks for the effect of an earlier call: its facts, or ``None`` where it certainly has none. It raises
            :class:`UnknownOutcome` where it cannot determine that.
        state_decides : bool
            Whether the state of the platform, seen at once, says what is done, and not earlier calls: what was
            undone there may be wanted again.
        """
        return PlatformCall(
            scope=self.scope,
            key=key,
            request=_json(request),
            send=lambda entry: _reply(send),
            find=find,
            once=not state_decides,
            attempts=1 if state_decides else 2,
            visible_after=0.0 if state_decides else self.visible_after,
        )


def _reply(send: Callable[[], Content]) -> CallReply:
    try:
        return CallReply(state="done", content=send())
    except (ProlificRequestRefused, Unreachable) as error:
        return CallReply(state="refused", response=str(error), error=error)
    except Unanswered as error:
        return CallReply(state="unknown", error=error)


def _json(request: Any) -> str:
    return json.dumps(request, sort_keys=True)
