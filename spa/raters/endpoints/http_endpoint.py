"""An endpoint over HTTP, by the chat API or the Responses API: a request is sent, and its reply or failure returned.

The Responses API takes no seed and no stop words; a study that sets a seed with it is refused when it is checked.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import aiohttp
import httpx2
import openai

from spa.addresses import is_loopback
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, mapping, read_body
from spa.raters.endpoints.keys import NO_KEY, find_key, named_values, without_password
from spa.raters.endpoints.rate_limit_headers import rate_limit_hint, retry_after_seconds
from spa.responses.answers import answer_schema
from spa.study.raters import Rater, RaterProtocol

OPENAI_URL = "https://api.openai.com/v1"
LIBRARIES = ("spa-eval", "openai")
DETAIL = 300  # characters of a server's own words in a message
CONNECT_SECONDS = 5.0
TOP_LOGPROBS = 20  # the most that endpoints give
QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
MODEL_CODES = ("model_not_found", "invalid_model", "model_not_available")
SCHEMA_WORDS = re.compile(r"response_format|json_schema|structured output|text\.format", re.IGNORECASE)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=4)
def ssl_context(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return how servers' certificates are checked; to read all that are trusted takes tens of milliseconds.

    ``file`` and ``folder`` are what the environment says of them, which is read where ``trust_env`` is true.
    """
    return httpx2.create_ssl_context(trust_env=trust_env)


class SerializedRequest(NamedTuple):
    """A request as text: what is sent, and the record of it."""

    content: bytes
    record: str


class HTTPEndpoint(ABC):
    """A connection to the endpoint of one rater; an asynchronous context manager.

    The key is looked up in ``environment`` and never stored; ``timeout`` is the seconds until a request counts as
    unanswered; ``clock`` gives the seconds since 1970, for dates until which a server asks to wait.
    """

    path: str  # below the base URL

    def __init__(
        self,
        rater: Rater,
        *,
        environment: Mapping[str, str] | None = None,
        timeout: float = 180.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.rater = rater
        self._clock = clock
        self.base_url = rater.base_url or OPENAI_URL
        environment = os.environ if environment is None else environment
        self._key = find_key(rater, self.base_url, environment)
        headers = named_values(rater, "headers", environment)
        query = named_values(rater, "query", environment)
        found = [self._key, *headers.values(), *query.values()]
        written = [NO_KEY, *rater.headers.values(), *rater.query.values()]
        keyless = self._key == NO_KEY and "authorization" not in map(str.lower, headers)
        self._options: Any = {"headers": {"Authorization": openai.Omit()}} if keyless else {}
        self._secrets = [value for value in found if value not in written]
        versions = {name: version(name) for name in LIBRARIES}
        self._address = f"{self.base_url.rstrip('/')}{self.path}"  # whole: the library takes long to join a path to it
        more = {name: value for name in ("headers", "query") if (value := getattr(rater, name))}
        self._about = to_json({"base_url": self.shown, **more, "versions": versions})[1:]
        self._recent: deque[tuple[LLMRequest, SerializedRequest]] = deque(maxlen=max(1, rater.concurrency))
        # Redirects are not followed: a request that is paid for goes where the study says, or nowhere.
        trusts = not is_loopback(self.base_url)
        context = ssl_context(trusts, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        http = openai.DefaultAioHttpClient(verify=context, trust_env=trusts, follow_redirects=False)
        self.client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._key,
            default_headers=headers,
            default_query=query,
            max_retries=0,  # every request is an attempt of ours, recorded as such
            timeout=openai.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            http_client=http,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.close()

    @property
    def shown(self) -> str:
        """The address, without a password."""
        return without_password(self.base_url)

    @abstractmethod
    def parameters(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is sent beside the messages."""

    @abstractmethod
    def wire_messages(self, request: LLMRequest) -> tuple[str, Sequence[Mapping[str, Any]]]:
        """Return the name of the messages in the body, and the messages as they are sent."""

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return all that is sent."""
        name, messages = self.wire_messages(request)
        return {name: messages, **self.parameters(request)}

    def record(self, request: LLMRequest) -> str:
        """Return the request as JSON for the journal; an image is named by its digest."""
        return self._serialize(request).record

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Send one request and return what became of it."""
        return await self._send(self._serialize(request).content)

    async def send(self, body: Mapping[str, Any]) -> LLMReply:
        """Send a body and return what became of it."""
        return await self._send(to_json(body).encode())

    def _serialize(self, request: LLMRequest) -> SerializedRequest:
        """Return a request as text, which is made once for the record and for what is sent."""
        for known, written in self._recent:
            if known is request:
                return written
        name, messages = self.wire_messages(request)
        said, parameters = to_json(messages), to_json(self.parameters(request))
        if name != "messages" or any(isinstance(message["content"], list) for message in messages):
            shown = to_json([without_images(message) for message in request.messages])
        else:
            shown = said
        written = SerializedRequest(
            content=f'{{"{name}":{said},{parameters[1:]}'.encode(),
            record=f'{{"messages":{shown},"parameters":{parameters},{self._about}',
        )
        self._recent.append((request, written))
        return written

    async def _send(self, content: bytes) -> LLMReply:
        try:
            # A parsed answer would be lost where it does not fit, after it has been paid for.
            response = await self.client.post(
                self._address, cast_to=httpx2.Response, content=content, options=self._options
            )
            text = response.text
        except openai.APIStatusError as error:
            return self.reply_to_status_error(error)
        except openai.APIConnectionError as error:
            return LLMReply(outcome=outcome_of(error), detail=self.redacted(str(error.__cause__ or error)))
        return replace(read_body(self.redacted(text, cut=None)), hint=rate_limit_hint(response.headers))

    def reply_to_status_error(self, error: openai.APIStatusError) -> LLMReply:
        """Return what a status other than success means."""
        body = self.redacted(error.response.text, cut=None)
        problem = mapping(error.body)
        message = str(problem.get("message") or problem.get("detail") or "") or readable(body)
        location = error.response.headers.get("location")
        if location is not None and error.status_code < 400:
            message = f"go to {without_password(location)}"
        outcome = refusal_of(error.status_code, str(error.code or problem.get("type") or ""), message)
        if outcome == "refused":
            return read_body(body)
        return LLMReply(
            outcome=outcome,
            body=body,
            detail=self.redacted(message),
            retry_after=retry_after_seconds(error.response.headers, now=self._clock()),
            hint=rate_limit_hint(error.response.headers),
        )

    def redacted(self, text: str, cut: int | None = DETAIL) -> str:
        """Return a text without keys."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text[:cut]


def to_json(value: object) -> str:
    """Write JSON as the client library does: no spaces, letters of every script as they are."""
    return _ENCODER.encode(value)


def outcome_of(error: openai.APIConnectionError) -> str:
    """Return "timeout", "connection" where nobody was reached, or "dropped" where the connection broke off."""
    cause = error.__cause__
    below = None if cause is None else cause.__cause__  # openai's and httpx2's names do not tell these apart
    if isinstance(below, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return "connection"
    if isinstance(below, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | aiohttp.ClientPayloadError):
        return "dropped"
    if isinstance(error, openai.APITimeoutError):
        return "connection" if isinstance(cause, httpx2.ConnectTimeout) else "timeout"
    return "dropped" if isinstance(cause, httpx2.ReadError | httpx2.ProtocolError) else "connection"


def refusal_of(status: int, code: str, message: str) -> str:
    """Return the outcome that an error response stands for.

    >>> refusal_of(429, "insufficient_quota", ""), refusal_of(429, "", "")
    ('quota', 'http_429')
    >>> refusal_of(400, "", "response_format is not supported")
    'no_schema'
    """
    if status == 402 or code in QUOTA_CODES:
        return "quota"
    if code == "content_filter":
        return "refused"
    if code in MODEL_CODES:
        return "no_model"
    if status in (400, 422) and SCHEMA_WORDS.search(message):
        return "no_schema"
    return f"http_{status}"


def readable(body: str) -> str:
    """Return the words of an error page in one line, without its markup.

    >>> readable("<html><head><title>502 Bad Gateway</title></head>...")
    '502 Bad Gateway ...'
    """
    return " ".join(MARKUP.sub(" ", body[:5000]).split())


def without_images(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the digest of an image in the place of its bytes."""
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    return {**message, "content": [named_by_digest(part) for part in content]}


def named_by_digest(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a message; a ``data:`` URL becomes its kind and the SHA-256 of the URL."""
    url = mapping(part.get("image_url")).get("url")
    if not isinstance(url, str) or not url.startswith("data:"):
        return part
    kind = url[5:].partition(";")[0]
    digest = sha256(url.encode()).hexdigest()
    return {**part, "image_url": {**part["image_url"], "url": f"{kind}, sha256 of the data URL {digest}"}}


OPENAI_HOST = urlsplit(OPENAI_URL).hostname
AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
REASONING = re.compile(r"(^|/)(o[1-9]|gpt-[5-9])")  # OpenAI's reasoning models, which refuse the older name


class ChatEndpoint(HTTPEndpoint):
    """``POST /chat/completions``."""

    path = "/chat/completions"

    def parameters(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        protocol = request.protocol
        sent = {"model": self.rater.model, **_given(protocol, "temperature", "top_p", "seed", "reasoning_effort")}
        if protocol.answer_format == "schema":
            form = {"name": "form", "strict": True, "schema": answer_schema(request.questions)}
            sent["response_format"] = {"type": "json_schema", "json_schema": form}
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


def _given(protocol: RaterProtocol, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(protocol, name)) is not None}


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


FEWEST_TOKENS = 16  # the least that the API takes for max_output_tokens


class ResponsesEndpoint(HTTPEndpoint):
    """``POST /responses``; nothing is kept at the endpoint."""

    path = "/responses"

    def parameters(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        protocol = request.protocol
        sent = {"model": self.rater.model, "store": False, "stream": False, **_given(protocol, "temperature", "top_p")}
        if protocol.answer_format == "schema":
            schema = answer_schema(request.questions)
            sent["text"] = {"format": {"type": "json_schema", "name": "form", "strict": True, "schema": schema}}
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
        content = [
            {"type": "input_text", "text": part["text"]}
            if part["type"] == "text"
            else {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
            for part in content
        ]
    return {"role": message["role"], "content": content}
