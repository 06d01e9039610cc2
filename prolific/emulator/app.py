"""The emulated platform as a web application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from sqlalchemy import Row, update
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from prolific.emulator import control_routes, schema
from prolific.emulator.contract import Contract
from prolific.emulator.errors import EmulatorRequestError, error_body
from prolific.emulator.faults import BEFORE, next_fault
from prolific.emulator.operations import API_ROUTES, UNPUBLISHED
from prolific.emulator.platform import EmulatedPlatform
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import Route, RouteRequest, RouteResponse

LARGEST_BODY = 10_000_000
ADVANCE_MOST = 400 * 86_400.0


def create_app(platform: EmulatedPlatform, contract: Contract | None = None) -> FastAPI:
    """Create the application: the API, and control routes under ``/emulator/``.

    With a ``contract``, every request and response is validated against the published description.
    """
    app = FastAPI(title="Emulated Prolific", docs_url=None, redoc_url=None, openapi_url=None)
    app.router.redirect_slashes = False
    for route in API_ROUTES:
        endpoint = EmulatedOperation(platform, route, contract).answer
        app.add_api_route(route.path, endpoint, methods=[route.method], response_model=None)
    for route in control_routes.ROUTES:
        app.add_api_route(route.path, _control(platform, route), methods=[route.method], response_model=None)
    app.add_api_route("/emulator/clock/", _advancing(platform), methods=["POST"], response_model=None)
    app.add_exception_handler(HTTPException, _refuse_unknown)
    return app


class EmulatedOperation:
    """One operation of the API, with faults, a transaction and validation."""

    def __init__(self, platform: EmulatedPlatform, route: Route, contract: Contract | None) -> None:
        self.platform = platform
        self.route = route
        self.contract = contract if route.operation not in UNPUBLISHED else None

    async def answer(self, request: Request) -> Response:
        """Respond to a request, or fail as planned."""
        body = await request.body()
        answer, fault = await run_in_threadpool(self._work, request, body)
        if fault is not None:
            if fault.kind == "slow":
                await asyncio.sleep(fault.details["seconds"])
            if fault.kind == "timeout_after_effect":
                await _wait_until_gone(request, fault.details["seconds"])
            if fault.kind in ("drop", "drop_after_effect"):
                await _hang_up(request)
        return _response(answer)

    def _work(self, request: Request, body: bytes) -> tuple[RouteResponse, Row[Any] | None]:
        with self.platform.transaction() as tx:
            fault = next_fault(tx, self.route.operation)
            number = _log(tx, self.route.operation, request, body, fault)
            form = tx.behaviour.error_form
        try:
            self._check_token(request)
            if fault is not None and fault.kind in BEFORE:
                raise _planned(fault)
            call = parse_request(request, body)
            with self.platform.transaction(counts=False, wakes=False, applies_changes=False) as tx:
                answer = self._check_contract(call, self.route.answer(tx, call))
            if fault is not None and fault.kind == "500_after_effect":
                raise EmulatorRequestError(500, "Something went wrong")
        except EmulatorRequestError as refusal:
            error = error_body(refusal.status, refusal.detail, operation=self.route.operation, form=form)
            answer = RouteResponse(status=refusal.status, body=error, headers=refusal.headers)
            if self.contract is not None and form == "documented":
                self._check_answer(answer)
        silent = fault is not None and fault.kind in ("drop", "drop_after_effect", "timeout_after_effect")
        with self.platform.transaction(counts=False, applies_changes=False) as tx:
            tx.connection.execute(
                update(schema.requests)
                .where(schema.requests.c.number == number)
                .values(status=None if silent else answer.status)
            )
        return answer, fault

    def _check_contract(self, call: RouteRequest, answer: RouteResponse) -> RouteResponse:
        """Refuse a request that the published description does not allow; such a response is a defect."""
        if self.contract is not None:
            problems = self.contract.request_problems(self.route.operation, call.query, call.body)
            if problems:
                raise EmulatorRequestError(400, {"published_description": problems})
            self._check_answer(answer)
        return answer

    def _check_answer(self, answer: RouteResponse) -> None:
        if self.contract is None:
            return
        body = answer.body if answer.text is None else answer.text
        problems = self.contract.answer_problems(self.route.operation, answer.status, body, answer.media_type)
        if problems:
            raise RuntimeError(f"{self.route.operation} answers otherwise than published: {'; '.join(problems)}")

    def _check_token(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        expected = self.platform.token
        if scheme != "Token" or not token or (expected is not None and token != expected):
            raise EmulatorRequestError(401, "Authentication credentials were not provided or are wrong.")


def _control(platform: EmulatedPlatform, route: Route) -> Callable[[Request], Any]:
    """Return the endpoint of a control route, which has no faults."""

    def work(request: Request, body: bytes) -> RouteResponse:
        try:
            with platform.transaction(counts=False) as tx:
                return route.answer(tx, parse_request(request, body))
        except EmulatorRequestError as refusal:
            return RouteResponse(status=refusal.status, body={"refused": refusal.detail})

    async def endpoint(request: Request) -> Response:
        return _response(await run_in_threadpool(work, request, await request.body()))

    return endpoint


def _advancing(platform: EmulatedPlatform) -> Callable[[Request], Any]:
    async def advance(request: Request) -> Response:
        """Advance the clock."""
        body = await request.body()
        try:
            seconds = json.loads(body)["advance"]
            if isinstance(seconds, bool) or not 0 <= seconds <= ADVANCE_MOST:
                raise ValueError
        except (ValueError, KeyError, TypeError):
            problem = f'expected {{"advance": seconds}} of 0 to {ADVANCE_MOST:.0f}'
            return JSONResponse({"refused": problem}, status_code=400)
        return JSONResponse({"now": await run_in_threadpool(platform.advance, float(seconds))})

    return advance


def parse_request(request: Request, body: bytes) -> RouteRequest:
    """Parse a request for its route, or refuse it."""
    if len(body) > LARGEST_BODY:
        raise EmulatorRequestError(400, "The body is too large")
    try:
        read = json.loads(body) if body else None
    except ValueError:
        raise EmulatorRequestError(400, "JSON parse error") from None
    return RouteRequest(
        path=dict(request.path_params),
        query=dict(request.query_params),
        body=read,
        address=str(request.url.replace(query="")),
        base=str(request.base_url).rstrip("/"),
        cookies=request.cookies,
    )


def _log(tx: RequestTransaction, operation: str, request: Request, body: bytes, fault: Row[Any] | None) -> int:
    row = tx.insert(
        schema.requests,
        at=tx.now,
        operation=operation,
        method=request.method,
        path=str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
        body=body.decode("utf-8", errors="replace"),
        fault=fault.kind if fault else None,
    )
    return int(row.number)


def _planned(fault: Row[Any]) -> EmulatorRequestError:
    if fault.kind == "429":
        wait = fault.details.get("retry_after")
        headers = {} if wait is None else {"Retry-After": str(wait)}
        return EmulatorRequestError(429, "Too many requests; try again later", headers=headers)
    if fault.kind == "wallet_short":
        return EmulatorRequestError(400, "Your available balance does not cover this; please top up")
    return EmulatorRequestError(500, "Something went wrong")


def _response(answer: RouteResponse) -> Response:
    if answer.text is not None:
        return Response(answer.text, answer.status, dict(answer.headers), answer.media_type)
    if answer.status == 204:
        return Response(status_code=204, headers=dict(answer.headers))
    return JSONResponse(answer.body, answer.status, dict(answer.headers))


async def _wait_until_gone(request: Request, seconds: float) -> None:
    """Wait until the client gives up, or for some seconds; then close the connection without a response."""
    try:
        async with asyncio.timeout(seconds):
            while not await request.is_disconnected():
                await asyncio.sleep(0.02)
    except TimeoutError:
        pass
    await _hang_up(request)


async def _hang_up(request: Request) -> None:
    """Close the connection without a response, as a network failure does."""
    cycle = getattr(request.receive, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if transport is None:
        raise RuntimeError("the connection cannot be closed: this server is not uvicorn")
    transport.abort()
    while not await request.is_disconnected():
        await asyncio.sleep(0)


def _refuse_unknown(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    detail = {404: "Not found.", 405: f"Method {request.method} not allowed."}.get(status, "Bad request")
    if request.url.path.startswith("/emulator/"):
        return JSONResponse({"refused": detail}, status_code=status)
    return JSONResponse(error_body(status, detail, operation=None, form="wrapped"), status_code=status)
