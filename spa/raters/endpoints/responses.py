"""The OpenAI Responses API as a rater's endpoint: ``provider = "responses"``.

It takes no seed and no stop words; a study that sets a seed with it is refused when it is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.endpoints.http_endpoint import TOP_LOGPROBS, HTTPEndpoint
from spa.responses.answers import answer_schema

FEWEST_TOKENS = 16  # the least that the API takes for max_output_tokens


class ResponsesEndpoint(HTTPEndpoint):
    """``POST /responses``; nothing is kept at the endpoint."""

    path = "/responses"

    def parameters(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        protocol = request.protocol
        sent: dict[str, Any] = {"model": self.rater.model, "store": False, "stream": False}
        if protocol.answer_format == "schema":
            schema = answer_schema(request.questions)
            sent["text"] = {"format": {"type": "json_schema", "name": "form", "strict": True, "schema": schema}}
        for name in ("temperature", "top_p"):
            if (value := getattr(protocol, name)) is not None:
                sent[name] = value
        most = protocol.limit
        if protocol.readout == "logit":
            sent.update(include=["message.output_text.logprobs"], top_logprobs=TOP_LOGPROBS)
            most = most or FEWEST_TOKENS
        if most is not None:
            sent["max_output_tokens"] = most
        if protocol.reasoning_effort is not None:
            sent["reasoning"] = {"effort": protocol.reasoning_effort}
        return {**sent, **(protocol.extra_body or {})}

    def wire_messages(self, request: LLMRequest) -> tuple[str, Sequence[Mapping[str, Any]]]:
        """Return the messages as this API takes them, and what they are called."""
        return "input", [as_input(message) for message in request.messages]


def as_input(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat message as the Responses API takes it.

    >>> as_input({"role": "user", "content": [{"type": "text", "text": "Which?"}]})["content"]
    [{'type': 'input_text', 'text': 'Which?'}]
    """
    content = message["content"]
    if isinstance(content, list):
        content = [_as_part(part) for part in content]
    return {"role": message["role"], "content": content}


def _as_part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
