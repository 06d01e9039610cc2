"""The whole order of many systems by choices, up to a tolerance: Borda scores, compared while their order is uncertain.

The method is active ranking: nothing is assumed of how chances of winning arise, a system is compared with opponents
drawn at random until its place is certain, and settled systems remain opponents. Pairs are drawn uniformly from all
with an unsettled system, so that a comparison of two unsettled ones counts for both: the design never needs more
comparisons than a uniform one with the same bounds.

References
----------
Heckel, R., Shah, N. B., Ramchandran, K. and Wainwright, M. J. (2019). Active ranking from pairwise comparisons and when
parametric assumptions do not help. Annals of Statistics, 47(6), 3099-3126. Heckel, R., Simchowitz, M., Ramchandran, K.
and Wainwright, M. J. (2018). Approximate ranking from pairwise comparisons. AISTATS, PMLR 84, 1057-1066.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.sequential.top_k import FIRST, BordaCounts, beta_mixture_bounds, by_share
from analysis.statistics.checks import check_finite, check_level
from analysis.statistics.coding import Floats, Ints

CENTRED = 1.0  # over the tolerance squared: narrowest when two bounds together are about as wide


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRule:
    """When an order is certain enough.

    Attributes
    ----------
    tolerance : float
        No system may stand before one whose Borda score is larger by this or more.
    error_rate : float
        Chance that one does, at every moment together.
    """

    tolerance: float
    error_rate: float = 0.05

    def __post_init__(self) -> None:
        check_finite("tolerance", self.tolerance, above=0)
        check_level("error_rate", self.error_rate)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderState:
    """What is known by now."""

    low: Floats  # bounds of all scores, which hold together at every moment
    high: Floats
    order: tuple[int, ...]  # by mean, best first
    unsettled: npt.NDArray[np.bool_]  # systems that may belong on the other side of another one
    decided: bool


def order_state(counts: BordaCounts, rule: OrderRule) -> OrderState:
    """Return the order so far, and of which systems it is not certain.

    Bounds hold for all systems together (Bonferroni). Two systems are in order once the upper bound of the later one
    lies less than ``tolerance`` above the lower bound of the earlier one.
    """
    n = len(counts.won)
    low, high = beta_mixture_bounds(
        counts.won, counts.compared, rule.error_rate / n, centred=CENTRED / rule.tolerance**2
    )
    order = by_share(counts)
    uncertain = np.triu(high[order][None, :] - low[order][:, None] >= rule.tolerance, 1)
    unsettled = np.zeros(n, dtype=np.bool_)
    unsettled[order] = uncertain.any(axis=0) | uncertain.any(axis=1)
    return OrderState(low=low, high=high, order=tuple(order.tolist()), unsettled=unsettled, decided=not unsettled.any())


def next_order_pairs(unsettled: npt.NDArray[np.bool_], *, count: int, rng: np.random.Generator) -> Ints:
    """Return whom to compare next: pairs drawn uniformly from those with an unsettled system.

    Every unsettled system is drawn equally often, its opponents uniformly from all others: its counts are unbiased.

    Parameters
    ----------
    unsettled : array of bool, shape (systems,)
        As :func:`unsettled_systems` says, at least one.

    Returns
    -------
    array of int, shape (count, 2)
        Either system first. Counts grow by the answer for those of the two that are unsettled.
    """
    x, y = np.triu_indices(len(unsettled), 1)
    asked = np.flatnonzero(unsettled[x] | unsettled[y])
    drawn = asked[rng.integers(0, len(asked), count)]
    turned = rng.integers(0, 2, count).astype(bool)
    return np.column_stack([np.where(turned, y[drawn], x[drawn]), np.where(turned, x[drawn], y[drawn])])


def unsettled_systems(counts: BordaCounts, rule: OrderRule, state: OrderState | None = None) -> npt.NDArray[np.bool_]:
    """Return which systems are to be compared on, shape (systems,): all while one was hardly compared.

    ``state`` is what :func:`order_state` returns of ``counts``, where it is known.
    """
    unsettled = (state or order_state(counts, rule)).unsettled
    if np.min(counts.compared) < FIRST or not unsettled.any():
        return np.ones(len(unsettled), dtype=np.bool_)
    return unsettled
