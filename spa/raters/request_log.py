"""What the calls to LLMs came to: counted by rater and outcome, and read a few at a time."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from heapq import merge
from typing import Any

from sqlalchemy import Connection, Select, select

from spa.raters.endpoints.endpoint import read_body
from spa.raters.visits import KIND
from spa.responses.leases import PROBE, asked_from_json
from spa.responses.store import Store
from spa.responses.store_schema import journal, submissions

CHUNK = 2_000  # rows read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """How many calls of one rater (and variant) ended in one way, and what they used.

    ``cost`` is in the currency of the price table, ``None`` where no price was known; ``seconds`` are of all calls.
    """

    rater: str
    outcome: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: Decimal | None


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
    def said(self) -> str:
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
        raters = {visit.submission_id: _name(visit) for visit in visits}
        for number, visit, outcome, begun_at, finished_at, facts in _calls(connection):
            rater = raters.get(visit)
            if rater is None:  # a call that only tried the endpoint
                continue
            place = rater, outcome
            tally = found.get(place)
            if tally is None:
                tally = found[place] = [0, 0, 0, 0.0, None]
                numbers[place] = array("q")
            numbers[place].append(number)
            used = json.loads(facts)
            tally[0] += 1
            tally[1] += used.get("prompt_tokens") or 0
            tally[2] += used.get("completion_tokens") or 0
            tally[3] += 0.0 if finished_at is None else finished_at - begun_at
            if used.get("cost") is not None:
                tally[4] = (tally[4] or Decimal(0)) + Decimal(str(used["cost"]))
    counts = tuple(
        CallCount(
            rater=rater,
            outcome=outcome,
            calls=calls,
            prompt_tokens=prompt,
            completion_tokens=completion,
            seconds=seconds,
            cost=cost,
        )
        for (rater, outcome), (calls, prompt, completion, seconds, cost) in found.items()
    )
    return CallIndex(counts=counts, numbers=numbers)


def read_calls(store: Store, numbers: Sequence[int]) -> list[RaterCall]:
    """Return the calls that stand in the journal under some numbers, a page of them at most, oldest first."""
    query = _joined(journal).where(journal.c.number.in_(list(numbers))).order_by(journal.c.number)
    with store.reading() as connection:
        return [_call(row) for row in connection.execute(query)]


def _joined(*columns: Any) -> Select[Any]:
    visit = submissions.c.submission_id == journal.c.scope
    return (
        select(journal.c.number, *columns, submissions.c.annotator_id, submissions.c.assignment_id, submissions.c.asked)
        .join(submissions, visit)
        .where(journal.c.kind == KIND, submissions.c.source != PROBE)
    )


def _calls(connection: Connection) -> Iterator[Sequence[Any]]:
    """Read the calls in the order of their numbers, sorted once, and not joined: a join costs more than the reading."""
    columns = (journal.c.number, journal.c.scope, journal.c.outcome, journal.c.begun_at, journal.c.finished_at)
    query = select(*columns, journal.c.facts).where(journal.c.kind == KIND).order_by(journal.c.number)
    for rows in connection.execute(query.execution_options(yield_per=CHUNK)).partitions():
        yield from rows


def _name(row: Any) -> str:
    return _named(row.annotator_id, row.asked)


@lru_cache(maxsize=4096)  # a rater is asked in a few ways, and visits are many
def _named(annotator_id: str, asked_as: str | None) -> str:
    asked = asked_from_json(asked_as)
    variant = None if asked is None else asked.variant
    return annotator_id if variant is None else f"{annotator_id}/{variant}"


def _call(row: Any) -> RaterCall:
    return RaterCall(
        rater=_name(row),
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
