"""Idempotent calls to Prolific, on the journal of one study's store.

The platform does not recognise repeats: a call that got no response is repeated only once looking at the platform has
shown that it had no effect.
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
    """The platform does not show whether a call took effect; a person must decide."""


class IdempotentProlificCalls(IdempotentCalls):
    """Makes calls of one study so that each takes effect once.

    ``scope`` is the study's key; the effect of a call that got no response shows after ``visible_after`` seconds.
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
        """Return the facts of a call that took effect; ``None`` where none is known to have."""
        return self.find_done(self.scope, key)

    def entries(self, key: str | None = None) -> tuple[JournalEntry, ...]:
        """Return the journal's calls of this study, and of one key where it is given."""
        return self.journal.calls(KIND, self.scope, key)

    def acknowledge(self, key: str, facts: Content) -> None:
        """Mark interrupted calls as done whose effect was seen on the platform."""
        for call in self.entries(key):
            if call.outcome == STARTED:
                self.journal.finish(call, DONE, **facts)

    def record(self, key: str, request: Any, **facts: Any) -> None:
        """Record a call that took effect."""
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
            Names the purpose of the call.
        request : JSON value
            The request, for the journal.
        send : callable
            Makes the call and returns facts to keep.
        find : callable
            Returns the facts of an earlier call's effect, or ``None`` where it certainly had none. It raises
            :class:`UnknownOutcome` where it cannot determine that.
        state_decides : bool
            Whether the current state of the platform, not the journal, says what is done: what was undone there may
            be done again.
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
