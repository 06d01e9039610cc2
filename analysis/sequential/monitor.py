"""A live study watched: one unit's answers after the other, and what is decided so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from analysis.sequential.bets import LOG_MOST, Range, bets_of, bets_within, confidence_limits
from analysis.sequential.family import NAMES, OPEN, thresholds, two_sided, two_sided_peak
from analysis.sequential.futility import expected_units
from analysis.sequential.replay import check_values
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Bools, Tally
from analysis.statistics.checks import check_whole
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
        Confidence sequence at the level that a decision on this hypothesis needed: each holds its mean at every moment
        with 1 - ``error_rate`` or more, and one that is decided leaves 1/2 out.
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
    """A family of hypotheses after some units; :meth:`after` returns the next one.

    Attributes
    ----------
    rule : StoppingRule
    tally : Tally
    used : tuple of array of float, shape (k,)
        Values of each unit; NaN = not asked, or after the decision.
    needed : array of float, shape (k,)
        Half of the capital on the better side that decides, or decided, each hypothesis.
    ranges : tuple of Range
        Of each unit's values, where they are not in [0, 1].

    Examples
    --------
    >>> monitor = Monitor.start(StoppingRule(effect=0.1), 2)
    >>> for _ in range(15):
    ...     monitor = monitor.after(np.array([0.8, 0.5]))
    >>> [state.decision for state in monitor.states], monitor.open
    (['x', None], (1,))
    """

    rule: StoppingRule
    tally: Tally
    used: tuple[Floats, ...]
    needed: Floats
    ranges: tuple[Range, ...] = ()

    @classmethod
    def start(cls, rule: StoppingRule, k: int) -> Monitor:
        """Return the monitor of ``k`` hypotheses before the first unit."""
        check_whole("k", k, least=1)
        return cls(rule=rule, tally=Tally.start(rule, (k,)), used=(), needed=np.full(k, k / rule.error_rate))

    def after(self, values: Floats, within: Range | None = None, *, counted: Bools | None = None) -> Monitor:
        """Return the monitor after one more unit.

        Parameters
        ----------
        values : array of float, shape (k,)
            In [0, 1]; NaN = not asked. Values of a decided hypothesis are not used: its capital stays as it was.
        within : Range, optional
            Of values that may lie elsewhere: of this unit, and then of every unit; shape (k,).
        counted : array of bool, shape (k,), optional
            Which are a unit's own answer, by default all.

        Raises
        ------
        ValueError
            When a value lies outside [0, 1] or there are not ``k``.
        """
        given = np.asarray(values, dtype=np.float64)
        if given.shape != self.tally.n.shape:
            raise ValueError(f"values must have shape {self.tally.n.shape}, got {given.shape}")
        bets = None
        if within is None:
            check_values(given)
        else:
            bets = bets_within(self.rule, within)
        used = np.where(self.tally.decided, np.nan, given)
        tally = self.tally.after(used, self.rule, bets=bets, counted=counted)
        lost = np.exp(np.minimum(tally.log_e[:, :2].min(axis=-1), LOG_MOST)) / 2  # by the side that bet wrongly
        needed = thresholds(tally.log_e, self.rule).two_sided - lost
        needed = np.where(self.tally.decided, self.needed, np.maximum(needed, 1 / self.rule.error_rate))
        ranges = self.ranges if within is None else (*self.ranges, within)
        return Monitor(rule=self.rule, tally=tally, used=(*self.used, used), needed=needed, ranges=ranges)

    @property
    def states(self) -> tuple[HypothesisState, ...]:
        """The hypotheses in their order."""
        tally = self.tally
        values = np.array(self.used).reshape(-1, len(tally.n))
        within = self._within
        low, high = confidence_limits(values, self.rule, error_rate=1 / self.needed, within=within)
        more = self._expected_more(values) if within is None else np.full(len(self.needed), np.inf)
        e_values = np.exp(np.minimum(two_sided(tally.log_e), LOG_MOST))
        p_values = np.exp(-two_sided_peak(tally.peak))
        return tuple(
            HypothesisState(
                n=int(tally.n[place]),
                mean=float(np.nanmean(values[:, place])) if tally.n[place] else None,
                low=float(low[place]),
                high=float(high[place]),
                e_value=float(e_values[place]),
                p_value=float(p_values[place]),
                decision=cast(Decision, str(NAMES[mark])) if mark != OPEN else None,
                decided_at=int(tally.decided_at[place]) if mark != OPEN else None,
                expected_more=None if tally.decided[place] or more[place] == np.inf else math.ceil(more[place]),
            )
            for place, mark in enumerate(tally.marks)
        )

    @property
    def _within(self) -> Range | None:
        if not self.ranges:
            return None
        low, high, sd = (np.array([getattr(one, name) for one in self.ranges]) for name in ("low", "high", "sd"))
        return Range(low=low, high=high, sd=sd)

    @property
    def open(self) -> tuple[int, ...]:
        """Places of the hypotheses still to be asked: neither decided nor futile."""
        return tuple(np.flatnonzero(self.tally.marks == OPEN).tolist())

    @property
    def all_decided(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.open

    def _expected_more(self, values: Floats) -> Floats:
        """Return units until the nearest decision were the answers to go on as they are; infinite where none is."""
        log_e, needed = self.tally.log_e, thresholds(self.tally.log_e, self.rule)
        two: Floats = np.log(2 * needed.two_sided)
        side: Floats | None = None if needed.side is None else np.log(needed.side)
        rows: list[Floats] = [
            two - log_e[:, 0] if side is None else np.maximum(two - log_e[:, 0], side - log_e[:, 3]),
            two - log_e[:, 1] if side is None else np.maximum(two - log_e[:, 1], side - log_e[:, 2]),
        ]
        bets = bets_of(self.rule)
        more = [expected_units(gap, values, bets, place, self.rule.sd) for place, gap in enumerate(rows)]
        if side is not None:
            both = [expected_units(side - log_e[:, place], values, bets, place, self.rule.sd) for place in (2, 3)]
            more.append(np.maximum(*both))
        nearest: Floats = np.minimum.reduce(more)
        return nearest
