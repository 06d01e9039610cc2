"""The pages that people send, kept verbatim; the functions run inside the caller's transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select

from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import from_bytes, payloads, submissions, to_bytes

UNREADABLE = " unreadable"  # after the id of a page: what was sent for it and is no form of ours; counts as no page


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What arrived for one page, verbatim."""

    page_id: str
    body: str
    received_at: float  # seconds since 1970


def fields_of(body: str | bytes) -> dict[str, Any]:
    """Return the fields of a page; none of what a platform sent in a shape of its own."""
    try:
        read = json.loads(body)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


_SENT = PreparedStatement(
    select(payloads.c.page_id, payloads.c.body, payloads.c.received_at)
    .where(payloads.c.submission_id == bindparam("visit"))
    .order_by(payloads.c.number)
)
_SAVE = PreparedStatement(
    insert(payloads).values(
        submission_id=bindparam("visit"),
        page_id=bindparam("page"),
        body=bindparam("body"),
        received_at=bindparam("now"),
    )
)


def save_page(connection: Connection, submission_id: str, page_id: str, body: str, *, now: float) -> None:
    """Add what arrived for a page of a visit that is there."""
    _SAVE.rows(connection, visit=submission_id, page=page_id, body=to_bytes(body), now=now)


def save_unreadable(connection: Connection, submission_id: str, page_id: str, body: bytes, *, now: float) -> None:
    """Add what arrived for a page and cannot be read; :func:`sent_bytes` returns it."""
    save_page(connection, submission_id, page_id + UNREADABLE, body.decode("utf-8", "surrogateescape"), now=now)


def sent_bytes(payload: Payload) -> bytes:
    """Return the bytes that :func:`save_unreadable` kept."""
    return payload.body.encode("utf-8", "surrogateescape")


def last_received(connection: Connection) -> float | None:
    """Return when the newest page came or the newest submission ended, in seconds since 1970; ``None`` for neither."""
    page = connection.scalar(select(payloads.c.received_at).order_by(payloads.c.number.desc()).limit(1))
    ended = connection.scalar(select(func.max(submissions.c.completed_at)))  # of LLMs, which send no pages
    return max((time for time in (page, ended) if time is not None), default=None)


def read_pages(connection: Connection, submission_id: str) -> tuple[Payload, ...]:
    """Return what arrived in one visit, oldest first; a page that was sent again is there again."""
    return tuple(
        Payload(page_id=page_id, body=from_bytes(body), received_at=received_at)
        for page_id, body, received_at in _SENT.rows(connection, visit=submission_id)
    )
