"""What has been staked and won: the state of one family, or of many that are simulated at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.sequential.bets import Bets, bets_of, log_e_values, log_factors
from analysis.sequential.family import FUTILE, OPEN, Marks, decide
from analysis.sequential.futility import futile
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats, Ints

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """Families after some units, shape (..., k); leading axes are studies.

    Attributes
    ----------
    units : int
        Of the family.
    n : array of int
        Units used of each hypothesis.
    log_capital : array of float, shape (..., k, n_one_sided, n_bets)
    peak : array of float, shape (..., k, 2)
        Largest logarithms of the e-values for x and for y so far.
    marks : array of int
        Decisions, as in ``NAMES``; "futile" is the only one that is taken back.
    decided_at : array of int
        Units of the family at the decision; 0 while open.
    """

    units: int
    n: Ints
    log_capital: Floats
    peak: Floats
    marks: Marks
    decided_at: Ints

    @classmethod
    def start(cls, rule: StoppingRule, shape: tuple[int, ...]) -> Tally:
        """Return families before their first unit."""
        return cls(
            units=0,
            n=np.zeros(shape, dtype=np.int64),
            log_capital=np.zeros((*shape, *bets_of(rule).amount.shape)),
            peak=np.zeros((*shape, 2)),
            marks=np.zeros(shape, dtype=np.int8),
            decided_at=np.zeros(shape, dtype=np.int64),
        )

    @property
    def decided(self) -> npt.NDArray[np.bool_]:
        """Whether a hypothesis is decided for good, shape (..., k)."""
        return np.asarray((self.marks != OPEN) & (self.marks != FUTILE))

    @property
    def log_e(self) -> Floats:
        """Logarithms of the current e-values, shape (..., k, n_one_sided)."""
        return log_e_values(self.log_capital)

    def after(
        self,
        values: Floats,
        rule: StoppingRule,
        *,
        bets: Bets | None = None,
        counted: npt.NDArray[np.bool_] | None = None,
    ) -> Tally:
        """Return the tally after one more unit with values in [0, 1], shape (..., k), NaN = not asked.

        ``bets`` on these values, where they are not those of the rule; ``counted``: which values are a unit's own
        answer, by default all.
        """
        before = self.decided
        used = np.where(before, np.nan, values)
        log_capital = self.log_capital + log_factors(used, bets or bets_of(rule))
        asked = np.isfinite(used) if counted is None else np.isfinite(used) & counted
        n, units, log_e = self.n + asked, self.units + 1, log_e_values(log_capital)
        peak = np.maximum(self.peak, log_e[..., :2])
        found = np.where(n >= rule.least, decide(log_e, rule), OPEN)
        found = np.where((found == OPEN) & (n >= rule.least) & futile(log_e, n, rule), FUTILE, found)
        marks = np.where(before, self.marks, found).astype(np.int8)
        decided_at = np.where(marks == self.marks, self.decided_at, np.where(marks == OPEN, 0, units))
        return replace(self, units=units, n=n, log_capital=log_capital, peak=peak, marks=marks, decided_at=decided_at)
