"""Answers of models kept across studies: who sends the same request to the same endpoint again takes them from a file.

What a run takes is recorded as any other answer, at no cost. One run takes a sampled answer once: the same request of
another form, or of one whose answer could not be read, goes to the model.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from spa.errors import StudyError
from spa.raters.endpoints.endpoint import LLMEndpoint, LLMReply, LLMRequest
from spa.raters.vendors import read_body
from spa.records.raters import Rater, may_be_cached

WAIT = 30.0  # seconds for another process that writes


class ReplyCache:
    """A file of answers by the hash of their requests; several processes may share it."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make one that its owner alone can read."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, body BLOB NOT NULL)"
            )
        except (OSError, sqlite3.Error) as error:
            raise StudyError(
                f"{path}: expected the cache of a rater, or no file yet, got: {error}; name another in [[raters]] cache"
            ) from error

    def body(self, request: str) -> str | None:
        """Return the answer to a request, as it arrived."""
        found = self._connection.execute("SELECT body FROM replies WHERE request = ?", (request,)).fetchone()
        return None if found is None else found[0].decode("utf-8", "surrogatepass")

    def keep(self, request: str, body: str) -> None:
        """Keep the answer to a request, in the place of an earlier one."""
        kept = body.encode("utf-8", "surrogatepass")
        self._connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (request, kept))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


@dataclass(slots=True, kw_only=True)
class CachedEndpoint:
    """An endpoint whose answers are looked for in a cache, and kept there."""

    endpoint: LLMEndpoint
    cache: ReplyCache
    renew: bool = False  # asks the model, whatever is kept
    _known: set[str] = field(default_factory=set)  # requests of this run

    @property
    def rater(self) -> Rater:
        """Who is asked."""
        return self.endpoint.rater

    @rater.setter
    def rater(self, rater: Rater) -> None:
        self.endpoint.rater = rater

    @property
    def shown(self) -> str:
        """Where it is, for messages; without passwords."""
        return self.endpoint.shown

    def body(self, request: LLMRequest) -> Mapping[str, Any]:
        """Return what is sent."""
        return self.endpoint.body(request)

    def record(self, request: LLMRequest) -> str:
        """Return what is sent, as JSON for the journal."""
        return self.endpoint.record(request)

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Take the answer from the cache, or send the request and keep its answer."""
        if request.samples > 1 or not may_be_cached(request.protocol, sampled=self.rater.cache_sampled):
            return await self.endpoint.ask(request)
        place = f"{self.rater.provider}\n{self.shown}\n{self.record(request)}"
        key = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()
        once = not may_be_cached(request.protocol, sampled=False)
        if not self.renew and not (once and key in self._known) and (body := self.cache.body(key)) is not None:
            self._known.add(key)
            known = read_body(body)
            if known.outcome == "answered":
                unpaid: dict[str, Any] = {
                    "prompt_tokens": 0,
                    "completion_tokens": 0,
                    "cached_tokens": None,
                    "cache_write_tokens": None,
                }
                return replace(known, **unpaid, from_cache=True)
        reply = await self.endpoint.ask(request)
        if reply.outcome == "answered" and reply.body is not None and reply.text.strip():
            self._known.add(key)
            self.cache.keep(key, reply.body)
        return reply

    async def __aenter__(self) -> Self:
        """Open the endpoint."""
        await self.endpoint.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close both."""
        try:
            await self.endpoint.__aexit__(*error)
        finally:
            self.cache.close()


def with_cache(endpoint: LLMEndpoint, folder: Path, *, renew: bool = False) -> LLMEndpoint:
    """Return an endpoint with its rater's cache, whose path begins at ``folder``; itself where it has none.

    With ``renew`` the model is asked even so, and what it says takes the place of what is kept.
    """
    if endpoint.rater.cache is None:
        return endpoint
    return CachedEndpoint(endpoint=endpoint, cache=ReplyCache(folder / endpoint.rater.cache), renew=renew)
