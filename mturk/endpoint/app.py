"""The endpoint as a web application, which receives requests of the protocol by ``POST /``."""

from __future__ import annotations

import logging
import time
import uuid
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from mturk.endpoint import protocol
from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.keys import KEY_ID, owner_of, secret_access_key
from mturk.endpoint.operations import OPERATIONS
from mturk.endpoint.operations.call import Answer, OperationCall
from mturk.endpoint.operations.notifications import check_notification
from mturk.endpoint.service import MTurkService
from mturk.endpoint.sigv4 import SignedRequest, unknown_key, verify
from mturk.endpoint.transaction import Transaction
from spa.errors import SpaError
from spa.server.form_posts import read_body

log = logging.getLogger("uvicorn.error")


class ProtocolHandler:
    """Authenticates, checks and executes requests of the protocol."""

    def __init__(self, endpoint: MTurkService, host_key: bytes) -> None:
        protocol.service()  # a missing model is reported when the endpoint starts
        self._endpoint = endpoint
        self._host_key = host_key

    async def handle(self, request: Request) -> Response:
        """Respond to a request after its changes are on disk."""
        try:
            received = await _received(request)
            answer = await self._answer(received)
        except MTurkRequestError as refusal:
            return _respond(protocol.write_refusal(refusal), refusal.status)
        except SpaError as error:
            log.error("%s", error)
            fault = MTurkRequestError(
                "ServiceFault", None, "the endpoint's store does not answer; try again", status=500
            )
            return _respond(protocol.write_refusal(fault), fault.status)
        return _respond(protocol.write_answer(answer), 200)

    async def _answer(self, received: SignedRequest) -> Answer:
        operation = protocol.operation_named(received.headers.get("x-amz-target", ""))
        key_id = verify(received, secret_of=self._secret_of, now=time.time())
        given = protocol.read_request(operation, received.body)
        protocol.check_limits(given)
        if "Notification" in given:
            private = self._endpoint.rules.private_hooks
            await run_in_threadpool(check_notification, given["Notification"], private=private)
        return await self._endpoint.run(partial(_execute, operation, key_id, given))

    def _secret_of(self, key_id: str) -> str | None:
        """Return the secret of a well-formed key id; the store knows whether it was issued and not revoked."""
        return secret_access_key(self._host_key, key_id) if KEY_ID.fullmatch(key_id) else None


def create_app(endpoint: MTurkService, host_key: bytes) -> FastAPI:
    """Return the ASGI application of an endpoint, for one process; ``host_key`` derives the requesters' secrets."""
    app = FastAPI(title="MTurk endpoint", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    handler = ProtocolHandler(endpoint, host_key)
    app.add_api_route("/", handler.handle, methods=["POST"], response_model=None)
    app.add_api_route("/health", _report_health, methods=["GET"], response_model=None)
    return app


async def _report_health() -> dict[str, str]:
    return {"status": "ok"}


async def _received(request: Request) -> SignedRequest:
    body = await read_body(request, protocol.MOST_BYTES)
    if body is None:
        why = f"expected at most {protocol.MOST_BYTES} bytes"
        raise MTurkRequestError("RequestEntityTooLarge", None, why, status=413)
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return SignedRequest(method=request.method, path=target, headers=headers, body=body)


def _execute(operation: str, key_id: str, given: dict[str, Any], tx: Transaction) -> Answer:
    requester_id = owner_of(tx.connection, key_id)
    if requester_id is None:
        raise unknown_key()
    return OPERATIONS[operation](OperationCall(tx=tx, requester_id=requester_id, operation=operation, parameters=given))


def _respond(body: bytes, status: int) -> Response:
    return Response(body, status, media_type=protocol.CONTENT_TYPE, headers={"x-amzn-RequestId": str(uuid.uuid4())})
