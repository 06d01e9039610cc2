"""The interface between a run and the endpoint of a rater: a request, the reply as a record, and how replies are read.

A failure of the endpoint raises nothing: it is a reply too, so that it is stored before anything else is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from spa.raters.endpoints.rate_limit_headers import RateLimitHint
from spa.records.form import Question
from spa.records.raters import Rater, RaterProtocol

REPLY_OUTCOMES = ("answered", "refused", "truncated", "unreadable")  # the model, or something in its name, replied
TEXTS = ("text", "output_text")  # kinds of parts
COMPLETE = ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed")  # ends, in small letters
CUT_OFF = ("length", "max_tokens", "max_output_tokens")  # at the token limit
FILTERED = re.compile(  # codes and ends in small letters, by which an API says that it or the model refused
    "content_?filter|content_policy|responsibleaipolicy|refusal|safety|recitation|blocklist|prohibited_content|spii"
    "|moderation|guardrail"
)
# Gateways give another code, and the words of the filter behind them
FILTER_WORDS = re.compile(
    "content management policy|content ?policy ?violation|responsibleaipolicyviolation|content[ _]?filter(?!s? is not)"
    "|safety system|flagged (?:as|for) (?:potentially )?violat",
    re.IGNORECASE,
)
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

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that the reply is to be held to; ``None`` where the protocol wants none enforced."""
        from spa.responses.answers import answer_schema

        return answer_schema(self.questions) if self.protocol.answer_format == "schema" else None


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
    cache_write_tokens: int | None = None  # of the prompt, kept for the next
    from_cache: bool = False  # whether it was asked for by an earlier run, and nothing was sent
    elsewhere: tuple[str, ...] = ()  # fields that hold something beside the text, which is not read
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
        tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
        names = (*tokens, "model", "fingerprint", "detail")
        known = {name: value for name in names if (value := getattr(self, name)) not in (None, "")}
        return {**known, "from_cache": True} if self.from_cache else known


class LLMEndpoint(Protocol):
    """A connection to a model; an asynchronous context manager."""

    rater: Rater

    @property
    def shown(self) -> str:
        """Where it is, for messages; without passwords."""

    def body(self, request: LLMRequest) -> Mapping[str, Any]:
        """Return what is sent."""

    def record(self, request: LLMRequest) -> str:
        """Return what is sent, as JSON for the journal: no key, files by their digest."""

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Send one request and return what became of it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFormat:
    """How the bodies of one API are read, with what was said in them; each function takes the body as JSON.

    Bodies are stored verbatim and read again on every run, whatever the rater's provider is by then, so that they are
    known by what they hold.
    """

    recognises: Callable[[Mapping[str, Any]], bool]  # whether a body is of this API
    read: Callable[[Mapping[str, Any], str], LLMReply]  # also takes the text of the body
    texts: Callable[[Mapping[str, Any]], Sequence[str]]  # what was said in each of several answers, with thoughts
    tokens: Callable[[Mapping[str, Any]], Sequence[Any]]  # of the answer, with the ``top_logprobs`` of each
    split: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]  # a body for each of several answers, if any


def read_reply(body: str, format_of: Callable[[Mapping[str, Any]], ReplyFormat]) -> LLMReply:
    """Read the body of an answer, whatever it holds, in the format that ``format_of`` names for it."""
    try:
        found = mapping(json.loads(body))
    except (ValueError, RecursionError) as error:
        what = "not JSON" if body.strip() else "empty"
        return LLMReply(outcome="garbled", body=body, detail=f"the response is {what}: {error}")
    return format_of(found).read(found, body)


def read_error(error: Mapping[str, Any], body: str) -> LLMReply:
    """Read an error that arrived in the place of an answer."""
    code = error.get("code")
    detail = str(error.get("message") or code or "an error without words")
    if is_filtered(str(code or error.get("type") or ""), detail):
        return LLMReply(outcome="refused", body=body, detail=detail)
    of_http = isinstance(code, int) and 400 <= code < 600  # as routers of several endpoints write it
    return LLMReply(outcome=f"http_{code}" if of_http else "failed", body=body, detail=detail)


def is_filtered(code: str, message: str) -> bool:
    """Return whether an error says that what was sent was filtered, be it in the words of a gateway.

    >>> is_filtered("content_filter", ""), is_filtered("400", "Azure OpenAI's content management policy"),
    (True, True)
    >>> is_filtered("400", "Unsupported value")
    False
    """
    return FILTERED.search(code.casefold()) is not None or FILTER_WORDS.search(message) is not None


def ended_reply(finish: object, text: str, known: Mapping[str, Any]) -> LLMReply:
    """Return a message by how it ended: only what is known to be whole is an answer.

    >>> ended_reply("STOP", "4", {}).outcome, ended_reply("SAFETY", "4", {}).outcome
    ('answered', 'refused')
    >>> ended_reply("abort", "4", {}).detail
    'the reply ended with "abort"'
    """
    end = str(finish or COMPLETE[0]).casefold()
    if end in COMPLETE or end in CUT_OFF:
        return LLMReply(outcome="answered" if end in COMPLETE else "truncated", text=text, **known)
    refused = FILTERED.search(end) is not None
    detail = str(finish) if refused else f'the reply ended with "{finish}"'
    return LLMReply(outcome="refused" if refused else "unreadable", text=text, detail=detail, **known)


def joined(parts: Iterable[str]) -> str:
    r"""Return the parts of a message as one text; digits of two parts are never one number.

    >>> joined(["Rating: ", "4"]), joined(["First: 2", "4"])
    ('Rating: 4', 'First: 2\n4')
    """
    text = ""
    for part in parts:
        text += "\n" + part if text[-1:].isdecimal() and part[:1].isdecimal() else part
    return text


def known_of(reply: Mapping[str, Any], body: str, *, read: str, written: str) -> dict[str, Any]:
    """Return what a reply is whatever was said; ``read`` and ``written`` name its tokens in the API."""
    usage = mapping(reply.get("usage"))
    details = mapping(usage.get(f"{read}_tokens_details"))
    model, fingerprint = reply.get("model"), reply.get("system_fingerprint")
    return {
        "body": body,
        "prompt_tokens": count(usage.get(f"{read}_tokens")),
        "completion_tokens": count(usage.get(f"{written}_tokens")),
        "cached_tokens": count(details.get("cached_tokens")),
        "cache_write_tokens": count(details.get("cache_write_tokens")),
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
        return joined(part["text"] for part in parts if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def without_reasoning(text: str) -> str:
    """Return a reply without the thought in tags at its beginning; a thought that breaks off leaves nothing.

    >>> without_reasoning("<think>Perhaps 20.</think> 70"), without_reasoning("<think>Perhaps 20")
    (' 70', '')
    """
    found = THOUGHT.match(text) or END_OF_THOUGHT.match(text)
    return text if found is None else text[found.end() :]


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
