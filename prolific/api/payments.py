"""Calls about money: bonuses, balance, hourly rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prolific.api.access import checked_id
from prolific.api.money import as_csv
from prolific.api.problems import ProlificError
from prolific.api.records import BonusBatch, PayRates, WorkspaceBalance, batch_from, whole
from prolific.api.transport import Transport


class Payments:
    """The money of a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def set_up_bonuses(self, study_id: str, amounts: Mapping[str, int]) -> BonusBatch:
        """Set up bonuses, participant or submission id -> cents, and return what they cost; nothing is paid."""
        lines = [f"{checked_id('recipient', who)},{as_csv(amount)}" for who, amount in amounts.items()]
        body = {"study_id": checked_id("study", study_id), "csv_bonuses": "\n".join(lines)}
        return batch_from(self._transport.call("POST", "/api/v1/submissions/bonus-payments/", body).record)

    def pay_bonuses(self, batch_id: str) -> None:
        """Pay bonuses that were set up. Sent once whatever happens: a repeat pays everybody again."""
        path = f"/api/v1/bulk-bonus-payments/{checked_id('bonuses', batch_id)}/pay/"
        self._transport.call("POST", path, repeat="never")

    def balance(self, workspace_id: str) -> WorkspaceBalance:
        """Return the money that a workspace can spend."""
        row = self._transport.call("GET", f"/api/v1/workspaces/{checked_id('workspace', workspace_id)}/balance/").record
        return WorkspaceBalance(currency=str(row.get("currency_code") or ""), available=whole(row, "available_balance"))

    def pay_rates(self, workspace_id: str, currency: str, filter_ids: tuple[str, ...] = ()) -> PayRates:
        """Return the least and the recommended pay an hour for people who are chosen by these filters."""
        query: dict[str, str | int] = {"workspace_id": checked_id("workspace", workspace_id), "currency": currency}
        if filter_ids:
            query["screener_ids"] = ",".join(filter_ids)
        answer = self._transport.call("GET", "/api/v1/reward-recommendations/", query=query)
        rows: list[Any] = answer.value if isinstance(answer.value, list) else [answer.value]
        for row in rows:
            if isinstance(row, dict) and row.get("currency", currency) == currency:
                return PayRates(
                    minimum=whole(row, "min_reward_per_hour"), recommended=whole(row, "recommended_reward_per_hour")
                )
        raise ProlificError(f"Prolific: expected pay rates in {currency}, got none; does the account use {currency}?")
