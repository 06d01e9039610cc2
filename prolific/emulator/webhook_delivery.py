"""Deliver webhook events over HTTP: signed, retried, and by fault duplicated or reordered."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
from sqlalchemy import Row, select, update

from prolific.emulator import schema
from prolific.emulator.faults import WEBHOOKS, next_fault
from prolific.emulator.platform import Platform
from prolific.emulator.request_transaction import RequestTransaction, iso_time

RETRIES = 11
FIRST_WAIT = 42.0  # seconds; doubled eleven times it adds up to a day
OVERTAKEN = 5.0  # seconds that an event waits for one that overtakes it
GIVE_UP_AFTER = 5 * 86_400.0  # of nothing but failures: the subscription is switched off
PATIENCE = 10.0  # seconds for a subscriber's answer
LOOK_EVERY = 0.2


WebhookDelivery = tuple[Row[Any], bool]  # an event, where to and signed with what; and whether it is lost on purpose


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a delivery, over the timestamp and the raw body."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


@contextmanager
def deliver_webhooks(platform: Platform, *, rng: random.Random | None = None) -> Iterator[None]:
    """Deliver a platform's events while a block runs."""
    stopping = threading.Event()
    sender = WebhookSender(platform, rng or random.Random())
    thread = threading.Thread(target=sender.run, args=(stopping,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        platform.woken.set()
        thread.join()


class WebhookSender:
    """Delivers the events of one platform, one after another."""

    def __init__(self, platform: Platform, rng: random.Random) -> None:
        self.platform = platform
        self.rng = rng

    def run(self, stopping: threading.Event) -> None:
        """Deliver due events until stopped."""
        with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
            while not stopping.is_set():
                self.platform.woken.wait(LOOK_EVERY)
                self.platform.woken.clear()
                for event, lost in self._due():
                    if stopping.is_set():
                        return
                    self._record_result(event, None if lost else _post(client, event))

    def _due(self) -> list[WebhookDelivery]:
        with self.platform.transaction(counts=False, wakes=False) as tx:
            e, s = schema.events.c, schema.subscriptions.c
            rows = tx.connection.execute(
                select(schema.events, s.target_url, schema.secrets.c.value.label("secret"))
                .join(schema.subscriptions, s.id == e.subscription_id)
                .join(schema.secrets, schema.secrets.c.workspace_id == s.workspace_id)
                .where(e.status == "PENDING", e.due_at <= tx.now, s.enabled == 1)
                .order_by(e.due_at, e.number)
            ).all()
            return _with_faults(tx, rows)

    def _record_result(self, event: Row[Any], status: int | None) -> None:
        taken = status is not None and 200 <= status < 300
        with self.platform.transaction(counts=False, wakes=False) as tx:
            tx.insert(schema.deliveries, event_id=event.id, at=tx.now, status=status)
            s, row = schema.subscriptions.c, tx.find(schema.events, event.id, "Event")
            changes: dict[str, Any] = {"attempts": row.attempts + 1, "updated_at": tx.now}
            if taken:
                changes["status"] = "SUCCEEDED"
            elif row.status == "PENDING":
                wait = self.rng.uniform(0, FIRST_WAIT * 2**row.attempts)
                changes |= {"due_at": tx.now + wait} if row.attempts < RETRIES else {"status": "FAILED"}
            tx.update(schema.events, row.id, **changes)
            own = update(schema.subscriptions).where(s.id == event.subscription_id)
            if taken:
                tx.connection.execute(own.values(failing_since=None))
                return
            tx.connection.execute(own.where(s.failing_since.is_(None)).values(failing_since=tx.now))
            tx.connection.execute(own.where(s.failing_since <= tx.now - GIVE_UP_AFTER).values(enabled=0))


def _with_faults(tx: RequestTransaction, rows: Sequence[Any]) -> list[WebhookDelivery]:
    """Return the deliveries to make, with planned faults applied."""
    deliveries: list[WebhookDelivery] = []
    overtaken: list[WebhookDelivery] = []
    for number, row in enumerate(rows):
        fault = next_fault(tx, WEBHOOKS)
        kind = fault.kind if fault else None
        delivery = (row, kind == "lose")
        if kind == "reorder" and number == len(rows) - 1:  # nothing to be overtaken by yet
            tx.update(schema.events, row.id, due_at=tx.now + OVERTAKEN)
        elif kind == "reorder":
            overtaken.append(delivery)
            continue
        else:
            deliveries += [delivery] * (2 if kind == "duplicate" else 1)
        deliveries += overtaken
        overtaken = []
    return deliveries


def _post(client: httpx2.Client, event: Row[Any]) -> int | None:
    """Post an event and return the status of the response, if any. The header has the real time."""
    timestamp, body = str(int(time.time())), json.dumps(event.payload, ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json",
        "X-Event-ID": event.id,
        "X-Timestamp": iso_time(event.created_at) or "",
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": sign(event.secret, timestamp, body),
    }
    try:
        return client.post(event.target_url, content=body, headers=headers).status_code
    except httpx2.HTTPError:
        return None
