"""An OpenAI-compatible chat endpoint as a rater's endpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.endpoints.http_endpoint import OPENAI_URL, TOP_LOGPROBS, HTTPEndpoint
from spa.responses.answers import answer_schema

OPENAI_HOST = urlsplit(OPENAI_URL).hostname
AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
REASONING = re.compile(r"(^|/)(o[1-9]|gpt-[5-9])")  # OpenAI's reasoning models, which refuse the older name


class ChatEndpoint(HTTPEndpoint):
    """``POST /chat/completions``."""

    path = "/chat/completions"

    def parameters(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        protocol = request.protocol
        sent: dict[str, Any] = {"model": self.rater.model}
        if protocol.answer_format == "schema":
            form = {"name": "form", "strict": True, "schema": answer_schema(request.questions)}
            sent["response_format"] = {"type": "json_schema", "json_schema": form}
        for name in ("temperature", "top_p", "seed", "reasoning_effort"):
            if (value := getattr(protocol, name)) is not None:
                sent[name] = value
        if request.samples > 1:
            sent["n"] = request.samples
        most = protocol.limit
        if protocol.readout == "logit":
            sent.update(logprobs=True, top_logprobs=TOP_LOGPROBS)
            most = most or 1  # the first token is all that is read
        if most is not None:
            newer = protocol.max_completion_tokens is not None or knows_newer_name(self.base_url, self.rater.model)
            sent["max_completion_tokens" if newer else "max_tokens"] = most
        return {**sent, **(protocol.extra_body or {})}

    def wire_messages(self, request: LLMRequest) -> tuple[str, Sequence[Mapping[str, Any]]]:
        """Return the messages, and what they are called."""
        return "messages", request.messages


@lru_cache(maxsize=256)  # it is asked for with every request
def knows_newer_name(base_url: str, model: str) -> bool:
    """Tell whether a limit is sent as ``max_completion_tokens``; local servers often know the older name only.

    >>> knows_newer_name("https://api.openai.com/v1/", "gpt-4o"), knows_newer_name("http://127.0.0.1/v1", "openai/o3")
    (True, True)
    >>> knows_newer_name("http://127.0.0.1:11434/v1", "gpt-oss:20b")
    False
    """
    host = urlsplit(base_url).hostname or ""
    return host == OPENAI_HOST or host.endswith(AZURE) or REASONING.search(model) is not None
