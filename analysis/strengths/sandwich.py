"""Covariance of strengths that is right for fractional wins and for answers that hang together.

A model-based covariance takes every comparison for one toss of a coin; a preference of 0.7 is
none, and twenty answers of one annotator are not twenty. The sandwich asks the residuals instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.strengths.bias_reduced import SOLE, AdjustedScores, adjusted, adjusted_scores, bias_reduced, bread_root
from analysis.strengths.counting import CellCounts, WinCounts
from analysis.strengths.existence import NOISE
from analysis.strengths.fit import information, share_won

BLOCK = 1 << 14  # clusters whose scores are held at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariance:
    """Covariance of mean-zero strengths, and what it rests on.

    ``n_clusters`` is the number of clusters (of the smaller clustering where there are two),
    ``None`` for rows; ``df`` (k,) and ``df_differences`` (k, k) the degrees of freedom of t of each strength
    and each difference of two, infinite for rows. ``mended`` says that a two-way covariance had a negative
    variance in some direction, which was set to zero.
    """

    matrix: Floats
    n_clusters: int | None
    df: Floats
    df_differences: Floats
    mended: bool = False

    @property
    def se(self) -> Floats:
        """Standard error of each strength; what rounding leaves is 0."""
        found = np.sqrt(np.maximum(np.diagonal(self.matrix), 0.0))
        return np.where(found > NOISE, found, 0.0)


def bread(played: Floats, strength: Floats) -> Floats:
    """Return the inverse of the information on the space of mean zero, shape (k, k).

    The information is singular along (1, ..., 1), since only differences are identified; its
    pseudo-inverse is (I + c 11ᵀ)⁻¹ - 11ᵀ / (c k²) for any c > 0.
    """
    curve = information(played, strength)
    k = len(curve)
    c = np.trace(curve) / k**2
    inverse: Floats = np.linalg.inv(curve + c) - 1 / (c * k**2)
    return (inverse + inverse.T) / 2


def over_rows(counts: WinCounts, strength: Floats, pseudo: float = 0.0) -> Covariance:
    """Sandwich over rows: B (Σ_r (y_r - p_r)² d_r d_rᵀ) B, where d_r is +1 at x and -1 at y.

    Parameters
    ----------
    counts : WinCounts
        Counts of all systems, each of which has a strength.
    strength : array of float, shape (k,)
        Fitted strengths.
    pseudo : float
        Regularising wins in each direction, which enter the bread only.

    Returns
    -------
    Covariance
        The HC0 covariance of a logit GLM on one row a comparison, of contrasts; weights are
        frequencies. O(k³), without the rows.

    References
    ----------
    White, H. (1982). Maximum likelihood estimation of misspecified models. Econometrica, 50(1), 1-25.
    Papke, L. E. and Wooldridge, J. M. (1996). Econometric methods for fractional response variables.
    J. Applied Econometrics, 11(6), 619-632.
    """
    share = share_won(strength)
    squares = counts.squares - 2 * share * counts.wins + share**2 * counts.played
    squares = np.maximum(squares, 0.0)  # below zero only by rounding
    meat = np.diag(squares.sum(axis=1)) - squares
    own = bread(_with_pseudo(counts.played, pseudo), strength)
    k = len(strength)
    return Covariance(
        matrix=own @ meat @ own, n_clusters=None, df=np.full(k, np.inf), df_differences=np.full((k, k), np.inf)
    )


def over_clusters(
    cells: CellCounts, counts: WinCounts, strength: Floats, pseudo: float = 0.0, *, weight: Floats | None = None
) -> Covariance:
    """Cluster-robust sandwich, bias-reduced (CR2), with Satterthwaite's degrees of freedom.

    The working model takes answers for independent with the variance of the logistic model.

    Parameters
    ----------
    weight : array of float, shape (n_clusters,), optional
        What each row of a cluster counts, as prior weights of a GLM; NaN where its rows differ in that. Weights that
        are frequencies leave it at 1, the default.

    Returns
    -------
    Covariance
        That of clubSandwich on one row a comparison (:func:`analysis.strengths.sandwich.adjusted_clusters` says up to
        which size). Needs two clusters.

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
    Biometrika, 73(1), 13-22. See also :mod:`analysis.strengths.bias_reduced`.
    """
    root = bread_root(bread(_with_pseudo(counts.played, pseudo), strength))
    each = np.ones(cells.n_clusters) if weight is None else weight
    parts = adjusted_clusters(cells, strength, root, None if np.isnan(each).any() else each)
    found = bias_reduced(parts, root, cells.n_clusters)
    return Covariance(
        matrix=found.matrix, n_clusters=cells.n_clusters, df=found.df, df_differences=found.df_differences
    )


def over_two_clusterings(
    first: CellCounts,
    second: CellCounts,
    both: CellCounts,
    counts: WinCounts,
    strength: Floats,
    pseudo: float = 0.0,
    *,
    weights: tuple[Floats | None, Floats | None] = (None, None),
) -> Covariance:
    """Two-way cluster-robust sandwich: V(first) + V(second) - V(first and second).

    The first two are bias-reduced; the clusters of both, which are many and small, have the factor G / (G - 1).

    Parameters
    ----------
    first, second, both : CellCounts
        Cells by annotator, by item, and by the combinations of the two.
    weights : tuple
        Of the first two, as for :func:`over_clusters`.

    Returns
    -------
    Covariance
        Degrees of freedom are the smaller of the two clusterings'. A negative eigenvalue is set to zero, as the source
        advises, and said in ``mended``.

    References
    ----------
    Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway
    clustering. J. Business & Economic Statistics, 29(2), 238-249.
    """
    one, two = (
        over_clusters(cells, counts, strength, pseudo, weight=weight)
        for cells, weight in zip((first, second), weights, strict=True)
    )
    own = bread(_with_pseudo(counts.played, pseudo), strength)
    matrix = one.matrix + two.matrix - _outer(both, strength, own)
    values, vectors = np.linalg.eigh(matrix)
    mended = bool(values[0] < -1e-10 * max(values[-1], 0.0))
    if mended:
        matrix = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return Covariance(
        matrix=matrix,
        n_clusters=min(first.n_clusters, second.n_clusters),
        df=np.minimum(one.df, two.df),
        df_differences=np.minimum(one.df_differences, two.df_differences),
        mended=mended,
    )


def _outer(cells: CellCounts, strength: Floats, own: Floats) -> Floats:
    """Return G / (G - 1) · B (Σ u_g u_gᵀ) B, a block of clusters at a time."""
    meat = sum((score.T @ score for _, _, score in cluster_scores(cells, strength, BLOCK)), start=np.zeros(own.shape))
    matrix: Floats = cells.n_clusters / (cells.n_clusters - 1) * (own @ meat @ own)
    return matrix


def _with_pseudo(played: Floats, pseudo: float) -> Floats:
    return played + 2 * pseudo * (1 - np.eye(len(played)))


HELD = 1 << 21  # numbers of clusters that are held at once
CELLS_WORK = 1e9  # sum of cubed cells of clusters; beyond it the square root is taken on a cluster's k numbers


def adjusted_clusters(
    cells: CellCounts, strength: Floats, root: Floats, weight: Floats | None
) -> Iterator[AdjustedScores]:
    """Adjust each cluster's score so that its variance is right where answers are independent.

    Parameters
    ----------
    cells : CellCounts
        What each cluster played and won of each pair, weighted.
    strength : array of float, shape (k,)
        Fitted strengths.
    root : array of float, shape (k, k - 1)
        L, see :func:`analysis.strengths.bias_reduced.bread_root`.
    weight : array of float, shape (n_clusters,), or None
        What each row of a cluster counts; ``None`` where it is not the same for all its rows.

    Yields
    ------
    AdjustedScores
        The adjustment is A = D B^(-1/2) D with D the root of the working variance and B = D (I - H) D² D (Pustejovsky
        and Tipton 2018, as clubSandwich has it). Rows of one cluster and pair share their variance, so B is needed
        for pairs alone: O(r³) a cluster with r pairs. Where those cubes exceed 1e9 together, where rows of a cluster
        differ in weight, and for a cluster that alone determines a direction, the root is the symmetric one of its k
        numbers (:func:`adjusted_scores`): as free of bias under the working model, and the same where all its pairs
        are equally uneven. O(k³) a cluster.
    """
    size = np.bincount(cells.cluster, minlength=cells.n_clusters)
    if weight is None or float((size.astype(np.float64) ** 3).sum()) > CELLS_WORK:
        yield from adjusted_scores(_score_and_information(cells, strength), root, cells.n_clusters)
        return
    start = np.concatenate([[0], np.cumsum(size)])
    order = np.argsort(size, kind="stable")
    width = np.array([_bucket(one) for one in size[order].tolist()])
    for bucket in np.unique(width).tolist():
        members = order[width == bucket]
        step = max(1, HELD // max(bucket**2, root.shape[1] ** 2))
        for first in range(0, len(members), step):
            own = members[first : first + step]
            yield from _by_cell(cells, strength, root, weight[own], _padded(start[own], size[own], bucket))


def _bucket(size: int) -> int:
    """Round a number of cells up, by at most a seventh beyond 8."""
    if size <= 8:
        return size
    step = 1 << (size.bit_length() - 4)
    return -(-size // step) * step


def _padded(start: Ints, size: Ints, width: int) -> Ints:
    """Return the cells of each cluster, shape (b, width), -1 where it has fewer."""
    number = np.arange(width)
    return np.where(number < size[:, None], start[:, None] + number, -1)


def _by_cell(
    cells: CellCounts, strength: Floats, root: Floats, weight: Floats, place: Ints
) -> Iterator[AdjustedScores]:
    """Adjust clusters with the cells ``place`` (b, r); their rows weigh ``weight`` (b,)."""
    here = place >= 0
    x, y, each = cells.x[place], cells.y[place], weight[:, None]
    share = share_won(strength)[x, y]
    played = np.where(here, cells.played[place], 0.0) / each
    residual = np.where(here, cells.won[place] - cells.played[place] * share, 0.0) / each
    uneven = np.where(here, share * (1 - share), 0.25)  # variance of an answer
    design = np.sqrt(played)[..., None] * (root[x] - root[y])  # (b, r, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(played > 0, residual / np.sqrt(played), 0.0)
    inner = np.sqrt(uneven)[..., None] * design
    outer = uneven[..., None] * inner
    information = each[..., None] * (inner.swapaxes(1, 2) @ inner)
    b = -each[..., None] * (outer @ outer.swapaxes(1, 2))
    number = np.arange(place.shape[1])
    b[:, number, number] += uneven**2
    values, turn = np.linalg.eigh(b)
    sound = values[:, 0] > SOLE * values[:, -1]
    if not sound.all():
        score = each * (design.swapaxes(1, 2) @ error[..., None])[..., 0]
        yield adjusted(score[~sound], information[~sound])
    factor = 1 / np.sqrt(np.where(sound[:, None], values, 1.0))[..., None]
    back = turn.swapaxes(1, 2)
    inward, outward = back @ inner, back @ outer
    met = factor * (back @ (np.sqrt(uneven) * error)[..., None])
    yield AdjustedScores(
        score=(each * (inward.swapaxes(1, 2) @ met)[..., 0])[sound],
        dependence=(each[..., None] * (outward.swapaxes(1, 2) @ (factor * inward)))[sound],
        variance=information[sound],
    )


def _score_and_information(cells: CellCounts, strength: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield score (b, k) and information (b, k, k) of the clusters, a block of them at a time."""
    k = len(strength)
    share = share_won(strength)[cells.x, cells.y]
    weight = cells.played * share * (1 - share)
    for number, own, score in cluster_scores(cells, strength, max(1, HELD // k**2)):
        curve = np.zeros((len(score), k, k))
        of = cells.cluster[own] - number
        met: Floats = -weight[own]
        curve[of, cells.x[own], cells.y[own]] = met
        curve[of, cells.y[own], cells.x[own]] = met
        place = np.arange(k)
        curve[:, place, place] = -curve.sum(axis=2)
        yield score, curve


def cluster_scores(cells: CellCounts, strength: Floats, block: int) -> Iterator[tuple[int, slice, Floats]]:
    """Yield the first cluster of each block, its cells and its clusters' scores Σ (y - p) d, shape (b, k)."""
    k = len(strength)
    residual = cells.won - cells.played * share_won(strength)[cells.x, cells.y]
    edges = np.searchsorted(cells.cluster, np.arange(0, cells.n_clusters + block, block))
    for number, (low, high) in enumerate(pairwise(edges.tolist())):
        own = slice(low, high)
        place = (cells.cluster[own] - number * block) * k
        size = min(block, cells.n_clusters - number * block) * k
        score: Floats = np.bincount(place + cells.x[own], weights=residual[own], minlength=size).astype(np.float64)
        score -= np.bincount(place + cells.y[own], weights=residual[own], minlength=size)
        yield number * block, own, score.reshape(-1, k)
