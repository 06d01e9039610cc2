"""Difference of two means whose values hang together in annotators and in items, where no two values are a pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.statistics.coding import Floats, Ints, fold, number_together, snap
from analysis.statistics.reasons import why
from analysis.statistics.t_tests import NO_VARIATION, TTest, no_test, t_of_estimate

TOO_FEW = why("one_annotator_on_one_item")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterSums:
    """One system's values by cluster: their weight, its ``square`` added up, and the ``rest`` they add to its mean.

    ``share`` adds up the weights of a cluster's values, which are 1 over all clusters; ``count`` counts the values.

    ``times``, where given, says of how many clusters with equal shares a row is, whose squared rests add up to
    ``times`` rest². Where such clusters hold values of another system, too, its row says as many, and the squared
    differences of the rests add up to ``times`` times that of the two rows.
    """

    cluster: Ints
    share: Floats
    square: Floats
    rest: Floats
    count: Floats
    times: Floats | None = None

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.cluster) if self.times is None else round(float(self.times.sum()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusteredValues:
    """The mean of one system's annotators' means, and sums of its values by annotator, by item, and by both.

    ``both_known``: the sums by both say which of them hold values of the other system, too.
    """

    n: int
    mean: float
    annotators: ClusterSums
    items: ClusterSums
    cells: ClusterSums
    both_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredTest:
    """A test of two means, and what it takes as drawn; a system with one annotator (item) leaves these as they are.

    ``n_annotators`` and ``n_items`` count those of both systems together.
    """

    test: TTest
    n_annotators: int
    n_items: int
    over_annotators: bool
    over_items: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variance:
    """A variance, and the sum of squared parts over their degrees of freedom (Satterthwaite's denominator)."""

    variance: float
    squares: float


class SystemClusters:
    """Sums of each system's values by annotator, by item, and by both; made when they are first asked for, O(n).

    Each annotator of a system weighs the same: a value 1 / (G n_a) where G annotators rated it, this one n_a times; or,
    unless ``annotators_alike``, each value.

    Parameters
    ----------
    system, annotator, item : array of int, shape (n,)
        Of which system each value is, by whom, and about which item.
    values : array of float, shape (n,)
    scale : float
        Largest size of the answers; distances from the mean are rounded to 13 digits of it.
    """

    def __init__(
        self,
        system: Ints,
        values: Floats,
        annotator: Ints,
        item: Ints,
        *,
        scale: float,
        annotators_alike: bool = True,
    ) -> None:
        self._alike = annotators_alike
        self._system, self._values, self._scale = system, values, scale
        self._codes = (annotator, item, annotator * (int(item.max()) + 1) + item)
        self._found: dict[int, ClusteredValues] = {}

    def __getitem__(self, system: int) -> ClusteredValues:
        """Return the sums of one system."""
        if system not in self._found:
            own = self._system == system
            values = self._values[own]
            n = len(values)
            voters = fold(self._codes[0][own] if self._alike else np.arange(n))
            means = voters.mean(values)
            mean = float(snap(np.array([means.sum() / len(means)]), scale=self._scale)[0])
            rest = snap(values - mean, scale=self._scale, digits=13)
            weight = 1 / (len(means) * np.bincount(voters.of)[voters.of])
            sums = [_cluster_sums(codes[own], weight, rest) for codes in self._codes]
            self._found[system] = ClusteredValues(n=n, mean=mean, annotators=sums[0], items=sums[1], cells=sums[2])
        return self._found[system]


def _cluster_sums(codes: Ints, weight: Floats, rest: Floats) -> ClusterSums:
    folded = fold(codes)
    share, square, total = (
        np.bincount(folded.of, weights=column).astype(np.float64) for column in (weight, weight**2, weight * rest)
    )
    count = np.bincount(folded.of).astype(np.float64)
    return ClusterSums(cluster=codes[folded.first], share=share, square=square, rest=total, count=count)


def clustered_t(
    x: ClusteredValues, y: ClusteredValues, *, confidence: float, over: Literal["annotators", "items"] | None = None
) -> ClusteredTest:
    """Test two-sidedly whether two systems have the same mean, annotators and items both taken as drawn.

    For each cluster g (annotator, item, or both) u_g = Σ w (x - mean_x) - Σ w (y - mean_y) over its values, whose
    weights w are the same for all annotators of a system, so that whoever (or whatever) both systems share is set
    against itself. V_k = Σ u_g² / (1 - h_g) over clusters of kind k, with h_g their leverage: of a system's weights in
    the cluster, W added up, c squared and added up, and C = Σ c over clusters, 1 - h = Σ (c - 2 W c + W² C) / Σ c over
    the two systems. The variance is V_a + V_i - V_ai and never below V_a or
    V_i; or V_a alone where no item has two annotators, V_i where no annotator has two items. Degrees of freedom are
    the smaller of Satterthwaite's over the clusters of x, of y and of both, and of those that equal spreads would
    give (Bell and McCaffrey). With one value a cluster and equal numbers of x and y it is Welch's test.

    Parameters
    ----------
    x, y : ClusteredValues
        What :class:`SystemClusters` holds of both systems.
    confidence : float
        Level of the interval of the difference.
    over : {"annotators", "items"}, optional
        What alone is taken as drawn, the other kind as it is: V is then V_a, or V_i. Where each item has one value of
        each system, V_i gives the paired t over items, whoever gave them.

    Returns
    -------
    ClusteredTest
        Of one annotator (item) on a side alone, annotators (items) are taken as they are. ``reason`` where neither
        varies, or nothing does.

    References
    ----------
    Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway clustering. JBES, 29(2),
    238-249. Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with
    multi-stage samples. Survey Methodology, 28(2), 169-181. Welch (1947). Biometrika, 34(1-2), 28-35.
    """
    sides = {"annotators": (x.annotators, y.annotators), "items": (x.items, y.items)}
    over_annotators, over_items = (
        over in (None, kind) and min(len(one), len(other)) > 1 for kind, (one, other) in sides.items()
    )
    of_annotators, n_annotators = _variance(x, y, "annotators")
    of_items, n_items = _variance(x, y, "items")
    of_cells, n_cells = _variance(x, y, "cells")
    if not over_annotators or (over_items and n_cells == n_annotators):
        found = of_items
    elif not over_items or n_cells == n_items:
        found = of_annotators
    else:
        least = max(of_annotators.variance, of_items.variance)
        found = _Variance(
            variance=max(of_annotators.variance + of_items.variance - of_cells.variance, least),
            squares=of_annotators.squares + of_items.squares,
        )
    n, mean = n_annotators if over_annotators else n_items, x.mean - y.mean
    if not (over_annotators or over_items):
        test = no_test(n, mean, None, TOO_FEW)
    elif not found.variance > 0:
        test = no_test(n, mean, None, NO_VARIATION)
    else:
        df = found.variance**2 / found.squares
        test = t_of_estimate(n, mean, None, 0.0, math.sqrt(found.variance), df, confidence)
    return ClusteredTest(
        test=test,
        n_annotators=n_annotators,
        n_items=n_items,
        over_annotators=over_annotators,
        over_items=over_items,
    )


def _variance(
    x: ClusteredValues, y: ClusteredValues, kind: Literal["annotators", "items", "cells"]
) -> tuple[_Variance, int]:
    """Return the variance of the difference by one kind of cluster, and the number of clusters."""
    sides: tuple[ClusterSums, ClusterSums] = getattr(x, kind), getattr(y, kind)
    n_clusters, places = number_together(sides[0].cluster, sides[1].cluster)
    share, square, rest = (np.zeros((2, n_clusters)) for _ in range(3))
    times = np.ones(n_clusters)
    for row, (side, place) in enumerate(zip(sides, places, strict=True)):
        share[row, place], square[row, place], rest[row, place] = side.share, side.square, side.rest
        if side.times is not None:
            times[place] = side.times
    number = round(float(times.sum()))
    if min(map(len, sides)) < 2:
        return _Variance(variance=0.0, squares=0.0), number
    total = (times * square).sum(axis=1, keepdims=True)
    left = 1 + (share**2 * total - 2 * share * square).sum(axis=0) / square.sum(axis=0)  # one minus the leverage
    weight = times * (share**2).sum(axis=0)
    part = (share[0] > 0) + 2 * (share[1] > 0)  # clusters of x, of y, and of both
    columns = (times * (rest[0] - rest[1]) ** 2 / left, weight * left, weight**2 / times * left)
    parts, first, second = (np.bincount(part, weights=column, minlength=4) for column in columns)
    there = first > 0
    seen = float((parts[there] ** 2 * second[there] / first[there] ** 2).sum())
    variance = float(parts.sum())
    expected = variance**2 * float(second.sum() / first.sum() ** 2)
    return _Variance(variance=variance, squares=max(seen, expected)), number
