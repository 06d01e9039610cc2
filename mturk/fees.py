"""The cost of HITs: rewards and fees, and the cheapest distribution of annotators over HITs.

The rules are those of the published price list: 20 % of the reward, 40 % where the HIT has ten
assignments or more, 5 % more for Masters, 20 % of a bonus, and never less than a cent a payment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from spa.errors import PlatformError

FeeRules = Literal["mturk", "none"]  # the price list, or an endpoint that takes nothing for itself

CENT = Decimal("0.01")
RATE = Decimal("0.20")
RATE_OF_MANY = Decimal("0.40")
MASTERS_RATE = Decimal("0.05")
MANY = 10  # assignments of one HIT from which the higher rate holds
MONEY = re.compile(r"[0-9]{1,9}(\.[0-9]{0,2})?", re.ASCII)
MOST_ASSIGNMENTS = 1_000_000_000  # of one HIT


@dataclass(frozen=True, slots=True, kw_only=True)
class CostWithFees:
    """Amounts paid to annotators and fees paid to the endpoint, in dollars."""

    amounts: Decimal
    fees: Decimal

    @classmethod
    def of(cls, payments: Iterable[tuple[Decimal, Decimal]]) -> CostWithFees:
        """Return the sums of payments, each an amount and its fee."""
        listed = list(payments)
        zero = Decimal("0.00")
        return cls(amounts=sum((one for one, _ in listed), zero), fees=sum((fee for _, fee in listed), zero))

    @property
    def total(self) -> Decimal:
        """Amounts and fees together."""
        return self.amounts + self.fees


def parse_money(text: str) -> Decimal:
    """Parse an amount of the protocol: dollars with up to two decimals, without sign or symbol.

    Raises
    ------
    PlatformError
        For anything else.

    >>> parse_money("1.5")
    Decimal('1.50')
    """
    if MONEY.fullmatch(text) is None:
        raise PlatformError(f"expected an amount in dollars such as 1.50, got {text[:40]!r}")
    return Decimal(text).quantize(CENT)


def format_money(amount: Decimal) -> str:
    """Format an amount for the protocol.

    Raises
    ------
    PlatformError
        If it is negative, not finite, or has fractions of a cent.

    >>> format_money(Decimal("5"))
    '5.00'
    """
    if not amount.is_finite() or amount < 0 or amount != amount.quantize(CENT):
        raise PlatformError(f"expected an amount of whole cents, got {amount}; round it yourself")
    return str(amount.quantize(CENT))


def assignment_fee(
    reward: Decimal, *, max_assignments: int, masters: bool = False, rules: FeeRules = "mturk"
) -> Decimal:
    """Return the fee for one approved assignment, in dollars, rounded half up to the cent and at least a cent.

    A HIT with ``max_assignments`` of ten or more, including those added later, costs the higher rate, and one for
    ``masters`` only costs more.

    >>> [str(assignment_fee(Decimal(r), max_assignments=n)) for r, n in (("1.00", 9), ("1.00", 10), ("0.01", 9))]
    ['0.20', '0.40', '0.01']
    """
    rate = (RATE_OF_MANY if max_assignments >= MANY else RATE) + (MASTERS_RATE if masters else 0)
    return _fee(reward * rate, rules)


def bonus_fee(amount: Decimal, *, rules: FeeRules = "mturk") -> Decimal:
    """Return the fee for one bonus in dollars, rounded half up to the cent, at least a cent.

    >>> bonus_fee(Decimal("0.03"))
    Decimal('0.01')
    """
    return _fee(amount * RATE, rules)


def _fee(exact: Decimal, rules: FeeRules) -> Decimal:
    if rules == "none":
        return Decimal("0.00")
    return max(CENT, exact.quantize(CENT, rounding=ROUND_HALF_UP))


@dataclass(frozen=True, slots=True, kw_only=True)
class HitCostEstimate(CostWithFees):
    """The cost of HITs of which every assignment is approved, in dollars."""

    hits: tuple[int, ...]  # assignments of each HIT
    reward: Decimal  # for one assignment
    minutes: float | None  # what a form takes, as estimated

    @property
    def assignments(self) -> int:
        """The number of assignments."""
        return sum(self.hits)

    @property
    def hourly(self) -> Decimal | None:
        """Hourly pay for the estimated time; ``None`` without an estimate."""
        if not self.minutes:
            return None
        return (self.reward * 60 / Decimal(str(self.minutes))).quantize(Decimal("0.01"))


def split(assignments: int, reward: Decimal, *, masters: bool = False, rules: FeeRules = "mturk") -> tuple[int, ...]:
    """Return the sizes of the HITs over which assignments cost least: one HIT, or HITs of up to nine assignments.

    An annotator can take one assignment of each HIT, so that several HITs need an exclusion of repeats.

    >>> split(20, Decimal("1.00")), split(20, Decimal("0.01"))
    ((9, 9, 2), (20,))
    """
    if assignments < 1:
        return ()
    whole = (assignments,)
    nines, rest = divmod(assignments, MANY - 1)
    apart = (MANY - 1,) * nines + ((rest,) if rest else ())
    if _fees(apart, reward, masters, rules) < _fees(whole, reward, masters, rules):
        return apart
    return whole


def estimate(
    hits: Sequence[int],
    reward: Decimal,
    *,
    masters: bool = False,
    rules: FeeRules = "mturk",
    minutes: float | None = None,
) -> HitCostEstimate:
    """Estimate the cost of HITs with these numbers of assignments, at a reward in dollars.

    ``minutes`` is the estimated time for a form, for the hourly pay.
    """
    return HitCostEstimate(
        hits=tuple(hits),
        reward=reward,
        amounts=reward * sum(hits),
        fees=_fees(hits, reward, masters, rules),
        minutes=minutes,
    )


def _fees(hits: Sequence[int], reward: Decimal, masters: bool, rules: FeeRules) -> Decimal:
    each = (n * assignment_fee(reward, max_assignments=n, masters=masters, rules=rules) for n in hits)
    return sum(each, Decimal("0.00"))
