"""An OpenAI-compatible chat endpoint as a rater's endpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self

import httpx2
import openai

from spa.annotators.raters.endpoint import Reply, Request, mapping, read_body
from spa.annotators.raters.keys import NO_KEY, find_key, is_loopback, without_password
from spa.responses.answers import answer_schema
from spa.study.raters import Rater

OPENAI_URL = "https://api.openai.com/v1"
LIBRARIES = ("spa-eval", "openai")
DETAIL = 300  # characters of a server's own words in a message
CONNECT_SECONDS = 5.0


class ChatEndpoint:
    """A connection to the chat endpoint of one rater; an asynchronous context manager.

    Parameters
    ----------
    rater : Rater
        Model, address and key.
    environment : mapping of str to str
        Where the key is looked up; never stored.
    timeout : float
        Seconds until a request counts as unanswered.
    """

    def __init__(self, rater: Rater, *, environment: Mapping[str, str] | None = None, timeout: float = 180.0) -> None:
        self.rater = rater
        self.base_url = rater.base_url or OPENAI_URL
        self._key = find_key(rater, self.base_url, os.environ if environment is None else environment)
        self._client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._key,
            max_retries=0,  # every request is an attempt of ours, recorded as such
            timeout=openai.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            http_client=openai.DefaultAioHttpClient(trust_env=not is_loopback(self.base_url)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    @property
    def shown(self) -> str:
        """The address, without a password."""
        return without_password(self.base_url)

    def parameters(self, request: Request) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        way = request.way
        sent: dict[str, Any] = {"model": self.rater.model}
        if way.answer_format == "schema":
            schema = answer_schema(request.questions)
            form = {"name": "form", "strict": True, "schema": schema}
            sent["response_format"] = {"type": "json_schema", "json_schema": form}
        for name in ("temperature", "top_p", "seed"):
            if (value := getattr(way, name)) is not None:
                sent[name] = value
        if way.max_tokens is not None:  # local servers often know the older name only
            sent["max_completion_tokens" if self.base_url == OPENAI_URL else "max_tokens"] = way.max_tokens
        return sent

    def record(self, request: Request) -> str:
        """Return the request as JSON for the journal; an image is named by its digest."""
        record = {
            "base_url": self.shown,
            "messages": [without_images(message) for message in request.messages],
            "parameters": self.parameters(request),
            "versions": {name: version(name) for name in LIBRARIES},
        }
        return json.dumps(record, ensure_ascii=True, sort_keys=True)

    async def ask(self, request: Request) -> Reply:
        """Send one request and return what became of it."""
        parameters = self.parameters(request)
        try:
            # .parse() would raise after the paid answer has arrived and lose it
            raw = await self._client.chat.completions.with_raw_response.create(
                messages=request.messages,  # type: ignore[arg-type]
                **parameters,
            )
            body = raw.text
        except openai.APIStatusError as error:
            return self._refused_by_server(error)
        except openai.APIConnectionError as error:
            timed_out = isinstance(error, openai.APITimeoutError)
            # the aiohttp backend reports a refused connection as a timeout of connecting
            unreached = isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.ConnectError)
            outcome = "timeout" if timed_out and not unreached else "connection"
            return Reply(outcome=outcome, detail=self._redacted(str(error.__cause__ or error)))
        return read_body(self._redacted(body, cut=None))

    def _refused_by_server(self, error: openai.APIStatusError) -> Reply:
        quota = error.status_code == 429 and error.code == "insufficient_quota"
        return Reply(
            outcome="quota" if quota else f"http_{error.status_code}",
            body=self._redacted(error.response.text, cut=None),
            detail=self._redacted(error.message),
            retry_after=waiting_time(error.response.headers),
        )

    def _redacted(self, text: str, cut: int | None = DETAIL) -> str:
        if self._key != NO_KEY:
            text = text.replace(self._key, "[key]")
        return text[:cut]


def waiting_time(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks us to wait, where it says so in seconds.

    >>> waiting_time({"retry-after": "2"}), waiting_time({"retry-after-ms": "250"}), waiting_time({})
    (2.0, 0.25, None)
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / scale
        except ValueError:  # absent, or a date
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


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
