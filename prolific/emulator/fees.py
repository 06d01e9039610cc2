"""What things cost: rewards, the platform's fee, and the tax on it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from prolific.emulator.behaviour import Behaviour

HUNDREDTH = Decimal("0.01")  # of a cent: how finely the platform's example rounds the fee of each payment


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An amount in cents, in its three parts."""

    rewards: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    vat: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        """The whole."""
        return self.rewards + self.fees + self.vat

    def __add__(self, other: Cost) -> Cost:
        return Cost(rewards=self.rewards + other.rewards, fees=self.fees + other.fees, vat=self.vat + other.vat)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(rewards=self.rewards - other.rewards, fees=self.fees - other.fees, vat=self.vat - other.vat)

    def times(self, number: int) -> Cost:
        """Return what so many payments of this kind cost."""
        return Cost(rewards=self.rewards * number, fees=self.fees * number, vat=self.vat * number)


def payment(cents: int | Decimal, behaviour: Behaviour) -> Cost:
    """Return what one payment costs; the fee is rounded to a hundredth of a cent for each person.

    >>> two = payment(425, Behaviour()).times(2)
    >>> str(two.fees), str(two.total)
    ('283.34', '1133.34')
    """
    amount = Decimal(cents)
    fees = (amount * behaviour.fee_percent / 100).quantize(HUNDREDTH, ROUND_HALF_UP)
    vat = (fees * behaviour.vat_percent / 100).quantize(HUNDREDTH, ROUND_HALF_UP)
    return Cost(rewards=amount, fees=fees, vat=vat)


def number(amount: Decimal) -> int | float:
    """Return an amount as JSON writes it: whole where it is whole.

    >>> number(Decimal("283.34")), number(Decimal("850.00"))
    (283.34, 850)
    """
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def whole(amount: Decimal) -> int:
    """Return an amount in whole cents."""
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))
