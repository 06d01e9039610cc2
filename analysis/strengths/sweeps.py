"""The order of systems whose distances are not finite: sets of systems that won everything against the next set."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.graphs import connected_parts
from analysis.statistics.rank_orders import order_systems
from analysis.strengths.fit import fit_connected

Marks = npt.NDArray[np.bool_]


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


def fit_of(wins: Floats | csr_array) -> Callable[[Ints], Floats]:
    """Return what fits Bradley-Terry strengths to the systems of a set."""
    return lambda own: fit_connected(wins[own][:, own])


def levels_of(
    wins: Floats | csr_array, strength: Floats | None = None, *, fit: Callable[[Ints], Floats] | None = None
) -> Levels:
    """Find the sets in a table of wins.

    Where somebody of one set won against somebody of another, directly or by others between them, and never the other
    way round, the first is above at whatever distance: the likelihood grows with it without end. A set that is neither
    above nor below some other has no place, and only sets that have one are counted, with the systems that have a
    strength.

    Parameters
    ----------
    wins : array of float or sparse array, shape (n_systems, n_systems)
        Entry [i, j] is what i won of j.
    strength : array of float, shape (n_systems,), optional
        Strengths of one of the sets, NaN for the others; sets of several without them are fitted.
    fit : callable, optional
        Gives the strengths of the systems of a set; by default those of Bradley and Terry.

    Returns
    -------
    Levels
        O(n + pairs compared), beside the fits.

    References
    ----------
    Ford, L. R. (1957). Solution of a ranking problem from binary comparisons. Am. Math. Monthly, 64(8), 28-33.
    """
    k = wins.shape[0]
    within = np.zeros(k) if strength is None else np.nan_to_num(strength)
    fitted = np.zeros(k, dtype=bool) if strength is None else np.isfinite(strength)
    if k and fitted.all():
        return Levels(level=np.ones(k, dtype=np.int64), within=within)
    x, y = csr_array(wins > 0).nonzero()
    x, y = x[x != y], y[x != y]
    won = csr_array((np.ones(len(x), dtype=bool), (x, y)), shape=(k, k))
    of = connected_parts(won, both_ways=True)
    compared = np.bincount(np.concatenate([x, y]), minlength=k) > 0
    order, placed = _chain(of[x], of[y], int(of.max(initial=-1)) + 1, np.unique(of[compared]))
    known = placed[of] & compared | fitted
    for part in np.unique(of[known & ~fitted]).tolist():
        same = np.flatnonzero(of == part)
        if len(same) > 1:
            try:
                within[same] = (fit or fit_of(wins))(same)
            except (ArithmeticError, np.linalg.LinAlgError):
                known[same] = False
    level = np.zeros(k, dtype=np.int64)
    level[known] = np.unique(order[of[known]], return_inverse=True)[1] + 1
    return Levels(level=level, within=within)


def _chain(one: Ints, two: Ints, n: int, used: Ints) -> tuple[Ints, Marks]:
    """Return a topological order of the ``used`` of n parts, and which are above or below every other.

    Parameters
    ----------
    one, two : array of int, shape (steps,)
        Parts that a step leads from and to; there are no circles but within a part.

    Taken off from the top, a part that alone may come next is above all that are left; so from the bottom. Where both
    hold and the two leave none between, it has its place (Kahn 1962, Communications of the ACM 5(11), 558-562).
    """
    own = one != two
    steps = np.unique(np.column_stack([one[own], two[own]]), axis=0)
    before, alone = _taken(steps[:, 0], steps[:, 1], n, used)
    after, alone_below = _taken(steps[:, 1], steps[:, 0], n, used)
    return before, alone & alone_below & (before + after == len(used) - 1)


def _taken(one: Ints, two: Ints, n: int, used: Ints) -> tuple[Ints, Marks]:
    """Take parts off from the top; say how many went before each, and whether it alone could go then."""
    order = np.argsort(one, kind="stable")
    lower, start = two[order].tolist(), np.searchsorted(one[order], np.arange(n + 1)).tolist()
    left = np.bincount(two, minlength=n).tolist()
    ready = deque(part for part in used.tolist() if left[part] == 0)
    before, alone = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    count = 0
    while ready:
        part = ready.popleft()
        before[part], alone[part] = count, not ready
        count += 1
        for other in lower[start[part] : start[part + 1]]:
            left[other] -= 1
            if left[other] == 0:
                ready.append(other)
    return before, alone
