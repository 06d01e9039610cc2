"""Visits of people as a bridge, a status or an administrator looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, func, select

from spa.responses.leases import PLACES, Lease, lease_facts
from spa.responses.store_schema import payloads, people, submissions, tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonVisit(Lease):
    """A person's visit: its lease, who the person is, and how far they came.

    ``outcome`` is ``None`` while it is open (``released`` says whether the place was given up meanwhile);
    ``extra`` marks answers that came when the place was somebody else's.
    """

    person: str | None  # the platform's name of the person; None for links, and once forgotten
    pages: int  # pages that something was sent for
    last_seen: float | None  # when the last page arrived


def select_visits(*conditions: Any) -> Select[Any]:
    """Select the visits of people under some conditions, in the order in which they began."""
    sent = (
        select(
            payloads.c.submission_id,
            func.count(payloads.c.page_id.distinct()).label("pages"),
            func.max(payloads.c.received_at).label("last_seen"),
        )
        .group_by(payloads.c.submission_id)
        .subquery()
    )
    visited = (
        submissions.outerjoin(tokens, tokens.c.submission_id == submissions.c.submission_id)
        .outerjoin(people, people.c.annotator_id == submissions.c.annotator_id)
        .outerjoin(sent, sent.c.submission_id == submissions.c.submission_id)
    )
    columns: Sequence[Any] = (*PLACES, people.c.external_person, sent.c.pages, sent.c.last_seen)
    found = select(*columns).select_from(visited).where(submissions.c.annotator_kind != "llm", *conditions)
    return found.order_by(submissions.c.number)


def visit_from_row(row: Row[Any]) -> PersonVisit:
    """Read a row of :func:`select_visits`."""
    return PersonVisit(**lease_facts(row), person=row.external_person, pages=row.pages or 0, last_seen=row.last_seen)
