"""Standard errors of means whose values hang together: in items, in annotators, or in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from analysis.statistics.coding import Floats, Ints, fold

Clusters: TypeAlias = "Sequence[Ints] | None"  # one array of ids for each way in which values hang together


def cluster_codes(clusters: Any, n: int, name: str = "clusters") -> tuple[Ints, ...]:
    """Turn ids of any type into numbers: one array, or a tuple of up to two arrays, each of length ``n``.

    Raises
    ------
    ValueError
        When an array has another length, or there are more than two.

    >>> [codes.tolist() for codes in cluster_codes(["b", "a", "b"], 3)]
    [[1, 0, 1]]
    """
    if clusters is None:
        return (np.arange(n, dtype=np.int64),)
    ways = clusters if isinstance(clusters, tuple) else (clusters,)
    if not 1 <= len(ways) <= 2:
        raise ValueError(f"{name}: expected one or two arrays of ids, got {len(ways)}")
    codes = tuple(np.unique(np.asarray(way), return_inverse=True)[1].astype(np.int64) for way in ways)
    wrong = [len(code) for code in codes if len(code) != n]
    if wrong:
        raise ValueError(f"{name}: expected {n} ids, one a value, got {wrong[0]}")
    return codes


def smallest_count(codes: Sequence[Ints]) -> int:
    """Return the number of clusters of the way that has fewest: the evidence that an interval rests on."""
    return min(int(code.max()) + 1 if len(code) else 0 for code in codes)


def covariance_of_means(first: Floats, second: Floats, codes: Sequence[Ints]) -> float:
    """Covariance of the means of two columns over the same rows, robust to clusters.

    One way: C = G / (G - 1) Σ_g (Σ_(i in g) u_i) (Σ_(i in g) v_i) / n², u and v centred; with one row a
    cluster this is the sample covariance over n. Two ways: C_a + C_b - C_ab (Cameron, Gelbach and Miller).

    Parameters
    ----------
    first, second : array of float, shape (n,)
    codes : sequence of int arrays, each of shape (n,)
        Numbers of the clusters, 0 .. G - 1.

    References
    ----------
    Liang and Zeger (1986), Biometrika 73(1), 13-22. Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011).
    Robust inference with multiway clustering. Journal of Business & Economic Statistics, 29(2), 238-249.
    """
    u, v = first - first.mean(), second - second.mean()
    parts = [_one_way(u, v, code) for code in codes]
    if len(codes) == 1:
        return parts[0]
    return sum(parts) - _one_way(u, v, fold(*codes).of)


def variance_of_mean(values: Floats, codes: Sequence[Ints]) -> float:
    """Variance of a mean, robust to clusters; with two ways it is never below either one alone."""
    both = covariance_of_means(values, values, codes)
    if len(codes) == 1:
        return both
    return max(both, *(covariance_of_means(values, values, [code]) for code in codes))


def _one_way(u: Floats, v: Floats, code: Ints) -> float:
    n, clusters = len(u), int(code.max()) + 1
    of_u, of_v = (np.bincount(code, weights=column, minlength=clusters) for column in (u, v))
    return clusters / (clusters - 1) * float(of_u @ of_v) / n**2 if clusters > 1 else 0.0
