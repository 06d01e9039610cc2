"""The operations on webhooks: secrets, subscriptions and the events that were sent."""

from __future__ import annotations

import json
import secrets
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictStr
from sqlalchemy import Row, delete, select

from prolific.emulator import schema
from prolific.emulator.account_routes import find_workspace
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.ids import iso_time, new_id
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes
from prolific.emulator.study_body import RequestBody, check_https
from prolific.emulator.webhook_events import EVENT_TYPES

routes = Routes()
DEFAULT_EVENTS, MOST_EVENTS = 100, 1000
STATUSES = ("PENDING", "SUCCEEDED", "FAILED")


class SecretBody(RequestBody):
    """For which workspace."""

    workspace_id: StrictStr


class SubscriptionBody(RequestBody):
    """What is to be told, and where."""

    workspace_id: StrictStr
    event_type: StrictStr
    target_url: Annotated[StrictStr, Field(max_length=2000)]
    is_enabled: StrictBool | None = None


class ConfirmBody(RequestBody):
    """The secret that came with the subscription."""

    secret: StrictStr


class SubscriptionChange(RequestBody):
    """What is to be changed."""

    event_type: StrictStr | None = None
    target_url: StrictStr | None = None
    is_enabled: StrictBool | None = None


@routes.add("GetEventTypes", "GET", "/api/v1/hooks/event-types/")
def list_event_types(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List what can be told."""
    return RouteResponse(
        body={"results": [{"event_type": name, "description": why} for name, why in EVENT_TYPES.items()]}
    )


@routes.add("GetSecrets", "GET", "/api/v1/hooks/secrets/")
def list_secrets(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the one secret of a workspace."""
    if "workspace_id" not in call.query:
        raise EmulatorRequestError(400, {"workspace_id": ["This field is required."]})
    workspace = find_workspace(tx, call.query["workspace_id"])
    rows = tx.connection.execute(select(schema.secrets).where(schema.secrets.c.workspace_id == workspace.id))
    return RouteResponse(body={"results": [dict(row._mapping) for row in rows]})


@routes.add("CreateSecret", "POST", "/api/v1/hooks/secrets/")
def create_secret(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Make a secret; all subscriptions of the workspace use it from now on."""
    workspace = find_workspace(tx, call.read(SecretBody).workspace_id)
    tx.connection.execute(delete(schema.secrets).where(schema.secrets.c.workspace_id == workspace.id))
    made = {"id": new_id(), "value": secrets.token_urlsafe(48), "workspace_id": workspace.id}
    tx.insert(schema.secrets, **made)
    return RouteResponse(status=201, body=made)


@routes.add("GetSubscriptions", "GET", "/api/v1/hooks/subscriptions/")
def list_subscriptions(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List subscriptions; those that are enabled where nothing else is asked for."""
    c = schema.subscriptions.c
    enabled = call.boolean("is_enabled")
    query = select(schema.subscriptions).where(c.enabled == (0 if enabled is False else 1)).order_by(c.number)
    if "workspace_id" in call.query:
        query = query.where(c.workspace_id == call.query["workspace_id"])
    return RouteResponse(body={"results": [_shown(row) for row in tx.connection.execute(query)]})


@routes.add("CreateSubscription", "POST", "/api/v1/hooks/subscriptions/")
def subscribe(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a subscription, which counts when it is confirmed with the secret in the header."""
    asked = call.read(SubscriptionBody)
    workspace = find_workspace(tx, asked.workspace_id)
    if tx.connection.scalar(select(schema.secrets.c.id).where(schema.secrets.c.workspace_id == workspace.id)) is None:
        raise EmulatorRequestError(400, "Create a secret for this workspace first")
    _check(tx, asked.event_type, asked.target_url)
    subscription, confirm = new_id(), secrets.token_urlsafe(96)
    tx.insert(
        schema.subscriptions,
        id=subscription,
        workspace_id=workspace.id,
        event_type=asked.event_type,
        target_url=asked.target_url,
        confirm_secret=confirm,
    )
    return RouteResponse(status=201, body=_shown(_find(tx, subscription)), headers={"X-Hook-Secret": confirm})


@routes.add("GetSubscription", "GET", "/api/v1/hooks/subscriptions/{subscription_id}/")
def show_subscription(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a subscription."""
    return RouteResponse(body=_shown(_find(tx, call.path["subscription_id"])))


@routes.add("ConfirmSubscription", "POST", "/api/v1/hooks/subscriptions/{subscription_id}/")
def confirm(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Let a subscription count."""
    row, asked = _find(tx, call.path["subscription_id"]), call.read(ConfirmBody)
    if not secrets.compare_digest(asked.secret.encode(), row.confirm_secret.encode()):
        raise EmulatorRequestError(400, {"secret": ["This is not the secret of the subscription."]})
    tx.update(schema.subscriptions, row.id, enabled=1)
    return RouteResponse(body=_shown(_find(tx, row.id)), headers={"X-Hook-Secret": row.confirm_secret})


@routes.add("UpdateSubscription", "PATCH", "/api/v1/hooks/subscriptions/{subscription_id}/")
def change_subscription(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change a subscription."""
    row, asked = _find(tx, call.path["subscription_id"]), call.read(SubscriptionChange)
    event_type, target = asked.event_type or row.event_type, asked.target_url or row.target_url
    _check(tx, event_type, target)
    enabled = row.enabled if asked.is_enabled is None else int(asked.is_enabled)
    changes = {"event_type": event_type, "target_url": target, "enabled": enabled}
    if enabled and not row.enabled:
        changes["failing_since"] = None
    tx.update(schema.subscriptions, row.id, **changes)
    return RouteResponse(body=_shown(_find(tx, row.id)))


@routes.add("DeleteSubscription", "DELETE", "/api/v1/hooks/subscriptions/{subscription_id}/")
def unsubscribe(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Forget a subscription and its events."""
    row = _find(tx, call.path["subscription_id"])
    e, d = schema.events.c, schema.deliveries.c
    own = select(e.id).where(e.subscription_id == row.id)
    tx.connection.execute(delete(schema.deliveries).where(d.event_id.in_(own)))
    tx.connection.execute(delete(schema.events).where(e.subscription_id == row.id))
    tx.connection.execute(delete(schema.subscriptions).where(schema.subscriptions.c.id == row.id))
    return RouteResponse(status=204)


@routes.add("GetEvents", "GET", "/api/v1/hooks/subscriptions/{subscription_id}/events/")
def list_events(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the events of a subscription and what became of each."""
    row = _find(tx, call.path["subscription_id"])
    c = schema.events.c
    query = select(schema.events).where(c.subscription_id == row.id).order_by(c.number)
    if "status" in call.query:
        query = query.where(c.status.in_(_statuses(call.query["status"])))
    if "resource_id" in call.query:
        query = query.where(c.resource_id == call.query["resource_id"])
    limit = call.integer("limit", DEFAULT_EVENTS, least=1, most=MOST_EVENTS)
    offset = call.integer("offset", 0, least=0, most=10**9)
    rows = tx.connection.execute(query).all()
    shown = [_event(one, row) for one in rows[offset : offset + limit]]
    return RouteResponse(body={"results": shown, "_links": {}, "meta": {"count": len(rows)}})


def _statuses(text: str) -> list[str]:
    try:
        asked = json.loads(text) if text.startswith("[") else [text]
    except ValueError:
        asked = [text]
    if not set(asked) <= set(STATUSES):
        raise EmulatorRequestError(400, {"status": [f"expected some of {', '.join(STATUSES)}"]})
    return [str(one) for one in asked]


def _check(tx: RequestTransaction, event_type: str, target: str) -> None:
    if event_type not in EVENT_TYPES:
        raise EmulatorRequestError(400, {"event_type": [f"{event_type} is not one of {', '.join(EVENT_TYPES)}"]})
    try:
        check_https(target, loopback=not tx.behaviour.public_https_required)
    except ValueError as error:
        raise EmulatorRequestError(400, {"target_url": [str(error)]}) from None


def _find(tx: RequestTransaction, subscription_id: str) -> Row[Any]:
    return tx.find(schema.subscriptions, subscription_id, "Subscription")


def _shown(row: Row[Any]) -> dict[str, Any]:
    names = ("id", "event_type", "target_url", "workspace_id")
    return {**{name: getattr(row, name) for name in names}, "is_enabled": bool(row.enabled)}


def _event(row: Row[Any], subscription: Row[Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "datetime_created": iso_time(row.created_at),
        "datetime_updated": iso_time(row.updated_at),
        "event_type": row.payload["event_type"],
        "resource_id": row.resource_id,
        "status": row.status,
        "target_url": subscription.target_url,
        "payload": row.payload,
    }
