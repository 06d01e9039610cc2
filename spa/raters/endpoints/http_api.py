"""An API over HTTP as data: where requests go, what they hold, and how replies are read.

:mod:`spa.raters.endpoints.http_endpoint` sends them; its libraries are loaded when a connection is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spa.raters.endpoints.endpoint import LLMRequest, ReplyFormat
from spa.records.raters import Rater, RaterProtocol

OPENAI_URL = "https://api.openai.com/v1"
TOP_LOGPROBS = 20  # the most that endpoints give
OPENAI_KEYS = (  # of a request's body by OpenAI's APIs, which keys of the rater decide about
    *("model", "messages", "input", "stream", "n", "store", "temperature", "top_p", "seed", "logprobs", "top_logprobs"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "response_format", "text", "include"),
    *("reasoning_effort", "reasoning"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HTTPApi:
    """An API that the client library of OpenAI speaks."""

    path: str  # below the base URL
    messages_key: str  # of the body
    messages: Callable[[LLMRequest], Sequence[Mapping[str, Any]]]  # as they are sent
    parameters: Callable[[Rater, LLMRequest], dict[str, Any]]  # what is sent beside the messages
    replies: ReplyFormat


def set_keys(protocol: RaterProtocol, *names: str) -> dict[str, Any]:
    """Return those of some keys of a protocol that are set."""
    return {name: value for name in names if (value := getattr(protocol, name)) is not None}
