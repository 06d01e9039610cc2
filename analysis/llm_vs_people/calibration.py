"""Are stated probabilities right? Brier score, calibration error, reliability table, and a cross-fitted repair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.llm_vs_people.clustered import cluster_codes, smallest_count, variance_of_mean
from analysis.statistics.checks import check_level
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record
from analysis.statistics.t_tests import ONE_UNIT, t_bound
from analysis.statistics.wilson import wilson

NO_ANSWERS = why("no_answers")
BINS = 10
FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReliabilityBin(Record):
    """One row of the reliability table: stated probabilities in [low, high), the last bin with its upper end."""

    low: Probability
    high: Probability
    n: Count
    mean_stated: Probability | None
    mean_outcome: Probability | None
    ci_low: Probability | None
    ci_high: Probability | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far stated probabilities lie from what happened; less is better for both measures.

    ``ci_low`` and ``ci_high`` are of the Brier score; ``brier_of_half`` is what saying 1/2 to everything would score.
    """

    n: int
    n_clusters: int
    brier_score: float | None
    ci_low: float | None
    ci_high: float | None
    brier_of_half: float | None
    calibration_error: float | None
    mean_stated: float | None
    mean_outcome: float | None
    n_bins: int
    confidence: float
    bins: tuple[ReliabilityBin, ...]
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recalibration:
    """Probabilities repaired by isotonic regression, each by a curve fitted without its own fold."""

    recalibrated: Floats
    before: Calibration
    after: Calibration | None
    n_folds: int
    seed: int
    reason: Reason | None = None


def assess_calibration(
    stated: Any,
    outcome: Any,
    *,
    n_bins: int = BINS,
    clusters: Any = None,
    pairs: bool = False,
    confidence: float = 0.95,
) -> Calibration:
    """Compare stated probabilities with outcomes.

    Brier score: mean of (p - y)². Expected calibration error: Σ_b (n_b / n) |mean y in b - mean p in b| over
    ``n_bins`` bins of equal width on [0, 1]; a probability on an inner edge belongs to the bin above, 1 to the
    last. The error depends on the bins and is above zero by chance even for right probabilities, so it is
    always given with ``n_bins`` and the table. The interval of the Brier score is by t(G - 1) and the standard error
    robust to G clusters; that of a bin is Wilson's, for independent answers.

    Parameters
    ----------
    stated : array of float, shape (n,)
        Stated P(x preferred to y), in [0, 1].
    outcome : array of float, shape (n,)
        1 where x was chosen, 0 where y was, 0.5 for a tie.
    clusters : array of ids, shape (n,), optional
        Answers that hang together: of one annotator, or about one item.
    pairs : bool
        Whether x and y could be named either way round. Each statement is then told of the one that it favours, so that
        bins and means do not depend on who was named first; at 1/2 the outcome counts a half there.

    Returns
    -------
    Calibration
        Null with a ``reason`` for n = 0; an empty bin has n = 0 and nulls.

    Raises
    ------
    ValueError
        A value outside [0, 1], or lengths that differ.

    References
    ----------
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review
    78(1), 1-3. Naeini, M. P., Cooper, G. and Hauskrecht, M. (2015). Obtaining well calibrated probabilities
    using Bayesian binning. AAAI. Wilson, E. B. (1927), JASA 22(158), 209-212.

    >>> found = assess_calibration([0.7, 0.7, 0.2, 0.2], [1, 1, 0, 1])
    >>> round(found.brier_score, 4), round(found.calibration_error, 4)
    (0.215, 0.3)
    """
    check_level("confidence", confidence)
    p, y = _probabilities(stated, "stated"), _probabilities(outcome, "outcome")
    if len(p) != len(y):
        raise ValueError(f"stated and outcome must have one length, got {len(p)} and {len(y)}")
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    n = len(p)
    codes = cluster_codes(clusters, n)
    loss = (p - y) ** 2
    if pairs:
        p, y = _of_the_favoured(p, y)
    half = _half_width(loss, codes, confidence)
    # 0.7 * 10 is 7.000000000000001 or 6.999...: rounding keeps an edge an edge
    of = np.minimum(snap(p * n_bins, scale=float(n_bins)).astype(np.int64), n_bins - 1)
    count = np.bincount(of, minlength=n_bins)
    sums_p, sums_y = (np.bincount(of, weights=column, minlength=n_bins) for column in (p, y))
    bins = tuple(
        _bin(place, n_bins, int(count[place]), float(sums_p[place]), float(sums_y[place]), confidence)
        for place in range(n_bins)
    )
    return Calibration(
        n=n,
        n_clusters=smallest_count(codes),
        brier_score=float(loss.mean()) if n else None,
        ci_low=None if half is None else max(0.0, float(loss.mean()) - half),
        ci_high=None if half is None else min(1.0, float(loss.mean()) + half),
        brier_of_half=float(np.mean((0.5 - np.asarray(outcome, dtype=np.float64)) ** 2)) if n else None,
        calibration_error=float(np.abs(sums_p - sums_y).sum() / n) if n else None,
        mean_stated=float(p.mean()) if n else None,
        mean_outcome=float(y.mean()) if n else None,
        n_bins=n_bins,
        confidence=confidence,
        bins=bins,
        reason=NO_ANSWERS if not n else ONE_UNIT if half is None else None,
    )


def _of_the_favoured(p: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Tell each statement of whom it favours; where it favours neither, either outcome is a half."""
    p = snap(p, scale=1.0)
    return np.maximum(p, snap(1 - p, scale=1.0)), np.where(p < 0.5, 1 - y, np.where(p > 0.5, y, 0.5))


def _half_width(loss: Floats, codes: Sequence[Ints], confidence: float) -> float | None:
    n_clusters = smallest_count(codes)
    if n_clusters < 2:
        return None
    return t_bound(n_clusters - 1, confidence) * float(np.sqrt(variance_of_mean(loss, codes)))


def recalibrate(
    stated: Any,
    outcome: Any,
    *,
    n_folds: int = FOLDS,
    clusters: Any = None,
    seed: int = 0,
    n_bins: int = BINS,
    pairs: bool = False,
    confidence: float = 0.95,
) -> Recalibration:
    """Repair stated probabilities by a monotone curve, cross-fitted.

    Clusters are drawn into ``n_folds`` folds of about equal size. For each fold, isotonic regression of the
    outcome on the stated probability (equal probabilities pooled) is fitted to the other folds and read off
    by linear interpolation, flat beyond the ends; no answer helps to repair itself, so ``after`` is honest.

    Parameters
    ----------
    stated, outcome : array of float, shape (n,)
        As for :func:`assess_calibration`.
    clusters : array of ids, shape (n,), optional
        Answers that must stay in one fold (of one annotator, or about one item).
    pairs : bool
        As for :func:`assess_calibration`; the curve is then fitted to every statement told both ways.

    Returns
    -------
    Recalibration
        ``recalibrated`` has shape (n,). With fewer clusters than folds nothing is repaired, with a ``reason``.

    References
    ----------
    Zadrozny, B. and Elkan, C. (2002). Transforming classifier scores into accurate multiclass probability
    estimates. KDD, 694-699.
    """
    check_level("confidence", confidence)
    before = assess_calibration(stated, outcome, n_bins=n_bins, clusters=clusters, pairs=pairs, confidence=confidence)
    p, y = np.asarray(stated, dtype=np.float64), np.asarray(outcome, dtype=np.float64)
    (cluster,) = cluster_codes(clusters, len(p))
    n_clusters = int(cluster.max()) + 1 if len(cluster) else 0
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}")
    if n_clusters < n_folds:
        reason = why("few_for_folds", n=n_clusters, folds=n_folds)
        return Recalibration(recalibrated=p, before=before, after=None, n_folds=n_folds, seed=seed, reason=reason)
    drawn = np.random.default_rng(seed).permutation(n_clusters)[_in_own_order(p, y, cluster, pairs=pairs)]
    fold_of = drawn[cluster] % n_folds
    repaired = np.empty_like(p)
    for place in range(n_folds):
        own = fold_of == place
        known_p, known_y = p[~own], y[~own]
        if pairs:
            known_p, known_y = (snap(np.concatenate([known, 1 - known]), scale=1.0) for known in (known_p, known_y))
        repaired[own] = _isotonic(known_p, known_y, p[own])
    return Recalibration(
        recalibrated=repaired,
        before=before,
        after=assess_calibration(repaired, y, n_bins=n_bins, clusters=clusters, pairs=pairs, confidence=confidence),
        n_folds=n_folds,
        seed=seed,
    )


def _in_own_order(p: Floats, y: Floats, cluster: Ints, *, pairs: bool) -> Ints:
    """Return a number for each cluster, by what it holds, so that no name reaches what is drawn."""
    loss = (p - y) ** 2
    p, y = _of_the_favoured(p, y) if pairs else (p, y)
    sums = [np.bincount(cluster, weights=column) for column in (p * y, loss, p**2, p, np.ones(len(p)))]
    place = np.empty(len(sums[0]), dtype=np.int64)
    place[np.lexsort(np.round(sums, 9))] = np.arange(len(place))
    return place


def _isotonic(p: Floats, y: Floats, at: Floats) -> Floats:
    from scipy.optimize import isotonic_regression

    levels, of = np.unique(p, return_inverse=True)
    count = np.bincount(of).astype(np.float64)
    curve = isotonic_regression(np.bincount(of, weights=y) / count, weights=count, increasing=True).x
    read: Floats = np.clip(np.interp(at, levels, curve), 0.0, 1.0)
    return read


def _bin(place: int, n_bins: int, n: int, sum_p: float, sum_y: float, confidence: float) -> ReliabilityBin:
    low, high = place / n_bins, (place + 1) / n_bins
    if not n:
        return ReliabilityBin(low=low, high=high, n=0, mean_stated=None, mean_outcome=None, ci_low=None, ci_high=None)
    ci_low, ci_high = wilson(sum_y, n, confidence)
    return ReliabilityBin(
        low=low, high=high, n=n, mean_stated=sum_p / n, mean_outcome=sum_y / n, ci_low=ci_low, ci_high=ci_high
    )


def _probabilities(values: Any, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{name}: expected a flat array of values in [0, 1]")
    return array
