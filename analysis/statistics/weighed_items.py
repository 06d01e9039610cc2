"""Means over items of answers that do not all weigh the same, tested with the items taken as drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.statistics.coding import Floats, Ints, at_target, scale_of
from analysis.statistics.record import replace_fields
from analysis.statistics.t_tests import (
    ENOUGH_FOR_SKEW,
    MOSTLY_ONE,
    NO_VARIATION,
    ONE_UNIT,
    SKEWED,
    TTest,
    no_test,
    one_sample,
    t_of_estimate,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeighedItems:
    """The answers about one pair of systems by item, shape (n_items,).

    Attributes
    ----------
    mean : array of float
        Weighted mean of each item's answers.
    share : array of float
        Weight of each item's answers together; they add up to 1.
    square : array of float
        Their squared weights, added up.
    """

    mean: Floats
    share: Floats
    square: Floats

    @property
    def even(self) -> bool:
        """Whether every item weighs the same."""
        return bool(np.ptp(self.share) <= 1e-12 and np.ptp(self.square) <= 1e-12 * float(self.square.max()))

    def test(self, *, against: float, confidence: float) -> TTest:
        """Test two-sidedly whether the weighted mean is ``against``, items taken as drawn.

        With u = share (item's mean - mean): V = Σ u² / (1 - h) and df as in :func:`spread_of_items`; t = (mean -
        against) / √V. Where items weigh the same this is Student's t over their means.
        """
        n = len(self.mean)
        if self.even:
            return one_sample(self.mean, against=against, confidence=confidence)
        mean = at_target(math.fsum((self.share * self.mean).tolist()), against, scale=scale_of(self.mean))
        if float(self.mean.min()) == float(self.mean.max()):
            return no_test(n, float(self.mean[0]), 0.0, NO_VARIATION)
        part = np.zeros(n, dtype=np.int64)
        variance, df = spread_of_items(part, self.share, self.square, self.share * (self.mean - mean), 1)
        if n < 2 or not variance[0] > 0:
            return no_test(n, mean, None, ONE_UNIT if n < 2 else NO_VARIATION)
        found = t_of_estimate(n, mean, None, against, math.sqrt(variance[0]), float(df[0]), confidence)
        return replace_fields(found, highly_skewed=True) if self._highly_skewed() else found

    def _highly_skewed(self) -> bool:
        """Say what ``is_highly_skewed`` of t_tests says, each item counted by its squared weight."""
        weight = self.square / self.square.sum()
        if np.bincount(np.unique(self.mean, return_inverse=True)[1], weights=weight).max() >= MOSTLY_ONE:
            return True
        n = 1 / float(np.sum(weight**2))
        away = self.mean - float(weight @ self.mean)
        second, third = float(weight @ away**2), float(weight @ away**3)
        return n >= ENOUGH_FOR_SKEW and abs(third) > SKEWED * math.sqrt(n) * second**1.5


def spread_of_items(
    part: Ints, share: Floats, square: Floats, distance: Floats, n_parts: int, *, items_differ: bool = False
) -> tuple[Floats, Floats]:
    """Return by part the variance of a weighted mean over items, and its degrees of freedom.

    Of items with weights W (``share``), squared weights c (``square``) and sums u of weighted distances from the mean
    (``distance``): V = Σ u² / (1 - h), h = 2 W - W² Σc / c, which is right on average for independent answers, or with
    ``items_differ`` h = 2 W - Σ W², for items that differ; df = (Σc)² / Σc² - 1, at least 1. If all weigh the same, V
    = G / (G - 1) Σ u² and df = G - 1. With these throughout, a test by item finds equal systems different in up to 55%
    of studies in which few items have most of the weight (``tests/calibration/one_gave_most.md``).

    References
    ----------
    Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage
    samples. Survey Methodology, 28(2), 169-181. Kish, L. (1965). Survey Sampling (Σw)² / Σw².
    """

    def added(values: Floats) -> Floats:
        return np.bincount(part, weights=values, minlength=n_parts).astype(np.float64)

    total, squared = added(square), added(square**2)
    with np.errstate(all="ignore"):
        left = 1 - 2 * share + (added(share**2)[part] if items_differ else share**2 * total[part] / square)
        variance = added(np.where(left > 1e-9, distance**2 / left, 0.0))
        df: Floats = np.maximum(np.round(total**2 / squared - 1, 9), 1.0)  # quantiles jump with its last digits
    return variance, df
