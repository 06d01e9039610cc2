"""A test over annotators and items at once: would another draw of both find the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from analysis.rating_checks.many_tests import NOTHING_PAIRED, Flags, ManyTests, no_variation, sums_by, untested
from analysis.statistics.coding import Floats, Ints, fold, scale_of, snap
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import NO_VARIATION

ONE_ANNOTATOR = why("crossed_one_annotator")
ONE_ITEM = why("crossed_one_item")
FEW = 3  # of fewer annotators or items the spread is too rough for Satterthwaite's formula


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedTest:
    """Mean difference, and its test with annotators and items both taken as drawn; ``reason`` where there is none."""

    n: int
    n_annotators: int
    n_items: int
    mean: float
    se: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    df: float | None
    p_value: float | None
    reason: Reason | None


def crossed_test(
    differences: Sequence[float] | Floats,
    annotators: Sequence[Any] | Ints,
    items: Sequence[Any] | Ints,
    *,
    against: float = 0.0,
    confidence: float = 0.95,
) -> CrossedTest:
    """Test two-sidedly whether a mean over annotators and items is ``against``, both taken as random.

    The variance of the mean is V = V_a + V_i - V_ai, each V clustered one way (by annotator, by item, by
    both) with the factor G/(G-1), and never below V_a or V_i alone. t has
    V² / (V_a² / (G_a - 1) + V_i² / (G_i - 1)) degrees of freedom (Satterthwaite), or, of two annotators or
    two items, 1. In simulations at 5% it rejects a true null in 4 to 6% of studies where annotators, items
    or both differ, up to 7.5% with three annotators, and too rarely (1 to 3%) where neither differ or there are two.

    Parameters
    ----------
    differences : array of float, shape (n,)
        x minus y as one annotator gave them for one item; or the share won, against 0.5.
    annotators, items : array of ids, shape (n,)
        Who gave each difference, about what. Any pattern of who saw what.
    against : float
        Mean under the null hypothesis.
    confidence : float
        Level of the interval.

    Returns
    -------
    CrossedTest
        With ``reason`` for one annotator, one item, or values that are all the same.

    Raises
    ------
    ValueError
        When the arrays are empty or of different lengths, or a difference is not finite.

    References
    ----------
    Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway clustering.
    JBES, 29(2), 238-249. Satterthwaite, F. E. (1946). Biometrics Bulletin, 2(6), 110-114.

    Examples
    --------
    >>> found = crossed_test([1, 2, 1, 0, 1, 3], ["a", "a", "b", "b", "c", "c"], ["i", "j", "i", "j", "i", "j"])
    >>> found.n_annotators, found.n_items, round(found.mean, 3), found.df
    (3, 2, 1.333, 1.0)
    """
    value = np.asarray(differences, dtype=np.float64)
    who, what = (np.unique(np.asarray(ids), return_inverse=True)[1].astype(np.int64) for ids in (annotators, items))
    if not (len(value) and len(value) == len(who) == len(what)):
        raise ValueError(
            f"expected one annotator and one item a difference, got {len(value)}, {len(who)} and {len(what)}"
        )
    if not np.isfinite(value).all():
        raise ValueError("differences must be finite; leave out what is missing")
    pair = np.zeros(len(value), dtype=np.int64)
    found = crossed_tests(pair, value, who, what, 1, against=against, confidence=confidence, scale=scale_of(value))
    tested = found.reasons[0] is None
    mean, df, low, high = (float(column[0]) for column in (found.estimate, found.df, found.low, found.high))
    se = (high - low) / 2 / float(stdtrit(df, (1 + confidence) / 2)) if tested else None
    return CrossedTest(
        n=len(value),
        n_annotators=int(who.max()) + 1,
        n_items=int(what.max()) + 1,
        mean=mean,
        se=se,
        ci_low=low if tested else None,
        ci_high=high if tested else None,
        t=(mean - against) / se if se else None,
        df=df if tested else None,
        p_value=float(found.p_value[0]) if tested else None,
        reason=found.reasons[0],
    )


def crossed_tests(
    pair: Ints,
    values: Floats,
    annotator: Ints,
    item: Ints,
    n_pairs: int,
    *,
    against: float,
    confidence: float,
    scale: float,
) -> ManyTests:
    """Run :func:`crossed_test` on the values of every pair; ``scale`` is the largest size of the answers."""
    n = np.bincount(pair, minlength=n_pairs).astype(np.int64)
    with np.errstate(all="ignore"):
        mean = sums_by(pair, values, n_pairs) / n
    if not len(pair) or annotator.min() == annotator.max():  # as with most LLMs: nothing to add up
        reasons: list[Reason | None] = [ONE_ANNOTATOR if count else NOTHING_PAIRED for count in n]
        return replace(untested(reasons), n=n, estimate=mean)
    rest = snap(values - mean[pair], scale=scale, digits=13)
    squares = [_squares(pair, cluster, rest, n_pairs) for cluster in (annotator, item, fold(annotator, item).of)]
    same = no_variation(pair, values, n_pairs)
    return crossed_of_squares(n, mean, *squares, same=same, against=against, confidence=confidence)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterSquares:
    """By pair: the squares of the sums, by cluster, of the values' distances from their mean, added up."""

    squares: Floats
    clusters: Ints

    def between(self) -> Floats:
        """Return the sums of squares times G / (G - 1) of the G clusters."""
        return self.squares * self.clusters / np.maximum(self.clusters - 1, 1)


def crossed_of_squares(
    n: Ints,
    mean: Floats,
    annotators: ClusterSquares,
    items: ClusterSquares,
    both: ClusterSquares,
    *,
    same: Flags,
    against: float,
    confidence: float,
) -> ManyTests:
    """Do what :func:`crossed_tests` does, from sums; ``same`` says which pairs hold one value only."""
    with np.errstate(all="ignore"):
        of_annotator, of_item, of_both = (kind.between() / n**2 for kind in (annotators, items, both))
        variance = np.maximum(of_annotator + of_item - of_both, np.maximum(of_annotator, of_item))
        df = variance**2 / (of_annotator**2 / (annotators.clusters - 1) + of_item**2 / (items.clusters - 1))
        df = np.where(np.minimum(annotators.clusters, items.clusters) < FEW, 1.0, df)
        se = np.sqrt(variance)
        p_value = np.minimum(1.0, 2 * stdtr(df, -np.abs(mean - against) / se))
        half = stdtrit(df, (1 + confidence) / 2) * se
    reasons = _reasons(n, annotators.clusters, items.clusters, same | (variance <= 0))
    untested = np.array([reason is not None for reason in reasons], dtype=np.bool_)
    df, p_value, low, high = (np.where(untested, np.nan, each) for each in (df, p_value, mean - half, mean + half))
    return ManyTests(n=n, estimate=mean, df=df, p_value=p_value, low=low, high=high, reasons=reasons)


def _squares(pair: Ints, cluster: Ints, rest: Floats, n_pairs: int) -> ClusterSquares:
    folded = fold(pair, cluster)
    sums, of = sums_by(folded.of, rest, len(folded)), pair[folded.first]
    clusters = np.bincount(of, minlength=n_pairs).astype(np.int64)
    return ClusterSquares(squares=sums_by(of, sums**2, n_pairs), clusters=clusters)


def _reasons(n: Ints, annotators: Ints, items: Ints, same: Flags) -> list[Reason | None]:
    return [
        NOTHING_PAIRED
        if count == 0
        else ONE_ANNOTATOR
        if who < 2
        else ONE_ITEM
        if what < 2
        else NO_VARIATION
        if alike
        else None
        for count, who, what, alike in zip(n.tolist(), annotators.tolist(), items.tolist(), same.tolist(), strict=True)
    ]
