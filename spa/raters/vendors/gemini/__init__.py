"""Gemini's API, by Google's own client library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spa.errors import PlatformError
from spa.media import model_files
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
from spa.raters.endpoints.http_api import TOP_LOGPROBS, set_keys
from spa.raters.vendors.vendor import Vendor
from spa.records.raters import Rater

if TYPE_CHECKING:
    from spa.journal import Journal
    from spa.raters.vendors.batches import Batches
    from spa.raters.vendors.gemini.endpoint import GeminiEndpoint

# Ends and reasons that are filters, beside those whose name says so
FILTERS = ("MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED", "JAILBREAK")
OWN_KEYS = (
    *("model", "contents", "system_instruction", "systemInstruction", "temperature", "top_p", "topP", "seed"),
    *("max_output_tokens", "maxOutputTokens", "response_schema", "responseSchema", "response_json_schema"),
    *("responseJsonSchema", "response_mime_type", "responseMimeType", "candidate_count", "candidateCount"),
    *("response_logprobs", "responseLogprobs", "logprobs", "http_options", "httpOptions"),
    *("should_return_http_response", "tools"),
)


def messages_of(request: LLMRequest) -> dict[str, Any]:
    """Return the messages as the API takes them: what stands before the conversation apart.

    >>> from spa.records.raters import RaterProtocol
    >>> asked = {"role": "user", "content": "Which?"}
    >>> messages_of(LLMRequest(messages=(asked,), questions=(), protocol=RaterProtocol()))
    {'contents': [{'role': 'user', 'parts': [{'text': 'Which?'}]}]}
    """
    system = [str(message["content"]) for message in request.messages if message["role"] == "system"]
    talk = [
        {"role": "model" if message["role"] == "assistant" else "user", "parts": _parts(message["content"])}
        for message in request.messages
        if message["role"] != "system"
    ]
    return {**({"system_instruction": "\n\n".join(system)} if system else {}), "contents": talk}


def _parts(content: Any) -> list[dict[str, Any]]:
    return [_part(part) for part in content] if isinstance(content, list) else [{"text": content}]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"text": part["text"]}
    models = model_files(part)
    if models is None or models.inline is None:
        raise PlatformError(f"Gemini's API takes no part of type {part['type']!r}; name another provider")
    url = part[part["type"]].get("url", "data:")
    if not url.startswith("data:"):
        return {"file_data": {"file_uri": url}}
    kind, data = models.inline(dict(part))
    return {"inline_data": {"mime_type": kind, "data": data}}


def parameters(rater: Rater, request: LLMRequest) -> dict[str, Any]:
    """Return what is sent beside the messages, under the library's names."""
    protocol = request.protocol
    sent = {"model": rater.model, **set_keys(protocol, "temperature", "top_p", "seed")}
    if (schema := request.schema) is not None:  # not response_schema, which takes no numbers in an enum
        sent |= {"response_mime_type": "application/json", "response_json_schema": schema}
    most = protocol.limit
    if protocol.readout == "logit":
        sent.update(response_logprobs=True, logprobs=TOP_LOGPROBS)
        most = most or 1  # the first token is all that is read
    if most is not None:
        sent["max_output_tokens"] = most
    if protocol.reasoning_effort is not None:
        sent["thinking_config"] = {"thinking_level": protocol.reasoning_effort.upper()}
    return {**sent, **(protocol.extra_body or {})}


def read_response(response: Mapping[str, Any], body: str) -> LLMReply:
    """Read a response, or an error in its place."""
    candidates = listed(response.get("candidates"))
    if (problem := response.get("error")) and not candidates:
        return read_error(mapping(problem), body)
    known = _known(response, body)
    if not candidates:
        blocked = mapping(response.get("promptFeedback")).get("blockReason")
        detail = str(blocked or "the response holds no candidate")
        return LLMReply(outcome="refused" if blocked else "unreadable", detail=detail, **known)
    text, ended = _text(response), mapping(candidates[0]).get("finishReason")
    if ended in FILTERS:
        return LLMReply(outcome="refused", text=text, detail=str(ended), **known)
    return ended_reply(ended or "nothing", text, known)


def _known(response: Mapping[str, Any], body: str) -> dict[str, Any]:
    """Return what a reply is whatever was said: thoughts are paid as words, kept tokens are of the prompt."""
    usage, model = mapping(response.get("usageMetadata")), response.get("modelVersion")
    spoken, thought = (count(usage.get(f"{name}TokenCount")) for name in ("candidates", "thoughts"))
    return {
        "body": body,
        "prompt_tokens": count(usage.get("promptTokenCount")),
        "completion_tokens": None if spoken is thought is None else (spoken or 0) + (thought or 0),
        "cached_tokens": count(usage.get("cachedContentTokenCount")),
        "model": model if isinstance(model, str) else None,
    }


def _text(response: Mapping[str, Any]) -> str:
    """Return the answer, without thoughts."""
    first = mapping(next(iter(listed(response.get("candidates"))), None))
    parts = [mapping(part) for part in listed(mapping(first.get("content")).get("parts"))]
    return joined(str(part.get("text") or "") for part in parts if not part.get("thought"))


def _tokens(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tokens of the answer as chat completions have them."""
    found = mapping(mapping(next(iter(listed(response.get("candidates"))), None)).get("logprobsResult"))
    tops = [listed(mapping(one).get("candidates")) for one in listed(found.get("topCandidates"))]
    chosen = listed(found.get("chosenCandidates"))
    return [{**_token(one), "top_logprobs": list(map(_token, top))} for one, top in zip(chosen, tops, strict=False)]


def _token(one: Any) -> dict[str, Any]:
    return {"token": mapping(one).get("token"), "logprob": mapping(one).get("logProbability")}


RESPONSE = ReplyFormat(
    recognises=lambda found: bool({"candidates", "promptFeedback", "usageMetadata"} & set(found)),
    read=read_response,
    texts=lambda response: [text] if (text := _text(response)) else [],
    tokens=_tokens,
    split=lambda response: [],
)


def _open(rater: Rater, *, timeout: float, folder: Path, keep: bool) -> LLMEndpoint:
    from spa.raters.vendors.gemini.endpoint import open_endpoint

    return open_endpoint(rater, timeout=timeout)


def _batches(endpoint: GeminiEndpoint, journal: Journal) -> Batches:
    from spa.raters.vendors.gemini.batches import InlineBatches

    return InlineBatches(endpoint, journal)


GEMINI = Vendor(
    key="gemini",
    about="Gemini's API",
    open=_open,
    replies=RESPONSE,
    refused_keys={"max_completion_tokens": "max_tokens in its place"},
    own_keys=OWN_KEYS,
    limit_keys=("max_output_tokens",),
    batches=_batches,
    batch_bytes=15_000_000,
)
