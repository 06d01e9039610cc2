"""What moves a rater beyond what people see: severity, position, length, and the letter on the label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from analysis.llm_vs_people.clustered import cluster_codes
from analysis.statistics.checks import check_level, too_large
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import NO_VARIATION, ONE_UNIT, t_bound

Kind = Literal["severity", "position", "length", "label", "order"]
ONE_SIDE = why("one_side")
CONFOUNDED = why("confounded_with_systems")


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasContrast:
    """How much more than people the rater gives to the units of ``level`` than to the others.

    For ``severity`` there are no others: the estimate is the mean of rater minus people. Of pairs, ``n_level`` counts
    the rarer direction of each: that in which the first named has the level, or the second.
    """

    kind: Kind
    level: str
    n: int
    n_level: int
    n_clusters: int
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    confidence: float
    reason: Reason | None = None


def bias_profile(
    rater: Any,
    people: Any,
    *,
    position: Any = None,
    length: Any = None,
    label: Any = None,
    systems: Any = None,
    clusters: Any = None,
    pairs: bool = False,
    confidence: float = 0.95,
) -> tuple[BiasContrast, ...]:
    """Contrast a rater with people on the same units, in pairs.

    d_i = rater_i - people_i. Severity is the mean of d (negative: the rater is stricter). Every other
    contrast is the mean of d over the units of a level minus that over the others: first position against
    later ones, length above the median against the rest, each letter against the other letters. People's
    own bias cancels, so a contrast says what the rater adds to them. With ``systems`` the contrasts are
    taken within systems (least squares with an intercept each), so that a system that often stands first,
    or writes long, is not taken for a bias; a level that no system varies in has a ``reason``. Of ``pairs``, which
    could be named either way round, a level counts a half for the first named and minus a half for the second, there is
    no severity, and longer means longer than the other.

    Intervals are by t(G - 1) and the cluster-robust standard error with G / (G - 1). They are not adjusted
    for the number of contrasts.

    Parameters
    ----------
    rater, people : array of float, shape (n,)
        The rater's answer and the mean of people's to the same unit: a score of an output, or of a pair
        the probability that the first named is preferred. Higher is better.
    position : array of int, shape (n,), optional
        1 where the output (or the first named of the pair) was shown first.
    length : array of float, shape (n,), optional
        Length of the output, or first minus second of a pair.
    label : array of str, shape (n,), or of pairs (n, 2), optional
        Letter on the form.
    systems : array of ids, shape (n,), optional
        System of the output, or the pair.
    clusters : array of ids, shape (n,), optional
        Units that hang together, for instance the outputs for one item.
    pairs : bool
        Whether the units are pairs of outputs.

    Returns
    -------
    tuple of BiasContrast

    Raises
    ------
    ValueError
        Lengths that differ, or a value that is not finite.

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Biometrika, 73(1), 13-22.

    >>> bias_profile([4, 3, 4, 2], [3, 3, 3, 2], position=[1, 2, 1, 2])[1].estimate
    1.0
    """
    difference = np.asarray(rater, dtype=np.float64) - np.asarray(people, dtype=np.float64)
    n = len(difference)
    if difference.ndim != 1 or not n or not np.isfinite(difference).all() or too_large(difference):
        raise ValueError("rater and people: expected flat arrays of finite numbers for the same units")
    check_level("confidence", confidence)
    (cluster,) = cluster_codes(clusters, n)
    parts = cluster_codes(systems, n, "systems")[0] if systems is not None else np.zeros(n, dtype=np.int64)
    within = systems is not None
    if pairs and not within:
        raise ValueError("pairs: expected systems, the two outputs' in the order in which the answers name them")
    levels = _levels_of_pairs if pairs else _levels
    alone = _contrast("severity", "all", np.ones(n), difference, cluster, None, within, confidence)
    found = [] if pairs else [alone]
    for kind, level, own in levels(n, position, length, label):
        contrast = _contrast(kind, level, own, difference, cluster, parts, within, confidence)
        found.append(replace(contrast, n_level=_rarer(own, parts)) if pairs else contrast)
    return tuple(found)


def _checked(n: int, name: str, column: Any, *more: int) -> npt.NDArray[Any]:
    if np.shape(column) != (n, *more):
        raise ValueError(f"{name}: expected {n} values, one a unit, got shape {np.shape(column)}")
    return np.asarray(column)


def _levels(n: int, position: Any, length: Any, label: Any) -> Iterator[tuple[Kind, str, Floats]]:
    """Yield each level with 1 for the units that have it, else 0."""
    if position is not None:
        yield "position", "first", (_checked(n, "position", position) == 1).astype(np.float64)
    if length is not None:
        sizes = _checked(n, "length", length).astype(np.float64)
        yield "length", "longer than the median", (sizes > np.median(sizes)).astype(np.float64)
    if label is not None:
        letters = _checked(n, "label", label)
        for letter in np.unique(letters).tolist():
            yield "label", str(letter), (letters == letter).astype(np.float64)


def _levels_of_pairs(n: int, position: Any, length: Any, label: Any) -> Iterator[tuple[Kind, str, Floats]]:
    """Yield each level with a half where the first named of a pair has it alone, minus a half where the second has."""
    if position is not None:
        yield "position", "first", np.where(_checked(n, "position", position) == 1, 0.5, -0.5)
    if length is not None:
        yield "length", "longer", np.sign(_checked(n, "length", length).astype(np.float64)) / 2
    if label is not None:
        letters = _checked(n, "label", label, 2)
        for letter in np.unique(letters).tolist():
            has = (letters == letter).astype(np.float64)
            yield "label", str(letter), (has[:, 0] - has[:, 1]) / 2


def _rarer(own: Floats, parts: Ints) -> int:
    """Count the units of the rarer direction of each pair."""
    sides = [np.bincount(parts[side], minlength=int(parts.max()) + 1) for side in (own > 0, own < 0)]
    return int(np.minimum(*sides).sum())


def _contrast(
    kind: Kind,
    level: str,
    own: Floats,
    difference: Floats,
    cluster: Ints,
    parts: Ints | None,
    within: bool,
    confidence: float,
) -> BiasContrast:
    """Least squares of the difference on the level within parts; without parts, the plain mean."""
    regressor = own if parts is None else own - _mean_of_part(own, parts)
    weight = float(regressor @ regressor)
    n_clusters = int(cluster.max()) + 1
    estimate = ci_low = ci_high = reason = None
    if parts is not None and not np.abs(regressor).max() > 1e-9:
        reason = CONFOUNDED if within and own.any() and not (own == 1).all() else ONE_SIDE
    else:
        estimate = float(regressor @ difference) / weight
        centred = difference if parts is None else difference - _mean_of_part(difference, parts)
        residual = centred - regressor * estimate
        influence = np.bincount(cluster, weights=regressor * residual, minlength=n_clusters) / weight
        if n_clusters < 2:
            reason = ONE_UNIT
        elif not np.abs(residual).max() > 1e-12 * max(1.0, float(np.abs(difference).max())):
            reason = NO_VARIATION
        else:
            se = float(np.sqrt(n_clusters / (n_clusters - 1) * float(influence @ influence)))
            half = t_bound(n_clusters - 1, confidence) * se
            ci_low, ci_high = estimate - half, estimate + half
    return BiasContrast(
        kind=kind,
        level=level,
        n=len(difference),
        n_level=int(own.sum()),
        n_clusters=n_clusters,
        estimate=estimate,
        ci_low=ci_low,
        ci_high=ci_high,
        confidence=confidence,
        reason=reason,
    )


def _mean_of_part(values: Floats, parts: Ints) -> Floats:
    means: Floats = (np.bincount(parts, weights=values) / np.bincount(parts))[parts]
    return means
