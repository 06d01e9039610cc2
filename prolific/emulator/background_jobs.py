"""Work that the platform promises and does a little schedule_job."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert

from prolific.emulator import schema
from prolific.emulator.request_transaction import RequestTransaction


def schedule_job(tx: RequestTransaction, kind: str, subject: Any) -> None:
    """Write down work that is done after a while, or after some further requests."""
    tx.connection.execute(
        insert(schema.jobs).values(
            kind=kind,
            subject=subject,
            due_at=tx.now + tx.behaviour.lag_seconds,
            due_request=tx.request + tx.behaviour.lag_requests,
        )
    )
