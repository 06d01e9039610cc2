"""Strengths of many systems, with intervals and ranks, from the pairs that were compared alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis.statistics.coding import Floats, Ints, fold
from analysis.statistics.reasons import Reason, why
from analysis.strengths.bounds import ROUNDING, t_quantile
from analysis.strengths.counting import CellCounts, Codes, PairCounts, count_cells, count_pairs
from analysis.strengths.existence import why_no_spread
from analysis.strengths.fit import fit_pairs
from analysis.strengths.sparse_sandwich import AT_ONCE, Clustering, SparseCovariance, over_both, sparse_covariance

Marks = npt.NDArray[np.bool_]

HALF = 0.5  # share of the systems with too few degrees of freedom from which clusters are made alike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManyStrengths:
    """Strengths of all systems with the reasons of those that have none; arrays as in ``StrengthBounds``, or none."""

    strength: Floats
    reasons: tuple[Reason | None, ...]
    wins: csr_array
    covariance: SparseCovariance | None = None
    columns: Floats | None = None  # se, df, low, high; shape (4, n_systems)
    ranks: Ints | None = None  # lowest and highest, shape (2, n_systems)
    differences: Differences | None = None
    no_interval: Reason | None = None
    alike: str | None = None
    two_way: Floats | None = None  # low and high over two clusterings at once, shape (2, n_systems)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Differences:
    """Tests of the differences of fitted strengths, made as they are asked for.

    A difference has the smaller degrees of freedom of the two strengths; p-values are adjusted for all by Šidák's
    bound.
    """

    strength: Floats
    covariance: SparseCovariance
    least_df: float
    kept: dict[int, Floats] = field(default_factory=dict)  # columns of the covariance

    @property
    def pairs(self) -> int:
        """How many differences there are."""
        return len(self.strength) * (len(self.strength) - 1) // 2

    @property
    def method(self) -> str:
        """Name what they are judged by."""
        return f"Šidák over {self.pairs} differences"

    def p_value(self, one: int, two: int) -> float:
        """Return the adjusted p-value of a difference; NaN where degrees of freedom are too few, 1 without spread."""
        df = self.covariance.df[[one, two]].min()
        if not df >= self.least_df:
            return float("nan")
        if one not in self.kept:
            self.kept[one] = self.covariance.columns(np.array([one]))[:, 0]
        variance = self.covariance.variance
        spread = variance[one] + variance[two] - 2 * self.kept[one][two]
        if not spread > ROUNDING * ROUNDING * variance[[one, two]].max():
            return 1.0
        t = abs(self.strength[one] - self.strength[two]) / np.sqrt(spread)
        tail = min(float(stdtr(df, -t) if np.isfinite(df) else ndtr(-t)), 0.5 - 1e-16)
        return float(-np.expm1(self.pairs * np.log1p(-2 * tail)))

    def ranks(self, confidence: float) -> Ints:
        """Return the best and worst rank of each system, all jointly; shape (2, k)."""
        k, df, variance = len(self.strength), self.covariance.df, self.covariance.variance
        above, below = np.zeros((2, k), dtype=np.int64)
        tail = -np.expm1(np.log(confidence) / max(self.pairs, 1)) / 2
        critical = np.where(np.isfinite(df), -stdtrit(np.where(np.isfinite(df), df, 1.0), tail), -ndtri(tail))
        judged = df >= self.least_df
        for start in range(0, k, AT_ONCE):
            own = np.arange(start, min(start + AT_ONCE, k))
            spread = variance[:, None] + variance[own] - 2 * self.covariance.columns(own)
            known = spread > ROUNDING * ROUNDING * np.maximum(variance[:, None], variance[own])
            gap = self.strength[:, None] - self.strength[own]
            bound = np.maximum(critical[:, None], critical[own]) * np.sqrt(np.where(known, spread, 1.0))
            known &= judged[:, None] & judged[own]
            above[own] = (known & (gap > bound)).sum(axis=0)
            below[own] = (known & (-gap > bound)).sum(axis=0)
        return np.stack([1 + above, k - below])


def estimate_many(
    x: Codes,
    y: Codes,
    won: Floats,
    names: Sequence[str],
    *,
    clusters: Mapping[str, Codes],
    weights: Floats | None,
    confidence: float,
    alike: str | None,
    least_df: float,
    second: tuple[str, Codes] | None = None,
) -> ManyStrengths:
    """Estimate what :func:`analysis.bradley_terry` does; no array has a row and a column a system.

    Parameters are those of :func:`analysis.bradley_terry`, coded. Intervals are those of
    :func:`analysis.strengths.sparse_sandwich.sparse_covariance`. Where more than half of the systems have fewer than
    ``least_df`` degrees of freedom and clusters of the first clustering differ in size, all are estimated again with
    these alike. With a ``second`` clustering, there are intervals over both it and the one of ``clusters``.
    """
    counts = count_pairs(x, y, won, len(names), weights)
    fit, wins = fit_pairs(counts, names), counts.wins
    strength, reasons, kept = fit.strength, fit.reasons, fit.fitted
    if not len(kept):
        return ManyStrengths(strength=strength, reasons=reasons, wins=wins)
    everything = {**clusters, **({} if second is None else {second[0]: second[1]})}
    rows = _Kept.of(x, y, won, weights, everything, [*clusters], kept, len(names))
    factor, counted = None, counts.among(kept)
    uneven = bool(clusters) and not alike_factor(rows.clusters[next(iter(clusters))], rows.weights)[1]
    found: SparseCovariance | None = None
    if alike is None:
        found = rows.covariance(counted, strength[kept], None, None)
        few = found is not None and float((found.df < least_df - ROUNDING).mean()) > HALF
        alike = next(iter(clusters)) if clusters and few and uneven else None
    if alike is not None:
        factor = alike_factor(rows.clusters[alike], rows.weights)[0]
        counted = rows.counted(factor)
        again = fit_pairs(counted, [names[place] for place in kept.tolist()])
        strength, listed = strength.copy(), list(reasons)
        strength[kept] = again.strength
        for place, reason in zip(kept.tolist(), again.reasons, strict=True):
            listed[place] = reason
        reasons = tuple(listed)
        if len(again.fitted) < len(kept):
            return ManyStrengths(strength=strength, reasons=reasons, wins=wins, alike=alike)
        found = rows.covariance(counted, strength[kept], factor, alike)
    unit = " and ".join(clusters) or "comparison"
    no_interval = why_no_spread(None if found is None else np.nan_to_num(found.se), unit)
    made = ManyStrengths(strength=strength, reasons=reasons, wins=wins, no_interval=no_interval, alike=alike)
    if found is None or no_interval is not None:
        return made
    both = None if second is None else rows.two_way(found, counted, strength[kept], factor, alike, second[0])
    return bounded(made, kept, found, confidence, least_df, unit, both)


def bounded(
    made: ManyStrengths,
    kept: Ints,
    covariance: SparseCovariance,
    confidence: float,
    least_df: float,
    unit: str,
    both: SparseCovariance | None = None,
) -> ManyStrengths:
    """Add intervals and ranks of the systems ``kept``, with ``both`` over two clusterings as well."""
    least, n = max(least_df - ROUNDING, ROUNDING), len(made.strength)
    columns, ranks = np.full((4, n), np.nan), np.zeros((2, n), dtype=np.int64)
    enough, half = _half(covariance, confidence, least)
    own = kept[enough]
    columns[:, own] = covariance.se[enough], covariance.df[enough], made.strength[own] - half, made.strength[own] + half
    two_way = None
    if both is not None:
        known, wide = _half(both, confidence, least)
        two_way, at = np.full((2, n), np.nan), kept[known]
        two_way[:, at] = made.strength[at] - wide, made.strength[at] + wide
    differences = Differences(strength=made.strength[kept], covariance=covariance, least_df=least)
    if all(meat.sign > 0 for meat in covariance.meats):
        ranks[:, own] = differences.ranks(confidence)[:, enough]
    return ManyStrengths(
        strength=made.strength,
        reasons=made.reasons,
        wins=made.wins,
        covariance=covariance,
        columns=columns,
        ranks=ranks,
        differences=differences,
        no_interval=None if enough.all() else why("few_degrees_of_freedom", unit=unit),
        alike=made.alike,
        two_way=two_way,
    )


def _half(found: SparseCovariance, confidence: float, least_df: float) -> tuple[Marks, Floats]:
    """Say which strengths have an interval, and how far it reaches to either side."""
    se = found.se
    enough = (found.df >= least_df) & np.isfinite(se)
    return enough, t_quantile(found.df[enough], confidence) * se[enough]


def alike_factor(of: Codes, weights: Floats | None) -> tuple[Floats, bool]:
    """Return what gives each cluster the same total weight and leaves the total as it is, one number a row.

    And whether they have it already.

    >>> alike_factor(np.array([0, 0, 0, 1]), None)[0].tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    total = np.bincount(of, weights=weights).astype(np.float64)
    own = total[total > 0]
    mean = own.mean() if len(own) else 1.0
    factor: Floats = np.divide(mean, total, out=np.ones(len(total)), where=total > 0)[of]
    return factor, bool(np.allclose(own, mean, rtol=1e-12))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """Rows between systems that have a strength, which are numbered anew."""

    x: Ints
    y: Ints
    won: Floats
    weights: Floats | None
    clusters: Mapping[str, Codes]
    used: Sequence[str]  # those of the interval
    k: int

    @staticmethod
    def of(
        x: Codes,
        y: Codes,
        won: Floats,
        weights: Floats | None,
        clusters: Mapping[str, Codes],
        used: Sequence[str],
        kept: Ints,
        n: int,
    ) -> _Kept:
        number = np.full(n, -1)
        number[kept] = np.arange(len(kept))
        own = (number[x] >= 0) & (number[y] >= 0)
        return _Kept(
            x=number[x][own],
            y=number[y][own],
            won=won[own],
            weights=None if weights is None else weights[own],
            clusters={name: of[own] for name, of in clusters.items()},
            used=used,
            k=len(kept),
        )

    def weighted(self, factor: Floats | None) -> Floats | None:
        """Return what each row counts."""
        if self.weights is None or factor is None:
            return self.weights if factor is None else factor
        return self.weights * factor

    def counted(self, factor: Floats | None) -> PairCounts:
        """Count the pairs."""
        return count_pairs(self.x, self.y, self.won, self.k, self.weighted(factor))

    def covariance(
        self, pairs: PairCounts, strength: Floats, factor: Floats | None, alike: str | None
    ) -> SparseCovariance | None:
        """Return the sandwich; ``None`` where a clustering has one cluster only."""
        ways = [self._way(name, factor, alike) for name in self.used]
        if any(way.cells.n_clusters < 2 for way in ways):
            return None
        return sparse_covariance(pairs, strength, ways, self._both(self.used, factor) if len(ways) == 2 else None)

    def two_way(
        self,
        found: SparseCovariance,
        pairs: PairCounts,
        strength: Floats,
        factor: Floats | None,
        alike: str | None,
        second: str,
    ) -> SparseCovariance | None:
        """Return the sandwich over a second clustering as well; ``None`` where it has one cluster only."""
        way = self._way(second, factor, alike)
        if way.cells.n_clusters < 2:
            return None
        return over_both(found, pairs, strength, way, self._both([*self.used, second], factor))

    def _way(self, name: str, factor: Floats | None, alike: str | None) -> Clustering:
        return Clustering(cells=self._cells(self.clusters[name], factor), weight=self._weight(name, factor, alike))

    def _both(self, names: Sequence[str], factor: Floats | None) -> CellCounts:
        folded = (fold(self.clusters[name].astype(np.int64, copy=False)).of for name in names)
        return self._cells(fold(*folded).of, factor)

    def _cells(self, of: Codes, factor: Floats | None) -> CellCounts:
        return count_cells(self.x, self.y, self.won, self.k, of, self.weighted(factor))

    def _weight(self, name: str, factor: Floats | None, alike: str | None) -> Floats | None:
        """Return what each row of a cluster counts; NaN where rows of one cluster differ."""
        if factor is None:
            return None
        folded = fold(self.clusters[name].astype(np.int64, copy=False))
        return np.full(len(folded), np.nan) if name != alike else factor[folded.first]
