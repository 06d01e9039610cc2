"""Covariance of an estimate from few or uneven clusters (CR2), with degrees of freedom of its own.

A sandwich takes a cluster's residuals for its errors. One that gave most answers draws the fit to
itself: its residuals are too small, and the covariance with them. CR2 undoes that exactly where
the working model holds; Satterthwaite's degrees of freedom say how few clusters carry the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.statistics.coding import Floats

SOLE = 1e-10  # share of a direction's information that other clusters must have, or one alone determines it
CROSSED = 60  # systems whose differences are taken with all products of clusters: 8 k^4 bytes
WORK = 8e9  # multiplications for those products; beyond it, and beyond CROSSED, their bound
MANY = 400  # systems beyond which the bound serves each value, too: its products take 8 k^3 bytes
CUBES = 2e9  # clusters times cubed systems; beyond it clusters of little weight are adjusted by a series
LIGHT, TERMS = 0.1, 14  # size of S up to which the series is exact to rounding, and how many terms that takes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BiasReduced:
    """Covariance (k, k) of mean-zero strengths, degrees of freedom of each (k,) and of their differences (k, k).

    A direction that one cluster alone determines has 0 degrees of freedom: nothing shows its spread.
    """

    matrix: Floats
    df: Floats
    df_differences: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdjustedScores:
    """What some clusters add, in coordinates of ``bread_root``: q = k - 1 directions.

    ``score`` (b, q) are their adjusted scores v; ``dependence`` (b, q, q) is v's dependence on the estimate,
    ``variance`` (b, q, q) the working model's variance of v, and ``sole`` (q, q) the information that
    no other cluster has. Where ``dependence`` D is ``None``, |D z|² is at most ``reach`` (b,) times zᵀ variance z.
    """

    score: Floats
    dependence: Floats | None
    variance: Floats
    sole: Floats | None = None
    reach: Floats | None = None


def bread_root(bread: Floats) -> Floats:
    """Return L of shape (k, k - 1) with L Lᵀ = ``bread``, the inverse of all information on the space of mean zero."""
    values, vectors = np.linalg.eigh(bread)
    root: Floats = vectors[:, 1:] * np.sqrt(np.maximum(values[1:], 0.0))  # the first direction is (1, ..., 1)
    return root


def adjusted_scores(blocks: Iterable[tuple[Floats, Floats]], root: Floats, n_clusters: int) -> Iterator[AdjustedScores]:
    """Adjust clusters by their scores u and information N: v = (I - S)^(-1/2) Lᵀ u with S = Lᵀ N L.

    Parameters
    ----------
    blocks : iterable of (array (b, k), array (b, k, k))
        Scores and information under the working model, some clusters at a time.
    root : array of float, shape (k, q)
        L, see :func:`bread_root`.
    n_clusters : int
        Clusters in all blocks. Where they times k³ exceed 2e9, those with |S| of at most .1 are adjusted by the series
        of the root, as exactly; of their dependence a bound is given.
    """
    many = n_clusters * float(root.shape[0]) ** 3 > CUBES
    for score, information in blocks:
        moved, share = score @ root, root.T @ information @ root
        size = np.sqrt((share**2).sum(axis=(1, 2)))
        light = many & (size <= LIGHT)
        if light.any():
            yield _by_series(moved[light], share[light], size[light])
        if not light.all():
            yield adjusted(moved[~light], share[~light])


def _by_series(score: Floats, information: Floats, size: Floats) -> AdjustedScores:
    """Adjust scores by Σ c_n Sⁿ u with c_n = (2n)! / (n! 2ⁿ)², the series of (I - S)^(-1/2)."""
    term, found, factor = score[..., None], score[..., None].copy(), 1.0
    for n in range(1, TERMS):
        term = information @ term
        factor *= (2 * n - 1) / (2 * n)
        found += factor * term
    return AdjustedScores(score=found[..., 0], dependence=None, variance=information, reach=size / (1 - size))


def adjusted(score: Floats, information: Floats) -> AdjustedScores:
    """Adjust scores (b, q) by their information S (b, q, q), both in coordinates of the root: (I - S)^(-1/2) u."""
    share, turn = np.linalg.eigh(information)
    kept = share < 1 - SOLE
    factor = np.where(kept, 1 / np.sqrt(np.maximum(1 - share, SOLE)), 0.0)
    back = turn.swapaxes(1, 2)
    along = (back @ score[..., None]) * factor[..., None]
    return AdjustedScores(
        score=(turn @ along)[..., 0],
        dependence=(turn * (factor * share)[:, None]) @ back,
        variance=(turn * np.where(kept, share, 0.0)[:, None]) @ back,
        sole=None if kept.all() else ((turn * np.where(kept, 0.0, share)[:, None]) @ back).sum(axis=0),
    )


def bias_reduced(parts: Iterable[AdjustedScores], root: Floats, n_clusters: int) -> BiasReduced:
    """Return CR2, V = L (Σ_g v_g v_gᵀ) Lᵀ, and Satterthwaite's degrees of freedom of each value and each difference.

    Parameters
    ----------
    parts : iterable of AdjustedScores
        All clusters.
    root : array of float, shape (k, q)
        L, see :func:`bread_root`.
    n_clusters : int
        How many they are.

    Returns
    -------
    BiasReduced
        O(G k³), and O(G k⁴) for the differences of up to 60 systems. Beyond that or 8e9 multiplications their degrees
        of freedom are a lower bound, (Σ|w_g|²)² for |Σ w_g w_gᵀ|², which is close where clusters are many; and so are
        all beyond 400 systems, and where clusters come without ``dependence``.

    References
    ----------
    Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage
    samples. Survey Methodology, 28(2), 169-181.
    Pustejovsky, J. E. and Tipton, E. (2018). Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J. Business & Economic Statistics, 36(4), 672-683.
    """
    k, q = root.shape
    crossed = k <= CROSSED and n_clusters * float(k * q) ** 2 <= WORK
    meat, sole = np.zeros((q, q)), np.zeros((q, q))
    total, squares, lengths, fourth, bound = (np.zeros((k, k)) for _ in range(5))
    products = np.zeros((k * q, k * q)) if crossed else np.zeros((k, q, q)) if k <= MANY else None
    for part in parts:
        meat += part.score.T @ part.score
        sole += 0.0 if part.sole is None else part.sole
        variance = _spread(root @ part.variance @ root.T)
        total += variance.sum(axis=0)
        squares += (variance**2).sum(axis=0)
        if part.dependence is None:
            assert part.reach is not None
            bound += np.tensordot(part.reach, variance, 1)
            continue
        dependence = root @ part.dependence.swapaxes(1, 2)  # w of each value, (b, k, q)
        length = _spread(dependence @ dependence.swapaxes(1, 2))
        lengths += length.sum(axis=0)
        fourth += (length**2).sum(axis=0)
        if products is None:
            continue
        if crossed:
            rows = dependence.reshape(-1, k * q)
            products += rows.T @ rows
        else:
            by_value = np.ascontiguousarray(dependence.swapaxes(0, 1))
            products += by_value.swapaxes(1, 2) @ by_value
    norms = np.sqrt(_squared_norms(products, k, q, lengths)) + bound
    between = np.maximum(norms**2 - fourth, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(total > 0, total**2 / (squares + between), 0.0)
    df[_spread(root @ sole @ root.T) > SOLE * _spread(root @ root.T)] = 0.0
    own = np.diagonal(df).copy()
    np.fill_diagonal(df, np.nan)
    return BiasReduced(matrix=root @ meat @ root.T, df=own, df_differences=df)


def _spread(table: Floats) -> Floats:
    """Return a covariance's variances on the diagonal, those of differences off it; shape (..., k, k)."""
    own = np.diagonal(table, axis1=-2, axis2=-1)
    found: Floats = own[..., :, None] + own[..., None, :] - 2 * table
    place = np.arange(table.shape[-1])
    found[..., place, place] = own
    return np.maximum(found, 0.0)


def _squared_norms(products: Floats | None, k: int, q: int, lengths: Floats) -> Floats:
    """Return |Σ_g w_g w_gᵀ|² of every value and difference; a bound of those whose products are not known."""
    if products is None:
        return lengths**2
    if products.ndim == 3:
        found = lengths**2
        np.fill_diagonal(found, (products**2).sum(axis=(1, 2)))
        return found
    tables = products.reshape(k, q, k, q).transpose(0, 2, 1, 3)  # [a, b] = Σ_g w_ga w_gbᵀ
    found = np.empty((k, k))
    for a in range(k):
        for b in range(a + 1):
            one = tables[a, a] if a == b else tables[a, a] + tables[b, b] - tables[a, b] - tables[b, a]
            found[a, b] = found[b, a] = (one**2).sum()
    return found
