"""Gemini's batches with their requests in line: one call submits all; the batch itself holds the results.

What the API says of batches is read from its own JSON: the client library takes no batch of which a single result is an
error with details, and leaves out why a batch failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from spa.journal import STARTED, Journal, JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, listed, mapping
from spa.raters.vendors.batches import COMPLETED, NOT_SENT, EndedBatch, SubmittedBatch
from spa.raters.vendors.gemini import RESPONSE
from spa.raters.vendors.gemini.endpoint import GeminiEndpoint, contents, settings

KEY = "key"  # of a request's metadata, which its result has too
ENDS = {  # of BATCH_STATE_... and JOB_STATE_...
    "SUCCEEDED": COMPLETED,
    "PARTIALLY_SUCCEEDED": COMPLETED,
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}
# Codes of google.rpc, in the place of an HTTP status
STATUSES = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 13: 500, 14: 503, 16: 401}


class InlineBatches:
    """The batches of one rater at its endpoint."""

    def __init__(self, endpoint: GeminiEndpoint, journal: Journal) -> None:
        self._endpoint = endpoint
        self._journal = journal
        self._ended: dict[str, tuple[list[Any], tuple[str, ...]]] = {}  # batch -> its results, and the custom ids asked

    def content(self, requests: Sequence[tuple[str, LLMRequest]]) -> bytes:
        """Return the requests as lines: custom id and body."""
        rows = ({KEY: name, "request": self._endpoint.body(request)} for name, request in requests)
        return "".join(json.dumps(row, ensure_ascii=True, sort_keys=True) + "\n" for row in rows).encode()

    async def submit(self, call: JournalEntry, digest: str, content: bytes) -> None:
        """Submit a batch, whose call is on record, under a name that tells it again."""
        rows = [json.loads(line) for line in content.splitlines()]
        bodies = [(row[KEY], row["request"]) for row in rows]
        asked = [{"contents": contents(one), "config": settings(one), "metadata": {KEY: name}} for name, one in bodies]
        model, config = self._endpoint.rater.model, {"display_name": name_of(call)}
        made = await self._endpoint.call(
            lambda: self._endpoint.client.aio.batches.create(model=model, src=asked, config=config), self._journal, call
        )
        self._journal.finish(call, "ok", response=made.model_dump_json(exclude_none=True), id=made.name)

    async def look(self, batch: SubmittedBatch) -> EndedBatch | None:
        """Find a batch whose call was interrupted; return the batch once it has ended."""
        upload = batch.upload
        if upload.outcome == STARTED:  # a crash, or an interrupted connection
            found = await self._find(name_of(upload))
            if found is None:
                self._journal.finish(upload, NOT_SENT)
                return EndedBatch(status=NOT_SENT)
            upload = self._journal.finish(upload, "ok", id=found)
        if upload.outcome != "ok" or upload.facts.get("id") is None:
            return EndedBatch(status=NOT_SENT)
        name = str(upload.facts["id"])
        made = await self._endpoint.call(partial(self._endpoint.get, name), self._journal)
        known = mapping(made.get("metadata"))
        state = str(known.get("state")).rpartition("STATE_")[2]
        if state not in ENDS:
            return None
        held = mapping(known.get("output")) or mapping(made.get("response"))
        self._ended[name] = (listed(mapping(held.get("inlinedResponses")).get("inlinedResponses")), batch.custom_ids)
        told = str(mapping(made.get("error")).get("message") or "")
        record = {**made, "metadata": {**known, "output": None}, "response": None}
        return EndedBatch(
            status=ENDS[state],
            batch_id=name,
            record=self._endpoint.redacted(json.dumps(record, ensure_ascii=False), cut=None),
            detail=self._endpoint.redacted(f" ({told})" if told else ""),
            results=(name,),
        )

    async def fetch(self, ended: EndedBatch) -> dict[str, LLMReply]:
        """Return the replies that an ended batch holds, by custom id."""
        replies: dict[str, LLMReply] = {}
        for name in ended.results:
            results, asked = self._ended.pop(name)
            in_order = asked if len(results) == len(asked) else ()  # results stand as their requests do
            for place, result in enumerate(map(mapping, results)):
                key = mapping(result.get("metadata")).get(KEY) or (in_order[place] if in_order else None)
                if key is not None:
                    replies[str(key)] = self._reply(result)
        return replies

    def _reply(self, result: Mapping[str, Any]) -> LLMReply:
        """Return the reply that a result holds: read as an answer of HTTP is."""
        if (response := result.get("response")) is not None:
            return self._endpoint.read(json.dumps(response, ensure_ascii=False), RESPONSE)
        error = mapping(result.get("error"))
        code = error.get("code")
        status = code if isinstance(code, int) and code >= 400 else STATUSES.get(code or 13, 500)
        body = json.dumps({"error": {**error, "code": status}}, ensure_ascii=False)
        return self._endpoint.refused(status, error, body)

    async def _find(self, wanted: str) -> str | None:
        """Return the name of a batch that may have arrived, if it did."""
        more: dict[str, str] = {}
        while True:
            page = await self._endpoint.call(partial(self._endpoint.get, "batches", pageSize="100", **more))
            for one in map(mapping, listed(page.get("operations"))):
                if mapping(one.get("metadata")).get("displayName") == wanted:
                    return str(one.get("name"))
            if not page.get("nextPageToken"):
                return None
            more = {"pageToken": str(page["nextPageToken"])}


def name_of(call: JournalEntry) -> str:
    """Return the name of a batch at the endpoint: no other has it, and the journal tells it again."""
    return f"spa {sha256(f'{call.key} {call.begun_at!r}'.encode()).hexdigest()[:32]}"
