"""Covariance of strengths that is right for fractional wins and for answers that hang together.

A model-based covariance takes every comparison for one toss of a coin; a preference of 0.7 is
none, and twenty answers of one annotator are not twenty. The sandwich asks the residuals instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.statistics.coding import Floats
from analysis.strengths.counting import CellCounts, WinCounts
from analysis.strengths.fit import information, share_won

NOISE = 1e-8  # of a strength: where every cluster says the same, rounding leaves a standard error below it
BLOCK = 1 << 14  # clusters whose scores are held at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Covariance:
    """Covariance of mean-zero strengths, and what it rests on.

    ``n_clusters`` is the number of clusters (of the smaller clustering where there are two),
    ``None`` for rows; ``df`` the degrees of freedom of t, infinite for rows. ``mended`` says that
    a two-way covariance had a negative variance in some direction, which was set to zero.
    """

    matrix: Floats
    n_clusters: int | None
    df: float
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
    return Covariance(matrix=own @ meat @ own, n_clusters=None, df=np.inf)


def over_clusters(cells: CellCounts, counts: WinCounts, strength: Floats, pseudo: float = 0.0) -> Covariance:
    """Cluster-robust sandwich: G / (G - 1) · B (Σ_g u_g u_gᵀ) B with u_g = Σ_(r in g) (y_r - p_r) d_r.

    Returns
    -------
    Covariance
        With t(G - 1). O(cells + G k² + k³). Needs two clusters.

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
    Biometrika, 73(1), 13-22.
    """
    own = bread(_with_pseudo(counts.played, pseudo), strength)
    return Covariance(matrix=_outer(cells, strength, own), n_clusters=cells.n_clusters, df=float(cells.n_clusters - 1))


def over_two_clusterings(
    first: CellCounts,
    second: CellCounts,
    both: CellCounts,
    counts: WinCounts,
    strength: Floats,
    pseudo: float = 0.0,
) -> Covariance:
    """Two-way cluster-robust sandwich: V(first) + V(second) - V(first and second), each with its own factor.

    Parameters
    ----------
    first, second, both : CellCounts
        Cells by annotator, by item, and by the combinations of the two.

    Returns
    -------
    Covariance
        With t(min(G) - 1). A negative eigenvalue is set to zero, as the source advises, and said in ``mended``.

    References
    ----------
    Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway
    clustering. J. Business & Economic Statistics, 29(2), 238-249.
    """
    own = bread(_with_pseudo(counts.played, pseudo), strength)
    matrix = _outer(first, strength, own) + _outer(second, strength, own) - _outer(both, strength, own)
    values, vectors = np.linalg.eigh(matrix)
    mended = bool(values[0] < -1e-10 * max(values[-1], 0.0))
    if mended:
        matrix = (vectors * np.maximum(values, 0.0)) @ vectors.T
    fewest = min(first.n_clusters, second.n_clusters)
    return Covariance(matrix=matrix, n_clusters=fewest, df=float(fewest - 1), mended=mended)


def _outer(cells: CellCounts, strength: Floats, own: Floats) -> Floats:
    """Return G / (G - 1) · B (Σ u_g u_gᵀ) B, a block of clusters at a time."""
    k = len(strength)
    residual = cells.won - cells.played * share_won(strength)[cells.x, cells.y]
    meat = np.zeros((k, k))
    edges = np.searchsorted(cells.cluster, np.arange(0, cells.n_clusters + BLOCK, BLOCK))
    for number, (low, high) in enumerate(pairwise(edges.tolist())):
        place = (cells.cluster[low:high] - number * BLOCK) * k
        size = min(BLOCK, cells.n_clusters - number * BLOCK) * k
        score = np.bincount(place + cells.x[low:high], weights=residual[low:high], minlength=size)
        score -= np.bincount(place + cells.y[low:high], weights=residual[low:high], minlength=size)
        block = score.reshape(-1, k)
        meat += block.T @ block
    factor = cells.n_clusters / (cells.n_clusters - 1)
    matrix: Floats = factor * (own @ meat @ own)
    return matrix


def _with_pseudo(played: Floats, pseudo: float) -> Floats:
    return played + 2 * pseudo * (1 - np.eye(len(played)))
