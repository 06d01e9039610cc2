"""Notification settings of HIT types: the URL to which events are posted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select

from mturk.endpoint.errors import invalid, not_supported, refused
from mturk.endpoint.operations.call import Answer, OperationCall
from mturk.endpoint.repository import VERSION, queue_event
from mturk.endpoint.schema import notifications
from mturk.endpoint.webhooks import check_destination


def update_settings(call: OperationCall) -> Answer:
    """Set, replace, switch on or switch off the notifications of a HIT type."""
    given = call.parameters
    kind = call.hit_type()
    asked: dict[str, Any] | None = given.get("Notification")
    if asked is None and "Active" not in given:
        raise invalid("Notification", "expected it or Active, got neither")
    own = notifications.c.hit_type_id == kind.hit_type_id
    if asked is None:
        if not call.tx.update(notifications, own, active=given["Active"]):
            raise invalid("Active", f"HITType {kind.hit_type_id} has no notification yet; send one with it")
        return {}
    if "Ping" in asked["EventTypes"]:
        raise invalid("Notification.EventTypes", "Ping is an event of SendTestEventNotification alone")
    before = call.tx.connection.scalar(select(notifications.c.active).where(own))
    call.tx.connection.execute(delete(notifications).where(own))
    call.tx.insert(
        notifications,
        hit_type_id=kind.hit_type_id,
        destination=asked["Destination"],
        transport=asked["Transport"],
        event_types=json.dumps(asked["EventTypes"]),
        active=given.get("Active", True if before is None else before),
    )
    return {}


def send_test_event(call: OperationCall) -> Answer:
    """Send an event as if it had happened, even if the notification's event types do not include it."""
    asked = call.parameters["Notification"]
    queue_event(call.tx, call.requester_id, asked["Destination"], {"EventType": call.parameters["TestEventType"]})
    return {}


def check_notification(asked: Mapping[str, Any], *, private: bool) -> None:
    """Check a notification; this resolves the destination's host, and so is called before any transaction."""
    if asked["Version"] != VERSION:
        raise invalid("Notification.Version", f"expected {VERSION}, got {asked['Version'][:40]!r}")
    if not asked["EventTypes"]:
        raise invalid("Notification.EventTypes", "expected at least one, got none")
    destination = asked["Destination"]
    if asked["Transport"] == "Email" or not destination.startswith(("http://", "https://")):
        raise not_supported(
            f"Transport {asked['Transport']} to {destination[:100]!r}",
            "set Transport to SQS and Destination to a URL that takes HTTP posts",
        )
    problem = check_destination(destination, private=private)
    if problem is not None:
        raise refused("InvalidTransportEndpoint", f"Destination {destination[:200]!r}: {problem}")
