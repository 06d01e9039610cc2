"""The interface between a run and the endpoint of a rater: a request, and the reply as a record.

A failure of the endpoint raises nothing: it is a reply too, so that it is stored before anything else is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from spa.forms.form import Question
from spa.raters.endpoints.rate_limit_headers import RateLimitHint
from spa.study.raters import RaterProtocol

REPLY_OUTCOMES = ("answered", "refused", "truncated", "unreadable")  # the model, or something in its name, replied
TEXTS = ("text", "output_text")  # kinds of parts
THOUGHT = re.compile(r"\s*<(think|thinking|thought)>(?P<thought>.*?)(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# A chat template may write the opening tag itself, so that the reply begins inside the thought. Only a tag alone in
# its line ends one: an answer can quote what stands in an output.
END_OF_THOUGHT = re.compile(r"\A(?:(?!<think>).)*?^[ \t]*</think>[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRequest:
    """One request: the whole conversation so far, and the questions that the reply is to answer."""

    messages: tuple[Mapping[str, Any], ...]  # role and content, as chat endpoints take them
    questions: tuple[Question, ...]
    protocol: RaterProtocol
    samples: int = 1  # answers asked for in one response, each for a visit of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReply:
    """What came back from one request.

    ``outcome`` is "answered", "refused" or "truncated" where the model spoke (``body`` is the paid
    response), "unreadable" for a response that holds no message, and else a failure that is no
    attempt at an answer: "quota", "no_model", "no_schema", "garbled" (a success that is no JSON),
    "failed" (an error in the place of an answer), "timeout", "dropped", "connection" or "http_<code>".
    """

    outcome: str
    body: str | None = None  # verbatim
    text: str = ""  # what the model said
    detail: str = ""  # what went wrong, in the words of the server or the library
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None  # of the prompt
    model: str | None = None  # as the endpoint names it
    fingerprint: str | None = None  # of the system behind it
    retry_after: float | None = None  # seconds that the server wants us to wait
    hint: RateLimitHint | None = None  # what the server says of its limiter

    @property
    def model_replied(self) -> bool:
        """Whether a reply arrived that counts as an attempt."""
        return self.outcome in REPLY_OUTCOMES

    @property
    def facts(self) -> dict[str, Any]:
        """What the journal keeps beside the response."""
        names = ("prompt_tokens", "completion_tokens", "cached_tokens", "model", "fingerprint", "detail")
        return {name: value for name in names if (value := getattr(self, name)) not in (None, "")}


class LLMEndpoint(Protocol):
    """A connection to a model; an asynchronous context manager."""

    @property
    def shown(self) -> str:
        """Where it is, for messages; without passwords."""

    def record(self, request: LLMRequest) -> str:
        """Return what is sent, as JSON for the journal: no key, images by their digest."""

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Send one request and return what became of it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...


def read_body(body: str) -> LLMReply:
    """Read the body of an answer, whatever it holds.

    Bodies are stored verbatim and read again on every run, so that this works on the body alone.
    """
    try:
        found = mapping(json.loads(body))
    except (ValueError, RecursionError) as error:
        what = "not JSON" if body.strip() else "empty"
        return LLMReply(outcome="garbled", body=body, detail=f"the response is {what}: {error}")
    if found.get("error") and not found.get("choices") and not found.get("output"):
        problem = found["error"]
        return read_error({"message": problem} if isinstance(problem, str) else mapping(problem), body)
    return read_response(found, body) if found.get("object") == "response" else read_completion(found, body)


def samples_of(reply: LLMReply, number: int) -> list[LLMReply]:
    """Return each of several answers of one response as a reply of its own.

    The first has what the response counts, which was paid once. Answers that were asked for and did not come are
    "not_sampled"; a response without any answer, and a failure, is that of all.
    """
    if number == 1 or not reply.model_replied or reply.body is None:
        return [reply] * number
    found = mapping(json.loads(reply.body))
    choices = listed(found.get("choices"))[:number]
    rest = {**found, "usage": None}
    bodies = [{**(rest if place else found), "choices": [choice]} for place, choice in enumerate(choices)]
    replies = [read_body(json.dumps(body)) for body in bodies] or [reply]
    return replies + [LLMReply(outcome="not_sampled")] * (number - len(replies))


def read_error(error: Mapping[str, Any], body: str) -> LLMReply:
    """Read an error that arrived in the place of an answer."""
    code = error.get("code")
    detail = str(error.get("message") or code or "an error without words")
    if code == "content_filter":
        return LLMReply(outcome="refused", body=body, detail=detail)
    of_http = isinstance(code, int) and 400 <= code < 600  # as routers of several endpoints write it
    return LLMReply(outcome=f"http_{code}" if of_http else "failed", body=body, detail=detail)


def read_response(response: Mapping[str, Any], body: str) -> LLMReply:
    """Read an object of the Responses API."""
    known = _known(response, body, read="input", written="output")
    parts = parts_of(response)
    text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
    refusals = [str(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
    reason = str(mapping(response.get("incomplete_details")).get("reason") or "")
    if refusals or reason == "content_filter":
        return LLMReply(outcome="refused", text=text, detail=" ".join(refusals) or reason, **known)
    if response.get("status") == "incomplete":
        return LLMReply(outcome="truncated", text=text, detail=reason, **known)
    if not parts:
        detail = f"the response holds no message (status {response.get('status')!r})"
        return LLMReply(outcome="unreadable", detail=detail, **known)
    return LLMReply(outcome="answered", text=text, **known)


def read_completion(completion: Mapping[str, Any], body: str) -> LLMReply:
    """Read a chat completion."""
    known = _known(completion, body, read="prompt", written="completion")
    choices = listed(completion.get("choices"))
    first = mapping(choices[0]) if choices else {}
    message = mapping(first.get("message"))
    if not message:
        return LLMReply(outcome="unreadable", detail="the response holds no message", **known)
    text = without_reasoning(message_text(message.get("content")))
    finish = first.get("finish_reason")
    if message.get("refusal") or finish == "content_filter":
        return LLMReply(outcome="refused", text=text, detail=str(message.get("refusal") or finish), **known)
    return LLMReply(outcome="truncated" if finish == "length" else "answered", text=text, **known)


def _known(found: Mapping[str, Any], body: str, *, read: str, written: str) -> dict[str, Any]:
    """Return what a reply is whatever was said; ``read`` and ``written`` name the tokens in its API."""
    usage = mapping(found.get("usage"))
    model, fingerprint = found.get("model"), found.get("system_fingerprint")
    return {
        "body": body,
        "prompt_tokens": count(usage.get(f"{read}_tokens")),
        "completion_tokens": count(usage.get(f"{written}_tokens")),
        "cached_tokens": count(mapping(usage.get(f"{read}_tokens_details")).get("cached_tokens")),
        "model": model if isinstance(model, str) else None,
        "fingerprint": fingerprint if isinstance(fingerprint, str) else None,
    }


def message_text(content: object) -> str:
    """Return the text of a message: a text, or a list of parts; ``""`` for anything else.

    >>> message_text([{"type": "thinking", "thinking": []}, {"type": "text", "text": "70"}])
    '70'
    """
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type", "text") in TEXTS]
        return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def without_reasoning(text: str) -> str:
    """Return a reply without the thought in tags at its beginning; a thought that breaks off leaves nothing.

    >>> without_reasoning("<think>Perhaps 20.</think> 70"), without_reasoning("<think>Perhaps 20")
    (' 70', '')
    """
    found = THOUGHT.match(text) or END_OF_THOUGHT.match(text)
    return text if found is None else text[found.end() :]


def parts_of(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of what was said, of an object of the Responses API."""
    return [
        mapping(part)
        for item in listed(response.get("output"))
        if mapping(item).get("type") == "message"
        for part in listed(item.get("content"))
    ]


def listed(value: object) -> list[Any]:
    """Return a JSON array, or an empty one where something else stands."""
    return value if isinstance(value, list) else []


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def count(value: object) -> int | None:
    """Return a number of tokens, or ``None`` for anything that is none; some servers write 12.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
