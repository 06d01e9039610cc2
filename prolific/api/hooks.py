"""Calls about webhooks: the secret that signs them, and the addresses that are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prolific.api.access import checked_id
from prolific.api.problems import ProlificError
from prolific.api.records import Subscription, subscription_from
from prolific.api.transport import Transport

ROOT = "/api/v1/hooks/"


class Hooks:
    """The webhooks of a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def secrets(self, workspace_id: str) -> tuple[str, ...]:
        """Return the secrets that sign a workspace's webhooks; there is one or none."""
        rows = self._transport.pages(ROOT + "secrets/", {"workspace_id": checked_id("workspace", workspace_id)})
        return tuple(str(row["value"]) for row in rows if row.get("value"))

    def create_secret(self, workspace_id: str) -> str:
        """Make the secret that signs webhooks; it replaces the workspace's old one, for all subscriptions."""
        body = {"workspace_id": checked_id("workspace", workspace_id)}
        value = self._transport.call("POST", ROOT + "secrets/", body).record.get("value")
        if not isinstance(value, str) or not value:
            raise ProlificError("Prolific: expected the new secret of the webhooks, got none")
        return value

    def subscriptions(self, workspace_id: str) -> Iterator[Subscription]:
        """Yield who is told of what."""
        rows = self._transport.pages(ROOT + "subscriptions/", {"workspace_id": checked_id("workspace", workspace_id)})
        yield from map(subscription_from, rows)

    def subscribe(self, workspace_id: str, event_type: str, target_url: str) -> Subscription:
        """Have an address told of events, and confirm it with the secret of the answer's header."""
        body = {
            "workspace_id": checked_id("workspace", workspace_id),
            "event_type": event_type,
            "target_url": target_url,
        }
        answer = self._transport.call("POST", ROOT + "subscriptions/", body)
        made = subscription_from(_only(answer.record))
        secret = next((value for name, value in answer.headers.items() if name.lower() == "x-hook-secret"), None)
        if secret is None:
            raise ProlificError(f"Prolific: subscription {made.subscription_id}: no X-Hook-Secret came with it")
        self._transport.call("POST", self._path(made.subscription_id), {"secret": secret}, repeat="always")
        return made

    def delete(self, subscription_id: str) -> None:
        """End a subscription."""
        self._transport.call("DELETE", self._path(subscription_id))

    def _path(self, subscription_id: str) -> str:
        return f"{ROOT}subscriptions/{checked_id('subscription', subscription_id)}/"


def _only(record: dict[str, Any]) -> dict[str, Any]:
    """Return the subscription in an answer; the platform's document shows it in a list as well as alone."""
    rows = record.get("results")
    return rows[0] if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], dict) else record
