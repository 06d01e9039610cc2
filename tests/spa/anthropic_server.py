"""Anthropic's API on loopback, held to the types of its client library: what it is sent, and what it says."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from anthropic.types import Message
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from anthropic.types.messages.batch_create_params import BatchCreateParams
from anthropic.types.shared import ErrorResponse
from pydantic import TypeAdapter

from tests.spa.scripted_server import Asked, Said, http

ASKED = TypeAdapter(MessageCreateParamsNonStreaming)
CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # of the published reference
REFUSED = ("minimum", "maximum", "description", "multipleOf", "minItems", "maxItems")  # in a schema
BETWEEN = {"integer": 50, "boolean": True, "string": "text", "array": []}


def held(model: Any, value: dict[str, Any]) -> dict[str, Any]:
    """Return an object as it goes over the wire, which its type in the library takes, key by key."""
    made = model.model_validate(value)
    assert (made.model_extra or {}) == {}, f"unknown to {model.__name__}"
    return value


def message(*texts: str, ended: str = "end_turn", **more: Any) -> dict[str, Any]:
    """Return a message with a block for each text: 100 tokens read, 90 of them kept before, 10 written."""
    usage = {"input_tokens": 7, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 3, "output_tokens": 10}
    content = [{"type": "text", "text": text, "citations": None} for text in texts]
    fixed = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    return held(Message, {**fixed, "content": content, "stop_reason": ended, "usage": usage, **more})


def error(kind: str, words: str) -> dict[str, Any]:
    """Return an error."""
    return held(ErrorResponse, {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"})


def middle(params: Any) -> dict[str, Any]:
    """Answer every number of the schema in a request with 50 or its middle, every choice with its first option."""
    ASKED.validate_python(params)
    if "output_config" not in params:
        return message("Hello")
    schema = params["output_config"]["format"]["schema"]
    assert not any(f'"{word}":' in json.dumps(schema) for word in REFUSED)
    return message(json.dumps({name: value_of(kind) for name, kind in schema["properties"].items()}))


def value_of(kind: Any) -> object:
    if "anyOf" in kind:
        return value_of(kind["anyOf"][0])
    if "properties" in kind:
        return {name: value_of(one) for name, one in kind["properties"].items()}
    return kind["enum"][len(kind["enum"]) // 2] if "enum" in kind else BETWEEN[kind["type"]]


class AnthropicServer:
    """Answers messages, and works on batches at once.

    Each entry of ``drop`` breaks one answer off after its effect, with "LOST " before it; ``says`` holds what is said
    instead of an answer, by the number of the request overall; batches are listed as ended after so many ``looks``.
    """

    def __init__(self, *drop: str, looks: int = 0) -> None:
        self.drop = list(drop)
        self.looks = looks
        self.says: dict[int, Any] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.results: dict[str, list[dict[str, Any]]] = {}
        self.worked: Counter[str] = Counter()  # what was put -> how often
        self.number = 0

    def __call__(self, asked: Asked) -> Said:
        """Answer one request."""
        path = asked.path.split("?")[0]
        assert path.startswith("/v1/messages")
        what = f"{asked.method} {re.sub(r'msgbatch_[0-9]+', 'one', path.removeprefix('/v1/messages'))}".strip()
        if f"LOST {what}" in self.drop:
            self.drop.remove(f"LOST {what}")
            return Said(close=True)
        said = self.answer(asked, what, path)
        if what in self.drop:
            self.drop.remove(what)
            return Said(close=True)
        return said

    def answer(self, asked: Asked, what: str, path: str) -> Said:
        """Do what is asked."""
        if what == "POST":
            return self.http(self.work(asked.body))
        if what == "POST /batches":
            assert all(ASKED.validate_python(row["params"]) for row in asked.body["requests"])
            assert set(asked.body) <= set(BatchCreateParams.__annotations__)
            return http(self.batch(asked.body["requests"]))
        if what == "GET /batches":
            rows = [self.shown(one) for one in reversed(self.batches)]
            return http({"data": rows, "has_more": False, "first_id": None, "last_id": None})
        name = path.split("/")[4]
        if what.endswith("/results"):
            return http("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.results[name]))
        self.looks -= 1
        return http(self.shown(name))

    def http(self, said: Any) -> Said:
        """Return what is said, which may be an error with its status."""
        if isinstance(said, Said):
            return said
        return http(said, status=said.pop("status", 200))

    def work(self, params: Any) -> Any:
        """Answer one request."""
        self.number += 1
        self.worked[json.dumps(params["messages"])] += 1
        said = self.says.get(self.number)
        return middle(params) if said is None else said

    def batch(self, requests: Any) -> dict[str, Any]:
        """Make a batch and work on all of it."""
        rows = list(requests)
        ids = [row["custom_id"] for row in rows]
        assert len(set(ids)) == len(ids)
        assert all(CUSTOM_ID.fullmatch(one) for one in ids)
        name = f"msgbatch_{len(self.batches)}"
        results = []
        for row in rows:
            said = self.work(row["params"])
            kind = said.get("type")
            result = {"type": "succeeded", "message": said} if kind == "message" else said
            result = {"type": "errored", "error": said} if kind == "error" else result
            results.append(held(MessageBatchIndividualResponse, {"custom_id": row["custom_id"], "result": result}))
        self.results[name] = results[::-1]  # in any order
        now = datetime.now(UTC)
        self.batches[name] = {
            "id": name, "type": "message_batch", "created_at": now.isoformat(), "archived_at": None,
            "expires_at": (now + timedelta(days=1)).isoformat(), "cancel_initiated_at": None,
        }  # fmt: skip
        return self.shown(name)

    def shown(self, name: str) -> dict[str, Any]:
        """Return a batch as far as it has come."""
        ended = self.looks <= 0
        kinds = Counter(row["result"]["type"] for row in self.results[name])
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts |= kinds if ended else {"processing": len(self.results[name])}
        more = {"processing_status": "ended" if ended else "in_progress", "request_counts": counts}
        at = {"ended_at": datetime.now(UTC).isoformat() if ended else None}
        url = {"results_url": f"https://api.anthropic.com/v1/messages/batches/{name}/results" if ended else None}
        return held(MessageBatch, {**self.batches[name], **more, **at, **url})
