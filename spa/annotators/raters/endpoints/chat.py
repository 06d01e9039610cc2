"""An OpenAI-compatible chat endpoint as a rater's endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spa.annotators.raters.endpoints.endpoint import Request
from spa.annotators.raters.endpoints.remote import OPENAI_URL, TOP_LOGPROBS, RemoteEndpoint
from spa.responses.answers import answer_schema


class ChatEndpoint(RemoteEndpoint):
    """``POST /chat/completions``."""

    path = "/chat/completions"

    def parameters(self, request: Request) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        way = request.way
        sent: dict[str, Any] = {"model": self.rater.model}
        if way.answer_format == "schema":
            form = {"name": "form", "strict": True, "schema": answer_schema(request.questions)}
            sent["response_format"] = {"type": "json_schema", "json_schema": form}
        for name in ("temperature", "top_p", "seed"):
            if (value := getattr(way, name)) is not None:
                sent[name] = value
        most = way.max_tokens
        if way.readout == "logit":
            sent.update(logprobs=True, top_logprobs=TOP_LOGPROBS)
            most = most or 1  # the first token is all that is read
        if most is not None:  # local servers often know the older name only
            sent["max_completion_tokens" if self.base_url == OPENAI_URL else "max_tokens"] = most
        return sent

    def spoken(self, request: Request) -> tuple[str, Sequence[Mapping[str, Any]]]:
        """Return the messages, and what they are called."""
        return "messages", request.messages
