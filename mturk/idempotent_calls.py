"""Calls that create something or move money, each once: across faults, kills and repeats of a command.

A call is in the journal before it is made. Its token comes from facts that stay the same, so that the
endpoint knows a repeat for a day. Where nobody knows whether a call took effect, the endpoint is
asked for what it should have made; only if that is not there is the call sent again with the same
token, and never under a token that the endpoint may have forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection

from mturk.replies import MTurkReply, call, failed
from spa.errors import PlatformError
from spa.journal import STARTED, Journal, JournalEntry, finish
from spa.responses.store import Store

KIND = "mturk"
DONE, REFUSED, LAPSED = "done", "refused", "lapsed"
TOKEN_SECONDS = 23 * 3600  # a token is remembered for 24 hours; an hour is kept for clocks that differ
TRIES = 6  # times that a call is sent before the command gives up and leaves it open
TOKEN_LENGTH = 64
Finder = Callable[[str], Mapping[str, Any] | None]
Method = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentCall:
    """One call that takes effect once, however often it is sent.

    ``scope`` and ``key`` name it for ever; ``request`` is what is sent and stands in the journal;
    ``hidden`` is sent besides and stands nowhere (who an annotator is). ``find`` gets the token of an attempt
    and returns what the endpoint should answer if that attempt took effect, else ``None``.
    ``keep`` saves what follows from the answer, in the transaction that closes the journal's entry.
    """

    scope: str
    key: str
    method: Method
    request: Mapping[str, Any]
    find: Finder
    hidden: Mapping[str, Any] = field(default_factory=dict)
    token_name: str | None = "UniqueRequestToken"  # None: the operation takes none, and find alone tells
    repeatable: bool = False  # sent again it does nothing more, token or not
    annotation: str | None = None  # put before the token into RequesterAnnotation, to be found in lists
    read_refusal: Callable[[MTurkReply], Mapping[str, Any] | None] = lambda reply: None
    keep: Callable[[Connection, Mapping[str, Any]], None] = lambda connection, answer: None


class IdempotentMTurkCalls:
    """Executes calls at one endpoint so that each takes effect once, on the journal of one store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store = store
        self.journal = Journal(store)
        self.clock = clock
        self.sleep = sleep
        self.mark = store.annotator_id("mturk: whose HITs these are")  # keyed: another store's HITs are never taken

    def token(self, scope: str, key: str, attempt: int) -> str:
        """Return the token of an attempt: the same whenever it is reckoned, and no other's."""
        facts = json.dumps([self.mark, scope, key, attempt], ensure_ascii=True)
        return sha256(facts.encode()).hexdigest()[:TOKEN_LENGTH]

    def is_open(self, scope: str, key: str) -> bool:
        """Say whether nobody knows what became of the last attempt at something."""
        found = self.journal.calls(KIND, scope, key)
        return bool(found) and found[-1].outcome == STARTED

    def execute(self, idempotent_call: IdempotentCall) -> Mapping[str, Any]:
        """Send a call unless it took effect already, and return what the endpoint answered.

        Raises
        ------
        PlatformError
            If the endpoint refuses, or it stays unknown whether the call took effect; the journal then has an open
            entry that the next run looks into first.
        """
        last = self._last(idempotent_call)
        if last is not None and last.outcome == DONE:
            return _content(last.response)
        if last is not None and last.outcome == STARTED:
            settled = self.settle(idempotent_call, last)
            if settled is not None:
                return settled
        begun = self.journal.begin(
            KIND,
            idempotent_call.scope,
            idempotent_call.key,
            json.dumps(idempotent_call.request, ensure_ascii=False, sort_keys=True),
        )
        return self._send(idempotent_call, begun)

    def settle(self, idempotent_call: IdempotentCall, opened: JournalEntry) -> Mapping[str, Any] | None:
        """Find out what became of an attempt that was broken off, and bring it to an end.

        Returns
        -------
        mapping or None
            What the endpoint answered; ``None`` if the attempt took no effect and its token is too old to send.
        """
        token = self.token(idempotent_call.scope, idempotent_call.key, opened.attempt)
        found = idempotent_call.find(token)
        if found is not None:
            return self._close(idempotent_call, opened, found, note="found by looking")
        if idempotent_call.repeatable or (
            idempotent_call.token_name is not None and self.clock() - opened.begun_at < TOKEN_SECONDS
        ):
            return self._send(idempotent_call, opened, uncertain=True)
        self.journal.finish(opened, LAPSED, response=None, note="not there when looked for, and its token too old")
        return None

    def _send(
        self, idempotent_call: IdempotentCall, opened: JournalEntry, *, uncertain: bool = False
    ) -> Mapping[str, Any]:
        """Send an attempt until it is known what came of it.

        ``uncertain`` says that it may have taken effect before: a refusal then proves nothing by itself, since a
        repeat is refused too and what was made may not be listed for some seconds.
        """
        token = self.token(idempotent_call.scope, idempotent_call.key, opened.attempt)
        parameters = self._parameters(idempotent_call, opened, token)
        reply = MTurkReply(state="later")
        for tried in range(TRIES):
            if tried:
                self.sleep(min(2.0 ** (tried - 1), 20.0))
            reply = call(idempotent_call.method, parameters)
            if reply.state == "done":
                return self._close(idempotent_call, opened, reply.content)
            if reply.state == "later":
                continue
            found = (idempotent_call.read_refusal(reply) if reply.state == "refused" else None) or idempotent_call.find(
                token
            )
            if found is not None:
                return self._close(idempotent_call, opened, found, note=f"found after: {reply.told}")
            if reply.state == "refused" and not uncertain:
                self.journal.finish(opened, REFUSED, response=json.dumps({"code": reply.code, "message": reply.told}))
                raise failed(idempotent_call.method.__name__, reply)
            uncertain = True
            if idempotent_call.token_name is None and not idempotent_call.repeatable:
                break
        raise failed(idempotent_call.method.__name__, reply)

    def _parameters(self, idempotent_call: IdempotentCall, opened: JournalEntry, token: str) -> dict[str, Any]:
        """Return what this attempt sends: what stands in the journal, whatever has changed since."""
        parameters: dict[str, Any] = {**json.loads(opened.request), **idempotent_call.hidden}
        if idempotent_call.token_name is not None:
            parameters[idempotent_call.token_name] = token
        if idempotent_call.annotation is not None:
            parameters["RequesterAnnotation"] = idempotent_call.annotation + token
        return parameters

    def _close(
        self, idempotent_call: IdempotentCall, opened: JournalEntry, answer: Mapping[str, Any], **facts: Any
    ) -> Mapping[str, Any]:
        text = json.dumps(answer, ensure_ascii=False, default=_plain, sort_keys=True)
        with self.store.transaction() as connection:
            finish(connection, opened, DONE, response=text, facts=facts)
            idempotent_call.keep(connection, _content(text))
        return _content(text)

    def _last(self, idempotent_call: IdempotentCall) -> JournalEntry | None:
        found = self.journal.calls(KIND, idempotent_call.scope, idempotent_call.key)
        return found[-1] if found else None


def written(request: Mapping[str, Any]) -> str:
    """Write a request as it stands in the journal."""
    return json.dumps(request, ensure_ascii=False, sort_keys=True)


def _content(response: str | None) -> Mapping[str, Any]:
    if response is None:
        raise PlatformError(
            "journal: expected the answer of a call that was made, got none; was the store changed by hand?"
        )
    content: dict[str, Any] = json.loads(response)
    return content


def _plain(value: Any) -> Any:
    """Write times as seconds since 1970."""
    if hasattr(value, "timestamp"):
        return value.timestamp()
    raise TypeError(f"cannot be written down: {type(value).__name__}")
