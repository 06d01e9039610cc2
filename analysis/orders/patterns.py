"""What an ordering says: choices of the best of those left, over the orders that ties before the last place allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, permutations, product
from math import factorial, prod

import numpy as np

from analysis.statistics.coding import Floats

MOST_ORDERS = 24  # orders that the ties of one ordering may allow; one that allows more is left out


def dense_ranks(ranks: Floats) -> Floats:
    """Return ranks without gaps, 0 where there is none, so that "1, 3, 3" and "1, 2, 2" are one pattern."""
    order = np.argsort(ranks, axis=1)
    listed = np.take_along_axis(ranks, order, axis=1)
    found = np.empty(ranks.shape)
    np.put_along_axis(found, order, 1.0 + np.cumsum(np.diff(listed, axis=1, prepend=listed[:, :1]) > 0, axis=1), axis=1)
    return np.where(np.isnan(ranks), 0.0, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedOrders:
    """The orders that one pattern of ranks allows, best first; the last ``n_last`` systems are in none."""

    orders: tuple[tuple[int, ...], ...]
    n_last: int

    def stages(self, number: Mapping[int, int]) -> Iterator[tuple[tuple[int, ...], float]]:
        """Yield what was left at each choice, its best first, and the weight; numbered anew, others left out."""
        for order in self.orders:
            own = [number[one] for one in order if one in number]
            last = sum(one in number for one in order[len(order) - self.n_last :])
            for place in range(min(len(own) - last, len(own) - 1)):
                yield tuple(own[place:]), 1 / len(self.orders)


def orders_of(pattern: Floats) -> AllowedOrders | None:
    """Return the orders that a pattern of ranks (0: absent) allows; ``None`` where there are too many."""
    ranked = sorted(np.flatnonzero(pattern).tolist(), key=lambda system: pattern[system])
    tied = [list(group) for _, group in groupby(ranked, key=lambda system: pattern[system])]
    *before, last = tied or [[]]
    if prod(factorial(len(group)) for group in before) > MOST_ORDERS:
        return None
    orders = product(*map(permutations, before))
    return AllowedOrders(
        orders=tuple((*(i for group in order for i in group), *last) for order in orders), n_last=len(last)
    )


def pairwise_wins(pattern: Floats, *, partial: bool = False) -> Floats:
    """Return for each two systems whether the first has the better rank, shape (k, k); a tie is half for both.

    ``partial``: a tie in last place is nothing for either.
    """
    here = pattern > 0
    both = np.outer(here, here) & ~np.eye(len(pattern), dtype=bool)
    if partial:
        both &= ~np.outer(pattern == pattern.max(), pattern == pattern.max())
    return both * (0.5 + np.sign(pattern[None, :] - pattern[:, None]) / 2)
