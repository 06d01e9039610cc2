"""Webhooks: operations on secrets, subscriptions and events, and delivery over HTTP: signed, retried, with faults."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import httpx2
from pydantic import Field, StrictBool, StrictStr
from sqlalchemy import Row, bindparam, delete, select, update

from prolific.emulator import schema
from prolific.emulator.account_routes import find_workspace
from prolific.emulator.errors import REQUIRED, EmulatorRequestError, invalid
from prolific.emulator.faults import WEBHOOKS, next_fault
from prolific.emulator.platform import EmulatedPlatform
from prolific.emulator.request_transaction import RequestTransaction, fields, iso_time
from prolific.emulator.routing import Route, RouteRequest, RouteResponse
from prolific.emulator.study_body import RequestBody, check_https

DEFAULT_EVENTS, MOST_EVENTS = 100, 1000
STATUSES = ("PENDING", "SUCCEEDED", "FAILED")
EVENT_TYPES = {
    "submission.status.change": "The status of a submission changed",
    "study.status.change": "The status of a study changed",
    "study.progress.change": "The number of places taken in a study changed",
    "study.has_high_return_rate": "Many people return a study",
}
HOOKS = "/api/v1/hooks/"
SUBSCRIPTION = HOOKS + "subscriptions/{subscription_id}/"
RETRIES = 11
FIRST_WAIT = 42.0  # seconds; doubled eleven times it adds up to a day
OVERTAKEN = 5.0  # seconds that an event waits for one that overtakes it
GIVE_UP_AFTER = 5 * 86_400.0  # of nothing but failures: the subscription is switched off
PATIENCE = 10.0  # seconds for a subscriber's answer
LOOK_EVERY = 0.2
REST = 0.02  # seconds between two looks, so that requests that come together cost one
DUE = (
    select(schema.events, schema.subscriptions.c.target_url, schema.secrets.c.value.label("secret"))
    .join(schema.subscriptions, schema.subscriptions.c.id == schema.events.c.subscription_id)
    .join(schema.secrets, schema.secrets.c.workspace_id == schema.subscriptions.c.workspace_id)
    .where(schema.events.c.status == "PENDING", schema.events.c.due_at <= bindparam("now"))
    .where(schema.subscriptions.c.enabled == 1)
    .order_by(schema.events.c.due_at, schema.events.c.number)
)
WebhookDelivery = tuple[Row[Any], bool]  # an event, where to and signed with what; and whether it is lost on purpose


class _SecretBody(RequestBody):
    workspace_id: StrictStr


class _SubscriptionBody(RequestBody):
    workspace_id: StrictStr
    event_type: StrictStr
    target_url: Annotated[StrictStr, Field(max_length=2000)]
    is_enabled: StrictBool | None = None


class _ConfirmBody(RequestBody):
    secret: StrictStr


class _SubscriptionChange(RequestBody):
    event_type: StrictStr | None = None
    target_url: StrictStr | None = None
    is_enabled: StrictBool | None = None


def _event_types(tx: RequestTransaction, call: RouteRequest) -> Any:
    return {"results": [{"event_type": name, "description": why} for name, why in EVENT_TYPES.items()]}


def _list_secrets(tx: RequestTransaction, call: RouteRequest) -> Any:
    if "workspace_id" not in call.query:
        raise invalid(workspace_id=REQUIRED)
    workspace = find_workspace(tx, call.query["workspace_id"])
    rows = tx.connection.execute(select(schema.secrets).where(schema.secrets.c.workspace_id == workspace.id))
    return {"results": [dict(row._mapping) for row in rows]}


def _create_secret(tx: RequestTransaction, call: RouteRequest) -> Any:
    """Create the secret of a workspace, which replaces the old one for all its subscriptions."""
    workspace = find_workspace(tx, call.read(_SecretBody).workspace_id)
    tx.connection.execute(delete(schema.secrets).where(schema.secrets.c.workspace_id == workspace.id))
    made = tx.insert(schema.secrets, value=secrets.token_urlsafe(48), workspace_id=workspace.id)
    return fields(made, "id", "value", "workspace_id")


def _list_subscriptions(tx: RequestTransaction, call: RouteRequest) -> Any:
    c = schema.subscriptions.c
    conditions = [c.enabled == (0 if call.boolean("is_enabled") is False else 1)]
    if "workspace_id" in call.query:
        conditions.append(c.workspace_id == call.query["workspace_id"])
    return {"results": [_subscription(row) for row in tx.rows(schema.subscriptions, *conditions)]}


def _subscribe(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Create a subscription, which is enabled once it is confirmed with the secret in the header."""
    asked = call.read(_SubscriptionBody)
    workspace = find_workspace(tx, asked.workspace_id)
    if tx.connection.scalar(select(schema.secrets.c.id).where(schema.secrets.c.workspace_id == workspace.id)) is None:
        raise EmulatorRequestError(400, "Create a secret for this workspace first")
    _check(tx, asked.event_type, asked.target_url)
    confirm = secrets.token_urlsafe(96)
    facts = asked.model_dump(exclude={"is_enabled"})
    row = tx.insert(schema.subscriptions, **facts, confirm_secret=confirm)
    return RouteResponse(status=201, body=_subscription(row), headers={"X-Hook-Secret": confirm})


def _confirm(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    row, asked = _find(tx, call), call.read(_ConfirmBody)
    if not secrets.compare_digest(asked.secret.encode(), row.confirm_secret.encode()):
        raise invalid(secret="This is not the secret of the subscription.")
    row = tx.update(schema.subscriptions, row.id, enabled=1)
    return RouteResponse(body=_subscription(row), headers={"X-Hook-Secret": row.confirm_secret})


def _change(tx: RequestTransaction, call: RouteRequest) -> Any:
    row, asked = _find(tx, call), call.read(_SubscriptionChange)
    event_type, target = asked.event_type or row.event_type, asked.target_url or row.target_url
    _check(tx, event_type, target)
    enabled = row.enabled if asked.is_enabled is None else int(asked.is_enabled)
    changes = {"event_type": event_type, "target_url": target, "enabled": enabled}
    if enabled and not row.enabled:
        changes["failing_since"] = None
    return _subscription(tx.update(schema.subscriptions, row.id, **changes))


def _unsubscribe(tx: RequestTransaction, call: RouteRequest) -> None:
    row = _find(tx, call)
    e, d = schema.events.c, schema.deliveries.c
    own = select(e.id).where(e.subscription_id == row.id)
    tx.connection.execute(delete(schema.deliveries).where(d.event_id.in_(own)))
    tx.connection.execute(delete(schema.events).where(e.subscription_id == row.id))
    tx.connection.execute(delete(schema.subscriptions).where(schema.subscriptions.c.id == row.id))


def _list_events(tx: RequestTransaction, call: RouteRequest) -> Any:
    row, c = _find(tx, call), schema.events.c
    conditions = [c.subscription_id == row.id]
    if "status" in call.query:
        conditions.append(c.status.in_(_statuses(call.query["status"])))
    if "resource_id" in call.query:
        conditions.append(c.resource_id == call.query["resource_id"])
    limit = call.integer("limit", DEFAULT_EVENTS, least=1, most=MOST_EVENTS)
    offset = call.integer("offset", 0, least=0, most=10**9)
    rows = tx.rows(schema.events, *conditions)
    results = [_event(one, row.target_url) for one in rows[offset : offset + limit]]
    return {"results": results, "_links": {}, "meta": {"count": len(rows)}}


def _statuses(text: str) -> list[str]:
    try:
        asked = json.loads(text) if text.startswith("[") else [text]
    except ValueError:
        asked = [text]
    if not set(asked) <= set(STATUSES):
        raise invalid(status=f"expected some of {', '.join(STATUSES)}")
    return [str(one) for one in asked]


def _check(tx: RequestTransaction, event_type: str, target: str) -> None:
    if event_type not in EVENT_TYPES:
        raise invalid(event_type=f"{event_type} is not one of {', '.join(EVENT_TYPES)}")
    try:
        check_https(target, loopback=not tx.behaviour.public_https_required)
    except ValueError as error:
        raise invalid(target_url=str(error)) from None


def _find(tx: RequestTransaction, call: RouteRequest) -> Row[Any]:
    return tx.find(schema.subscriptions, call.path["subscription_id"], "Subscription")


def _subscription(row: Row[Any]) -> dict[str, Any]:
    return {**fields(row, "id", "event_type", "target_url", "workspace_id"), "is_enabled": bool(row.enabled)}


def _event(row: Row[Any], target_url: str) -> dict[str, Any]:
    return {
        **fields(row, "id", "resource_id", "status", "payload"),
        "datetime_created": iso_time(row.created_at),
        "datetime_updated": iso_time(row.updated_at),
        "event_type": row.payload["event_type"],
        "target_url": target_url,
    }


ROUTES = (
    Route("GetEventTypes", "GET", HOOKS + "event-types/", _event_types),
    Route("GetSecrets", "GET", HOOKS + "secrets/", _list_secrets),
    Route("CreateSecret", "POST", HOOKS + "secrets/", _create_secret, 201),
    Route("GetSubscriptions", "GET", HOOKS + "subscriptions/", _list_subscriptions),
    Route("CreateSubscription", "POST", HOOKS + "subscriptions/", _subscribe),
    Route("GetSubscription", "GET", SUBSCRIPTION, lambda tx, call: _subscription(_find(tx, call))),
    Route("ConfirmSubscription", "POST", SUBSCRIPTION, _confirm),
    Route("UpdateSubscription", "PATCH", SUBSCRIPTION, _change),
    Route("DeleteSubscription", "DELETE", SUBSCRIPTION, _unsubscribe, 204),
    Route("GetEvents", "GET", SUBSCRIPTION + "events/", _list_events),
)


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a delivery, over the timestamp and the raw body."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


@contextmanager
def deliver_webhooks(platform: EmulatedPlatform, *, rng: random.Random | None = None) -> Iterator[None]:
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

    def __init__(self, platform: EmulatedPlatform, rng: random.Random) -> None:
        self.platform = platform
        self.rng = rng

    def run(self, stopping: threading.Event) -> None:
        """Deliver due events until stopped."""
        with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
            while not stopping.is_set():
                self.platform.woken.wait(LOOK_EVERY)
                stopping.wait(REST)
                self.platform.woken.clear()
                if not self.platform.is_subscribed_to():
                    continue
                for event, lost in self._due():
                    if stopping.is_set():
                        return
                    self._record_result(event, None if lost else _post(client, event))

    def _due(self) -> list[WebhookDelivery]:
        with self.platform.transaction(counts=False, wakes=False) as tx:
            return _with_faults(tx, tx.connection.execute(DUE, {"now": tx.now}).all())

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
