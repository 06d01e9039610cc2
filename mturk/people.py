"""Messages to annotators, and blocks, addressed by submissions, since worker ids are not stored here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mturk import records
from mturk.collecting import worker_of
from mturk.endpoints import MTurkEndpoint
from mturk.idempotent_calls import IdempotentMTurkCalls, written
from mturk.replies import call, entries, failed
from mturk.reviewing import DecidedWork, known
from spa.errors import PlatformError
from spa.platforms.bonuses import decision_name
from spa.platforms.idempotent_calls import DONE, REFUSED
from spa.responses.store import Store

BLOCKS, MESSAGES = "blocks", "messages"  # scopes of the journal
LONGEST_SUBJECT, LONGEST_TEXT = 200, 4096  # characters
MOST_AT_ONCE = 100  # annotators of one call


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorMessage:
    """A message to annotators."""

    subject: str
    text: str
    name: str | None = None  # of what is sent once whatever it says; else the content is its name

    def __post_init__(self) -> None:
        for name, value, most in (("subject", self.subject, LONGEST_SUBJECT), ("text", self.text, LONGEST_TEXT)):
            if not 0 < len(value.strip()) <= len(value) <= most:
                raise PlatformError(f"--{name}: expected 1 to {most} characters, got {len(value)}")

    @property
    def mark(self) -> str:
        """Identifies the message, which nobody gets twice."""
        return self.name or sha256(json.dumps([self.subject, self.text]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivery:
    """How many annotators got a message, now or before, and who did not, by the store's ids."""

    sent: int
    before: int
    unknown: int
    failed: Mapping[str, str]


def block(idempotent_calls: IdempotentMTurkCalls, work: records.Work, *, reason: str, lift: bool) -> None:
    """Block or unblock the annotator of a submission; idempotent."""
    endpoint = idempotent_calls.endpoint
    client, worker_id = endpoint.client_without_retries, worker_of(endpoint, work.mturk_assignment_id)

    def find_change(token: str) -> Mapping[str, Any] | None:
        blocks = entries(endpoint.reading, "list_worker_blocks", "WorkerBlocks")
        return {} if any(one["WorkerId"] == worker_id for one in blocks) != lift else None

    if find_change("") is not None:
        return
    idempotent_calls.execute_call(
        idempotent_calls.new_call(
            scope=BLOCKS,
            key=f"{'lift' if lift else 'block'}/{work.annotator_id}/{idempotent_calls.clock():.0f}",
            method=client.delete_worker_block if lift else client.create_worker_block,
            request={"Reason": reason},
            hidden={"WorkerId": worker_id},
            find=find_change,
            token_name=None,
            repeatable=True,
        )
    )


def recipients(store: Store, endpoint: MTurkEndpoint, named: Sequence[str]) -> tuple[records.Work, ...]:
    """Return one submission of each annotator, or of the annotators of those named."""
    works = [known(store, one) for one in named] if named else records.all_works(store, endpoint.origin)
    return tuple({work.annotator_id: work for work in works}.values())


def decided_messages(decided: DecidedWork, subject: str) -> list[tuple[records.Work, AnnotatorMessage]]:
    """Return the messages that reviewers decided on, each with the submission of its recipient."""
    return [
        (work, AnnotatorMessage(subject=subject, text=decision.note or "", name=decision_name(decision)))
        for work, decisions in decided.works
        for decision in decisions.messages
    ]


def send(
    idempotent_calls: IdempotentMTurkCalls, message: AnnotatorMessage, works: Sequence[records.Work], *, again: bool
) -> MessageDelivery:
    """Send a message to each annotator once.

    The protocol does not show whether a message arrived; after an interrupted call it is sent again only if ``again``.
    """
    reached, doubtful = _reached(idempotent_calls, message)
    waiting = [work for work in works if work.annotator_id not in reached]
    open_to = [work for work in waiting if again or work.annotator_id not in doubtful]
    not_reached: dict[str, str] = {}
    for first in range(0, len(open_to), MOST_AT_ONCE):
        not_reached |= _send_group(idempotent_calls, message, open_to[first : first + MOST_AT_ONCE])
    return MessageDelivery(
        sent=len(open_to) - len(not_reached),
        before=len(works) - len(waiting),
        unknown=len(waiting) - len(open_to),
        failed=not_reached,
    )


def has_reached(idempotent_calls: IdempotentMTurkCalls, message: AnnotatorMessage, work: records.Work) -> bool:
    """Return whether a message is known to have been sent to the annotator of a submission."""
    reached, _ = _reached(idempotent_calls, message)
    return work.annotator_id in reached


def _reached(idempotent_calls: IdempotentMTurkCalls, message: AnnotatorMessage) -> tuple[set[str], set[str]]:
    reached: set[str] = set()
    doubtful: set[str] = set()
    for entry in idempotent_calls.entries(MESSAGES, message.mark):
        addressed = set(json.loads(entry.request)["annotators"])
        if entry.outcome == DONE:
            reached |= addressed - set(json.loads(entry.response or "{}").get("failed", {}))
        elif entry.outcome != REFUSED:
            doubtful |= addressed
    return reached, doubtful


def _send_group(
    idempotent_calls: IdempotentMTurkCalls, message: AnnotatorMessage, group: Sequence[records.Work]
) -> dict[str, str]:
    """Send a message in one call; return whom it did not reach, and why."""
    endpoint, journal = idempotent_calls.endpoint, idempotent_calls.journal
    workers = {worker_of(endpoint, work.mturk_assignment_id): work.annotator_id for work in group}
    request = written({"Subject": message.subject, "annotators": sorted(workers.values())})
    opened = journal.begin(idempotent_calls.kind, idempotent_calls.scope(MESSAGES), message.mark, request)
    parameters = {"Subject": message.subject, "MessageText": message.text, "WorkerIds": list(workers)}
    reply = call(endpoint.client_without_retries.notify_workers, parameters)
    if reply.state in ("refused", "later"):
        journal.finish(opened, REFUSED, response=written({"code": reply.code, "message": reply.message}))
    if reply.state != "done":
        raise failed("notify_workers", reply)
    missed = {
        workers[one["WorkerId"]]: str(one.get("NotifyWorkersFailureMessage") or one.get("NotifyWorkersFailureCode"))
        for one in reply.content.get("NotifyWorkersFailureStatuses", [])
        if one.get("WorkerId") in workers
    }
    journal.finish(opened, DONE, response=written({"failed": missed}))
    return missed
