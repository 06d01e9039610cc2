"""Chat completions: what OpenAI-compatible servers are sent, and what they return; local models are recorded alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from spa.raters.endpoints.endpoint import (
    LLMReply,
    LLMRequest,
    ReplyFormat,
    ended_reply,
    known_of,
    listed,
    mapping,
    message_text,
    read_error,
    without_reasoning,
)
from spa.raters.endpoints.http_api import OPENAI_URL, TOP_LOGPROBS, HTTPApi, set_keys
from spa.records.raters import Rater

OPENAI_HOST = urlsplit(OPENAI_URL).hostname
AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
UNREAD = ("reasoning_content", "reasoning", "tool_calls", "function_call")  # of a message, beside its content
REASONING = re.compile(r"(^|/)(o[1-9]|gpt-[5-9])")  # OpenAI's reasoning models, which refuse the older name


def parameters(rater: Rater, request: LLMRequest) -> dict[str, Any]:
    """Return what is sent beside the messages."""
    protocol = request.protocol
    sent = {"model": rater.model, **set_keys(protocol, "temperature", "top_p", "seed", "reasoning_effort")}
    if (schema := request.schema) is not None:
        form = {"name": "form", "strict": True, "schema": schema}
        sent["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.samples > 1:
        sent["n"] = request.samples
    most = protocol.limit
    if protocol.readout == "logit":
        sent.update(logprobs=True, top_logprobs=TOP_LOGPROBS)
        most = most or 1  # the first token is all that is read
    if most is not None:
        base_url = rater.base_url or OPENAI_URL
        newer = protocol.max_completion_tokens is not None or knows_newer_name(base_url, rater.model)
        sent["max_completion_tokens" if newer else "max_tokens"] = most
    return {**sent, **(protocol.extra_body or {})}


@lru_cache(maxsize=256)  # it is asked for with every request
def knows_newer_name(base_url: str, model: str) -> bool:
    """Return whether a limit is sent as ``max_completion_tokens``; local servers often know the older name only.

    >>> knows_newer_name("https://api.openai.com/v1/", "gpt-4o"), knows_newer_name("http://127.0.0.1/v1", "openai/o3")
    (True, True)
    >>> knows_newer_name("http://127.0.0.1:11434/v1", "gpt-oss:20b")
    False
    """
    host = urlsplit(base_url).hostname or ""
    return host == OPENAI_HOST or host.endswith(AZURE) or REASONING.search(model) is not None


def read_completion(completion: Mapping[str, Any], body: str) -> LLMReply:
    """Read a chat completion, or an error in its place."""
    choices = listed(completion.get("choices"))
    if (problem := completion.get("error")) and not choices:
        return read_error({"message": problem} if isinstance(problem, str) else mapping(problem), body)
    known = known_of(completion, body, read="prompt", written="completion")
    first = mapping(choices[0]) if choices else {}
    message = mapping(first.get("message"))
    if not message:
        return LLMReply(outcome="unreadable", detail="the response holds no message", **known)
    text = without_reasoning(message_text(message.get("content")))
    known["elsewhere"] = tuple(name for name in UNREAD if message.get(name))
    if message.get("refusal"):
        return LLMReply(outcome="refused", text=text, detail=str(message["refusal"]), **known)
    return ended_reply(first.get("finish_reason"), text, known)


def _texts(completion: Mapping[str, Any]) -> list[str]:
    said = [mapping(mapping(choice).get("message")).get("content") for choice in listed(completion.get("choices"))]
    return [text for text in said if isinstance(text, str)]


def _tokens(completion: Mapping[str, Any]) -> list[Any]:
    choices = listed(completion.get("choices"))
    return listed(mapping(mapping(choices[0]).get("logprobs")).get("content")) if choices else []


def _split(completion: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each choice as a completion; the first has what the response counts, which was paid once."""
    rest = {**completion, "usage": None}
    choices = listed(completion.get("choices"))
    return [{**(rest if place else completion), "choices": [choice]} for place, choice in enumerate(choices)]


CHAT_COMPLETION = ReplyFormat(
    recognises=lambda found: found.get("object") == "chat.completion",
    read=read_completion,
    texts=_texts,
    tokens=_tokens,
    split=_split,
)
CHAT_API = HTTPApi(
    path="/chat/completions",
    messages_key="messages",
    messages=lambda request: request.messages,
    parameters=parameters,
    replies=CHAT_COMPLETION,
)
