"""Webhook events: one for each change and each subscription to it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from prolific.emulator import schema
from prolific.emulator.ids import new_id
from prolific.emulator.request_transaction import RequestTransaction

EVENT_TYPES = {
    "submission.status.change": "The status of a submission changed",
    "study.status.change": "The status of a study changed",
    "study.progress.change": "The number of places taken in a study changed",
    "study.has_high_return_rate": "Many people return a study",
}


def publish(tx: RequestTransaction, workspace_id: str, event_type: str, resource_id: str, **facts: Any) -> None:
    """Queue an event for every confirmed subscription."""
    c = schema.subscriptions.c
    for subscription in tx.connection.scalars(
        select(c.id).where(c.workspace_id == workspace_id, c.event_type == event_type, c.enabled == 1)
    ).all():
        tx.insert(
            schema.events,
            id=new_id(),
            subscription_id=subscription,
            created_at=tx.now,
            updated_at=tx.now,
            resource_id=resource_id,
            payload={"event_type": event_type, "resource_id": resource_id, **facts},
            status="PENDING",
            due_at=tx.now,
        )
