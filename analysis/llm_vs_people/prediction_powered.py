"""Many answers of an LLM and a few of people: an interval for what people think (prediction-powered inference)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.llm_vs_people.clustered import cluster_codes, covariance_of_means, smallest_count, variance_of_mean
from analysis.statistics.checks import check_level, too_large
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, t_bound

FEW_CLUSTERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionPoweredMean:
    """Estimate of people's mean; ``people_*`` is what people's answers say alone.

    ``llm_weight`` is lambda: 0 leaves the LLM out; it is in people's units per unit of the LLM's scores, below 0 where
    these run the other way. ``n`` units have both answers,
    ``n_more`` the LLM's only; ``n_clusters`` counts independent units behind each.
    """

    estimate: float
    ci_low: float | None
    ci_high: float | None
    se: float | None
    df: float | None
    llm_weight: float
    tuned: bool
    n: int
    n_more: int
    n_clusters: int
    n_clusters_more: int
    people_mean: float
    people_ci_low: float | None
    people_ci_high: float | None
    confidence: float
    reason: Reason | None = None
    warning: str | None = None


def prediction_powered_mean(
    people: Any,
    llm: Any,
    llm_more: Any,
    *,
    clusters: Any = None,
    clusters_more: Any = None,
    llm_weight: float | None = None,
    confidence: float = 0.95,
) -> PredictionPoweredMean:
    """Estimate the mean that people would give over all units, from few of their answers and many of an LLM.

    theta = lambda · mean(llm_more) + mean(people - lambda · llm) (PPI++, section 2), with variance
    V(lambda) = lambda² Var(mean llm_more) + Var(mean(people - lambda · llm)). The LLM's errors are measured
    where both answered and taken off, so a biased LLM gives a wider interval, not a wrong one. Unless given,
    lambda is the value that makes V least, Cov(mean people, mean llm) / (Var(mean llm) + Var(mean llm_more));
    without clusters and with equal variances of the LLM on both sides this is
    Cov(Y, f) / ((1 + n / N) Var f), the paper's example 6.1. It has no bounds: an LLM that bunches its scores, or
    counts errors, knows as much as one with the same scores on people's scale, and gives the same interval. For a
    preference give P(x preferred to y) by form; for a difference of ratings give x minus y by item.

    The interval is theta ± t(df) sqrt(V), df after Welch and Satterthwaite. A tuned lambda costs one degree
    of freedom of the rectifier, and its own error is allowed for as in regression estimation (Cochran, section
    7.4: 1 + 1 / (G - 3)): the rectifier's variance is multiplied by (G - 1) / (G - 3). lambda = 0 is exactly
    the interval of people's answers alone. (The paper takes the normal quantile, too narrow for few answers.)

    Assumption: the units that people answered are a random draw from all units, those that only the LLM
    answered being the rest; clusters are independent of each other, and no cluster lies on both sides.

    Parameters
    ----------
    people, llm : array of float, shape (n,)
        People's and the LLM's answer to the same units.
    llm_more : array of float, shape (n_more,)
        The LLM's answers to units that no person answered.
    clusters : array of ids, shape (n,), or a tuple of two, optional
        What hangs together: the annotator where one gave several answers, the item, or (annotator, item).
    clusters_more : array of ids, shape (n_more,), optional
    llm_weight : float, optional
        lambda, where it was set in advance.
    confidence : float

    Returns
    -------
    PredictionPoweredMean
        Without an interval but with a ``reason`` where people's answers do not vary or are too few.

    Raises
    ------
    ValueError
        Nothing answered, a value that is not finite, or lengths that do not fit.

    References
    ----------
    Angelopoulos, A. N., Duchi, J. C. and Zrnic, T. (2023). PPI++: Efficient prediction-powered inference.
    arXiv 2311.01453. Cochran, W. G. (1977). Sampling Techniques, 3rd edition. Wiley.

    >>> found = prediction_powered_mean([1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4, 5], llm_weight=1.0)
    >>> found.people_mean, found.estimate  # the LLM is 0.25 too high where it can be checked
    (2.5, 2.75)
    """
    check_level("confidence", confidence)
    y, f, more = (_finite(values, name) for values, name in ((people, "people"), (llm, "llm"), (llm_more, "llm_more")))
    if len(y) != len(f):
        raise ValueError(f"people and llm must answer the same units, got {len(y)} and {len(f)} answers")
    if not len(y):
        raise ValueError("people: expected at least one answer, got none")
    codes, codes_more = cluster_codes(clusters, len(y)), cluster_codes(clusters_more, len(more), "clusters_more")
    weight, note = _weight(y, f, more, codes, codes_more) if llm_weight is None else (float(llm_weight), None)
    tuned = llm_weight is None and weight != 0
    alone = _interval(y, np.zeros(0), 0.0, codes, codes_more, confidence, tuned=False)
    found = _interval(y - weight * f, more, weight, codes, codes_more, confidence, tuned=tuned) if weight else alone
    centre, se, df, half, reason = found
    few = smallest_count(codes) < FEW_CLUSTERS and half is not None and weight != 0
    return PredictionPoweredMean(
        estimate=centre,
        ci_low=None if half is None else centre - half,
        ci_high=None if half is None else centre + half,
        se=se,
        df=df,
        llm_weight=weight,
        tuned=llm_weight is None,
        n=len(y),
        n_more=len(more),
        n_clusters=smallest_count(codes),
        n_clusters_more=smallest_count(codes_more),
        people_mean=alone[0],
        people_ci_low=None if alone[3] is None else alone[0] - alone[3],
        people_ci_high=None if alone[3] is None else alone[0] + alone[3],
        confidence=confidence,
        reason=reason,
        warning=f"fewer than {FEW_CLUSTERS} independent units of people: the interval may be too narrow"
        if few
        else note,
    )


_Found = tuple[float, float | None, float | None, float | None, Reason | None]  # centre, se, df, half width, reason


def _interval(
    rest: Floats,
    more: Floats,
    weight: float,
    codes: Sequence[Ints],
    codes_more: Sequence[Ints],
    confidence: float,
    *,
    tuned: bool,
) -> _Found:
    """Add the LLM's mean over its own units to the mean of what people's answers leave of it."""
    centre = float(rest.mean()) + (weight * float(more.mean()) if weight else 0.0)
    spent = 2 if tuned else 1
    n_clusters = smallest_count(codes)
    if n_clusters <= (3 if tuned else 1):
        return centre, None, None, None, ONE_UNIT if n_clusters == 1 else why("few_to_tune")
    if np.all(rest == rest[0]):
        return centre, None, None, None, NO_VARIATION
    from_people = variance_of_mean(rest, codes) * ((n_clusters - 1) / (n_clusters - 3) if tuned else 1.0)
    df_people = n_clusters - spent
    if not weight:
        variance, df = from_people, float(df_people)
    else:
        n_more = smallest_count(codes_more)
        if n_more < 2:
            return centre, None, None, None, why("few_more_units")
        from_llm = weight**2 * variance_of_mean(more, codes_more)
        variance = from_people + from_llm
        df = variance**2 / (from_people**2 / df_people + from_llm**2 / (n_more - 1)) if variance > 0 else 0.0
    if not variance > 0:
        return centre, None, None, None, NO_VARIATION
    se = float(np.sqrt(variance))
    return centre, se, df, t_bound(df, confidence) * se, None


def _weight(
    y: Floats, f: Floats, more: Floats, codes: Sequence[Ints], codes_more: Sequence[Ints]
) -> tuple[float, str | None]:
    """Choose lambda so that the variance is least; 0 where that cannot be determined."""
    if smallest_count(codes) < 4 or smallest_count(codes_more) < 2:
        return 0.0, "too few answers to tune lambda on; people alone count"
    if np.all(f == f[0]):
        return 0.0, "the LLM gave one answer to everything that people answered; people alone count"
    shared = covariance_of_means(y, f, codes)
    spread = covariance_of_means(f, f, codes) + variance_of_mean(more, codes_more)
    if not (shared and spread > 0):
        return 0.0, "the LLM does not follow people; people alone count"
    return shared / spread, "the LLM's scores run against people's, and count so" if shared < 0 else None


def _finite(values: Any, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or too_large(array):
        raise ValueError(f"{name}: expected a flat array of finite numbers, none beyond 1e100 in size")
    return array
