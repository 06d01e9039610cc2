"""Ratings of two systems of which few are side by side: tested on all of them, so that none is left out for the others.

An answer is paired where the same annotator (assignment, variant) rated the other system on the same item, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc

from analysis.answers.units import Unit
from analysis.comparisons.unpaired import OTHERS_BY_ITEM, compare_clusters
from analysis.statistics.clustered_difference import ClusteredValues, ClusterSums, clustered_t
from analysis.statistics.coding import Floats, Ints, number_together
from analysis.statistics.reasons import why
from analysis.statistics.record import replace_fields
from analysis.statistics.t_tests import TTest, is_highly_skewed, no_test, one_sample

ENOUGH_PAIRED = 9, 10  # share of the outputs from which on those that do not pair may be left out
BY_CHANCE = 0.05  # chance below which annotators' shares of two systems are not taken for those of a fair draw

FEWEST_ITEMS = 3  # of both systems, below which they cannot speak against the others

Kind = Literal["annotators", "items"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedOutputs:
    """Outputs of two systems as rated: ``n_x`` and ``n_y``, and ``n_paired`` of each that lie side by side."""

    n_x: int
    n_y: int
    n_paired: int

    @property
    def enough(self) -> bool:
        """Whether the paired ones may stand for all: nine tenths of them or more.

        >>> PairedOutputs(n_x=100, n_y=100, n_paired=90).enough, PairedOutputs(n_x=100, n_y=101, n_paired=90).enough
        (True, False)
        """
        of, whole = ENOUGH_PAIRED
        return 2 * self.n_paired * whole >= of * (self.n_x + self.n_y)

    def even(self, x: ClusteredValues, y: ClusteredValues, kind: Kind) -> bool:
        """Tell whether annotators (items) have of both systems what a fair draw of the unpaired ones gives them.

        χ² = Σ_g (p_gx - p_gy)² / (p_g v) with p_gx the share of x's values in cluster g, p_g that of both together
        and v the variance of a draw, n_paired (1/n_x - 1/n_y)² + (n_x - n_paired) / n_x² + (n_y - n_paired) / n_y²;
        where nothing pairs and n_x = n_y it is Pearson's test of the table of clusters by systems.
        """
        one, other = _shares(getattr(x, kind), getattr(y, kind))
        drawn = self.n_paired * (1 / self.n_x - 1 / self.n_y) ** 2
        drawn += (self.n_x - self.n_paired) / self.n_x**2 + (self.n_y - self.n_paired) / self.n_y**2
        if len(one) < 2 or not drawn > 0:
            return True
        together = (one * self.n_x + other * self.n_y) / (self.n_x + self.n_y)
        return float(chdtrc(len(one) - 1, float(np.sum((one - other) ** 2 / together)) / drawn)) >= BY_CHANCE

    def about_items(self, x: ClusteredValues, y: ClusteredValues, test: TTest, *, confidence: float) -> dict[str, Any]:
        """Say, as fields of a row, what the items about which both were rated show, where others were rated of one.

        Each item's difference of means d is one value of a one-sample t. Items decide where d shows nobody ahead on the
        side of the ``test``'s difference D, and |D - d| > √(h² + H²), the half widths of both intervals. Else the test
        rests on items of one system each where d shows nobody ahead on that side, or there is no d, and less than nine
        tenths of the ratings are about items of both. Below three items of both, a fair draw of ratings says nothing of
        them: each may have one rating.
        """
        if x.items.times is not None or y.items.times is not None:
            return {}
        shared, at_x, at_y = np.intersect1d(x.items.cluster, y.items.cluster, return_indices=True)
        if len(shared) >= FEWEST_ITEMS and self.even(x, y, "items"):
            return {}
        of, whole = ENOUGH_PAIRED
        about_both = float(x.items.count[at_x].sum() + y.items.count[at_y].sum())
        own_items = whole * about_both < of * float(x.items.count.sum() + y.items.count.sum())
        if len(shared) < 2:
            return {"n_shared_items": len(shared), "own_items": True} if own_items else {}
        means = [side.mean + side.items.rest[at] / side.items.share[at] for side, at in ((x, at_x), (y, at_y))]
        found = one_sample(means[0] - means[1], against=0.0, confidence=confidence)
        fields = {"n_shared_items": len(shared), "shared_difference": found.mean, "own_items": own_items}
        half, own_half = _half_width(test), _half_width(found)
        if len(shared) < FEWEST_ITEMS or half is None or own_half is None:
            return fields
        ahead = found.mean * test.mean > 0 and abs(found.mean) > own_half
        decide = not ahead and abs(test.mean - found.mean) > math.hypot(half, own_half)
        return fields | {"items_decide": decide, "own_items": own_items and not ahead}


def compare_all(
    x: ClusteredValues,
    y: ClusteredValues,
    names: tuple[str, str],
    outputs: PairedOutputs,
    *,
    unit: Unit,
    planned: bool,
    who: Unit,
    llm: bool,
    confidence: float,
) -> tuple[Unit, TTest, dict[str, Any]]:
    """Return the unit, the test of all ratings, and as fields of a row what it holds for.

    It is that of unpaired ratings (:func:`analysis.statistics.clustered_difference.clustered_t`), so that one output
    more that pairs, or fewer, hardly changes it. It is clustered by the unit alone where annotators (of a test by
    item; else items) have of both systems what a fair draw gives them, as in a rotation: then the differences between
    them are among those between units. Else it is clustered by both.

    Parameters
    ----------
    x, y : ClusteredValues
        Sums of both systems: of all ratings alike or, where one annotator gave most, with annotators weighing the same.
        Else a few ratings of somebody who rated mainly the other system would weigh as much as all of another's.
    names : tuple of str
        The systems.
    outputs : PairedOutputs
        How many of them pair.
    unit : {"annotator", "assignment", "item"}
        Unit of a paired test.
    planned : bool
        The plan names the unit, which then stays.
    who, llm, confidence
        As in :func:`analysis.comparisons.unpaired.compare_clusters`.
    """
    over: Kind = "items" if unit == "item" else "annotators"
    other: Kind = "annotators" if unit == "item" else "items"
    even = outputs.even(x, y, other)
    if even or planned:
        found = clustered_t(x, y, confidence=confidence, over=over)
        if planned or found.test.reason is None:
            test = found.test
            if test.reason is None and is_highly_skewed(_sums(getattr(x, over), getattr(y, over))):
                test = replace_fields(test, highly_skewed=True)
            problem = OTHERS_BY_ITEM if unit == "item" and not even else None
            return unit, test, {"level_problem": problem}
    found_unit, test, holds = compare_clusters(x, y, names, who=who, llm=llm, confidence=confidence)
    if holds["n_items"] and not x.both_known:
        test = no_test(test.n, test.mean, None, why("needs_single_answers"))
        holds["level_problem"] = None
    return found_unit, test, holds


def _half_width(test: TTest) -> float | None:
    return None if test.ci_low is None or test.ci_high is None else (test.ci_high - test.ci_low) / 2


def _shares(x: ClusterSums, y: ClusterSums) -> tuple[Floats, Floats]:
    """Return the share of each system's values that lies in each cluster of either."""
    return _aligned(x.cluster, x.count / x.count.sum(), y.cluster, y.count / y.count.sum())


def _sums(x: ClusterSums, y: ClusterSums) -> Floats:
    """Return what each cluster adds to the difference of the means."""
    of_x, of_y = _aligned(x.cluster, x.rest, y.cluster, y.rest)
    return of_x - of_y


def _aligned(cluster_x: Ints, of_x: Floats, cluster_y: Ints, of_y: Floats) -> tuple[Floats, Floats]:
    n_clusters, (place_x, place_y) = number_together(cluster_x, cluster_y)
    both = np.zeros((2, n_clusters))
    both[0, place_x] = of_x
    both[1, place_y] = of_y
    return both[0], both[1]
