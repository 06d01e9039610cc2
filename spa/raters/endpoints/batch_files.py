"""OpenAI batch files as calls on record: upload, create, look, fetch.

Each file is named by the hash of its lines. A crash at any point is recovered from the journal and,
where a call began and nobody knows whether it took effect, from the endpoint's own lists.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import openai

from spa.errors import PlatformError
from spa.journal import STARTED, Journal, JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, mapping
from spa.raters.endpoints.failures import failure_message
from spa.raters.endpoints.http_endpoint import ChatEndpoint, outcome_of

KIND = "llm-batch"
OF_KEY = "spa_key"  # of a batch's metadata
PATH = "/v1/chat/completions"
ENDED = ("completed", "failed", "expired", "cancelled")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFile:
    """One file of requests, as far as it has come."""

    digest: str  # SHA-256 of its lines
    custom_ids: tuple[str, ...]
    upload: JournalEntry
    create: JournalEntry | None
    collected: bool
    expected: float  # cost reserved

    @property
    def file_id(self) -> str | None:
        """The file at the endpoint."""
        return self.upload.facts.get("id")

    @property
    def batch_id(self) -> str | None:
        """The batch at the endpoint."""
        return None if self.create is None else self.create.facts.get("id")


def files_of(journal: Journal, rater_id: str) -> list[BatchFile]:
    """Return every file of a rater that is not collected or given up, oldest first."""
    last: dict[str, dict[str, JournalEntry]] = {}
    for call in journal.calls(KIND, rater_id):
        what, digest = call.key.split(" ", 1)
        last.setdefault(digest, {})[what] = call
    found = [_file(digest, calls) for digest, calls in last.items()]
    return [one for one in found if not one.collected]


def _file(digest: str, calls: dict[str, JournalEntry]) -> BatchFile:
    upload = calls["upload"]
    asked = json.loads(upload.request)
    return BatchFile(
        digest=digest,
        custom_ids=tuple(asked["custom_ids"]),
        upload=upload,
        create=calls.get("create"),
        collected="collect" in calls and calls["collect"].outcome != STARTED,
        expected=float(asked["expected"]),
    )


class BatchFiles:
    """The batch files of one rater at its endpoint."""

    def __init__(self, endpoint: ChatEndpoint, journal: Journal) -> None:
        self._endpoint = endpoint
        self._client = endpoint.client
        self._journal = journal
        self.rater_id = endpoint.rater.id

    async def upload(self, call: JournalEntry, digest: str, lines: bytes) -> JournalEntry:
        """Upload lines under the hash that the journal has them by."""
        made = await self._request(
            lambda: self._client.files.create(file=(f"{digest}.jsonl", lines), purpose="batch"), call
        )
        return self._journal.finish(call, "ok", response=made.to_json(), id=made.id)

    async def find_upload(self, digest: str) -> str | None:
        """Return the id of a file that may have arrived, if it did."""
        async for file in await self._list(self._client.files.list(purpose="batch", limit=100)):
            if file.filename == f"{digest}.jsonl":
                return str(file.id)
        return None

    async def create(self, digest: str, file_id: str) -> JournalEntry:
        """Create the batch of an uploaded file."""
        asked = {"input_file_id": file_id, "endpoint": PATH, "completion_window": "24h", "metadata": {OF_KEY: digest}}
        call = self._journal.begin(KIND, self.rater_id, f"create {digest}", json.dumps(asked, sort_keys=True))
        made = await self._request(lambda: self._client.batches.create(**asked), call)  # type: ignore[arg-type]
        return self._journal.finish(call, "ok", response=made.to_json(), id=made.id)

    async def find_batch(self, digest: str) -> str | None:
        """Return the id of a batch that may have been created, if it was."""
        async for batch in await self._list(self._client.batches.list(limit=100)):
            if mapping(batch.metadata).get(OF_KEY) == digest:
                return str(batch.id)
        return None

    async def retrieve(self, batch_id: str) -> Any:
        """Return the current state of a batch."""
        return await self._request(lambda: self._client.batches.retrieve(batch_id))

    async def fetch(self, file_id: str | None) -> Iterator[dict[str, Any]]:
        """Return the lines of a result file; none where there is no file."""
        if not file_id:
            return iter(())
        name = file_id
        content = await self._request(lambda: self._client.files.content(name))
        return (_line(text) for text in content.text.splitlines() if text.strip())

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
    try:
        return mapping(json.loads(text))
    except ValueError as error:
        raise PlatformError(
            f"a result file of a batch holds a line that is not JSON ({error}); run the command again to fetch it"
        ) from error


def jsonl(bodies: Sequence[tuple[str, dict[str, Any]]]) -> bytes:
    """Return the lines of a batch file: custom id and body of each request."""
    rows = ({"custom_id": name, "method": "POST", "url": PATH, "body": body} for name, body in bodies)
    return "".join(json.dumps(row, ensure_ascii=True, sort_keys=True) + "\n" for row in rows).encode()
