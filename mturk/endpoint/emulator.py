"""The endpoint as an emulator: its clock, injected faults and simulated workers are controlled over HTTP.

The routes under ``/emulator/`` need no key: an emulator listens on this machine only, and no page in a browser can send
the JSON that they take.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, get_args

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import delete, select
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mturk.answers import render_answers
from mturk.endpoint.assignments import HitAssignment
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.keys import IssuedKey, issue, reissued
from mturk.endpoint.money import entries, fund
from mturk.endpoint.protocol import CONTENT_TYPE, write_refusal
from mturk.endpoint.schema import access_keys, meta, requesters
from mturk.endpoint.service import MTurkService
from mturk.endpoint.store import EndpointStore, get_meta
from mturk.endpoint.transaction import Transaction
from mturk.endpoint.worker_actions import accept, offers, return_assignment, submit
from mturk.endpoint.workers import add_worker, request_qualification
from spa.errors import PlatformError, SpaError

Kind = Literal["throttle", "error_before", "error_after", "drop_before", "drop_after", "slow"]
KINDS: tuple[str, ...] = get_args(Kind)
EVERY_OPERATION = "*"
CLOCK = "emulator clock"
PLAYER = "emulator"
Body = dict[str, Any]
Step = Callable[[Transaction, Body], Any]


class FaultRule(BaseModel):
    """A fault to inject: which calls fail, and how.

    After ``skip`` calls, every ``every``-th fails, ``times`` in all. "after" means that the call takes effect and the
    client gets no result; "slow" takes effect at once and responds after ``seconds``.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Kind
    operation: str = EVERY_OPERATION
    skip: int = Field(default=0, ge=0)
    every: int = Field(default=1, ge=1)
    times: int = Field(default=1, ge=0)
    seconds: float = 0.0
    _seen: int = 0

    def applies(self, operation: str) -> bool:
        """Count a call and return whether it fails."""
        if self.operation not in (operation, EVERY_OPERATION) or not self.times:
            return False
        self._seen += 1
        due = self._seen > self.skip and (self._seen - self.skip - 1) % self.every == 0
        self.times -= due
        return due


def read_fault(rule: object) -> FaultRule:
    """Parse a fault; raise PlatformError if a field is unknown or has an invalid value."""
    try:
        return FaultRule.model_validate(rule)
    except ValidationError as error:
        found = error.errors()[0]
        raise PlatformError(
            f"fault: {'.'.join(map(str, found['loc']))}: {found['msg']}, got {str(found['input'])[:40]!r}"
        ) from error


class FaultMiddleware:
    """Makes requests fail by the faults in ``rules``."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.rules: list[FaultRule] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless a rule applies to it."""
        fault = self._next_fault(scope) if scope["type"] == "http" and scope["path"] == "/" else None
        if fault is None:
            await self.app(scope, receive, send)
        elif fault.kind == "throttle":
            await _refusal(MTurkRequestError("ThrottlingException", None, "Rate exceeded"))(scope, receive, send)
        elif fault.kind == "slow":
            held: list[Message] = []
            await self.app(scope, receive, _keep_in(held))
            await asyncio.sleep(fault.seconds)
            for message in held:
                await send(message)
        else:
            if fault.kind.endswith("after"):
                await self.app(scope, receive, _keep_in([]))
            if fault.kind.startswith("drop"):
                _drop(receive)
            else:
                fault_answer = _refusal(MTurkRequestError("ServiceFault", None, "an ordered fault", status=500))
                await fault_answer(scope, receive, send)

    def _next_fault(self, scope: Scope) -> FaultRule | None:
        target = dict(scope["headers"]).get(b"x-amz-target", b"").decode("latin-1")
        operation = target.rpartition(".")[2]
        due = [fault for fault in self.rules if fault.applies(operation)]
        return due[0] if due else None


def _keep_in(held: list[Message]) -> Send:
    async def keep(message: Message) -> None:
        held.append(message)

    return keep


def _drop(receive: Receive) -> None:
    """Close the connection without a response, by the transport of uvicorn's request."""
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    if transport is None:
        raise PlatformError("fault: this server has no connection to drop")
    transport.abort()


def _refusal(error: MTurkRequestError) -> Response:
    return Response(write_refusal(error), error.status, media_type=CONTENT_TYPE)


@dataclass(slots=True, kw_only=True)
class MovableClock:
    """A clock that is ``ahead`` of this machine's by some seconds, or frozen."""

    ahead: float = 0.0
    frozen_at: float | None = None
    wall: Callable[[], float] = time.time

    def __call__(self) -> float:
        """Return seconds since 1970."""
        return self.frozen_at if self.frozen_at is not None else self.wall() + self.ahead

    def move(self, seconds: float) -> None:
        """Advance the clock; it never goes back, or events would lie in the future."""
        if seconds < 0:
            raise PlatformError(f"clock: expected to advance by 0 seconds or more, got {seconds}")
        if self.frozen_at is not None:
            self.frozen_at += seconds
        else:
            self.ahead += seconds

    def freeze(self, frozen: bool) -> None:
        """Freeze the clock, or let it continue."""
        now = self()
        self.frozen_at = now if frozen else None
        self.ahead = now - self.wall()


def load_clock(store: EndpointStore) -> MovableClock:
    """Return the saved clock of an emulator."""
    kept = store.call(lambda connection: get_meta(connection, CLOCK))
    ahead, _, frozen = (kept or "0 ").partition(" ")
    return MovableClock(ahead=float(ahead), frozen_at=float(frozen) if frozen else None)


def add_emulator(app: FastAPI, endpoint: MTurkService, clock: MovableClock) -> FaultMiddleware:
    """Add the control routes to an endpoint's application and wrap it with the fault middleware."""
    faults = FaultMiddleware(app)
    control = Control(endpoint, clock, faults)
    routes: dict[str, Callable[[Body], Any]] = {
        "state": control.show,
        "clock": control.set_clock,
        "rules": control.set_rules,
        "faults": control.set_faults,
        **{name: partial(_in_transaction, endpoint, step) for name, step in STEPS.items()},
    }
    for name, work in routes.items():
        methods = ["GET" if name in ("state", "ledger") else "POST"]
        app.add_api_route(f"/emulator/{name}", partial(_route, work), methods=methods, response_model=None)
    return faults


def _in_transaction(endpoint: MTurkService, step: Step, body: Body) -> Any:
    return endpoint.call(lambda tx: step(tx, body))


async def _route(work: Callable[[Body], Any], request: Request) -> Response:
    """Run a control route; errors are one line."""
    if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return JSONResponse({"error": "expected application/json"}, 415)
    try:
        body = await request.json() if request.method == "POST" else {}
        if not isinstance(body, dict):
            raise PlatformError("expected a JSON object")
        return JSONResponse(await run_in_threadpool(work, body))
    except MTurkRequestError as refusal:
        return JSONResponse({"error": refusal.message, "code": refusal.code}, refusal.status)
    except (SpaError, ValueError, KeyError, TypeError) as error:
        return JSONResponse({"error": f"{type(error).__name__}: {error}"}, 400)


class Control:
    """Control routes for the clock, rules and faults."""

    def __init__(self, endpoint: MTurkService, clock: MovableClock, faults: FaultMiddleware) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._faults = faults

    def show(self, body: Body) -> Any:
        """Return time, rules and faults."""
        rules = asdict(self._endpoint.rules)
        left = [fault.model_dump() for fault in self._faults.rules if fault.times]
        return {"now": self._clock(), "frozen": self._clock.frozen_at is not None, "rules": rules, "faults": left}

    def set_clock(self, body: Body) -> Any:
        """Freeze or continue, and then advance: ``{"freeze": true, "advance": 3600}``."""
        if "freeze" in body:
            self._clock.freeze(bool(body["freeze"]))
        self._clock.move(float(body.get("advance", 0.0)))
        kept = f"{self._clock.ahead!r} {'' if self._clock.frozen_at is None else repr(self._clock.frozen_at)}"

        def keep(tx: Transaction) -> None:
            tx.connection.execute(delete(meta).where(meta.c.name == CLOCK))
            tx.insert(meta, name=CLOCK, value=kept)

        self._endpoint.call(keep)
        return {"now": self._clock()}

    def set_rules(self, body: Body) -> Any:
        """Set the seconds until new objects show in lists: ``{"lag": 5}``."""
        self._endpoint.change_rules(lag=float(body["lag"]))
        return asdict(self._endpoint.rules)

    def set_faults(self, body: Body) -> Any:
        """Replace the faults to inject: ``{"faults": [{"kind": "drop_after", "operation": ...}]}``."""
        self._faults.rules = [read_fault(one) for one in body["faults"]]
        return {"faults": len(self._faults.rules)}


def _add_workers(tx: Transaction, body: Body) -> Any:
    """Create workers: ``{"count": 3, "country": "US"}``."""
    count, name = int(body.pop("count", 1)), str(body.pop("name", "emulated"))
    return {"worker_ids": [add_worker(tx, name, **body).worker_id for _ in range(count)]}


def _submit(tx: Transaction, body: Body) -> Any:
    """Submit as a worker: ``answer`` is XML, or ``fields`` are those of a form."""
    return _assignment(submit(tx, body["worker_id"], body["assignment_id"], _answer_of(body)))


def _work(tx: Transaction, body: Body) -> Any:
    """Accept and submit HITs as workers, in one transaction: ``{"hit_ids": [...], "worker_ids": [...]}``."""
    answer, made = _answer_of(body), []
    for hit_id in body["hit_ids"]:
        for worker_id in body["worker_ids"]:
            held = accept(tx, worker_id, hit_id)
            made.append(submit(tx, worker_id, held.assignment_id, answer).assignment_id)
    return {"assignment_ids": made}


def _fund(tx: Transaction, body: Body) -> Any:
    """Change a requester's budget: ``{"name": "lab", "amount": "-20.00"}``."""
    fund(tx, body["name"], body["amount"], note="emulator")
    return {}


def _answer_of(body: Body) -> str:
    return str(body["answer"]) if "answer" in body else render_answers(body["fields"].items())


def _assignment(work: HitAssignment) -> Body:
    return {"assignment_id": work.assignment_id, "status": work.status, "deadline": work.deadline}


STEPS: Mapping[str, Step] = {  # what workers and the host do, each in a transaction
    "workers": _add_workers,
    "offers": lambda tx, body: {"offers": [asdict(offer) for offer in offers(tx, body["worker_id"])]},
    "accept": lambda tx, body: _assignment(accept(tx, body["worker_id"], body["hit_id"])),
    "return": lambda tx, body: _assignment(return_assignment(tx, body["worker_id"], body["assignment_id"])),
    "submit": _submit,
    "work": _work,
    "request-qualification": lambda tx, body: {
        "request_id": request_qualification(tx, body["worker_id"], body["qualification_type_id"])
    },
    "fund": _fund,
    "ledger": lambda tx, body: {"entries": [asdict(entry) for entry in entries(tx)]},
}


def emulator_key(endpoint: MTurkService, host_key: bytes, *, budget: int) -> IssuedKey:
    """Return the key of the requester "emulator", which is created with a budget at the first start."""

    def find_or_issue(tx: Transaction) -> IssuedKey:
        query = (
            select(access_keys.c.access_key_id, access_keys.c.requester_id)
            .join(requesters, requesters.c.requester_id == access_keys.c.requester_id)
            .where(requesters.c.name == PLAYER, access_keys.c.revoked_at.is_(None))
        )
        row = tx.first(query.order_by(access_keys.c.created_at).limit(1))
        if row is None:
            return issue(tx, PLAYER, host_key, budget=budget)
        return reissued(row.requester_id, row.access_key_id, host_key)

    return endpoint.call(find_or_issue)
