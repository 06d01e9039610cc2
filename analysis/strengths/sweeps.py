"""The order of systems whose distances are not finite: sets of systems that won everything against the next set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.graphs import reachable
from analysis.statistics.rank_orders import order_systems
from analysis.strengths.fit import newton


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Levels:
    """Sets of systems, each of which won all its comparisons with the sets below; arrays of shape (k,).

    ``level`` is 1 for the best set; 0 where the comparisons do not say where a system stands. ``within`` is the
    strength (natural log) beside the others of the set.
    """

    level: Ints
    within: Floats

    def order(self, names: Sequence[str], *, tie: float, lower_is_better: bool = False) -> tuple[tuple[str, ...], ...]:
        """Return the systems whose place is known, best first; those of a set that differ by at most ``tie`` are tied.

        >>> levels_of(np.array([[0, 3, 3], [0, 0, 1], [0, 2, 0.0]])).order("abc", tie=0.0)
        (('a',), ('c',), ('b',))
        """
        sets = sorted(set(self.level[self.level > 0].tolist()), reverse=lower_is_better)
        return tuple(
            place
            for one in sets
            for place in order_systems(
                {names[system]: float(self.within[system]) for system in np.flatnonzero(self.level == one).tolist()},
                tie=tie,
                lower_is_better=lower_is_better,
            )
        )


def fit_of(wins: Floats) -> Callable[[Ints], Floats]:
    """Return what fits Bradley-Terry strengths to the systems of a set."""

    def fit(own: Ints) -> Floats:
        return newton(np.where(np.eye(len(own), dtype=bool), 0.0, wins[np.ix_(own, own)]))

    return fit


def levels_of(wins: Floats, strength: Floats | None = None, *, fit: Callable[[Ints], Floats] | None = None) -> Levels:
    """Find the sets in a table of wins.

    Where somebody of one set won against somebody of another, directly or by others between them, and never the other
    way round, the first is above at whatever distance: the likelihood grows with it without end. A set that is neither
    above nor below some other has no place, and only sets that have one are counted, with the systems that have a
    strength.

    Parameters
    ----------
    wins : array of float, shape (n_systems, n_systems)
        Entry [i, j] is what i won of j.
    strength : array of float, shape (n_systems,), optional
        Strengths of one of the sets, NaN for the others; sets of several without them are fitted.
    fit : callable, optional
        Gives the strengths of the systems of a set; by default those of Bradley and Terry.

    Returns
    -------
    Levels
        O(n³ log n), beside the fits.

    References
    ----------
    Ford, L. R. (1957). Solution of a ranking problem from binary comparisons. Am. Math. Monthly, 64(8), 28-33.
    """
    k = len(wins)
    within = np.zeros(k) if strength is None else np.nan_to_num(strength)
    fitted = np.zeros(k, dtype=bool) if strength is None else np.isfinite(strength)
    if k and fitted.all():
        return Levels(level=np.ones(k, dtype=np.int64), within=within)
    won = wins > 0
    np.fill_diagonal(won, False)
    reached = reachable(won)
    compared = (won | won.T).any(axis=1)
    known = (reached | reached.T | ~compared).all(axis=1) & compared | fitted
    for system in np.flatnonzero(known & ~fitted).tolist():
        same = np.flatnonzero(reached[system] & reached[:, system])
        if len(same) > 1 and same[0] == system:
            try:
                within[same] = (fit or fit_of(wins))(same)
            except (ArithmeticError, np.linalg.LinAlgError):
                known[same] = False
    above = (reached & ~reached.T)[known][:, known].sum(axis=0)
    level = np.zeros(k, dtype=np.int64)
    level[known] = np.unique(above, return_inverse=True)[1] + 1
    return Levels(level=level, within=within)
