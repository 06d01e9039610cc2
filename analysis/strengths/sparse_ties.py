"""Davidson's model of many systems: what :mod:`analysis.strengths.ties` does, from the pairs that were compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints, fold
from analysis.strengths.sparse_newton import Inverse, PairGraph
from analysis.strengths.steps import STEPS, climb

ACCURACY = 1e-10  # of the equations of a step
AT_ONCE = 64  # columns of the inverse made together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiedPairs:
    """Outright wins of the first (x) and second (y) of each pair that was compared, and their ties."""

    x: Ints
    y: Ints
    first: Floats
    second: Floats
    ties: Floats
    k: int

    @staticmethod
    def of(wins: csr_array, ties: csr_array) -> TiedPairs:
        """Return the pairs of two tables, the second symmetric."""
        listed = [table.tocoo() for table in (wins, ties)]
        row, column = (np.concatenate([own.coords[side] for own in listed]).astype(np.int64) for side in (0, 1))
        value = np.concatenate([own.data for own in listed]).astype(np.float64)
        tied = np.repeat([False, True], [len(own.data) for own in listed])
        apart = (row != column) & (value != 0)
        row, column, value, tied = row[apart], column[apart], value[apart], tied[apart]
        low, high = np.minimum(row, column), np.maximum(row, column)
        pairs = fold(low, high)
        counted = [
            np.bincount(pairs.of, weights=np.where(kind, value, 0.0), minlength=len(pairs)).astype(np.float64)
            for kind in (~tied & (row < column), ~tied & (row > column), tied & (row < column))
        ]
        return TiedPairs(
            x=low[pairs.first],
            y=high[pairs.first],
            first=counted[0],
            second=counted[1],
            ties=counted[2],
            k=wins.shape[0],
        )

    def separated(self) -> bool:
        """Say whether numbers exist that lie at least 1 apart where one won and at most 1 apart where two tied.

        They do unless a circle of steps has more wins down it than ties (Bellman and Ford).
        """
        from scipy.sparse.csgraph import NegativeCycleError, bellman_ford  # loads scipy.linalg

        if ((self.first > 0) & (self.second > 0)).any():
            return False
        tied = self.ties > 0
        sides = [
            (one, two, np.where(won > 0, -1.0, 1.0), (won > 0) | tied)
            for one, two, won in ((self.x, self.y, self.first), (self.y, self.x, self.second))
        ]
        one, two, length = (np.concatenate([own[at][own[3]] for own in sides]) for at in (0, 1, 2))
        source = np.full(self.k, self.k)  # leads to all, equally far
        place = (np.concatenate([one, source]), np.concatenate([two, np.arange(self.k)]))
        steps = csr_array((np.concatenate([length, np.ones(self.k)]), place), shape=(self.k + 1, self.k + 1))
        try:
            bellman_ford(steps, indices=[self.k])
        except NegativeCycleError:
            return False
        return True

    def fit(self, start: Floats, *, free: bool, errors: bool) -> tuple[Floats, Floats, float | None]:
        """Return where the likelihood is highest, standard errors of strengths, and that of ln ν.

        Raises
        ------
        ArithmeticError
            Where Newton's steps do not end.
        """
        at, graph = start, PairGraph(self.x, self.y, self.k)
        size = float((self.first + self.second + self.ties).sum())
        height = self._height(at)
        for _ in range(STEPS):
            gradient, tie_gradient, weight, cross, corner = self._derivatives(at, free)
            if max(np.abs(gradient).max(), abs(tie_gradient)) <= 1e-12 * size:
                break
            own = graph.solve(weight, gradient, accuracy=ACCURACY)
            along = graph.solve(weight, cross, accuracy=ACCURACY) if free else np.zeros(self.k)
            last = (tie_gradient - cross @ own) / (corner - cross @ along) if free else 0.0
            at, height = climb(at, np.append(own - along * last, last), height, self._height)
        gradient, tie_gradient, weight, cross, corner = self._derivatives(at, free)
        if max(np.abs(gradient).max(), abs(tie_gradient)) > 1e-9 * size:
            raise ArithmeticError("Davidson's model did not converge")
        if not errors:
            return at, np.full(self.k, np.nan), None
        inverse, variance = Inverse(self.x, self.y, weight, self.k), np.empty(self.k)
        for first in range(0, self.k, AT_ONCE):
            columns = np.arange(first, min(first + AT_ONCE, self.k))
            unit = np.zeros((self.k, len(columns)))
            unit[columns, columns - first] = 1.0
            variance[columns] = inverse(unit)[columns, columns - first]
        if not free:
            return at, np.sqrt(variance), None
        along = inverse(cross[:, None])[:, 0]
        rest = float(corner - cross @ along)
        return at, np.sqrt(variance + along**2 / rest), float(np.sqrt(1 / rest))

    def _logs(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        gap = (at[self.x] - at[self.y]) / 2
        total = np.logaddexp(np.logaddexp(gap, -gap), at[-1])
        return gap - total, -gap - total, at[-1] - total

    def _height(self, at: Floats) -> float:
        win, loss, tie = self._logs(at)
        return float(self.first @ win + self.second @ loss + self.ties @ np.where(self.ties > 0, tie, 0.0))

    def _derivatives(self, at: Floats, free: bool) -> tuple[Floats, float, Floats, Floats, float]:
        """Return the gradient by strengths and ln ν, and the information: weights of pairs, cross terms, corner."""
        win, loss, tie = (np.exp(own) for own in self._logs(at))
        played, mean = self.first + self.second + self.ties, win - loss
        gradient = self._ends((self.first - self.second - played * mean) / 2)
        weight = played * (win + loss - mean**2) / 4
        if not free:
            return gradient, 0.0, weight, np.zeros(self.k), 1.0
        return (
            gradient,
            float((self.ties - played * tie).sum()),
            weight,
            self._ends(-played * mean * tie / 2),
            float((played * tie * (1 - tie)).sum()),
        )

    def _ends(self, values: Floats) -> Floats:
        found = np.bincount(self.x, weights=values, minlength=self.k)
        return (found - np.bincount(self.y, weights=values, minlength=self.k)).astype(np.float64)
