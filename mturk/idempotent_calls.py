"""Idempotent calls over the MTurk protocol, by a token that makes the endpoint recognise a repeat for a day.

The token is derived from facts that do not change. A call is never repeated with a token that the endpoint may have
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
        """Return the journal's scope of calls of one kind at this endpoint."""
        return f"{name} {self.endpoint.origin}"

    def entries(self, scope: str, key: str | None = None) -> tuple[JournalEntry, ...]:
        """Return the journal's calls of one kind at this endpoint, or those of one key."""
        return self.journal.calls(KIND, self.scope(scope), key)

    def token(self, scope: str, key: str, attempt: int) -> str:
        """Return the unique token of an attempt, always the same."""
        facts = json.dumps([self.mark, scope, key, attempt], ensure_ascii=True)
        return sha256(facts.encode()).hexdigest()[:TOKEN_LENGTH]

    def content_of(self, entry: JournalEntry) -> Mapping[str, Any]:
        """Return the endpoint's reply."""
        if entry.response is None:
            raise PlatformError(
                "journal: expected the answer of a call that was made, got none; was the store changed by hand?"
            )
        content: dict[str, Any] = json.loads(entry.response)
        return content

    def columns_of(self, content: Mapping[str, Any], note: str | None) -> tuple[str | None, Mapping[str, Any]]:
        """Return the reply as JSON, with times as seconds since 1970, and the note."""
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
            Name it permanently at this endpoint.
        method : callable
            Of a client without retries.
        request : mapping
            Parameters that are sent and recorded in the journal.
        find : callable
            Gets the token of an attempt and returns the endpoint's reply if that took effect, else ``None``.
        hidden : mapping, optional
            Parameters that are sent and not recorded (worker ids).
        token_name : str or None
            ``None``: the operation takes no token, and only ``find`` shows whether it took effect.
        repeatable : bool
            Whether the operation is idempotent even without a token.
        annotation : str or None
            Prefix of the token in RequesterAnnotation, by which lists are searched.
        read_refusal : callable
            Returns the reply of the earlier call that a refusal refers to, if it does.
        keep : callable
            Saves what follows from the reply, in the transaction that closes the journal's entry.
        """
        scope = self.scope(scope)

        def find_attempt(entry: JournalEntry) -> Mapping[str, Any] | None:
            return find(self.token(scope, key, entry.attempt))

        def send(entry: JournalEntry) -> CallReply:
            """Send the request recorded in the journal, even if the study has changed since."""
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
    """Return a request as it is recorded in the journal."""
    return json.dumps(request, ensure_ascii=False, sort_keys=True)


def _plain(value: Any) -> Any:
    if hasattr(value, "timestamp"):
        return value.timestamp()
    raise TypeError(f"cannot be stored: {type(value).__name__}")
