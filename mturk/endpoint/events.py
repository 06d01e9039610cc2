"""What happened to HITs, written down for whoever asked to be told, in the transaction in which it happened."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

from sqlalchemy import bindparam, insert, select

from mturk.endpoint.assignments import HitAssignment
from mturk.endpoint.hits import HostedHit
from mturk.endpoint.schema import deliveries, notifications
from mturk.endpoint.transaction import Transaction, new_id

VERSION = "2006-05-05"
SUBSCRIBER = select(notifications.c.destination, notifications.c.event_types).where(
    notifications.c.hit_type_id == bindparam("name"), notifications.c.active
)


def record_event(tx: Transaction, event_type: str, hit: HostedHit, work: HitAssignment | None = None) -> None:
    """Write an event down for delivery, if the HIT type's notifications are on and name it."""
    row = tx.connection.execute(SUBSCRIBER, {"name": hit.hit_type_id}).first()
    if row is None or event_type not in json.loads(row.event_types):
        return
    event = {"EventType": event_type, "HITTypeId": hit.hit_type_id, "HITId": hit.hit_id}
    if work is not None:
        event |= {"AssignmentId": work.assignment_id, "WorkerId": work.worker_id}
    queue_event(tx, hit.requester_id, row.destination, event)


def queue_event(tx: Transaction, requester_id: str, destination: str, event: dict[str, str]) -> None:
    """Put one event on its way."""
    event_id = new_id("E")
    event = {**event, "EventTimestamp": datetime.fromtimestamp(tx.now, UTC).isoformat(timespec="seconds")}
    body = {"EventDocVersion": VERSION, "EventDocId": event_id, "CustomerId": requester_id, "Events": [event]}
    tx.connection.execute(
        insert(deliveries).values(
            event_id=event_id,
            requester_id=requester_id,
            destination=destination,
            body=json.dumps(body),
            attempts=0,
            next_at=time.time(),  # of this machine, also where the endpoint's own clock is moved by hand
        )
    )
