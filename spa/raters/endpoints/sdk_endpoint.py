"""What connections by a vendor's own client library have in common: keys, records, and failures as replies."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple, Self, TypeVar

import aiohttp
import httpx2

from spa.errors import PlatformError, how_to_install
from spa.journal import Journal, JournalEntry
from spa.media import recorded
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, ReplyFormat
from spa.raters.endpoints.failures import failure_message
from spa.raters.endpoints.http_endpoint import RedactedReplies, to_json
from spa.raters.endpoints.keys import NO_KEY, SHORTEST_SECRET, find_key, named_values, without_password
from spa.raters.endpoints.rate_limit_headers import retry_after_seconds
from spa.records.raters import Rater

T = TypeVar("T")
NOBODY = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout)  # which also stand above what aiohttp says otherwise
LATE = (TimeoutError, httpx2.TimeoutException)
# Each may have arrived, and been charged
BROKEN = (aiohttp.ClientError, httpx2.TransportError, OSError)
NO_EFFECT = ("connection", "quota", "refused", "no_", "http_3", "http_4")  # how outcomes begin after which nothing was


@dataclass(frozen=True, slots=True, kw_only=True)
class SDKApi:
    """An API as its vendor's client library speaks it."""

    extra: str  # of this package, that brings the library
    library: str  # as it is installed
    module: str  # as it is imported
    url: str
    key_variable: str  # of the environment, where the rater names none
    messages: Callable[[LLMRequest], dict[str, Any]]  # messages, under the API's keys
    parameters: Callable[[Rater, LLMRequest], dict[str, Any]]  # what is sent beside them
    replies: ReplyFormat


class WrittenRequest(NamedTuple):
    """A request as the library takes it, and the record of it."""

    body: dict[str, Any]
    record: str


class SDKEndpoint(ABC, RedactedReplies):
    """A connection to the endpoint of one rater; an asynchronous context manager.

    The key is looked up in ``environment`` and never stored; ``clock`` gives the seconds since 1970, for dates until
    which a server asks to wait.
    """

    errors: tuple[type[Exception], ...]  # of the library: what :meth:`reply_to` makes a reply of

    def __init__(
        self,
        rater: Rater,
        api: SDKApi,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        named = "api_key_env" in rater.model_fields_set
        self.rater = rater if named else rater.model_copy(update={"api_key_env": api.key_variable})
        self.base_url = rater.base_url or api.url
        environment = os.environ if environment is None else environment
        self._api, self._clock, self._replies = api, clock, api.replies
        self._key = find_key(self.rater, self.base_url, environment)
        self._headers = named_values(rater, "headers", environment)
        self._query = named_values(rater, "query", environment)
        written = [NO_KEY, *rater.headers.values(), *rater.query.values()]
        found = [self._key, *self._headers.values(), *self._query.values()]
        self._secrets = [value for value in found if value not in written and len(value) >= SHORTEST_SECRET]
        more = {name: value for name in ("headers", "query") if (value := getattr(rater, name))}
        versions = {name: version(name) for name in ("spa-eval", api.library)}
        self._about = to_json({"base_url": self.shown, **more, "versions": versions})[1:]
        self._recent: deque[tuple[LLMRequest, WrittenRequest]] = deque(maxlen=max(1, rater.concurrency))

    async def __aenter__(self) -> Self:
        return self

    @abstractmethod
    async def __aexit__(self, *error: object) -> None: ...

    @abstractmethod
    async def send(self, body: dict[str, Any]) -> LLMReply:
        """Send what :meth:`body` returns, once; a failure that is among ``errors`` may be raised."""

    @abstractmethod
    def failure(self, error: Exception) -> LLMReply | None:
        """Return what an error of the library means; ``None`` where it is one of the connection."""

    @property
    def shown(self) -> str:
        """The address, without a password."""
        return without_password(self.base_url)

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return all that is sent, as the library takes it."""
        return self._written(request).body

    def record(self, request: LLMRequest) -> str:
        """Return the request as JSON for the journal; a file is named by its digest."""
        return self._written(request).record

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Send one request and return what became of it."""
        try:
            return await self.send(self._written(request).body)
        except self.errors as error:
            return self.reply_to(error)

    def reply_to(self, error: Exception) -> LLMReply:
        """Return a failure as a reply."""
        found = self.failure(error)
        return found or LLMReply(outcome=lost(error), detail=self.redacted(str(error.__cause__ or error)))

    def refused_with(
        self, status: int, code: str, message: str, body: str, headers: Mapping[str, str] | None = None
    ) -> LLMReply:
        """Return what a status other than success means, with how long to wait."""
        wait = None if headers is None else retry_after_seconds(headers, now=self._clock())
        return replace(self.refusal(status, code, message, body), retry_after=wait)

    async def call(
        self, make: Callable[[], Awaitable[T]], journal: Journal | None = None, begun: JournalEntry | None = None
    ) -> T:
        """Make a call about batches; raise PlatformError where it fails.

        One that is on record as ``begun`` ends there if it certainly had no effect; else nobody knows.
        """
        try:
            return await make()
        except self.errors as error:
            reply = self.reply_to(error)
        if journal is not None and begun is not None and had_no_effect(reply.outcome):
            journal.finish(begun, reply.outcome, response=reply.body, detail=reply.detail)
        raise PlatformError(failure_message(reply, self.rater, self.shown))

    def _written(self, request: LLMRequest) -> WrittenRequest:
        """Return a request as it is sent and recorded, which is made once."""
        for known, written in self._recent:
            if known is request:
                return written
        parameters = self._api.parameters(self.rater, request)
        said = to_json([recorded(message) for message in request.messages])
        written = WrittenRequest(
            body={**parameters, **self._api.messages(request)},
            record=f'{{"messages":{said},"parameters":{to_json(parameters)},{self._about}',
        )
        self._recent.append((request, written))
        return written


def check_installed(rater: Rater, api: SDKApi) -> None:
    """Raise PlatformError where a vendor's library is not installed."""
    try:
        there = find_spec(api.module) is not None
    except ModuleNotFoundError:  # of a namespace
        there = False
    if not there:
        what = f'provider = "{rater.provider}" needs {api.library}'
        raise PlatformError(f"rater {rater.id!r}: {what}; {how_to_install(api.extra)}")


def lost(error: BaseException) -> str:
    """Return "connection" where nobody was reached, "timeout", or "dropped" where the connection broke off.

    >>> lost(TimeoutError())
    'timeout'
    """
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    by_aiohttp = any(isinstance(cause, aiohttp.ClientError) for cause in causes)
    for kinds, outcome in ((NOBODY if by_aiohttp else UNREACHED, "connection"), (LATE, "timeout")):
        if any(isinstance(cause, kinds) for cause in causes):
            return outcome
    return "dropped"


def had_no_effect(outcome: str) -> bool:
    """Return whether a call that failed so has certainly begun nothing; of others nobody knows."""
    return outcome.startswith(NO_EFFECT) and outcome != "http_408"
