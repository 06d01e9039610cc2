"""A live study watched: one unit's answers after the other, and what is decided so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats

Decision = Literal["x", "y", "equal", "futile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HypothesisState:
    """What is known of one pair and exposure.

    Attributes
    ----------
    n : int
        Units whose values were used; none after the decision.
    mean : float or None
        Of their values, in [0, 1]; above 1/2 speaks for x. ``None`` without units.
    low, high : float
        Confidence sequence: all of the family hold their means at every moment together with 1 - ``error_rate``.
    e_value : float
        Current evidence against a mean of 1/2, two-sided.
    p_value : float
        Always-valid p-value: of any moment, uncorrected.
    decision : {"x", "y", "equal", "futile"} or None
        ``None``: open. "futile" is no finding, and ends where further answers make a decision likely.
    decided_at : int or None
        Units of the family when the decision fell.
    expected_more : int or None
        Further units expected to be needed; ``None`` where unknown or decided.
    """

    n: int
    mean: float | None
    low: float
    high: float
    e_value: float
    p_value: float
    decision: Decision | None
    decided_at: int | None
    expected_more: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Monitor:
    """A family of hypotheses after some units; :meth:`after` returns the next one."""

    rule: StoppingRule
    values: Floats  # (units, k)

    @classmethod
    def start(cls, rule: StoppingRule, k: int) -> Monitor:
        """Return the monitor of ``k`` hypotheses before the first unit."""
        return cls(rule=rule, values=np.empty((0, k)))

    def after(self, values: Floats) -> Monitor:
        """Return the monitor after one more unit.

        Parameters
        ----------
        values : array of float, shape (k,)
            In [0, 1]; NaN = not asked. Values of a decided hypothesis are not used.
        """
        return Monitor(rule=self.rule, values=np.vstack([self.values, values]))

    @property
    def states(self) -> tuple[HypothesisState, ...]:
        """The hypotheses in their order."""
        return tuple(
            HypothesisState(
                n=int(np.isfinite(column).sum()),
                mean=float(np.nanmean(column)) if np.isfinite(column).any() else None,
                low=0.0,
                high=1.0,
                e_value=1.0,
                p_value=1.0,
                decision=None,
                decided_at=None,
                expected_more=None,
            )
            for column in self.values.T
        )

    @property
    def open(self) -> tuple[int, ...]:
        """Places of the hypotheses still to be asked: neither decided nor futile."""
        return tuple(place for place, state in enumerate(self.states) if state.decision is None)

    @property
    def all_decided(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.open
