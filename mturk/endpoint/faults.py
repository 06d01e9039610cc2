"""Faults on demand, in an emulator: what a client has to survive, at the call that a test names."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mturk.endpoint.errors import MTurkRequestError
from spa.errors import PlatformError

Kind = Literal["throttle", "error_before", "error_after", "drop_before", "drop_after", "slow"]
KINDS: tuple[str, ...] = get_args(Kind)
EVERY_OPERATION = "*"


@dataclass(slots=True, kw_only=True)
class FaultRule:
    """One order: which calls fail, and how.

    ``skip`` calls pass first; then every ``every``-th fails, ``times`` in all. "after" means that the call took
    effect and the client is not told; "slow" takes effect at once and answers after ``seconds``.
    """

    kind: Kind
    operation: str = EVERY_OPERATION
    skip: int = 0
    every: int = 1
    times: int = 1
    seconds: float = 0.0
    seen: int = 0

    def strikes(self, operation: str) -> bool:
        """Count a call and say whether it fails."""
        if self.operation not in (operation, EVERY_OPERATION) or not self.times:
            return False
        self.seen += 1
        due = self.seen > self.skip and (self.seen - self.skip - 1) % self.every == 0
        self.times -= due
        return due


def read_fault(given: dict[str, Any]) -> FaultRule:
    """Return the fault that a test ordered.

    Raises
    ------
    PlatformError
        If a field is unknown or has an impossible value.
    """
    known = {"kind": str, "operation": str, "skip": int, "every": int, "times": int, "seconds": (int, float)}
    for name, value in given.items():
        if name not in known or not isinstance(value, known[name]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise PlatformError(f"fault: expected {', '.join(known)}, got {name!r}: {str(value)[:40]!r}")
    if given.get("kind") not in KINDS:
        raise PlatformError(f"fault: expected a kind of {', '.join(KINDS)}, got {given.get('kind')!r}")
    if given.get("every", 1) < 1 or given.get("skip", 0) < 0 or given.get("times", 1) < 0:
        raise PlatformError("fault: every begins at 1, skip and times at 0")
    return FaultRule(**given)


class FaultMiddleware:
    """Stands before the application and does what was ordered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.orders: list[FaultRule] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless an order strikes it."""
        fault = self._striking(scope) if scope["type"] == "http" and scope["path"] == "/" else None
        if fault is None:
            await self.app(scope, receive, send)
        elif fault.kind == "throttle":
            await _answer(send, MTurkRequestError("ThrottlingException", None, "Rate exceeded"))
        elif fault.kind == "slow":
            held: list[Message] = []
            await self.app(scope, receive, _keeper(held))
            await asyncio.sleep(fault.seconds)
            for message in held:
                await send(message)
        else:
            if fault.kind.endswith("after"):
                await self.app(scope, receive, _keeper([]))
            if fault.kind.startswith("drop"):
                _drop(receive)
            else:
                await _answer(send, MTurkRequestError("ServiceFault", None, "an ordered fault", status=500))

    def _striking(self, scope: Scope) -> FaultRule | None:
        target = dict(scope["headers"]).get(b"x-amz-target", b"").decode("latin-1")
        operation = target.rpartition(".")[2]
        striking = [fault for fault in self.orders if fault.strikes(operation)]
        return striking[0] if striking else None


def _keeper(held: list[Message]) -> Send:
    async def keep(message: Message) -> None:
        held.append(message)

    return keep


def _drop(receive: Receive) -> None:
    """Close the connection without a word; uvicorn's request knows its transport."""
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    if transport is None:
        raise PlatformError("fault: this server has no connection to drop")
    transport.abort()


async def _answer(send: Send, refusal: MTurkRequestError) -> None:
    body = json.dumps({"__type": refusal.kind, "message": refusal.message, "Message": refusal.message}).encode()
    headers = [(b"content-type", b"application/x-amz-json-1.1"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
