"""Ties as an outcome of their own (Davidson), beside the rule that a tie is half a win for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.reasons import Reason, why
from analysis.strengths.fit import DENSE, Strengths, check_counts, check_sparse, fit_strengths
from analysis.strengths.sparse_newton import Inverse, PairGraph
from analysis.strengths.steps import STEPS, climb

Shares = tuple[Floats, Floats, Floats]
NO_TIES = why("no_ties")
NO_SYSTEM, NO_STRENGTH = why("no_system"), why("no_strength")
ALL_TIES = why("all_ties")
TIES_SEPARATED = why("ties_separated")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Davidson:
    """Strengths (natural log, mean zero) and the tie parameter ``ties``, 0 where nobody ever tied.

    Two equal systems tie with probability ``ties`` / (2 + ``ties``). ``se`` and ``se_log_ties`` are
    model-based: comparisons count as independent. Where there is no value, arrays hold NaN and ``reasons`` says
    why, and ``ties`` or ``se_log_ties`` is ``None`` and ``tie_reason`` says why.
    """

    strength: Floats
    se: Floats
    ties: float | None
    se_log_ties: float | None
    reasons: tuple[Reason | None, ...]
    tie_reason: Reason | None


def fit_davidson(
    wins: Floats | csr_array,
    ties: Floats | csr_array,
    names: Sequence[str],
    *,
    half: Strengths | None = None,
    errors: bool = True,
) -> Davidson:
    """Fit Davidson's model of comparisons with ties by maximum likelihood.

    P(i beats j) ∝ exp(s_i), P(j beats i) ∝ exp(s_j), P(tie) ∝ ν exp((s_i + s_j) / 2).

    Parameters
    ----------
    wins : array of float or sparse array, shape (k, k)
        Entry [i, j] counts outright wins of i over j.
    ties : array of float or sparse array, shape (k, k)
        Symmetric; entry [i, j] counts ties of i and j.
    names : sequence of str
        Systems, for the reasons.
    half : Strengths, optional
        The fit with ties as half wins, where it is known; else it is made.
    errors : bool
        Of more than 300 systems, whether standard errors are made: they take longer than the fit.

    Returns
    -------
    Davidson
        The reasons are those of the table with ties as half wins. Where its strengths exist, Davidson's do unless some
        numbers of the systems lie at least 1 apart where one won and at most 1 apart where two tied: then the
        likelihood grows with them without end. O(k³) a Newton step; above 300 systems by the pairs compared.

    Raises
    ------
    ValueError
        When ``ties`` is not symmetric.

    References
    ----------
    Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
    comparison experiments. J. American Statistical Association, 65(329), 317-328.

    >>> fit = fit_davidson(np.array([[0.0, 8.0], [2.0, 0.0]]), np.array([[0.0, 4.0], [4.0, 0.0]]), ["a", "b"])
    >>> fit.strength.round(4).tolist(), round(fit.ties, 4)  # log(8 / 2) / 2 and 4 / sqrt(8 * 2)
    ([0.6931, -0.6931], 1.0)
    """
    if len(names) > DENSE:
        return _of_many(
            check_sparse("wins", wins, len(names)), check_sparse("ties", ties, len(names)), names, half, errors
        )
    wins, ties = check_counts("wins", wins, len(names)), check_counts("ties", ties, len(names))
    if not np.array_equal(ties, ties.T):
        raise ValueError("ties must be symmetric: entry [i, j] counts what [j, i] counts")
    half = half or fit_strengths(wins + ties / 2, names)
    kept, k = half.fitted, len(names)
    place = np.ix_(kept, kept)
    own_wins, own_ties = wins[place], ties[place].copy()
    np.fill_diagonal(own_ties, 0.0)
    strength, se = np.full(k, np.nan), np.full(k, np.nan)
    if len(kept) == 0:
        return Davidson(
            strength=strength,
            se=se,
            ties=None,
            se_log_ties=None,
            reasons=half.reasons,
            tie_reason=NO_STRENGTH if names else NO_SYSTEM,
        )
    total_ties, total_wins = float(np.triu(own_ties).sum()), float(own_wins.sum() - np.trace(own_wins))
    if total_wins == 0:
        strength[kept] = half.strength[kept]
        return Davidson(
            strength=strength, se=se, ties=None, se_log_ties=None, reasons=half.reasons, tie_reason=ALL_TIES
        )
    free = total_ties > 0
    if free and _separated(own_wins, own_ties):
        reasons = tuple(TIES_SEPARATED if place in kept else reason for place, reason in enumerate(half.reasons))
        return Davidson(
            strength=strength, se=se, ties=None, se_log_ties=None, reasons=reasons, tie_reason=TIES_SEPARATED
        )
    start = np.append(half.strength[kept], np.log(2 * max(total_ties, 1e-300) / total_wins) if free else -np.inf)
    found, curve = _newton(own_wins, own_ties, start, free)
    covariance = _inverse(curve, free)
    strength[kept], se[kept] = found[:-1], np.sqrt(np.diagonal(covariance)[: len(kept)])
    return Davidson(
        strength=strength,
        se=se,
        ties=float(np.exp(found[-1])) if free else 0.0,
        se_log_ties=float(np.sqrt(covariance[-1, -1])) if free else None,
        reasons=half.reasons,
        tie_reason=None if free else NO_TIES,
    )


def _of_many(wins: csr_array, ties: csr_array, names: Sequence[str], half: Strengths | None, errors: bool) -> Davidson:
    if (abs(ties - ties.T) > 0).nnz:
        raise ValueError("ties must be symmetric: entry [i, j] counts what [j, i] counts")
    half = half or fit_strengths(csr_array(wins + ties / 2), names)
    kept = half.fitted
    strength, se = np.full(len(names), np.nan), np.full(len(names), np.nan)
    pairs = TiedPairs.of(wins[kept][:, kept], ties[kept][:, kept])
    total_ties, total_wins = float(pairs.ties.sum()), float((pairs.first + pairs.second).sum())
    reason, reasons = None, half.reasons
    if len(kept) == 0:
        reason = NO_STRENGTH
    elif total_wins == 0:
        strength[kept], reason = half.strength[kept], ALL_TIES
    elif total_ties > 0 and pairs.separated():
        reason, gone = TIES_SEPARATED, {*kept.tolist()}
        reasons = tuple(TIES_SEPARATED if place in gone else own for place, own in enumerate(reasons))
    if reason is not None:
        return Davidson(strength=strength, se=se, ties=None, se_log_ties=None, reasons=reasons, tie_reason=reason)
    free = total_ties > 0
    start = np.append(half.strength[kept], np.log(2 * total_ties / total_wins) if free else -np.inf)
    found, se[kept], se_ties = pairs.fit(start, free=free, errors=errors)
    strength[kept] = found[:-1]
    return Davidson(
        strength=strength,
        se=se,
        ties=float(np.exp(found[-1])) if free else 0.0,
        se_log_ties=se_ties,
        reasons=reasons,
        tie_reason=None if free else NO_TIES,
    )


def _separated(wins: Floats, ties: Floats) -> bool:
    """Say whether numbers x exist with x_i - x_j >= 1 where i won of j and |x_i - x_j| <= 1 where they tied.

    They do unless a circle of steps has more wins down it than ties (Bellman and Ford): O(k³), at once where two
    systems both won of each other.
    """
    if ((wins > 0) & (wins.T > 0)).any():
        return False
    steps = np.where(wins > 0, -1.0, np.inf)  # x_j <= x_i - 1
    steps[(ties > 0) & (wins == 0)] = 1.0
    at = np.zeros(len(wins))
    for _ in range(len(wins) + 1):
        lower = np.minimum(at, (at[:, None] + steps).min(axis=0))
        if np.array_equal(lower, at):
            return True
        at = lower
    return False


def _height(wins: Floats, ties: Floats, log_shares: Shares) -> float:
    win, loss, tie = log_shares
    upper = np.triu_indices(len(wins), 1)
    tied = np.where(ties > 0, tie, 0.0)  # without ties ln ν is minus infinity and counts nothing
    return float(np.sum((wins * win + wins.T * loss + ties * tied)[upper]))


def _log_shares(strength: Floats, log_ties: float) -> Shares:
    """Return the log of the chances that i wins, loses and ties against j, each of shape (k, k)."""
    gap = (strength[:, None] - strength[None, :]) / 2
    total = np.logaddexp(np.logaddexp(gap, -gap), log_ties)
    return gap - total, -gap - total, log_ties - total


def _derivatives(wins: Floats, ties: Floats, log_shares: Shares) -> tuple[Floats, Floats]:
    """Return gradient and information by (strengths, ln ν), an exponential family in both."""
    k = len(wins)
    win, loss, tie = (np.exp(share) for share in log_shares)
    played = wins + wins.T + ties
    np.fill_diagonal(played, 0.0)
    own = wins - wins.T  # i's outcome is 1, 0 (tie), -1: halves of a gap in s_i - s_j
    mean, tied = win - loss, tie
    gradient = np.append(((own - played * mean) / 2).sum(axis=1), np.triu(ties - played * tied, 1).sum())
    weight = played * (win + loss - mean**2) / 4
    curve = np.zeros((k + 1, k + 1))
    curve[:k, :k] = np.diag(weight.sum(axis=1)) - weight
    curve[:k, k] = curve[k, :k] = (-played * mean * tied / 2).sum(axis=1)
    curve[k, k] = np.triu(played * tied * (1 - tied), 1).sum()
    return gradient, curve


def _inverse(curve: Floats, free: bool) -> Floats:
    k = len(curve) - 1
    c = np.trace(curve[:k, :k]) / k**2
    full = curve.copy()
    full[:k, :k] += c
    if not free:
        full[k, k] = 1.0  # ln ν stands fast at minus infinity
    inverse: Floats = np.asarray(np.linalg.inv(full), dtype=np.float64)
    inverse[:k, :k] -= 1 / (c * k**2)
    return inverse


def _newton(wins: Floats, ties: Floats, at: Floats, free: bool) -> tuple[Floats, Floats]:
    """Return where the likelihood is highest, and the information there."""
    size = float((wins + ties / 2).sum())

    def height_at(place: Floats) -> float:
        return _height(wins, ties, _log_shares(place[:-1], place[-1]))

    height = height_at(at)
    for _ in range(STEPS):
        shares = _log_shares(at[:-1], at[-1])
        gradient, curve = _derivatives(wins, ties, shares)
        gradient[-1] = gradient[-1] if free else 0.0
        if np.abs(gradient).max() <= 1e-12 * size:
            break
        at, height = climb(at, _inverse(curve, free) @ gradient, height, height_at)
    if np.abs(gradient).max() > 1e-9 * size:
        raise ArithmeticError("Davidson's model did not converge")
    return at, curve


ACCURACY = 1e-10  # of the equations of a step
AT_ONCE = 64  # columns of the inverse made together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiedPairs:
    """Outright wins of the first (x) and second (y) of each pair that was compared, and their ties: of many systems."""

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
