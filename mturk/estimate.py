"""How annotators are spread over HITs, and what that costs: known before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from mturk.fees import MANY, CostWithFees, FeeRules, assignment_fee

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
    """Estimate what HITs cost.

    Parameters
    ----------
    hits : sequence of int
        Assignments of each HIT.
    reward : Decimal
        Dollars for one assignment.
    masters, rules
        As for :func:`mturk.fees.assignment_fee`.
    minutes : float, optional
        What a form takes, for the pay an hour.
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
