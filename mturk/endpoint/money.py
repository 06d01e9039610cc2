"""Amounts in whole cents, as the store has them, beside the dollars of the protocol."""

from __future__ import annotations

from decimal import Decimal

from mturk import fees
from mturk.endpoint.errors import invalid
from mturk.fees import FeeRules
from spa.errors import PlatformError

MOST = 100_000_000  # cents; an amount beyond is a slip of the finger


def parse_money(text: str, parameter: str) -> int:
    """Return cents of an amount of dollars with at most two decimals, up to a million.

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
    """Return what the endpoint adds to one reward, cents.

    >>> reward_fee(100, maximum=10, masters=False, rules="mturk")
    40
    """
    fee = fees.assignment_fee(Decimal(cents) / 100, max_assignments=maximum, masters=masters, rules=rules)
    return int(fee * 100)


def bonus_fee(cents: int, *, rules: FeeRules) -> int:
    """Return what the endpoint adds to one bonus, cents."""
    return int(fees.bonus_fee(Decimal(cents) / 100, rules=rules) * 100)
