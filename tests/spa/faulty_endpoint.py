"""The simulated endpoint with faults on purpose, and a record of what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.routing import Route

from spa.simulation.simulated_endpoint import SimulatedModel, complete_chat, create_endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedFaults:
    """What goes wrong on purpose."""

    unreadable_first: bool = False  # the first answer to each form is prose
    partial_first: bool = False  # the first answer to each form leaves the last question out
    prose: bool = False  # the JSON stands in a code fence between two sentences
    refuse: bool = False
    truncate: bool = False  # the answer breaks off in the middle
    statuses: tuple[int, ...] = ()  # of the first requests, in turn, instead of an answer
    retry_after: str | None = None  # header of these
    error_code: str | None = None  # "code" in the body of these
    hang: float = 0.0  # seconds before each answer


@dataclass(slots=True)
class EndpointTraffic:
    """What the endpoint was asked."""

    requests: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)


def faulty_endpoint(
    model: SimulatedModel, faults: SimulatedFaults | None = None, seen: EndpointTraffic | None = None
) -> FastAPI:
    """Build the application of the simulated endpoint, with faults."""
    faults = SimulatedFaults() if faults is None else faults
    seen = EndpointTraffic() if seen is None else seen
    answered: Counter[str] = Counter()  # by form

    async def complete(request: Request) -> Response:
        seen.requests += 1
        seen.headers.append(dict(request.headers))
        if faults.hang:
            await asyncio.sleep(faults.hang)
        if seen.requests <= len(faults.statuses):
            detail = {"message": "on purpose", "type": "simulated", "param": None, "code": faults.error_code}
            headers = {} if faults.retry_after is None else {"Retry-After": faults.retry_after}
            return JSONResponse({"error": detail}, faults.statuses[seen.requests - 1], headers)
        content = await request.body()
        reply = complete_chat(model, content)
        if reply.status_code != 200:
            return reply
        seen.bodies.append(json.loads(content))
        found = model.find(seen.bodies[-1]["messages"])
        assert found is not None
        answered[found[0].assignment_id] += 1
        completion = json.loads(bytes(reply.body))
        spoil(completion["choices"][0], faults, first=answered[found[0].assignment_id] == 1)
        return JSONResponse(completion)

    app = create_endpoint(model)
    app.router.routes.insert(0, Route("/v1/chat/completions", complete, methods=["POST"]))
    return app


def spoil(choice: dict[str, Any], faults: SimulatedFaults, *, first: bool) -> None:
    """Put the faults into the one choice of a completion."""
    message = choice["message"]
    if faults.refuse:
        message |= {"content": None, "refusal": "I cannot judge this."}
    elif faults.unreadable_first and first:
        message["content"] = "Both systems have their merits."
    elif faults.partial_first and first:
        answers = json.loads(message["content"])
        message["content"] = json.dumps(dict(list(answers.items())[:-1]))
    elif faults.truncate:
        message["content"] = message["content"][: len(message["content"]) // 2]
        choice["finish_reason"] = "length"
    elif faults.prose:
        text = message["content"]
        message["content"] = f"Here are my {{careful}} answers:\n```json\n{text}\n```\nI hope that they help."
