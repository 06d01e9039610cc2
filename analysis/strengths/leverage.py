"""Adjusted scores of clusters of comparisons: clubSandwich's for a logit model, from what was played and won."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from analysis.statistics.coding import Floats, Ints
from analysis.strengths.bias_reduced import SOLE, AdjustedScores, adjusted, adjusted_scores
from analysis.strengths.counting import CellCounts
from analysis.strengths.fit import share_won

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
        pull=(each[..., None] * (outward.swapaxes(1, 2) @ (factor * inward)))[sound],
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
