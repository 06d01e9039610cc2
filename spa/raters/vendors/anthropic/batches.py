"""Anthropic's message batches: one call submits all requests of a batch; its results are lines.

A batch has no name. Where nobody knows whether one arrived, those of that minute and size are read until the ids of
their requests tell.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

import httpx2

from spa.journal import STARTED, Journal, JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, mapping
from spa.raters.vendors.anthropic import MESSAGE, STATUSES
from spa.raters.vendors.anthropic.endpoint import AnthropicEndpoint
from spa.raters.vendors.batches import COMPLETED, KIND, NOT_SENT, EndedBatch, SubmittedBatch

PATH = "/v1/messages/batches"
BEFORE, AFTER = timedelta(minutes=2), timedelta(minutes=15)  # of when a call began: clocks differ, a call takes a while
ID = 32  # characters; the API takes 64 letters, digits, "-" and "_"


class MessageBatches:
    """The batches of one rater at its endpoint."""

    def __init__(self, endpoint: AnthropicEndpoint, journal: Journal) -> None:
        self._endpoint = endpoint
        self._batches = endpoint.client.messages.batches
        self._journal = journal
        self._names: dict[str, str] = {}  # id at the endpoint -> custom id

    def content(self, requests: Sequence[tuple[str, LLMRequest]]) -> bytes:
        """Return the requests as lines: custom id and body."""
        rows = ({"custom_id": name, "params": self._endpoint.body(request)} for name, request in requests)
        return "".join(json.dumps(row, ensure_ascii=True, sort_keys=True) + "\n" for row in rows).encode()

    async def submit(self, call: JournalEntry, digest: str, content: bytes) -> None:
        """Submit a batch, whose call is on record."""
        rows = [json.loads(line) for line in content.splitlines()]
        asked = [{**row, "custom_id": id_of(call, row["custom_id"])} for row in rows]
        made = await self._endpoint.call(lambda: self._batches.create(requests=asked), self._journal, call)
        self._journal.finish(call, "ok", response=made.to_json(), id=made.id)

    async def look(self, batch: SubmittedBatch) -> EndedBatch | None:
        """Find a batch whose call was interrupted; return the batch once it has ended."""
        upload = batch.upload
        self._names |= {id_of(upload, name): name for name in batch.custom_ids}
        if upload.outcome == STARTED:  # a crash, or an interrupted connection
            async for found in self._candidates(batch):
                if found.processing_status != "ended":
                    return None  # its requests can be read once it has ended
                if await self._is(found.id, batch):
                    upload = self._journal.finish(upload, "ok", response=found.to_json(), id=found.id)
                    break
            else:
                self._journal.finish(upload, NOT_SENT)
                return EndedBatch(status=NOT_SENT)
        if upload.outcome != "ok" or upload.facts.get("id") is None:
            return EndedBatch(status=NOT_SENT)
        made = await self._endpoint.call(partial(self._batches.retrieve, str(upload.facts["id"])))
        if made.processing_status != "ended":
            return None
        cancelled = "cancelled" if made.cancel_initiated_at is not None else COMPLETED
        return EndedBatch(
            status="expired" if made.request_counts.expired else cancelled,
            batch_id=str(made.id),
            record=made.to_json(),
            results=(str(made.id),),
        )

    async def fetch(self, ended: EndedBatch) -> dict[str, LLMReply]:
        """Return the replies of a batch by custom id."""
        replies = {}
        for batch_id in ended.results:
            async for line in self._lines(batch_id):
                if (name := self._names.get(str(line.get("custom_id")))) is not None:
                    replies[name] = self._reply(mapping(line.get("result")))
        return replies

    def _reply(self, result: Mapping[str, Any]) -> LLMReply:
        """Return the reply in a line of results: read as an answer of HTTP is."""
        kind = str(result.get("type"))
        if kind == "succeeded":
            return self._endpoint.read(json.dumps(result.get("message"), ensure_ascii=False), MESSAGE)
        if kind != "errored":
            return LLMReply(outcome=f"batch_{'cancelled' if kind == 'canceled' else kind}")
        error = mapping(mapping(result.get("error")).get("error"))
        code, message = str(error.get("type") or ""), str(error.get("message") or "")
        body = json.dumps(result.get("error"), ensure_ascii=False)
        return self._endpoint.refused_with(STATUSES.get(code, 500), code, message, body)

    async def _candidates(self, batch: SubmittedBatch) -> AsyncIterator[Any]:
        """Yield the batches that may be one whose call was interrupted, and are no other of this rater."""
        began = datetime.fromtimestamp(batch.upload.begun_at, UTC)
        known = {call.facts.get("id") for call in self._journal.calls(KIND, self._endpoint.rater.id)}
        listing = self._batches.list(limit=100)
        page = await self._endpoint.call(lambda: listing)
        while True:
            for found in page.data:
                if found.created_at < began - BEFORE:
                    return  # they come newest first
                counts = found.request_counts
                size = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
                if found.created_at <= began + AFTER and size == len(batch.custom_ids) and found.id not in known:
                    yield found
            if not page.has_next_page():
                return
            page = await self._endpoint.call(page.get_next_page)

    async def _is(self, batch_id: str, batch: SubmittedBatch) -> bool:
        """Return by the ids of its requests whether a batch that has ended is the one that is looked for."""
        wanted = {id_of(batch.upload, name) for name in batch.custom_ids}
        async for line in self._lines(batch_id):
            return line.get("custom_id") in wanted
        return False

    async def _lines(self, batch_id: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the results of a batch; a line that is no JSON object costs its request alone."""
        client = self._endpoint.client
        response = await self._endpoint.call(lambda: client.get(f"{PATH}/{batch_id}/results", cast_to=httpx2.Response))
        for text in response.text.split("\n"):  # and at nothing else, which JSON may hold
            try:
                line = mapping(json.loads(text))
            except (ValueError, RecursionError):
                continue
            if line:
                yield line


def id_of(call: JournalEntry, name: str) -> str:
    """Return the id of a request at the endpoint: no other batch of anybody has it, and the journal tells it again."""
    return sha256(f"{call.key} {call.begun_at!r} {name}".encode()).hexdigest()[:ID]
