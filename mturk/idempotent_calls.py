"""Idempotent calls over the MTurk protocol: a token by which the endpoint recognises a repeat for a day.

The token comes from facts that stay the same. A call is never sent again under a token that the endpoint may have
forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection

from mturk.endpoints import MTurkEndpoint
from mturk.replies import MTurkReply, call, failed
from spa.errors import PlatformError
from spa.journal import JournalEntry
from spa.platforms.idempotent_calls import CallReply, IdempotentCalls, PlatformCall
from spa.responses.store import Store

KIND = "mturk"
LAPSED = "lapsed"  # not found when looked for, and its token too old to send again
TOKEN_SECONDS = 23 * 3600  # a token is remembered for 24 hours; an hour is kept for clocks that differ
TRIES = 6  # times that a call is sent before the command gives up and leaves it open
TOKEN_LENGTH = 64
Method = Callable[..., Mapping[str, Any]]


class IdempotentMTurkCalls(IdempotentCalls):
    """Executes calls at one endpoint so that each takes effect once, on the journal of one store."""

    def __init__(
        self,
        store: Store,
        endpoint: MTurkEndpoint,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(store, KIND, clock=clock, sleep=sleep)
        self.endpoint = endpoint
        self.mark = store.keyed("mturk: whose HITs these are")  # keyed: another store's HITs are never taken

    def scope(self, name: str) -> str:
        """Return the scope in the journal of calls of one sort at this endpoint."""
        return f"{name} {self.endpoint.origin}"

    def entries(self, scope: str, key: str | None = None) -> tuple[JournalEntry, ...]:
        """Return the journal's calls of one sort at this endpoint, and of one key where it is given."""
        return self.journal.calls(KIND, self.scope(scope), key)

    def token(self, scope: str, key: str, attempt: int) -> str:
        """Return the token of an attempt: the same whenever it is computed, and no other's."""
        facts = json.dumps([self.mark, scope, key, attempt], ensure_ascii=True)
        return sha256(facts.encode()).hexdigest()[:TOKEN_LENGTH]

    def content_of(self, entry: JournalEntry) -> Mapping[str, Any]:
        """Return what the endpoint answered."""
        if entry.response is None:
            raise PlatformError(
                "journal: expected the answer of a call that was made, got none; was the store changed by hand?"
            )
        content: dict[str, Any] = json.loads(entry.response)
        return content

    def columns_of(self, content: Mapping[str, Any], note: str | None) -> tuple[str | None, Mapping[str, Any]]:
        """Return the answer verbatim, with times as seconds since 1970, and the note."""
        text = json.dumps(content, ensure_ascii=False, default=_plain, sort_keys=True)
        return text, {} if note is None else {"note": note}

    def new_call(
        self,
        *,
        scope: str,
        key: str,
        method: Method,
        request: Mapping[str, Any],
        find: Callable[[str], Mapping[str, Any] | None],
        hidden: Mapping[str, Any] | None = None,
        token_name: str | None = "UniqueRequestToken",
        repeatable: bool = False,
        annotation: str | None = None,
        read_refusal: Callable[[MTurkReply], Mapping[str, Any] | None] = lambda reply: None,
        keep: Callable[[Connection, Mapping[str, Any]], None] = lambda connection, answer: None,
    ) -> PlatformCall:
        """Return a call that takes effect once, however often it is sent.

        Parameters
        ----------
        scope, key : str
            Name it for ever at this endpoint.
        method : callable
            Of a client without retries.
        request : mapping
            What is sent and stands in the journal.
        find : callable
            Gets the token of an attempt and returns what the endpoint should answer if that took effect, else ``None``.
        hidden : mapping, optional
            What is sent besides and stands nowhere (who an annotator is).
        token_name : str or None
            ``None``: the operation takes no token, and ``find`` alone says whether it took effect.
        repeatable : bool
            Whether sent again it does nothing more, token or not.
        annotation : str or None
            Put before the token into RequesterAnnotation, to be found in lists.
        read_refusal : callable
            Returns the answer that a refusal shows to have been given before.
        keep : callable
            Saves what follows from the answer, in the transaction that closes the journal's entry.
        """
        scope = self.scope(scope)

        def find_attempt(entry: JournalEntry) -> Mapping[str, Any] | None:
            return find(self.token(scope, key, entry.attempt))

        def send(entry: JournalEntry) -> CallReply:
            """Send what stands in the journal, whatever has changed since."""
            parameters: dict[str, Any] = {**json.loads(entry.request), **(hidden or {})}
            token = self.token(scope, key, entry.attempt)
            if token_name is not None:
                parameters[token_name] = token
            if annotation is not None:
                parameters["RequesterAnnotation"] = annotation + token
            reply = call(method, parameters)
            if reply.state == "done":
                return CallReply(state="done", content=reply.content)
            if reply.state == "refused" and (found := read_refusal(reply) or find_attempt(entry)) is not None:
                return CallReply(state="done", content=found, note=f"found after: {reply.message}")
            return CallReply(
                state=reply.state,
                response=json.dumps({"code": reply.code, "message": reply.message}),
                error=failed(method.__name__, reply),
            )

        return PlatformCall(
            scope=scope,
            key=key,
            request=written(request),
            send=send,
            find=find_attempt,
            keep=keep,
            may_resend=lambda entry: (
                repeatable or (token_name is not None and self.clock() - entry.begun_at < TOKEN_SECONDS)
            ),
            sends=TRIES,
            absent=LAPSED,
            absent_facts={"note": "not there when looked for, and its token too old"},
        )


def written(request: Mapping[str, Any]) -> str:
    """Return a request as the journal holds it."""
    return json.dumps(request, ensure_ascii=False, sort_keys=True)


def _plain(value: Any) -> Any:
    if hasattr(value, "timestamp"):
        return value.timestamp()
    raise TypeError(f"cannot be stored: {type(value).__name__}")
