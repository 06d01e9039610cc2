"""Anthropic's Messages API, by its own client library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spa.errors import PlatformError
from spa.raters.endpoints.endpoint import (
    LLMEndpoint,
    LLMReply,
    LLMRequest,
    ReplyFormat,
    count,
    ended_reply,
    joined,
    listed,
    mapping,
    read_error,
)
from spa.raters.vendors.vendor import Vendor
from spa.records.problems import StudyProblem, mistake
from spa.records.raters import CONTINUED, Rater, RaterProtocol

if TYPE_CHECKING:
    from spa.journal import Journal
    from spa.raters.vendors.anthropic.endpoint import AnthropicEndpoint
    from spa.raters.vendors.batches import Batches

NONE_LEFT = "none: Anthropic's client library has no such argument any more"
MOST_LISTED = 20  # numbers of a range that a schema lists one by one
# What the API refuses in a schema; the reply is checked against it instead
BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)
LEAST_PREFIX = 4096  # tokens that every model of the vendor keeps for the next request; of some fewer are enough
LETTERS = 4  # of a token
OWN_KEYS = (
    *("model", "messages", "system", "max_tokens", "stream", "output_config", "output_format", "cache_control"),
    *("temperature", "top_p", "top_k", "seed", "tools", "tool_choice"),
)
STATUSES = {  # of errors that arrive without one
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def messages_of(request: LLMRequest) -> dict[str, Any]:
    """Return the messages as the API takes them: what stands before the conversation apart.

    >>> message = {"role": "user", "content": [{"type": "text", "text": "Which?"}]}
    >>> messages_of(LLMRequest(messages=(message,), questions=(), protocol=RaterProtocol()))
    {'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'Which?'}]}]}
    """
    system = [str(message["content"]) for message in request.messages if message["role"] == "system"]
    talk = [
        {"role": message["role"], "content": _content(message["content"])}
        for message in request.messages
        if message["role"] != "system"
    ]
    return {**({"system": "\n\n".join(system)} if system else {}), "messages": talk}


def _content(content: Any) -> Any:
    return [_part(part) for part in content] if isinstance(content, list) else content


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["type"] != "image_url":
        raise PlatformError(f"Anthropic's API takes no part of type {part['type']!r}; name another provider")
    url: str = part["image_url"]["url"]
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url[5:].partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def parameters(rater: Rater, request: LLMRequest) -> dict[str, Any]:
    """Return what is sent beside the messages."""
    protocol = request.protocol
    sent: dict[str, Any] = {"model": rater.model, "max_tokens": protocol.limit}
    config: dict[str, Any] = {}
    if (schema := request.schema) is not None:
        config["format"] = {"type": "json_schema", "schema": enforced(schema)}
    if protocol.reasoning_effort is not None:
        config["effort"] = protocol.reasoning_effort
    if config:
        sent["output_config"] = config
    if protocol.conversation in CONTINUED and _letters(request) >= LETTERS * LEAST_PREFIX:
        sent["cache_control"] = {"type": "ephemeral"}  # the next turn is put after all that was said before
    return {**sent, **(protocol.extra_body or {})}


def _letters(request: LLMRequest) -> int:
    contents = [message["content"] for message in request.messages]
    texts = [part.get("text") or "" for content in contents if isinstance(content, list) for part in content]
    return sum(map(len, (*texts, *(content for content in contents if isinstance(content, str)))))


def enforced(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without what the API refuses; no word is added to it.

    >>> enforced({"type": "integer", "minimum": 1, "maximum": 3})
    {'type': 'integer', 'enum': [1, 2, 3]}
    >>> enforced({"type": "integer", "minimum": 0, "maximum": 100})
    {'type': 'integer'}
    """
    kept = {name: _inside(name, value) for name, value in schema.items() if name not in BOUNDS}
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") == "integer" and isinstance(low, int) and isinstance(high, int) and "enum" not in schema:
        if high - low < MOST_LISTED:
            kept["enum"] = list(range(low, high + 1))
    return kept


def _inside(name: str, value: Any) -> Any:
    if name in ("properties", "$defs"):
        return {key: enforced(one) for key, one in value.items()}
    if name == "items":
        return enforced(value)
    return [enforced(one) for one in value] if name in ("anyOf", "allOf", "oneOf") else value


def read_message(message: Mapping[str, Any], body: str) -> LLMReply:
    """Read a message, or an error in its place."""
    if message.get("type") == "error":
        error = mapping(message.get("error"))
        return read_error({**error, "code": STATUSES.get(str(error.get("type")))}, body)
    known = _known(message, body)
    blocks = [mapping(block) for block in listed(message.get("content"))]
    known["elsewhere"] = tuple(dict.fromkeys(str(one.get("type")) for one in blocks if one.get("type") != "text"))
    text = _text(message)
    ended = message.get("stop_reason")
    if ended == "refusal":
        details = mapping(message.get("stop_details"))
        detail = str(details.get("explanation") or details.get("category") or text or ended)
        return LLMReply(outcome="refused", text=text, detail=detail, **known)
    return ended_reply(ended or "nothing", text, known)


def _known(message: Mapping[str, Any], body: str) -> dict[str, Any]:
    """Return what a reply is whatever was said: the prompt's tokens are those that were read, kept and neither."""
    usage = mapping(message.get("usage"))
    read, kept = (count(usage.get(f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    fresh, model = count(usage.get("input_tokens")), message.get("model")
    return {
        "body": body,
        "prompt_tokens": None if fresh is None else fresh + (read or 0) + (kept or 0),
        "completion_tokens": count(usage.get("output_tokens")),
        "cached_tokens": read,
        "cache_write_tokens": kept,
        "model": model if isinstance(model, str) else None,
    }


def _text(message: Mapping[str, Any]) -> str:
    blocks = [mapping(block) for block in listed(message.get("content"))]
    return joined(str(block.get("text") or "") for block in blocks if block.get("type") == "text")


MESSAGE = ReplyFormat(
    recognises=lambda found: found.get("type") in ("message", "error"),
    read=read_message,
    texts=lambda message: [text] if (text := _text(message)) else [],
    tokens=lambda message: [],
    split=lambda message: [],
)


def _open(rater: Rater, *, timeout: float, folder: Path, keep: bool) -> LLMEndpoint:
    from spa.raters.vendors.anthropic.endpoint import open_endpoint

    return open_endpoint(rater, timeout=timeout)


def _batches(endpoint: AnthropicEndpoint, journal: Journal) -> Batches:
    from spa.raters.vendors.anthropic.batches import MessageBatches

    return MessageBatches(endpoint, journal)


def _problems(place: str, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    if protocol.readout == "logit":
        expected = '"verbalised": Anthropic\'s API gives no probabilities'
        yield mistake(f"{place}, readout", expected, '"logit"', "remove it, or name another provider")
    if protocol.max_tokens is None and protocol.max_completion_tokens is None:
        expected = "a number: Anthropic's API takes no request without it"
        yield mistake(f"{place}, max_tokens", expected, "none", "add it, such as max_tokens = 4096")


ANTHROPIC = Vendor(
    key="anthropic",
    about="Anthropic's Messages API",
    open=_open,
    replies=MESSAGE,
    refused_keys={
        **dict.fromkeys(("temperature", "top_p", "seed"), NONE_LEFT),
        "max_completion_tokens": "max_tokens in its place",
    },
    problems=_problems,
    own_keys=OWN_KEYS,
    limit_keys=("max_tokens",),
    batches=_batches,
)
