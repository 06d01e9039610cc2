"""The recorded calls to LLMs: counted by rater and outcome, read a page at a time, or exported as JSON lines."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from heapq import merge
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from spa.files import written_whole
from spa.journal import Journal, JournalEntry
from spa.raters.vendors import read_body
from spa.raters.visits import KIND
from spa.responses.leases import PROBE, Lease, condition_from_json
from spa.responses.store import Store
from spa.responses.store_schema import journal, submissions

FILE = "calls.jsonl"
EXPORTED = (  # facts
    *("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens"),
    *("cost", "model", "fingerprint", "detail"),
)
CHUNK = 2_000  # rows read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """How many calls of one rater (and variant) ended in one way, and what they used.

    ``cost`` is in the currency of the price table, ``None`` where no price was known; ``seconds`` are of all calls;
    ``models`` are names by which endpoints called what answered; ``first`` and ``last`` are when calls began, in
    seconds since 1970.
    """

    rater: str
    outcome: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: Decimal | None
    models: frozenset[str]
    first: float
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCall:
    """One call as it was made and answered."""

    rater: str
    assignment_id: str
    ask: str
    attempt: int
    outcome: str
    begun_at: float  # seconds since 1970
    seconds: float | None
    facts: dict[str, Any]
    request: str
    response: str | None

    @property
    def reply_text(self) -> str:
        """What the model said, out of what came back; all that came back where it said nothing."""
        if self.response is None:
            return ""
        return read_body(self.response).text or self.response


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIndex:
    """All calls of a store by rater and outcome: their counts, and their numbers in the journal to read them by."""

    counts: tuple[CallCount, ...]  # in the order in which raters and outcomes first occurred
    numbers: Mapping[tuple[str, str], Sequence[int]]  # by rater and outcome, ascending

    @property
    def raters(self) -> tuple[str, ...]:
        """Return who was called, ``id`` or ``id/variant``."""
        return tuple(dict.fromkeys(count.rater for count in self.counts))

    def counts_of(self, rater: str) -> list[CallCount]:
        """Return the counts of one rater, an outcome each."""
        return [count for count in self.counts if count.rater == rater]

    def of(self, rater: str, outcome: str | None = None) -> Sequence[int]:
        """Return the numbers of a rater's calls, oldest first, all or those of one outcome."""
        if outcome is not None:
            return self.numbers[rater, outcome]
        return list(merge(*(numbers for (name, _), numbers in self.numbers.items() if name == rater)))


def index_calls(store: Store) -> CallIndex:
    """Count the calls of every rater by outcome and note where they are.

    Requests and answers are not read, so that 100,000 calls take less than a second.
    """
    found: dict[tuple[str, str], list[Any]] = {}
    numbers: dict[tuple[str, str], array[int]] = {}
    asked = select(submissions.c.submission_id, submissions.c.annotator_id, submissions.c.asked)
    with store.reading() as connection:
        visits = connection.execute(asked.where(submissions.c.source != PROBE))
        raters = {visit.submission_id: _rater_name(visit.annotator_id, visit.asked) for visit in visits}
        for number, visit, outcome, begun_at, finished_at, facts in _calls(connection):
            rater = raters.get(visit)
            if rater is None:  # a call that only tried the endpoint
                continue
            place = rater, outcome
            tally = found.get(place)
            if tally is None:
                tally = found[place] = [0, 0, 0, 0.0, None, set(), begun_at, begun_at]
                numbers[place] = array("q")
            numbers[place].append(number)
            used = json.loads(facts)
            tally[0] += 1
            tally[1] += used.get("prompt_tokens") or 0
            tally[2] += used.get("completion_tokens") or 0
            tally[3] += 0.0 if finished_at is None else finished_at - begun_at
            if used.get("cost") is not None:
                tally[4] = (tally[4] or Decimal(0)) + Decimal(str(used["cost"]))
            if isinstance(model := used.get("model"), str):
                tally[5].add(model)
            tally[6], tally[7] = min(tally[6], begun_at), max(tally[7], begun_at)
    tallied = ("calls", "prompt_tokens", "completion_tokens", "seconds", "cost", "models", "first", "last")
    columns = ("rater", "outcome", *tallied)
    counts = tuple(CallCount(**dict(zip(columns, (*key, *tally), strict=True))) for key, tally in found.items())
    return CallIndex(counts=counts, numbers=numbers)


def read_calls(store: Store, numbers: Sequence[int]) -> list[RaterCall]:
    """Return the calls that stand in the journal under some numbers, a page of them at most, oldest first."""
    visit = submissions.c.submission_id == journal.c.scope
    columns = journal.c.number, journal, submissions.c.annotator_id, submissions.c.assignment_id, submissions.c.asked
    query = select(*columns).join(submissions, visit).where(journal.c.kind == KIND, submissions.c.source != PROBE)
    query = query.where(journal.c.number.in_(list(numbers))).order_by(journal.c.number)
    with store.reading() as connection:
        return [_call(row) for row in connection.execute(query)]


def _calls(connection: Connection) -> Iterator[Sequence[Any]]:
    """Read the calls in the order of their numbers, sorted once, and not joined: a join costs more than the reading."""
    columns = (journal.c.number, journal.c.scope, journal.c.outcome, journal.c.begun_at, journal.c.finished_at)
    query = select(*columns, journal.c.facts).where(journal.c.kind == KIND).order_by(journal.c.number)
    for rows in connection.execute(query.execution_options(yield_per=CHUNK)).partitions():
        yield from rows


@lru_cache(maxsize=4096)  # few variants, many visits
def _rater_name(annotator_id: str, asked_as: str | None) -> str:
    variant = getattr(condition_from_json(asked_as), "variant", None)
    return annotator_id if variant is None else f"{annotator_id}/{variant}"


def _call(row: Any) -> RaterCall:
    return RaterCall(
        rater=_rater_name(row.annotator_id, row.asked),
        assignment_id=row.assignment_id,
        ask=row.key,
        attempt=row.attempt,
        outcome=row.outcome,
        begun_at=row.begun_at,
        seconds=None if row.finished_at is None else row.finished_at - row.begun_at,
        facts=json.loads(row.facts),
        request=row.request,
        response=row.response,
    )


def write_calls(store: Store, folder: Path) -> tuple[Path, int]:
    """Write all calls of a store to ``calls.jsonl`` and return the path and their number; memory stays flat."""
    path = folder / FILE
    visits = {lease.submission_id: lease for lease in store.visits.leases() if lease.annotator_kind == "llm"}
    number = 0
    with written_whole(path, private=True) as temporary, temporary.open("w", encoding="utf-8") as file:
        for call in Journal(store).every(KIND):
            file.write(json.dumps(_exported(call, visits[call.scope]), ensure_ascii=True) + "\n")
            number += 1
    return path, number


def _exported(call: JournalEntry, visit: Lease) -> dict[str, Any]:
    request = json.loads(call.request)
    return {
        "annotator_id": visit.annotator_id,
        "variant": getattr(visit.asked, "variant", None),
        "repeat": getattr(visit.asked, "repeat", None),
        "assignment_id": visit.assignment_id,
        "ask": call.key,
        "attempt": call.attempt,
        "outcome": call.outcome,
        "begun_at": call.begun_at,
        "seconds": call.seconds,
        **{name: call.facts.get(name) for name in EXPORTED},
        "prompt_sha256": sha256(json.dumps(request.get("messages"), sort_keys=True).encode()).hexdigest(),
        "request": request,
        "response": call.response,
    }
