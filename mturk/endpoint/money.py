"""Amounts in cents, and the ledger of rewards and bonuses owed. No money is transferred; payroll reads the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import select

from mturk import fees
from mturk.endpoint.errors import invalid
from mturk.endpoint.keys import grant
from mturk.endpoint.schema import ledger, requesters, workers
from mturk.endpoint.transaction import Transaction
from mturk.fees import FeeRules
from spa.errors import PlatformError

MOST = 100_000_000  # cents; a larger amount is probably a typing error
SIGNED = re.compile(r"(-?)([0-9][0-9.]*)", re.ASCII)


def parse_money(text: str, parameter: str) -> int:
    """Parse an amount of dollars, with up to two decimals and up to a million, as cents.

    >>> parse_money("1.5", "Reward")
    150
    """
    try:
        cents = int(fees.parse_money(text) * 100)
    except PlatformError as error:
        raise invalid(parameter, str(error)) from error
    if cents > MOST:
        raise invalid(parameter, f"expected at most {format_money(MOST)} US dollars, got {text}")
    return cents


def format_money(cents: int) -> str:
    """Return dollars with two decimals.

    >>> format_money(5), format_money(-150)
    ('0.05', '-1.50')
    """
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def reward_fee(cents: int, *, maximum: int, masters: bool, rules: FeeRules) -> int:
    """Return the fee for one reward, in cents.

    >>> reward_fee(100, maximum=10, masters=False, rules="mturk")
    40
    """
    fee = fees.assignment_fee(Decimal(cents) / 100, max_assignments=maximum, masters=masters, rules=rules)
    return int(fee * 100)


def bonus_fee(cents: int, *, rules: FeeRules) -> int:
    """Return the fee for one bonus, in cents."""
    return int(fees.bonus_fee(Decimal(cents) / 100, rules=rules) * 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One row: a reward or a bonus. Amounts are US dollars as text."""

    number: int
    at: float  # seconds since 1970
    kind: str  # reward, bonus
    requester: str
    requester_id: str
    worker: str  # the name that the host entered
    worker_id: str
    hit_id: str
    assignment_id: str
    amount: str
    fee: str
    automatic: bool  # approved by time, not by the requester
    reason: str | None


def entries(tx: Transaction, *, since: float | None = None) -> Iterator[LedgerEntry]:
    """Yield the ledger, the oldest entry first."""
    query = (
        select(
            *(ledger.c[name] for name in LedgerEntry.__slots__ if name in ledger.c),
            ledger.c.cents,
            requesters.c.name.label("requester"),
            workers.c.name.label("worker"),
        )
        .join(requesters, requesters.c.requester_id == ledger.c.requester_id)
        .join(workers, workers.c.worker_id == ledger.c.worker_id)
        .order_by(ledger.c.number)
    )
    if since is not None:
        query = query.where(ledger.c.at >= since)
    for row in tx.connection.execute(query):
        values = dict(row._mapping)
        amounts = {"amount": format_money(values.pop("cents")), "fee": format_money(values["fee"])}
        yield LedgerEntry(**{**values, **amounts})


def fund(tx: Transaction, name: str, amount: str, *, note: str) -> str:
    """Raise a requester's budget, or lower it by a negative amount; return what may be spent then."""
    signed = SIGNED.fullmatch(amount)
    if signed is None:
        raise PlatformError(f"fund: expected US dollars such as 250.00, got {amount[:40]!r}")
    cents = parse_money(signed[2], "fund")
    row = tx.first(select(requesters).where(requesters.c.name == name))
    if row is None:
        raise PlatformError(f"fund: there is no requester {name!r}; `spa mturk keys list` shows them")
    change = -cents if signed[1] else cents
    grant(tx, row.requester_id, change, note=note)
    return format_money(row.granted + change - row.spent - row.held)
