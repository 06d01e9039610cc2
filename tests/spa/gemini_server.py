"""Gemini's API on loopback, held to the types of Google's client library: what it is sent, and what it says."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from google.genai import types
from pydantic import ValidationError

from tests.spa.scripted_server import Asked, Said, http

TOP_LEVEL = {"contents", "systemInstruction", "generationConfig", "safetySettings", "cachedContent", "model"}
VALUES = {"integer": 50, "boolean": True, "string": "text", "array": []}


def held(value: dict[str, Any]) -> dict[str, Any]:
    """Return a response as it goes over the wire, which its type in the library takes, key by key."""
    types.GenerateContentResponse.model_validate(value)
    return value


def response(*texts: str, ended: str | None = "STOP", parts: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a response: 100 tokens read, 80 of them kept before; 2 said and 8 thought."""
    usage = {
        "promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 2, "thoughtsTokenCount": 8,
        "totalTokenCount": 110,
    }  # fmt: skip
    content = {"role": "model", "parts": [{"text": text} for text in texts] if parts is None else parts}
    candidate = {"content": content, "finishReason": ended, "index": 0}
    return held({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r", **more})


def error(code: int, status: str, words: str, *details: Any) -> dict[str, Any]:
    """Return an error."""
    return {"error": {"code": code, "message": words, "status": status, "details": list(details)}}


def check(body: dict[str, Any]) -> None:
    """Hold a request to the library's types."""
    assert set(body) <= TOP_LEVEL
    for one in body["contents"]:
        types.Content.model_validate(one)
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))


def middle(body: dict[str, Any]) -> dict[str, Any]:
    """Answer every number of the schema in a request with 50 or its middle, every choice with its first option."""
    check(body)
    if "responseJsonSchema" not in body["generationConfig"]:
        return response("Hello")
    schema = body["generationConfig"]["responseJsonSchema"]
    assert body["generationConfig"]["responseMimeType"] == "application/json"
    return response(json.dumps({name: value_of(kind) for name, kind in schema["properties"].items()}))


def value_of(kind: Any) -> object:
    return kind["enum"][0] if "enum" in kind else VALUES[kind["type"]]


class GeminiServer:
    """Answers requests, and works on batches at once.

    Each entry of ``drop`` breaks one answer off after its effect, with "LOST " before it; ``says`` holds what is said
    instead of an answer, by the number of the request overall.
    """

    def __init__(self, *drop: str, state: str = "BATCH_STATE_SUCCEEDED") -> None:
        self.drop = list(drop)
        self.state = state
        self.says: dict[int, Any] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.worked: Counter[str] = Counter()  # what was put -> how often
        self.number = 0

    def __call__(self, asked: Asked) -> Said:
        """Answer one request."""
        path = asked.path.split("?")[0].removeprefix("/v1/")
        what = f"{asked.method} {re.sub(r'_[0-9]+', '', path.replace('models/m:', ''))}"
        if f"LOST {what}" in self.drop:
            self.drop.remove(f"LOST {what}")
            return Said(close=True)
        said = self.answer(asked, path)
        if what in self.drop:
            self.drop.remove(what)
            return Said(close=True)
        return said

    def answer(self, asked: Asked, path: str) -> Said:
        """Do what is asked."""
        if path.endswith(":generateContent"):
            said = self.work(asked.body)
            if isinstance(said, Said):
                return said
            return told(said, said["error"]["code"] if "error" in said else 200)
        if path.endswith(":batchGenerateContent"):
            return told(self.batch(asked.body["batch"]))
        if path == "batches":
            return told({"operations": list(self.batches.values())})
        return told(self.batches[path])

    def work(self, body: Any) -> Any:
        """Answer one request."""
        self.number += 1
        self.worked[json.dumps(body["contents"])] += 1
        said = self.says.get(self.number)
        return middle(body) if said is None else said

    def batch(self, asked: Any) -> dict[str, Any]:
        """Make a batch and work on all of it."""
        assert set(asked) == {"displayName", "inputConfig"}
        name, results = f"batches/batch_{len(self.batches)}", []
        for row in asked["inputConfig"]["requests"]["requests"] if self.state.endswith("SUCCEEDED") else ():
            said = self.work(row["request"])
            kind = {"error": said["error"]} if "error" in said else {"response": said}
            results.append({**kind, "metadata": row["metadata"]})
        now = datetime.now(UTC).isoformat()
        output = {"inlinedResponses": {"inlinedResponses": results}}
        known = {"displayName": asked["displayName"], "state": self.state, "createTime": now, "output": output}
        self.batches[name] = {"name": name, "metadata": {**known, "name": name}, "done": True}
        begun = {name: one for name, one in known.items() if name != "output"}
        return {"name": name, "metadata": {**begun, "state": "BATCH_STATE_PENDING"}}


def told(body: dict[str, Any], status: int = 200) -> Said:
    """Return a response in JSON, as its header says."""
    return http(body, status=status, content_type="application/json")


def refuses(batch: dict[str, Any]) -> bool:
    """Return whether the library's own type refuses a batch."""
    try:
        types.InlinedResponse.model_validate(batch)
    except ValidationError:
        return True
    return False
