"""What the calls to LLMs came to: counted by rater and outcome, and read a page at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Select, select

from spa.annotators.raters.visits import KIND
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


def count_calls(store: Store) -> list[CallCount]:
    """Count the calls of every rater by outcome, in the order in which these first occurred.

    Requests and answers are not read, so that 100,000 calls take about a second.
    """
    found: dict[tuple[str, str], list[Any]] = {}
    query = _joined(journal.c.outcome, journal.c.begun_at, journal.c.finished_at, journal.c.facts)
    with store.reading() as connection:
        for row in _chunks(connection, query):
            facts = json.loads(row.facts)
            tally = found.setdefault((_name(row), row.outcome), [0, 0, 0, 0.0, None])
            tally[0] += 1
            tally[1] += facts.get("prompt_tokens") or 0
            tally[2] += facts.get("completion_tokens") or 0
            tally[3] += 0.0 if row.finished_at is None else row.finished_at - row.begun_at
            if facts.get("cost") is not None:
                tally[4] = (tally[4] or Decimal(0)) + Decimal(str(facts["cost"]))
    return [
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
    ]


def find_calls(
    store: Store, rater: str, outcome: str | None = None, *, limit: int = 100, offset: int = 0
) -> list[RaterCall]:
    """Return some of the calls of a rater (``id`` or ``id/variant``), oldest first, all or those of one outcome."""
    named = submissions.c.annotator_id.in_((rater, rater.partition("/")[0]))
    query = _joined(journal).where(named)
    if outcome is not None:
        query = query.where(journal.c.outcome == outcome)
    calls: list[RaterCall] = []
    with store.reading() as connection:
        for row in _chunks(connection, query):
            if _name(row) != rater:
                continue
            if offset:
                offset -= 1
                continue
            calls.append(_call(row))
            if len(calls) == limit:
                break
    return calls


def _joined(*columns: Any) -> Select[Any]:
    visit = submissions.c.submission_id == journal.c.scope
    return (
        select(journal.c.number, *columns, submissions.c.annotator_id, submissions.c.assignment_id, submissions.c.asked)
        .join(submissions, visit)
        .where(journal.c.kind == KIND, submissions.c.source != PROBE)
    )


def _chunks(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    last = 0
    while True:
        rows = connection.execute(query.where(journal.c.number > last).order_by(journal.c.number).limit(CHUNK)).all()
        yield from rows
        if len(rows) < CHUNK:
            return
        last = rows[-1].number


def _name(row: Any) -> str:
    asked = asked_from_json(row.asked)
    variant = None if asked is None else asked.variant
    return row.annotator_id if variant is None else f"{row.annotator_id}/{variant}"


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
