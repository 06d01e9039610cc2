"""Plackett-Luce strengths of many systems, of which an ordering has few: costs by those that were put in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from analysis.orders.patterns import AllowedOrders, dense_ranks, orders_of, pairwise_wins
from analysis.statistics.coding import Floats, Ints, fold
from analysis.strengths.sparse_newton import Inverse, PairGraph
from analysis.strengths.sparse_sandwich import SparseCovariance, over_scores

STEPS = 100
LONGEST_STEP = 2.0
SMALL = 1e-9  # a step after which strengths are exact
TOLERANCE = 1e-10  # largest gap between places won and expected, relative to the orderings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """The systems that some orderings put in the same order, and that order: dense ranks, 1 = best."""

    systems: Ints
    ranks: Floats
    orders: AllowedOrders | None

    @property
    def tied(self) -> bool:
        """Say whether two of them share a rank."""
        return len(np.unique(self.ranks)) < len(self.ranks)


def patterns_of(ranks: Floats) -> tuple[list[Pattern], Ints]:
    """Return the different patterns of orderings (n_orderings, n_systems), and the number of each ordering's."""
    numbers: dict[tuple[bytes, bytes], int] = {}
    found: list[Pattern] = []
    of = np.empty(len(ranks), dtype=np.int64)
    for place, row in enumerate(ranks):
        systems = np.flatnonzero(~np.isnan(row))
        own = dense_ranks(row[None, systems])[0]
        key = (systems.tobytes(), own.tobytes())
        if key not in numbers:
            numbers[key] = len(found)
            found.append(Pattern(systems=systems, ranks=own, orders=orders_of(own)))
        of[place] = numbers[key]
    return found, of


def wins_of(patterns: Sequence[Pattern], total: Floats, k: int, *, partial: bool) -> csr_array:
    """Return what the orderings say of each two systems, sparse; see ``pairwise_wins``."""
    rows, columns, values = [], [], []
    for own, times in zip(patterns, total.tolist(), strict=True):
        x, y = np.nonzero(table := times * pairwise_wins(own.ranks, partial=partial))
        rows.append(own.systems[x])
        columns.append(own.systems[y])
        values.append(table[x, y])
    place = (np.concatenate(rows), np.concatenate(columns))
    found = csr_array((np.concatenate(values), place), shape=(k, k))
    found.eliminate_zeros()
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseStages:
    """What each pattern says: how often somebody was taken from a set of systems, and who.

    ``set_of`` and ``system`` are the members of the sets; ``times`` (patterns, sets) and ``won`` (patterns, k) are
    means over the orders of a pattern.
    """

    set_of: Ints
    system: Ints
    times: csr_array
    won: csr_array

    @staticmethod
    def of(patterns: Sequence[Pattern], kept: Ints) -> SparseStages:
        """Cut the orders of each pattern into stages, over fitted systems alone, which are numbered anew."""
        number = {system: place for place, system in enumerate(kept.tolist())}
        sets: dict[frozenset[int], int] = {}
        stages: list[tuple[int, int, int, float]] = []
        for at, own in enumerate(patterns):
            known = {place: number[one] for place, one in enumerate(own.systems.tolist()) if one in number}
            for left, share in own.orders.stages(known) if own.orders is not None else ():
                stages.append((at, sets.setdefault(frozenset(left), len(sets)), left[0], share))
        members = [(row, system) for systems, row in sets.items() for system in sorted(systems)]
        set_of, system = (np.array(column, dtype=np.int64) for column in zip(*members, strict=True))
        pattern, of, best, weight = (np.array(column) for column in zip(*stages, strict=True))
        return SparseStages(
            set_of=set_of,
            system=system,
            times=csr_array((weight, (pattern, of)), shape=(len(patterns), len(sets))),
            won=csr_array((weight, (pattern, best)), shape=(len(patterns), len(kept))),
        )

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return, of every two members of a set, their numbers as members, their pair, and the first of each pair."""
        size = np.bincount(self.set_of)
        start = np.concatenate([[0], np.cumsum(size)[:-1]])
        behind = size[self.set_of] - 1 - (np.arange(len(self.set_of)) - start[self.set_of])
        one = np.repeat(np.arange(len(self.set_of)), behind)
        first = np.repeat(np.cumsum(behind) - behind, behind)
        two = one + 1 + np.arange(len(one)) - first
        pairs = fold(self.system[one], self.system[two])  # members of a set are sorted
        return one, two, pairs.of, pairs.first

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """Return the two systems of each pair that some set has."""
        one, two, _, first = self.pairs
        return self.system[one[first]], self.system[two[first]]

    def shares(self, strength: Floats) -> Floats:
        """Return the chance of each member to be taken from its set."""
        weight = np.exp(strength - strength.max())[self.system]
        found: Floats = weight / np.bincount(self.set_of, weights=weight)[self.set_of]
        return found

    def weights(self, times: Floats, share: Floats) -> Floats:
        """Return the information of each pair: that of a set is a graph's, whose links weigh p_i p_j."""
        one, two, pair, first = self.pairs
        values = times[self.set_of[one]] * share[one] * share[two]
        return np.bincount(pair, weights=values, minlength=len(first)).astype(np.float64)

    def solve(self, total: Floats, k: int, start: Floats | None = None) -> Floats:
        """Maximise the likelihood of patterns that occur ``total`` times; NaN where no maximum is found."""
        times, won = total @ self.times, total @ self.won
        strength = np.zeros(k) if start is None else start - start.mean()
        graph, bound, longest = PairGraph(*self.ends, k), TOLERANCE * times.sum(), 1.0
        for _ in range(STEPS):
            share = self.shares(strength)
            gap = (won - np.bincount(self.system, weights=times[self.set_of] * share, minlength=k)).astype(np.float64)
            if longest <= SMALL and np.abs(gap).max() <= bound:
                return strength
            step = graph.solve(self.weights(times, share), gap, accuracy=min(0.01, longest))
            longest = float(np.abs(step).max())
            strength = strength + step * min(1.0, LONGEST_STEP / max(longest, 1e-300))
            strength -= strength.mean()
        return np.full(k, np.nan)

    def covariance(self, counts: csr_array, strength: Floats) -> SparseCovariance:
        """Return the sandwich by cluster; ``counts`` has a row for each cluster."""
        k, n = len(strength), counts.shape[0]
        share = self.shares(strength)
        met = csr_array(counts @ self.times)
        chances = csr_array((share, (self.set_of, self.system)), shape=(self.times.shape[1], k))
        scores = csr_array(counts @ self.won) - csr_array(met @ chances)
        one, two, pair, _ = self.pairs
        place = (np.arange(len(one)), self.set_of[one])
        of_set = csr_array((share[one] * share[two], place), shape=(len(one), self.times.shape[1])).tocsc()
        x, y = self.ends
        by_pair = csr_array((np.ones(len(pair)), (np.arange(len(pair)), pair)), shape=(len(pair), len(x)))
        information = csr_array(met @ csr_array((of_set.T) @ by_pair)).tocoo()
        cells = np.lexsort((information.coords[1], information.coords[0]))
        total = np.asarray(counts.sum(axis=0), dtype=np.float64)
        inverse = Inverse(x, y, self.weights(total @ self.times, share), k)
        return over_scores(
            inverse,
            csr_array(scores),
            cluster=information.coords[0][cells].astype(np.int64),
            x=x[information.coords[1][cells]],
            y=y[information.coords[1][cells]],
            weight=information.data[cells],
            n_clusters=n,
        )
