"""What HITs cost: rewards, the fees that the requester pays beside them, and how annotators are spread over HITs.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CostWithFees:
    """What annotators get and what the endpoint gets beside it, in dollars."""

    amounts: Decimal
    fees: Decimal

    @classmethod
    def of(cls, payments: Iterable[tuple[Decimal, Decimal]]) -> CostWithFees:
        """Add up payments, each an amount and its fee."""
        listed = list(payments)
        zero = Decimal("0.00")
        return cls(amounts=sum((one for one, _ in listed), zero), fees=sum((fee for _, fee in listed), zero))

    @property
    def total(self) -> Decimal:
        """Amounts and fees together."""
        return self.amounts + self.fees


def parse_money(text: str) -> Decimal:
    """Parse an amount as the protocol writes it: dollars with at most two places, no sign, no symbol.

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
    """Write an amount as the protocol wants it.

    Raises
    ------
    PlatformError
        If it is negative, not finite, or has parts of a cent, which would be lost.

    >>> format_money(Decimal("5"))
    '5.00'
    """
    if not amount.is_finite() or amount < 0 or amount != amount.quantize(CENT):
        raise PlatformError(f"expected an amount of whole cents, got {amount}; round it yourself")
    return str(amount.quantize(CENT))


def assignment_fee(
    reward: Decimal, *, max_assignments: int, masters: bool = False, rules: FeeRules = "mturk"
) -> Decimal:
    """Return the fee for one assignment of a HIT, due when it is approved.

    Parameters
    ----------
    reward : Decimal
        What the annotator gets, in dollars.
    max_assignments : int
        Assignments of the HIT, those added later included: ten or more cost the higher rate.
    masters : bool
        Whether the HIT is for Masters only.
    rules : {"mturk", "none"}
        Whose price list holds.

    Returns
    -------
    Decimal
        Dollars, rounded half up to the cent, at least a cent.

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


MOST_ASSIGNMENTS = 1_000_000_000  # of one HIT


@dataclass(frozen=True, slots=True, kw_only=True)
class HitCostEstimate(CostWithFees):
    """What a number of HITs costs when every assignment is approved. Amounts in dollars."""

    hits: tuple[int, ...]  # assignments of each HIT
    reward: Decimal  # for one assignment
    minutes: float | None  # what a form takes, as estimated

    @property
    def assignments(self) -> int:
        """How many annotators can take part."""
        return sum(self.hits)

    @property
    def hourly(self) -> Decimal | None:
        """What an annotator earns an hour who takes the estimated time."""
        if not self.minutes:
            return None
        return (self.reward * 60 / Decimal(str(self.minutes))).quantize(Decimal("0.01"))


def split(assignments: int, reward: Decimal, *, masters: bool = False, rules: FeeRules = "mturk") -> tuple[int, ...]:
    """Spread assignments over as few HITs as cost least: one, or HITs of nine where ten cost a higher fee.

    An annotator can take one assignment of each HIT, so that several HITs need an exclusion of
    repeats besides.

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
    """Estimate what HITs with so many assignments each cost at a reward in dollars, by the rules of `assignment_fee`.

    ``minutes`` is what a form takes, for the pay an hour.
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
