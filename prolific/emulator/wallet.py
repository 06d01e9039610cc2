"""Costs with fees, and the balance of a workspace: what was paid in, reserved for studies, and spent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from sqlalchemy import Row, func, select

from prolific.emulator import schema
from prolific.emulator.behaviour import Behaviour
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.request_transaction import RequestTransaction

HUNDREDTH = Decimal("0.01")  # of a cent: how finely the platform's example rounds the fee of each payment


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An amount in cents, in its three parts."""

    rewards: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    vat: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        """Rewards, fees and tax together."""
        return self.rewards + self.fees + self.vat

    def __add__(self, other: Cost) -> Cost:
        return Cost(rewards=self.rewards + other.rewards, fees=self.fees + other.fees, vat=self.vat + other.vat)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(rewards=self.rewards - other.rewards, fees=self.fees - other.fees, vat=self.vat - other.vat)

    def times(self, number: int) -> Cost:
        """Return the cost of this number of payments."""
        return Cost(rewards=self.rewards * number, fees=self.fees * number, vat=self.vat * number)


def payment(cents: int | Decimal, behaviour: Behaviour) -> Cost:
    """Return the cost of one payment; its fee is rounded to a hundredth of a cent.

    >>> two = payment(425, Behaviour()).times(2)
    >>> str(two.fees), str(two.total)
    ('283.34', '1133.34')
    """
    amount = Decimal(cents)
    fees = (amount * behaviour.fee_percent / 100).quantize(HUNDREDTH, ROUND_HALF_UP)
    vat = (fees * behaviour.vat_percent / 100).quantize(HUNDREDTH, ROUND_HALF_UP)
    return Cost(rewards=amount, fees=fees, vat=vat)


def number(amount: Decimal) -> int | float:
    """Return an amount as a JSON number, an integer if it is whole.

    >>> number(Decimal("283.34")), number(Decimal("850.00"))
    (283.34, 850)
    """
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def whole(amount: Decimal) -> int:
    """Return an amount in whole cents."""
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wallet:
    """The balance of a workspace, in cents."""

    total: Decimal  # including what is reserved for studies under way
    available: Decimal


def places_cost(tx: RequestTransaction, body: dict[str, Any], places: int) -> Cost:
    """Return the cost of places of a study, including the maximum for paid screen-outs."""
    cost = payment(body["reward"], tx.behaviour).times(places)
    for code in body["completion_codes"]:
        for action in code["actions"]:
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                cost += payment(action["fixed_screen_out_reward"], tx.behaviour).times(action["slots"])
    return cost


def spent_rewards(tx: RequestTransaction, study_ids: Iterable[str]) -> dict[str, Cost]:
    """Return the cost of each study's paid rewards."""
    c = schema.submissions.c
    query = select(c.study_id, c.paid, func.count()).where(c.study_id.in_(list(study_ids)), c.paid > 0)
    spent: dict[str, Cost] = {}
    for study_id, paid, times in tx.connection.execute(query.group_by(c.study_id, c.paid)):
        spent[study_id] = spent.get(study_id, Cost()) + payment(paid, tx.behaviour).times(times)
    return spent


def bonuses_of(tx: RequestTransaction, study_ids: Iterable[str]) -> tuple[Cost, Cost]:
    """Return the cost of all requested bonuses of studies, and of those that were paid."""
    c, b = schema.bonus_payments.c, schema.bonuses.c
    query = select(c.cents, c.paid_at).join(schema.bonuses, b.id == c.bonus_id).where(b.study_id.in_(list(study_ids)))
    asked, paid = Cost(), Cost()
    for cents, paid_at in tx.connection.execute(query):
        asked += payment(cents, tx.behaviour)
        paid += payment(cents, tx.behaviour) if paid_at is not None else Cost()
    return asked, paid


def balance(tx: RequestTransaction, workspace: Row[Any]) -> Wallet:
    """Return the balance of a workspace."""
    c = schema.studies.c
    rows = tx.rows(schema.studies, c.workspace_id == workspace.id, c.status != "UNPUBLISHED", c.test_of.is_(None))
    spent = spent_rewards(tx, [row.id for row in rows])
    paid_out, reserved = Decimal(0), Decimal(0)
    for row in rows:
        own = spent.get(row.id, Cost()).total
        paid_out += own
        if row.status != "COMPLETED":
            planned = places_cost(tx, row.body, row.body["total_available_places"]).total
            reserved += max(planned - own, Decimal(0))
    asked, paid = bonuses_of(tx, [row.id for row in rows])
    total = workspace.paid_in - paid_out - paid.total
    return Wallet(total=total, available=workspace.paid_in - paid_out - asked.total - reserved)


def require(tx: RequestTransaction, workspace_id: str, cost: Decimal) -> None:
    """Refuse a cost that the available balance does not cover."""
    workspace = tx.find(schema.workspaces, workspace_id, "Workspace")
    available = balance(tx, workspace).available
    if available < cost:
        raise EmulatorRequestError(
            400,
            f"Your available balance of {whole(available)} does not cover the {whole(cost)} needed "
            f"({workspace.currency}, hundredths); please top up",
        )


def parts(tx: RequestTransaction, amount: Decimal) -> dict[str, int]:
    """Split a balance into rewards and the fees and tax on them."""
    fee = tx.behaviour.fee_percent / 100
    vat = fee * tx.behaviour.vat_percent / 100
    rewards = whole(amount / (1 + fee + vat))
    taxes = whole(amount * vat / (1 + fee + vat))
    return {"rewards": rewards, "fees": whole(amount) - rewards - taxes, "vat": taxes}
