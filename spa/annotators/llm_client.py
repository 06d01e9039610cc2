"""One request to an OpenAI-compatible chat endpoint, and what became of it as a record.

Nothing is raised for what an endpoint may do: the record says it, so that it can be stored
before anybody acts on it. Keys and passwords in URLs never enter a record.
"""

from __future__ import annotations

import ipaddress
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2
import openai

from spa.errors import PlatformError
from spa.study.study import Rater

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
LIBRARIES = ("spa-eval", "openai")
DETAIL = 300  # characters of a server's own words in a message
CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What came back from one request.

    ``outcome`` is "answered", "refused" or "truncated" where the model spoke (``body`` is the paid
    response), else "unreadable" (a 200 that is no chat completion), "quota", "timeout",
    "connection" or "http_<code>".
    """

    outcome: str
    seconds: float
    body: str | None = None  # verbatim
    text: str = ""  # what the model said
    detail: str = ""  # what went wrong, in the words of the server or the library
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    retry_after: float | None = None  # seconds that the server wants us to wait


class ChatClient:
    """A connection to the endpoint of one rater; an asynchronous context manager.

    Parameters
    ----------
    rater : Rater
        Model, address and settings.
    environment : mapping of str to str
        Where the key is looked up; never stored.
    timeout : float
        Seconds until a request counts as unanswered.
    """

    def __init__(self, rater: Rater, *, environment: Mapping[str, str] | None = None, timeout: float = 180.0) -> None:
        self.rater = rater
        self.base_url = rater.base_url or OPENAI_URL
        self.shown_url = without_password(self.base_url)
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

    def parameters(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is sent beside the messages."""
        sent: dict[str, Any] = {
            "model": self.rater.model,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "form", "strict": True, "schema": dict(schema)},
            },
        }
        if self.rater.temperature is not None:
            sent["temperature"] = self.rater.temperature
        if self.rater.max_tokens is not None:  # local servers often know the older name only
            name = "max_completion_tokens" if self.base_url == OPENAI_URL else "max_tokens"
            sent[name] = self.rater.max_tokens
        return sent

    def request_record(self, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> str:
        """Return the request as JSON for the store; an image is named by its digest."""
        record = {
            "base_url": self.shown_url,
            "messages": [without_images(message) for message in messages],
            "parameters": dict(parameters),
            "versions": {name: version(name) for name in LIBRARIES},
        }
        return json.dumps(record, ensure_ascii=True, sort_keys=True)

    async def ask(self, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> ChatReply:
        """Send one request and return what became of it."""
        start = time.monotonic()
        try:
            # .parse() would raise after the paid answer has arrived and lose it
            raw = await self._client.chat.completions.with_raw_response.create(messages=messages, **parameters)  # type: ignore[arg-type]
            body = raw.text
        except openai.APIStatusError as error:
            return self._refused_by_server(error, time.monotonic() - start)
        except openai.APIConnectionError as error:
            timed_out = isinstance(error, openai.APITimeoutError)
            # the aiohttp backend reports a refused connection as a timeout of connecting
            unreached = isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.ConnectError)
            outcome = "timeout" if timed_out and not unreached else "connection"
            detail = self._redacted(str(error.__cause__ or error))
            return ChatReply(outcome=outcome, seconds=time.monotonic() - start, detail=detail)
        return read_reply(self._redacted(body, cut=None), seconds=time.monotonic() - start)

    def _refused_by_server(self, error: openai.APIStatusError, seconds: float) -> ChatReply:
        quota = error.status_code == 429 and error.code == "insufficient_quota"
        return ChatReply(
            outcome="quota" if quota else f"http_{error.status_code}",
            seconds=seconds,
            body=self._redacted(error.response.text, cut=None),
            detail=self._redacted(error.message),
            retry_after=waiting_time(error.response.headers),
        )

    def _redacted(self, text: str, cut: int | None = DETAIL) -> str:
        if self._key != NO_KEY:
            text = text.replace(self._key, "[key]")
        return text[:cut]


def read_reply(body: str, *, seconds: float) -> ChatReply:
    """Read the body of a 200 answer, whatever it holds."""

    def reply(outcome: str, **known: Any) -> ChatReply:
        return ChatReply(outcome=outcome, seconds=seconds, body=body, **known)

    try:
        completion = json.loads(body)
    except (ValueError, RecursionError) as error:
        return reply("unreadable", detail=f"the response is not JSON: {error}")
    usage = mapping(mapping(completion).get("usage"))
    tokens = {name: count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")}
    choices = mapping(completion).get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = mapping(first.get("message"))
    if not message:
        return reply("unreadable", detail="the response holds no message", **tokens)
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    finish = first.get("finish_reason")
    if message.get("refusal") or finish == "content_filter":
        return reply("refused", text=text, detail=str(message.get("refusal") or finish), **tokens)
    return reply("truncated" if finish == "length" else "answered", text=text, **tokens)


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def count(value: object) -> int | None:
    """Return a number of tokens, or ``None`` for anything that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


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


def find_key(rater: Rater, base_url: str, environment: Mapping[str, str]) -> str:
    """Return the rater's key; a server on this machine needs none."""
    place = f"rater {rater.id!r}"
    key = "" if rater.api_key_env == NO_KEY else environment.get(rater.api_key_env, "").strip()
    if not key:
        if is_loopback(base_url):
            return NO_KEY
        if rater.api_key_env == NO_KEY:
            raise PlatformError(
                f'{place}: api_key_env = "none" is for servers on this machine, got base_url '
                f"{without_password(base_url)}; name the environment variable that holds the key"
            )
        raise PlatformError(
            f"{place}: wanted a key in the environment variable {rater.api_key_env}, found none; "
            f"set it (export {rater.api_key_env}=...)"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise PlatformError(
            f"{place}: the environment variable {rater.api_key_env} holds characters that no key has; set it again"
        )
    return key


def is_loopback(url: str) -> bool:
    """Tell whether a URL leads to this machine.

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("https://localhost.example.org/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def without_password(url: str) -> str:
    """Return a URL without the user, the password and the query that it may carry.

    >>> without_password("https://me:secret@example.org:8443/v1?key=k")
    'https://example.org:8443/v1'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


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
