"""Covariance of strengths that is right for fractional wins and for answers that hang together.

A model-based covariance takes every comparison for one toss of a coin; a preference of 0.7 is
none, and twenty answers of one annotator are not twenty. The sandwich asks the residuals instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.coding import Floats
from analysis.strengths.bias_reduced import bias_reduced, bread_root
from analysis.strengths.counting import CellCounts, WinCounts
from analysis.strengths.existence import NOISE
from analysis.strengths.fit import information, share_won
from analysis.strengths.leverage import adjusted_clusters, cluster_scores

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
        That of clubSandwich on one row a comparison (:func:`analysis.strengths.leverage.adjusted_clusters` says up to
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
