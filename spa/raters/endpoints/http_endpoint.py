"""An endpoint over HTTP, by the client library of OpenAI: a request is sent, and its reply or failure returned."""

from __future__ import annotations

import json
import os
import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple, Self

import aiohttp
import httpx2
import openai

from spa.addresses import is_loopback
from spa.media import recorded
from spa.raters.endpoints.absences import absence_of
from spa.raters.endpoints.bounded_replies import BoundedReplies
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, ReplyFormat, is_filtered, mapping, read_reply
from spa.raters.endpoints.http_api import OPENAI_URL, HTTPApi
from spa.raters.endpoints.keys import NO_KEY, SHORTEST_SECRET, find_key, named_values, without_password
from spa.raters.endpoints.rate_limit_headers import rate_limit_hint, retry_after_seconds
from spa.records.raters import Rater

LIBRARIES = ("spa-eval", "openai")
DETAIL = 300  # characters of a server's own words in a message
CONNECT_SECONDS = 5.0
QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
MODEL_CODES = ("model_not_found", "invalid_model", "model_not_available")
READ_ALIKE = ("outcome", "prompt_tokens", "completion_tokens", "cached_tokens")  # of a reply, with keys or without
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=4)
def ssl_context(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return how servers' certificates are checked; to read all that are trusted takes tens of milliseconds.

    ``file`` and ``folder`` are what the environment says of them, which is read where ``trust_env`` is true.
    """
    return httpx2.create_ssl_context(trust_env=trust_env)


class _Client(BoundedReplies, openai.DefaultAioHttpClient):
    """The library's client, whose replies end."""


class SerializedRequest(NamedTuple):
    """A request as text: what is sent, and the record of it."""

    content: bytes
    record: str


class RedactedReplies:
    """What came back from an endpoint, read as it arrived; keys are neither stored nor shown."""

    _secrets: Sequence[str]
    _replies: ReplyFormat

    def refusal(
        self, status: int, code: str, message: str, body: str, *, sent: bytes | None = None, param: object = None
    ) -> LLMReply:
        """Return what an error response means, alone or as a line of a batch."""
        outcome, detail = refusal_of(status, code, message, sent=sent, param=param), self.redacted(message)
        if outcome == "refused":
            return replace(self.read(body, self._replies), outcome=outcome, detail=detail)
        return LLMReply(outcome=outcome, body=self.redacted(body, cut=None), detail=detail)

    def read(self, body: str, replies: ReplyFormat) -> LLMReply:
        """Return the reply that a body holds: read as it arrived, stored and shown without keys.

        Where a key is a word of the API itself ("response"), the body stays as it is: it would be read otherwise.
        """
        reply = read_reply(body, lambda found: replies)
        if not any(secret in body for secret in self._secrets):
            return reply
        blotted = self._redacted_json(body)
        kept = read_reply(blotted, lambda found: replies)
        alike = _is_of(replies, blotted) == _is_of(replies, body)  # so that the record is read alike too
        alike = alike and all(getattr(kept, name) == getattr(reply, name) for name in READ_ALIKE)
        alike = alike and kept.text == self.redacted(reply.text, cut=None)
        return replace(kept, detail=self.redacted(reply.detail, cut=None)) if alike else reply

    def _redacted_json(self, body: str) -> str:
        try:
            return to_json(_each_text(json.loads(body), lambda text: self.redacted(text, cut=None)))
        except (ValueError, RecursionError):  # an error page
            return self.redacted(body, cut=None)

    def redacted(self, text: str, cut: int | None = DETAIL) -> str:
        """Return a text without keys."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text[:cut]


class HTTPEndpoint(RedactedReplies):
    """A connection to the endpoint of one rater, by one API; an asynchronous context manager.

    The key is looked up in ``environment`` and never stored; ``timeout`` is the seconds until a request counts as
    unanswered; ``clock`` gives the seconds since 1970, for dates until which a server asks to wait.
    """

    def __init__(
        self,
        rater: Rater,
        api: HTTPApi,
        *,
        environment: Mapping[str, str] | None = None,
        timeout: float = 180.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.rater = rater
        self._api = api
        self._replies = api.replies
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
        self._secrets = [value for value in found if value not in written and len(value) >= SHORTEST_SECRET]
        versions = {name: version(name) for name in LIBRARIES}
        self._address = f"{self.base_url.rstrip('/')}{api.path}"  # whole: the library takes long to join a path to it
        more = {name: value for name in ("headers", "query") if (value := getattr(rater, name))}
        self._about = to_json({"base_url": self.shown, **more, "versions": versions})[1:]
        self._recent: deque[tuple[LLMRequest, SerializedRequest]] = deque(maxlen=max(1, rater.concurrency))
        # Redirects are not followed: a request that is paid for goes where the study says, or nowhere.
        trusts = not is_loopback(self.base_url)
        context = ssl_context(trusts, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        http = _Client(verify=context, trust_env=trusts, follow_redirects=False)
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

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return all that is sent."""
        return {self._api.messages_key: self._api.messages(request), **self._api.parameters(self.rater, request)}

    def record(self, request: LLMRequest) -> str:
        """Return the request as JSON for the journal; a file is named by its digest."""
        return self._serialize(request).record

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Send one request and return what became of it."""
        return await self._send(self._serialize(request).content)

    def _serialize(self, request: LLMRequest) -> SerializedRequest:
        """Return a request as text, which is made once for the record and for what is sent."""
        for known, written in self._recent:
            if known is request:
                return written
        messages = self._api.messages(request)
        said, parameters = to_json(messages), to_json(self._api.parameters(self.rater, request))
        if messages is request.messages and not any(isinstance(message["content"], list) for message in messages):
            shown = said
        else:
            shown = to_json([recorded(message) for message in request.messages])
        written = SerializedRequest(
            content=f'{{"{self._api.messages_key}":{said},{parameters[1:]}'.encode(),
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
            return self.reply_to_status_error(error, content)
        except openai.APIConnectionError as error:
            return LLMReply(outcome=outcome_of(error), detail=self.redacted(str(error.__cause__ or error)))
        return replace(self.read(text, self._api.replies), hint=rate_limit_hint(response.headers))

    def reply_to_status_error(self, error: openai.APIStatusError, sent: bytes | None = None) -> LLMReply:
        """Return what a status other than success means, for a request that ``sent`` this."""
        body = error.response.text
        problem = mapping(error.body)
        message = str(problem.get("message") or problem.get("detail") or "") or readable(body)
        location = error.response.headers.get("location")
        if location is not None and error.status_code < 400:
            message = f"go to {without_password(location)}"
        code = str(error.code or problem.get("type") or "")
        return replace(
            self.refusal(error.status_code, code, message, body, sent=sent, param=error.param),
            retry_after=retry_after_seconds(error.response.headers, now=self._clock()),
            hint=rate_limit_hint(error.response.headers),
        )


def _is_of(replies: ReplyFormat, body: str) -> bool:
    try:
        return replies.recognises(mapping(json.loads(body)))
    except (ValueError, RecursionError):
        return False


def _each_text(value: Any, changed: Callable[[str], str]) -> Any:
    """Return JSON with each of its texts changed; names stay."""
    if isinstance(value, dict):
        return {name: _each_text(one, changed) for name, one in value.items()}
    if isinstance(value, list):
        return [_each_text(one, changed) for one in value]
    return changed(value) if isinstance(value, str) else value


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


def refusal_of(status: int, code: str, message: str, *, sent: bytes | None = None, param: object = None) -> str:
    """Return the outcome that an error response to what was ``sent`` stands for; ``param`` is what it names.

    >>> refusal_of(429, "insufficient_quota", ""), refusal_of(429, "", "")
    ('quota', 'http_429')
    >>> refusal_of(400, "", "response_format is not supported")
    'no_schema'
    """
    if status == 402 or code in QUOTA_CODES:
        return "quota"
    if 400 <= status < 500 and status not in (401, 429) and is_filtered(code, message):
        return "refused"
    if code in MODEL_CODES:
        return "no_model"
    return absence_of(status, message, sent, param) or f"http_{status}"


def readable(body: str) -> str:
    """Return the words of an error page in one line, without its markup.

    >>> readable("<html><head><title>502 Bad Gateway</title></head>...")
    '502 Bad Gateway ...'
    """
    return " ".join(MARKUP.sub(" ", body[:5000]).split())
