"""The pages that people send, kept verbatim; the functions run inside the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select

from spa.responses.store_schema import payloads


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What arrived for one page, verbatim."""

    page_id: str
    body: str
    received_at: float  # seconds since 1970


_SENT = (  # made once: the library then need not work out again which statement this is
    select(payloads.c.page_id, payloads.c.body, payloads.c.received_at)
    .where(payloads.c.submission_id == bindparam("visit"))
    .order_by(payloads.c.number)
)
_SAVE = insert(payloads)


def save_page(connection: Connection, submission_id: str, page_id: str, body: str, *, now: float) -> None:
    """Add what arrived for a page of a visit that is there."""
    row = {"submission_id": submission_id, "page_id": page_id, "body": body, "received_at": now}
    connection.execute(_SAVE, row)


def sent_pages(connection: Connection, submission_id: str) -> tuple[Payload, ...]:
    """Return what arrived in one visit, oldest first; a page that was sent again is there again."""
    return tuple(
        Payload(page_id=row.page_id, body=row.body, received_at=row.received_at)
        for row in connection.execute(_SENT, {"visit": submission_id})
    )
