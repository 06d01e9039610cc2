"""Work that the platform promises and does a little later."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert

from prolific.emulator import schema
from prolific.emulator.request_transaction import RequestTransaction


def later(turn: RequestTransaction, kind: str, subject: Any) -> None:
    """Write down work that is done after a while, or after some further requests."""
    turn.connection.execute(
        insert(schema.jobs).values(
            kind=kind,
            subject=subject,
            due_at=turn.now + turn.behaviour.lag_seconds,
            due_request=turn.request + turn.behaviour.lag_requests,
        )
    )
