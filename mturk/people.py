"""Messages to annotators, and blocks: both by what they handed in, never by a list of names kept here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mturk import records
from mturk.collecting import worker_of
from mturk.endpoints import MTurkEndpoint
from mturk.idempotent_calls import KIND, IdempotentCall, IdempotentMTurkCalls, written
from mturk.replies import call, failed, pages
from mturk.reviewing import known
from spa.errors import PlatformError
from spa.platforms.idempotent_calls import DONE, REFUSED
from spa.responses.store import Store

BLOCKS, MESSAGES = "blocks", "messages"  # scopes of the journal
LONGEST_SUBJECT, LONGEST_TEXT = 200, 4096  # characters
MOST_AT_ONCE = 100  # annotators of one call


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorMessage:
    """What annotators are written."""

    subject: str
    text: str
    name: str | None = None  # of what is sent once whatever it says; else the content is its name

    def __post_init__(self) -> None:
        for name, value, most in (("subject", self.subject, LONGEST_SUBJECT), ("text", self.text, LONGEST_TEXT)):
            if not 0 < len(value.strip()) <= len(value) <= most:
                raise PlatformError(f"--{name}: expected 1 to {most} characters, got {len(value)}")

    @property
    def mark(self) -> str:
        """What makes it one message."""
        return self.name or sha256(json.dumps([self.subject, self.text]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivery:
    """Whom a message reached: counts, and who was not, by the store's own ids."""

    sent: int
    before: int
    unknown: int
    failed: Mapping[str, str]


def block(
    idempotent_calls: IdempotentMTurkCalls, endpoint: MTurkEndpoint, work: records.Work, *, reason: str, lift: bool
) -> None:
    """Block or unblock an annotator; the same again changes nothing."""
    worker_id = worker_of(endpoint, work.mturk_assignment_id)
    method = (
        endpoint.client_without_retries.delete_worker_block
        if lift
        else endpoint.client_without_retries.create_worker_block
    )

    def look(token: str) -> Mapping[str, Any] | None:
        blocked = any(
            one["WorkerId"] == worker_id
            for page in pages(endpoint.reading, "list_worker_blocks")
            for one in page["WorkerBlocks"]
        )
        return {} if blocked != lift else None

    if look("") is not None:
        return
    idempotent_calls.execute(
        IdempotentCall(
            scope=f"{BLOCKS} {endpoint.origin}",
            key=f"{'lift' if lift else 'block'}/{work.annotator_id}/{idempotent_calls.clock():.0f}",
            method=method,
            request={"Reason": reason},
            hidden={"WorkerId": worker_id},
            find=look,
            token_name=None,
            repeatable=True,
        )
    )


def recipients(store: Store, endpoint: MTurkEndpoint, named: Sequence[str]) -> tuple[records.Work, ...]:
    """Return a submission of each annotator who is meant."""
    works = [known(store, one) for one in named] if named else records.all_works(store, endpoint.origin)
    return tuple({work.annotator_id: work for work in works}.values())


def send(
    idempotent_calls: IdempotentMTurkCalls,
    endpoint: MTurkEndpoint,
    message: AnnotatorMessage,
    works: Sequence[records.Work],
    *,
    again: bool,
) -> MessageDelivery:
    """Send a message to each annotator once.

    There is no way to ask whether a message arrived, so that one whose call was interrupted is not sent again
    unless ``again`` says so.
    """
    scope = f"{MESSAGES} {endpoint.origin}"
    reached, doubtful = _reached(idempotent_calls, scope, message)
    waiting = [work for work in works if work.annotator_id not in reached]
    open_to = [work for work in waiting if again or work.annotator_id not in doubtful]
    not_reached: dict[str, str] = {}
    for first in range(0, len(open_to), MOST_AT_ONCE):
        group = open_to[first : first + MOST_AT_ONCE]
        not_reached |= dict(_send_group(idempotent_calls, endpoint, scope, message, group))
    return MessageDelivery(
        sent=len(open_to) - len(not_reached),
        before=len(works) - len(waiting),
        unknown=len(waiting) - len(open_to),
        failed=not_reached,
    )


def has_reached(
    idempotent_calls: IdempotentMTurkCalls, endpoint: MTurkEndpoint, message: AnnotatorMessage, work: records.Work
) -> bool:
    """Say whether a message is known to have gone to whoever handed something in."""
    reached, _ = _reached(idempotent_calls, f"{MESSAGES} {endpoint.origin}", message)
    return work.annotator_id in reached


def _reached(
    idempotent_calls: IdempotentMTurkCalls, scope: str, message: AnnotatorMessage
) -> tuple[set[str], set[str]]:
    """Return to whom a message went before, and to whom it may have gone."""
    reached: set[str] = set()
    doubtful: set[str] = set()
    for entry in idempotent_calls.journal.calls(KIND, scope, message.mark):
        asked = set(json.loads(entry.request)["annotators"])
        if entry.outcome == DONE:
            reached |= asked - set(json.loads(entry.response or "{}").get("failed", {}))
        elif entry.outcome != REFUSED:
            doubtful |= asked
    return reached, doubtful


def _send_group(
    idempotent_calls: IdempotentMTurkCalls,
    endpoint: MTurkEndpoint,
    scope: str,
    message: AnnotatorMessage,
    group: Sequence[records.Work],
) -> Iterator[tuple[str, str]]:
    workers = {worker_of(endpoint, work.mturk_assignment_id): work.annotator_id for work in group}
    request = {"Subject": message.subject, "annotators": sorted(workers.values())}
    opened = idempotent_calls.journal.begin(KIND, scope, message.mark, written(request))
    parameters = {"Subject": message.subject, "MessageText": message.text, "WorkerIds": list(workers)}
    reply = call(endpoint.client_without_retries.notify_workers, parameters)
    if reply.state in ("refused", "later"):
        idempotent_calls.journal.finish(opened, REFUSED, response=written({"code": reply.code, "message": reply.told}))
    if reply.state != "done":
        raise failed("notify_workers", reply)
    missed = {
        workers[one["WorkerId"]]: str(one.get("NotifyWorkersFailureMessage") or one.get("NotifyWorkersFailureCode"))
        for one in reply.content.get("NotifyWorkersFailureStatuses", [])
        if one.get("WorkerId") in workers
    }
    idempotent_calls.journal.finish(opened, DONE, response=written({"failed": missed}))
    yield from missed.items()
