"""What a vendor brings that takes requests in batches: how one is submitted, looked after and fetched.

A batch stands in the journal as calls of the kind ``llm-batch``, named by the hash of what is sent: "upload", begun in
the transaction in which its requests are recorded, "create" where a vendor needs two steps, and "collect".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spa.journal import STARTED, Journal, JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest

KIND = "llm-batch"
NOT_SENT = "not_sent"  # outcome of a request whose batch never arrived
COMPLETED = "completed"  # status of a batch whose every request was worked on


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedBatch:
    """One batch of requests, as far as it has come."""

    digest: str  # SHA-256 of what is sent
    custom_ids: tuple[str, ...]
    upload: JournalEntry
    create: JournalEntry | None
    collected: bool
    expected: float  # cost reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedBatch:
    """A batch that will not change any more.

    ``status`` is "completed"; "not_sent", where nothing arrived; else why it ended early, in the vendor's word.
    """

    status: str
    batch_id: str = ""
    record: str | None = None  # what the endpoint says of it, verbatim
    detail: str = ""  # why it ended early, in the endpoint's words
    results: tuple[str, ...] = ()  # where they are, as the vendor names it


class Batches(Protocol):
    """The batches of one rater at its endpoint.

    A crash at any point is recovered from the journal and, where a call began and nobody knows whether it took effect,
    from what the endpoint lists.
    """

    def content(self, requests: Sequence[tuple[str, LLMRequest]]) -> bytes:
        """Return what is sent for requests by their custom ids; its hash names the batch."""

    async def submit(self, call: JournalEntry, digest: str, content: bytes) -> None:
        """Submit a batch whose "upload" has begun; raise PlatformError where it fails."""

    async def look(self, batch: SubmittedBatch) -> EndedBatch | None:
        """Finish what an interrupted run left undone; return the batch once it has ended."""

    async def fetch(self, ended: EndedBatch) -> Mapping[str, LLMReply]:
        """Return the replies of a batch by custom id; requests without one are open again."""


def batches_of(journal: Journal, rater_id: str) -> list[SubmittedBatch]:
    """Return every batch of a rater that is not collected or given up, oldest first."""
    last: dict[str, dict[str, JournalEntry]] = {}
    for call in journal.calls(KIND, rater_id):
        what, digest = call.key.split(" ", 1)
        last.setdefault(digest, {})[what] = call
    found = [_batch(digest, calls) for digest, calls in last.items()]
    return [one for one in found if not one.collected]


def _batch(digest: str, calls: Mapping[str, JournalEntry]) -> SubmittedBatch:
    upload = calls["upload"]
    asked: dict[str, Any] = json.loads(upload.request)
    return SubmittedBatch(
        digest=digest,
        custom_ids=tuple(asked["custom_ids"]),
        upload=upload,
        create=calls.get("create"),
        collected="collect" in calls and calls["collect"].outcome != STARTED,
        expected=float(asked["expected"]),
    )
