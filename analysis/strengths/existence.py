"""Which systems have a finite strength, and an interval: one rule for Bradley-Terry and Plackett-Luce alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.graphs import connected_parts
from analysis.statistics.reasons import Reason, why

NOISE = 1e-8  # of a strength: where every cluster says the same, rounding leaves a standard error below it
MOST_NAMED = 3  # systems, or parts of many, named in a reason
MANY = 300  # systems beyond which a reason does not name them all
WON_ALL = why("won_all")
LOST_ALL = why("lost_all")
NEVER_COMPARED = why("never_compared")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeterminedSystems:
    """The numbers of the systems whose strengths are finite; ``reasons`` says of each other one why it is not."""

    kept: Ints
    reasons: tuple[Reason | None, ...]

    def without(self, systems: Ints, reason: Reason) -> DeterminedSystems:
        """Leave out systems for a reason."""
        left = {*systems.tolist()}
        return DeterminedSystems(
            kept=self.kept[~np.isin(self.kept, systems)],
            reasons=tuple(reason if place in left else own for place, own in enumerate(self.reasons)),
        )


def determined_systems(wins: Floats | csr_array, names: Sequence[str]) -> DeterminedSystems:
    """Find the systems whose strengths a table of wins determines.

    A system that was never compared leaves, and so does one that won or lost everything, again and again until none is
    left. Where those that stay fall apart into sets that were not compared with each other, or of which one won
    everything against another, none has a strength.

    Parameters
    ----------
    wins : array of float or sparse array, shape (n_systems, n_systems)
        Entry [i, j] is what i won of j; its diagonal is 0. In an ordering i wins of j where it was chosen with j left.
    names : sequence of str
        Systems, for the reasons.

    References
    ----------
    Ford, L. R. (1957). Solution of a ranking problem from binary comparisons. Am. Math. Monthly, 64(8), 28-33.
    Hunter, D. R. (2004). MM algorithms for generalized Bradley-Terry models. Annals of Statistics, 32(1), 384-406.

    >>> found = determined_systems(np.array([[0, 3, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0.0]]), "abcd")
    >>> found.kept.tolist(), *map(str, found.reasons[2:])
    ([0, 1], 'never compared here', 'lost every comparison: weaker than all others, at no finite distance')
    """
    won = csr_array(wins > 0)
    lost = csr_array(won.T)
    reasons: list[Reason | None] = [None] * won.shape[0]
    compared = np.diff(won.indptr) + np.diff(lost.indptr) > 0
    for place in np.flatnonzero(~compared).tolist():
        reasons[place] = NEVER_COMPARED
    kept = np.flatnonzero(compared).astype(np.int64)
    reason = _disconnected(won, kept, names) if len(kept) else None
    while reason is None and len(kept) > 0:
        own = won[kept][:, kept]
        losers, winners = np.diff(own.indptr) == 0, np.bincount(own.indices, minlength=len(kept)) == 0
        if not np.any(losers | winners):
            break
        for place in kept[losers | winners].tolist():
            reasons[place] = _swept(won, lost, place, names) or _left_alone(names, kept)
        kept = kept[~(losers | winners)]
        if len(kept) == 1:
            reason = _swept(won, lost, int(kept[0]), names)
        else:
            reason = _disconnected(won, kept, names)
    if reason is None and len(kept) > 1:
        reason = _one_sided(won, kept, names)
    found = DeterminedSystems(kept=kept, reasons=tuple(reasons))
    return found if reason is None else found.without(kept, reason)


def why_no_spread(se: Floats | None, unit: str) -> Reason | None:
    """Say why no strength has an interval: one cluster only (no ``se``), or clusters that all say the same."""
    if se is None:
        return why("one_cluster", unit=unit)
    return None if (se > NOISE).any() else why("clusters_alike", unit=unit)


def _parts(won: csr_array, kept: Ints, *, both_ways: bool) -> list[Ints]:
    of = connected_parts(won[kept][:, kept], both_ways=both_ways)
    return [kept[own] for own in np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])]


def _named(parts: Sequence[Ints], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    named = sorted((tuple(names[place] for place in part.tolist()) for part in parts), key=", ".join)
    if sum(map(len, named)) <= MANY:
        return tuple(named)
    named.sort(key=len, reverse=True)
    shown = [
        (*own[:MOST_NAMED], *([f"{len(own) - MOST_NAMED} more"] if len(own) > MOST_NAMED else [])) for own in named
    ]
    more = [(f"{len(named) - MOST_NAMED} more parts",)] if len(named) > MOST_NAMED else []
    return (*shown[:MOST_NAMED], *more)


def _disconnected(won: csr_array, kept: Ints, names: Sequence[str]) -> Reason | None:
    if len(kept) < 2:
        return why("none_left")
    parts = _parts(won, kept, both_ways=False)
    if len(parts) == 1:
        return None
    return why("disconnected", parts=_named(parts, names))


def _one_sided(won: csr_array, kept: Ints, names: Sequence[str]) -> Reason | None:
    parts = _parts(won, kept, both_ways=True)
    if len(parts) == 1:
        return None
    return why("one_sided", parts=_named(parts, names))


def _swept(won: csr_array, lost: csr_array, place: int, names: Sequence[str]) -> Reason | None:
    """Say that a system won everything against some and lost everything to the others; ``None``: it met nobody."""
    beaten, stronger = (
        {*table.indices[table.indptr[place] : table.indptr[place + 1]].tolist()} for table in (won, lost)
    )
    above, below = sorted(stronger - beaten), sorted(beaten - stronger)
    if not above and not below:
        return None
    if not above:
        return WON_ALL
    if not below:
        return LOST_ALL
    listed = {"above": above, "below": below}
    data = {name: tuple(sorted(names[one] for one in own)[:MOST_NAMED]) for name, own in listed.items()}
    more = {f"more_{name}": max(0, len(own) - MOST_NAMED) for name, own in listed.items()}
    return why("between", **data, **more)


def _left_alone(names: Sequence[str], kept: Ints) -> Reason:
    return why("left_alone", systems=_named([kept], names)[0])
