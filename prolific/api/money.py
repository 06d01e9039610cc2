"""Amounts: integers in cents or pence on the platform, decimal major units in studies and bonus lists.

>>> cents(Decimal("4.25")), major(425), money(425, "GBP"), amount_text(450)
(425, Decimal('4.25'), 'GBP 4.25', '4.50')
"""

from __future__ import annotations

from decimal import Decimal


def cents(amount: Decimal) -> int:
    """Return an amount in major units as a whole number of cents.

    Raises
    ------
    ValueError
        If a part of a cent would be lost.
    """
    scaled = amount * 100
    if not scaled.is_finite() or scaled != scaled.to_integral_value():
        raise ValueError(f"expected whole cents, got {amount}")
    return int(scaled)


def major(amount: int) -> Decimal:
    """Return a number of cents in major units."""
    return Decimal(amount) / 100


def money(amount: int, currency: str) -> str:
    """Return a number of cents as a person reads it."""
    return f"{currency} {major(amount):.2f}"


def amount_text(amount: float) -> str:
    """Return a number of cents as ``--json`` and lists of bonuses have it: major units, two places.

    >>> amount_text(425), amount_text(1200.4)
    ('4.25', '12.00')
    """
    return f"{major(round(amount)):.2f}"
