"""Intervals of many strengths: the sandwich a few rows at a time, never as a table of systems by systems.

Residuals are adjusted as in :mod:`analysis.strengths.sandwich`, but only where some cluster has much to say of some
system: the root of a cluster's pairs costs their cube. Else degrees of freedom are those of the clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints
from analysis.strengths.bias_reduced import SOLE
from analysis.strengths.counting import CellCounts, PairCounts
from analysis.strengths.existence import NOISE
from analysis.strengths.sparse_newton import Inverse

MUCH = 1 / 3  # share of a system's leverage that one cluster may hold before residuals are adjusted
CELLS_WORK = 1e9  # sum of cubed pairs of clusters; beyond it they are not adjusted
LONE = 0.01  # share of a strength's variance that clusters alone in their direction may have
FEW = 4  # systems a cluster from which its scores are moved once and for all
AT_ONCE = 64  # rows of the inverse made together
HELD = 1 << 21  # numbers held of them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clustering:
    """What answers hang together by: ``weight`` is what each row of a cluster counts, NaN where its rows differ."""

    cells: CellCounts
    weight: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Meat:
    """Scores of clusters, sparse (clusters, k), whose products are added (``sign`` 1) or taken off (-1).

    ``moved`` (k, clusters) is the inverse times them, where clusters are few beside systems.
    """

    scores: csr_array
    sign: float = 1.0
    moved: Floats | None = None

    @staticmethod
    def of(inverse: Inverse, scores: csr_array, sign: float = 1.0) -> Meat:
        """Move the scores of few clusters."""
        few = FEW * scores.shape[0] <= scores.shape[1]
        return Meat(scores=scores, sign=sign, moved=inverse(scores.T.toarray()) if few else None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseCovariance:
    """Variances (k,) of mean-zero strengths with degrees of freedom; covariances are made as they are asked for.

    ``n_clusters`` is that of the smaller clustering, ``None`` for rows; ``adjusted`` says that residuals are.
    """

    variance: Floats
    df: Floats
    n_clusters: int | None
    adjusted: bool
    inverse: Inverse
    meats: tuple[Meat, ...]

    @property
    def se(self) -> Floats:
        """Standard error of each strength; NaN where two clusterings leave no variance."""
        found = np.sqrt(np.where(self.variance >= 0, self.variance, np.nan))
        return np.where(found > NOISE, found, found * 0.0)

    def columns(self, systems: Ints) -> Floats:
        """Return the covariances of all strengths with some, shape (k, m)."""
        unit = np.zeros((len(self.variance), len(systems)))
        unit[systems, np.arange(len(systems))] = 1.0
        found = np.zeros(unit.shape)
        slow = [meat for meat in self.meats if meat.moved is None]
        for meat in self.meats:
            if meat.moved is not None:
                found += meat.sign * (meat.moved @ meat.moved[systems].T)
        if slow:
            along = self.inverse(unit)
            found += self.inverse(sum(meat.sign * (meat.scores.T @ (meat.scores @ along)) for meat in slow))
        return found


def sparse_covariance(
    pairs: PairCounts,
    strength: Floats,
    clusterings: Sequence[Clustering],
    both: CellCounts | None = None,
    *,
    inverse: Inverse | None = None,
) -> SparseCovariance:
    """Return the sandwich over rows (no clustering), over clusters, or over two clusterings and ``both`` at once.

    Where no cluster holds more than a third of any system's leverage, the covariance has the factor G / (G - 1) and t
    the degrees of freedom G - 1. Else it is bias-reduced (CR2), as that of
    :func:`analysis.strengths.sandwich.over_clusters`, with Satterthwaite's degrees of freedom, in which two clusters
    hang together by what both add to the strength alone: within some percent of those of all products. Where the cubed
    pairs of clusters exceed 1e9, residuals are not adjusted, and systems of which a cluster holds more than a third
    have 1 / Σ h² degrees of freedom, h the shares of their leverage.

    Parameters
    ----------
    pairs : PairCounts
        All comparisons, of systems that all have a strength.
    strength : array of float, shape (k,)
        Fitted strengths.
    clusterings : sequence of Clustering
        None, one or two.
    both : CellCounts, optional
        Cells of the combinations of two, which are taken off.
    inverse : Inverse, optional
        That of the information at the strengths, where it is known.

    Returns
    -------
    SparseCovariance
        Time by k times factors and cells, memory by the factors, the cells and, adjusted, the squared pairs of
        clusters.

    References
    ----------
    Carter, A. V., Schnepel, K. T. and Steigerwald, D. G. (2017). Asymptotic behavior of a t-test robust to cluster
    heterogeneity. Review of Economics and Statistics, 99(4), 698-709 (1 / Σ h²). See also
    :mod:`analysis.strengths.bias_reduced` and :mod:`analysis.strengths.sandwich`.
    """
    k = len(strength)
    share = _share(strength, pairs.x, pairs.y)
    inverse = inverse or Inverse(pairs.x, pairs.y, pairs.played * share * (1 - share), k)
    if not clusterings:
        rest = np.sqrt(np.maximum(pairs.squares - 2 * share * pairs.won + share**2 * pairs.played, 0.0))
        meats = [Meat.of(inverse, _scores(np.arange(len(rest)), pairs.x, pairs.y, rest, len(rest), k))]
        df: Floats = np.full(k, np.inf)
        variance = _variance(inverse, meats, k)
        return SparseCovariance(
            variance=variance, df=df, n_clusters=None, adjusted=False, inverse=inverse, meats=tuple(meats)
        )
    ways = [_Way(own, strength) for own in clusterings]
    meats = [Meat.of(inverse, way.scores()) for way in ways]
    if both is not None:
        rest = both.won - both.played * _share(strength, both.x, both.y)
        rest = np.sqrt(both.n_clusters / (both.n_clusters - 1)) * rest
        meats.append(Meat.of(inverse, _scores(both.cluster, both.x, both.y, rest, both.n_clusters, k), -1.0))
    variance = _variance(inverse, meats, k, ways)
    for way in ways:
        way.decide()
    adjusted = [way for way in ways if way.adjusted]
    if adjusted:
        _meet(inverse, adjusted)
        for way in adjusted:
            way.adjust()
        meats = [Meat.of(inverse, way.scores()) for way in ways] + meats[len(ways) :]
        variance = _variance(inverse, meats, k, adjusted)
    return SparseCovariance(
        variance=variance,
        df=np.minimum.reduce([way.df for way in ways]),
        n_clusters=min(way.n for way in ways),
        adjusted=bool(adjusted),
        inverse=inverse,
        meats=tuple(meats),
    )


def over_both(
    first: SparseCovariance, pairs: PairCounts, strength: Floats, second: Clustering, both: CellCounts
) -> SparseCovariance:
    """Return the sandwich over two clusterings at once, where that over the first is known."""
    found = sparse_covariance(pairs, strength, [second], both, inverse=first.inverse)
    assert first.n_clusters is not None
    assert found.n_clusters is not None
    return SparseCovariance(
        variance=first.variance + found.variance,
        df=np.minimum(first.df, found.df),
        n_clusters=min(first.n_clusters, found.n_clusters),
        adjusted=first.adjusted or found.adjusted,
        inverse=first.inverse,
        meats=(*first.meats, *found.meats),
    )


def over_scores(
    inverse: Inverse, scores: csr_array, *, cluster: Ints, x: Ints, y: Ints, weight: Floats, n_clusters: int
) -> SparseCovariance:
    """Return the sandwich of scores with the factor G / (G - 1), of any model whose information is a graph.

    Parameters
    ----------
    inverse : Inverse
        That of the information of all clusters.
    scores : sparse array, shape (n_clusters, k)
        Of each cluster.
    cluster, x, y, weight : array, shape (cells,)
        What each cluster adds to the information: the weight of the pair x, y; sorted by cluster.
    n_clusters : int
        How many they are, each with a cell.
    """
    leverages = _Leverages(cluster, x, y, weight, n=n_clusters, k=scores.shape[1])
    meat = Meat.of(inverse, csr_array(np.sqrt(n_clusters / (n_clusters - 1)) * scores))
    variance = _variance(inverse, [meat], leverages.k, [leverages])
    return SparseCovariance(
        variance=variance,
        df=leverages.effective,
        n_clusters=n_clusters,
        adjusted=False,
        inverse=inverse,
        meats=(meat,),
    )


def _variance(inverse: Inverse, meats: Sequence[Meat], k: int, ways: Sequence[_Leverages] = ()) -> Floats:
    """Return the variance of each strength; on the way, show the columns of the inverse to clusterings."""
    found = np.zeros(k)
    for meat in meats:
        if meat.moved is not None:
            found += meat.sign * (meat.moved**2).sum(axis=1)
    slow = [meat for meat in meats if meat.moved is None]
    if not slow and not ways:
        return found
    widths = [*(len(way.x) for way in ways), *(meat.scores.shape[0] for meat in slow)]
    for rows, table in _columns(inverse, k, _step(max(widths))):
        for meat in slow:
            found[rows] += meat.sign * (np.asarray(meat.scores @ table) ** 2).sum(axis=0)
        for way in ways:
            way.take(rows, table)
    return found


class _Leverages:
    """The shares of systems' leverage that clusters hold, by the information of their pairs, sorted by cluster."""

    def __init__(self, cluster: Ints, x: Ints, y: Ints, weight: Floats, *, n: int, k: int) -> None:
        self.x, self.y, self.cluster, self.weight, self.n, self.k = x, y, cluster, weight, n, k
        self.start = np.searchsorted(cluster, np.arange(n))
        self.squares, self.most = np.zeros(k), np.zeros(k)  # of the shares of each system's leverage

    def take(self, rows: slice, table: Floats) -> None:
        """Take in columns of the inverse."""
        own, apart = table[rows].diagonal(), table[self.x]
        apart -= table[self.y]
        self._share(rows, self._by_cluster(self.weight[:, None] * apart**2) / own)

    def _share(self, rows: slice, shares: Floats) -> None:
        self.most[rows] = shares.max(axis=0)
        self.squares[rows] = (shares**2).sum(axis=0)

    def _by_cluster(self, cells: Floats) -> Floats:
        found: Floats = cells if len(cells) == self.n else np.add.reduceat(cells, self.start, axis=0)
        return found

    @property
    def effective(self) -> Floats:
        """Return G - 1 degrees of freedom, of systems of which one cluster holds much what the shares leave."""
        return np.where(self.most > MUCH, np.minimum(1 / self.squares, self.n - 1.0), self.n - 1.0)


class _Way(_Leverages):
    """One clustering on its way to adjusted residuals; cells are those of the clusters, sorted by cluster."""

    def __init__(self, own: Clustering, strength: Floats) -> None:
        cells = own.cells
        share = _share(strength, cells.x, cells.y)
        self.uneven = share * (1 - share)
        weight = cells.played * self.uneven
        super().__init__(cells.cluster, cells.x, cells.y, weight, n=cells.n_clusters, k=len(strength))
        self.size = np.bincount(cells.cluster, minlength=self.n)
        self.rest = cells.won - cells.played * share
        self.even = own.weight is None or not np.isnan(own.weight).any()
        each = np.ones(self.n) if own.weight is None or not self.even else own.weight
        self.each = each[cells.cluster]
        self.adjusted = False
        self.adjusted_rest = np.sqrt(self.n / (self.n - 1)) * self.rest
        self.met: dict[int, Floats] = {}  # by size: (clusters, pairs, pairs)
        self.along: dict[int, Floats] = {}
        self.alone: list[tuple[Ints, Floats]] = []  # cells of a cluster, and directions that it alone determines
        self.df = np.full(self.k, self.n - 1.0)

    def decide(self) -> None:
        """Take G - 1 degrees of freedom where no cluster has much to say; else adjust, or count by leverages."""
        if self.most.max() <= MUCH:
            return
        self.adjusted = self.even and float((self.size.astype(np.float64) ** 3).sum()) <= CELLS_WORK
        if not self.adjusted:
            self.df = self.effective

    def take(self, rows: slice, table: Floats) -> None:
        """Take in columns of the inverse: shares of leverage first; degrees of freedom once residuals are adjusted."""
        own, apart = table[rows].diagonal(), table[self.x]
        apart -= table[self.y]
        variance = self._by_cluster(self.weight[:, None] * apart**2)  # (clusters, rows)
        if self.adjusted:
            self.df[rows] = self._satterthwaite(own, apart, variance)
            return
        self._share(rows, variance / own)

    def _satterthwaite(self, own: Floats, apart: Floats, variance: Floats) -> Floats:
        lone = np.zeros(len(own))
        for cells, axes in self.alone:
            lone += ((axes.T @ apart[cells]) ** 2).sum(axis=0)
        along, fourth = np.zeros((2, len(own)))
        for size, _, cells in self.groups():
            z = apart[cells]  # (clusters, size, rows)
            part = ((self.along[size] @ z) * z).sum(axis=1) ** 2
            along += part.sum(axis=0)
            fourth += (part**2).sum(axis=0)
        between = np.maximum(along**2 - fourth, 0.0) / own**2
        total = variance.sum(axis=0)
        return np.where(lone > LONE * own, 0.0, total**2 / ((variance**2).sum(axis=0) + between))

    def groups(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield the sizes of clusters, which have it, and their cells, shape (clusters, size)."""
        for size in np.unique(self.size).tolist():
            own = np.flatnonzero(self.size == size)
            yield size, own, self.start[own][:, None] + np.arange(size)

    def adjust(self) -> None:
        """Adjust the residuals of clusters; keep what their degrees of freedom need."""
        found = np.zeros(len(self.rest))
        for size, _, cells in self.groups():
            each = self.each[cells[:, :1]]
            uneven = self.uneven[cells]
            played = self.weight[cells] / np.maximum(uneven, 1e-300) / each
            root = np.sqrt(played * uneven)
            table = -each[..., None] * (uneven * root)[..., None] * self.met[size] * (uneven * root)[:, None, :]
            place = np.arange(size)
            table[:, place, place] += uneven**2
            values, turn = np.linalg.eigh(table)
            sound = values > SOLE * values[:, -1:]
            factor = np.where(sound, 1 / np.sqrt(np.where(sound, values, 1.0)), 0.0)
            half = (turn * factor[:, None]) @ turn.swapaxes(1, 2)
            error = np.sqrt(uneven) * self.rest[cells] / each / np.sqrt(np.maximum(played, 1e-300))
            found[cells] = each * root * (half @ error[..., None])[..., 0]
            self.along[size] = (root * uneven)[..., None] * half * root[:, None, :] * each[..., None]
            for row in np.flatnonzero(~sound.all(axis=1)).tolist():
                axes = np.linalg.qr(uneven[row][:, None] * turn[row][:, ~sound[row]])[0]
                self.alone.append((cells[row], np.sqrt(each[row]) * root[row][:, None] * axes))
        self.met.clear()
        self.adjusted_rest = found

    def scores(self) -> csr_array:
        """Return the clusters' scores, sparse, shape (n, k)."""
        return _scores(self.cluster, self.x, self.y, self.adjusted_rest, self.n, self.k)


def _meet(inverse: Inverse, ways: Sequence[_Way]) -> None:
    """Find d' inverse d of every two pairs d of a cluster."""
    k, entries, sides = ways[0].k, [], []
    for way in ways:
        many = way.size[way.cluster]
        one = np.repeat(np.arange(len(way.x), dtype=np.int32), many)
        first = np.concatenate([[0], np.cumsum(many)[:-1]])
        two = np.repeat((way.start[way.cluster] - first).astype(np.int32), many) + np.arange(len(one), dtype=np.int32)
        entries.append((one, two, np.zeros(len(one))))
        for sign, end in ((1.0, way.x), (-1.0, way.y)):
            ends = end.astype(np.int32)[one]
            order = np.argsort(ends, kind="stable").astype(np.int32)
            sides.append((sign, end, order, np.searchsorted(ends[order], np.arange(k + 1))))
    for rows, table in _columns(inverse, k, AT_ONCE):
        for number, (sign, end, order, edges) in enumerate(sides):
            way, (one, two, values) = ways[number // 2], entries[number // 2]
            own = order[edges[rows.start] : edges[rows.stop]]
            row, cell = end[one[own]] - rows.start, two[own]
            values[own] += sign * (table[way.x[cell], row] - table[way.y[cell], row])
    for way, (one, _, values) in zip(ways, entries, strict=True):
        first = np.searchsorted(one, np.arange(len(way.x)))
        for size, _, cells in way.groups():
            way.met[size] = values[first[cells][..., None] + np.arange(size)]


def _columns(inverse: Inverse, k: int, step: int) -> Iterator[tuple[slice, Floats]]:
    """Yield some columns of the inverse at a time, shape (k, step)."""
    for start in range(0, k, step):
        own = np.arange(start, min(start + step, k))
        unit = np.zeros((k, len(own)))
        unit[own, own - start] = 1.0
        yield slice(start, start + len(own)), inverse(unit)


def _step(width: int) -> int:
    return max(1, min(AT_ONCE, HELD // max(width, 1)))


def _scores(cluster: Ints, x: Ints, y: Ints, rest: Floats, n: int, k: int) -> csr_array:
    place = (np.concatenate([cluster, cluster]), np.concatenate([x, y]))
    return csr_array((np.concatenate([rest, -rest]), place), shape=(n, k))


def _share(strength: Floats, x: Ints, y: Ints) -> Floats:
    with np.errstate(over="ignore"):
        share: Floats = 1 / (1 + np.exp(strength[y] - strength[x]))
    return share
