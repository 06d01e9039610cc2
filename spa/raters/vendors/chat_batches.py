"""OpenAI's batch files: each is uploaded, then a batch is created of it; both are calls on record."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import openai

from spa.errors import PlatformError
from spa.journal import STARTED, Journal, JournalEntry
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest, mapping
from spa.raters.endpoints.failures import failure_message
from spa.raters.endpoints.http_endpoint import HTTPEndpoint, outcome_of
from spa.raters.vendors.batches import KIND, NOT_SENT, EndedBatch, SubmittedBatch

OF_KEY = "spa_key"  # of a batch's metadata
PATH = "/v1" + CHAT_API.path
ENDED = ("completed", "failed", "expired", "cancelled")
T = TypeVar("T")


class BatchFiles:
    """The batch files of one rater at its endpoint."""

    def __init__(self, endpoint: HTTPEndpoint, journal: Journal) -> None:
        self._endpoint = endpoint
        self._client = endpoint.client
        self._journal = journal

    def content(self, requests: Sequence[tuple[str, LLMRequest]]) -> bytes:
        """Return the lines of a batch file: custom id and body of each request."""
        bodies = ((name, self._endpoint.body(request)) for name, request in requests)
        rows = ({"custom_id": name, "method": "POST", "url": PATH, "body": body} for name, body in bodies)
        return "".join(json.dumps(row, ensure_ascii=True, sort_keys=True) + "\n" for row in rows).encode()

    async def submit(self, call: JournalEntry, digest: str, content: bytes) -> None:
        """Upload lines under the hash that the journal has them by, and create their batch."""
        made = await self._request(
            lambda: self._client.files.create(file=(f"{digest}.jsonl", content), purpose="batch"), call
        )
        self._journal.finish(call, "ok", response=made.to_json(), id=made.id)
        await self._create(digest, made.id)

    async def look(self, batch: SubmittedBatch) -> EndedBatch | None:
        """Finish what an interrupted run left undone; return the batch once it has ended."""
        upload, create = batch.upload, batch.create
        if upload.outcome == STARTED:  # a crash, or an interrupted connection
            found = await self._find_upload(batch.digest)
            if found is None:
                self._journal.finish(upload, NOT_SENT)
                return EndedBatch(status=NOT_SENT)
            upload = self._journal.finish(upload, "ok", id=found)
        if upload.outcome != "ok" or upload.facts.get("id") is None:
            return EndedBatch(status=NOT_SENT)
        if create is not None and create.outcome == STARTED:
            found = await self._find_batch(batch.digest)
            facts = {"outcome": NOT_SENT} if found is None else {"outcome": "ok", "id": found}
            create = self._journal.finish(create, **facts)
        if create is None or create.facts.get("id") is None:
            create = await self._create(batch.digest, str(upload.facts["id"]))
        made = await self._request(lambda: self._client.batches.retrieve(str(create.facts["id"])))
        if made.status not in ENDED:
            return None
        errors = "; ".join(str(one.message) for one in (made.errors.data or ()) if one) if made.errors else ""
        return EndedBatch(
            status=str(made.status),
            batch_id=str(made.id),
            record=made.to_json(),
            detail=self._endpoint.redacted(f" ({errors})" if errors else ""),
            results=tuple(name for name in (made.output_file_id, made.error_file_id) if name),
        )

    async def fetch(self, ended: EndedBatch) -> dict[str, LLMReply]:
        """Return the replies that the result files hold, by custom id."""
        replies = {}
        for file_id in ended.results:
            content = await self._request(partial(self._client.files.content, file_id))
            for line in map(_line, content.text.split("\n")):  # and at nothing else, which JSON may hold
                if (name := line.get("custom_id")) is not None:
                    replies[str(name)] = self._reply(line)
        return replies

    def _reply(self, line: dict[str, Any]) -> LLMReply:
        """Return the reply in a line of a result file: read as an answer of HTTP is."""
        response = mapping(line.get("response"))
        status = response.get("status_code")
        if isinstance(response.get("body"), dict) and status in (None, 200):
            return self._endpoint.read(json.dumps(response["body"], ensure_ascii=False), CHAT_API.replies)
        error = mapping(line.get("error")) or mapping(mapping(response.get("body")).get("error"))
        body = json.dumps({"error": error}, ensure_ascii=False)
        code, message = str(error.get("code") or error.get("type") or ""), str(error.get("message") or "")
        failed = status if isinstance(status, int) and status >= 400 else None
        reply = self._endpoint.refusal(failed or 400, code, message, body, param=error.get("param"))
        return reply if failed or reply.model_replied else replace(reply, outcome=code or "failed")

    async def _create(self, digest: str, file_id: str) -> JournalEntry:
        """Create the batch of an uploaded file."""
        asked = {"input_file_id": file_id, "endpoint": PATH, "completion_window": "24h", "metadata": {OF_KEY: digest}}
        rater_id = self._endpoint.rater.id
        call = self._journal.begin(KIND, rater_id, f"create {digest}", json.dumps(asked, sort_keys=True))
        made = await self._request(lambda: self._client.batches.create(**asked), call)  # type: ignore[arg-type]
        return self._journal.finish(call, "ok", response=made.to_json(), id=made.id)

    async def _find_upload(self, digest: str) -> str | None:
        """Return the id of a file that may have arrived, if it did."""
        async for file in await self._list(self._client.files.list(purpose="batch", limit=100)):
            if file.filename == f"{digest}.jsonl":
                return str(file.id)
        return None

    async def _find_batch(self, digest: str) -> str | None:
        """Return the id of a batch that may have been created, if it was."""
        async for batch in await self._list(self._client.batches.list(limit=100)):
            if mapping(batch.metadata).get(OF_KEY) == digest:
                return str(batch.id)
        return None

    async def _list(self, listing: Any) -> Any:
        return await self._request(lambda: listing)

    async def _request(self, make: Callable[[], Awaitable[T]], call: JournalEntry | None = None) -> T:
        """Send a request; a failure becomes one line, and is recorded where it certainly had no effect."""
        try:
            return await make()
        except openai.APIStatusError as error:
            reply = self._endpoint.reply_to_status_error(error)
            if call is not None:
                self._journal.finish(call, reply.outcome, response=reply.body, detail=reply.detail)
        except openai.APIConnectionError as error:
            reply = LLMReply(outcome=outcome_of(error), detail=self._endpoint.redacted(str(error.__cause__ or error)))
            if call is not None and reply.outcome == "connection":  # nobody was reached; else nobody knows
                self._journal.finish(call, reply.outcome, detail=reply.detail)
        raise PlatformError(failure_message(reply, self._endpoint.rater, self._endpoint.shown))


def _line(text: str) -> dict[str, Any]:
    """Return a line of a result file; one that is no JSON object costs its request alone, which is open again."""
    try:
        return mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}
