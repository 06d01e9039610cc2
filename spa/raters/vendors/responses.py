"""The Responses API of OpenAI; nothing is kept at the endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spa.errors import PlatformError
from spa.media import model_files
from spa.raters.endpoints.endpoint import (
    LLMReply,
    LLMRequest,
    ReplyFormat,
    ended_reply,
    joined,
    known_of,
    listed,
    mapping,
    read_error,
)
from spa.raters.endpoints.http_api import OPENAI_KEYS, TOP_LOGPROBS, HTTPApi, set_keys
from spa.raters.vendors.vendor import Vendor, over_http
from spa.records.raters import Rater

FEWEST_TOKENS = 16  # the least that the API takes for max_output_tokens


def parameters(rater: Rater, request: LLMRequest) -> dict[str, Any]:
    """Return what is sent beside the messages."""
    protocol = request.protocol
    sent = {"model": rater.model, "store": False, "stream": False, **set_keys(protocol, "temperature", "top_p")}
    if (schema := request.schema) is not None:
        sent["text"] = {"format": {"type": "json_schema", "name": "form", "strict": True, "schema": schema}}
    most = protocol.limit
    if protocol.readout == "logit":
        sent.update(include=["message.output_text.logprobs"], top_logprobs=TOP_LOGPROBS)
        most = max(most or 0, FEWEST_TOKENS)
    if most is not None:
        sent["max_output_tokens"] = most
    if protocol.reasoning_effort is not None:
        sent["reasoning"] = {"effort": protocol.reasoning_effort}
    return {**sent, **(protocol.extra_body or {})}


def as_input(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat message as the Responses API takes it.

    >>> as_input({"role": "user", "content": [{"type": "text", "text": "Which?"}]})["content"]
    [{'type': 'input_text', 'text': 'Which?'}]
    """
    content = message["content"]
    return {
        "role": message["role"],
        "content": [_input_part(part) for part in content] if isinstance(content, list) else content,
    }


def _input_part(part: dict[str, Any]) -> dict[str, Any]:
    if (models := model_files(part)) is None:
        return {"type": "input_text", "text": part["text"]}
    if models.as_input is None:
        raise PlatformError(f"the Responses API takes no part of type {models.type!r}; ask by chat completions")
    return models.as_input(part)


def read_response(response: Mapping[str, Any], body: str) -> LLMReply:
    """Read an object of the Responses API, or an error in its place."""
    if (problem := response.get("error")) and not response.get("output"):
        return read_error({"message": problem} if isinstance(problem, str) else mapping(problem), body)
    known = known_of(response, body, read="input", written="output")
    parts = _parts(response)
    text = _text(response)
    refusals = [str(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
    reason = str(mapping(response.get("incomplete_details")).get("reason") or "")
    known["elsewhere"] = tuple(dict.fromkeys(_kind(item) for item in listed(response.get("output")) if _kind(item)))
    if refusals:
        return LLMReply(outcome="refused", text=text, detail=" ".join(refusals), **known)
    ended = response.get("status")
    if ended == "incomplete":
        found = ended_reply(reason or ended, text, known)
        return replace(found, detail=found.detail or reason)
    if not parts:
        return LLMReply(outcome="unreadable", detail=f"the response holds no message (status {ended!r})", **known)
    return ended_reply(ended, text, known)


def _kind(item: object) -> str:
    """Return what an item of the output is that is no message; "" for messages."""
    kind = mapping(item).get("type")
    return kind if isinstance(kind, str) and kind != "message" else ""


def _text(response: Mapping[str, Any]) -> str:
    """Return the answer; several messages are lines of it, so that no number is made of two."""
    said = (
        joined(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
        for parts in _messages(response)
    )
    return "\n".join(text for text in said if text)


def _parts(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of the answer."""
    return [part for parts in _messages(response) for part in parts]


def _messages(response: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the parts of each message that is read: the final answer where one is named so, else all.

    What a model says on its way ("commentary") is kept, as its reasoning is.
    """
    messages = [one for item in listed(response.get("output")) if (one := mapping(item)).get("type") == "message"]
    final = [one for one in messages if one.get("phase") == "final_answer"]
    return [[mapping(part) for part in listed(one.get("content"))] for one in final or messages]


def _tokens(response: Mapping[str, Any]) -> list[Any]:
    return next((listed(part["logprobs"]) for part in _parts(response) if part.get("logprobs")), [])


RESPONSE = ReplyFormat(
    recognises=lambda found: found.get("object") == "response",
    read=read_response,
    texts=lambda response: [text] if (text := _text(response)) else [],
    tokens=_tokens,
    split=lambda response: [],
)
RESPONSES_API = HTTPApi(
    path="/responses",
    messages_key="input",
    messages=lambda request: [as_input(message) for message in request.messages],
    parameters=parameters,
    replies=RESPONSE,
)
RESPONSES = Vendor(
    key="responses",
    about="OpenAI's Responses API",
    open=over_http(RESPONSES_API),
    replies=RESPONSE,
    refused_keys={"seed": "no seed: the Responses API takes none"},
    own_keys=OPENAI_KEYS,
    limit_keys=("max_output_tokens",),
)
