"""From comparisons to strengths with intervals and ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.statistics.rank_orders import STRENGTH_TIE
from analysis.statistics.reasons import Reason
from analysis.strengths.bounds import ROUNDING, strength_bounds
from analysis.strengths.counting import Codes, WinCounts, count_cells, count_wins
from analysis.strengths.existence import why_no_spread
from analysis.strengths.fit import DENSE, fit_strengths
from analysis.strengths.many_systems import Differences, ManyStrengths, alike_factor, estimate_many
from analysis.strengths.sandwich import Covariance, over_clusters, over_rows, over_two_clusterings
from analysis.strengths.sweeps import Levels, levels_of

NOT_POSITIVE = "the two-way covariance was not positive; its negative part was set to zero"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BradleyTerry:
    """Strengths of systems (natural log, mean zero over those that have one), with all that was estimated.

    Arrays run over ``systems``. Where a system has no strength, its numbers are NaN (ranks 0) and
    ``reasons`` says why; where there is no interval (NaN), ``no_interval`` does. ``df`` are each strength's degrees of
    freedom, infinite over rows. ``covariance``, ``df_differences`` (degrees of freedom) and ``p_differences``
    (p-values of all differences, adjusted for all of them; NaN with too few degrees of freedom) are over the systems
    fitted, in their order; above 300 systems they are ``None``, and ``differences`` makes the tests that are asked for.
    ``alike`` names the clusters that count alike, each with the same total weight, because
    their answers as they are left too few degrees of freedom; ``None``: every answer counts alike.
    """

    systems: tuple[str, ...]
    strength: Floats
    se: Floats
    ci_low: Floats
    ci_high: Floats
    rank_low: Ints
    rank_high: Ints
    reasons: tuple[Reason | None, ...]
    confidence: float
    interval: str | None
    n_clusters: int | None
    df: Floats
    rank_method: str | None
    covariance: Floats | None
    regularisation: float | None
    df_differences: Floats | None = None
    p_differences: Floats | None = None
    differences: Differences | None = None
    alike: str | None = None
    no_interval: Reason | None = None
    warnings: tuple[str, ...] = ()
    levels: Levels

    def p_difference(self, one: int, two: int) -> float:
        """Return the adjusted p-value of the difference of two fitted systems, by their numbers among the fitted.

        NaN where there is none.
        """
        if self.differences is not None:
            return self.differences.p_value(one, two)
        return float("nan") if self.p_differences is None else float(self.p_differences[one, two])

    @property
    def order(self) -> tuple[tuple[str, ...], ...]:
        """Systems whose place is known, best first, tied ones together; also those at no finite distance."""
        return self.levels.order(self.systems, tie=STRENGTH_TIE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Coded rows; ``clusters`` may be none (rows are independent), one or two.

    ``weights`` are frequencies; ``factor`` multiplies them where the clusters ``alike`` have one total weight each.
    """

    x: Codes
    y: Codes
    won: Floats
    weights: Floats | None
    clusters: Mapping[str, Codes] = field(default_factory=dict)
    factor: Floats | None = None
    alike: str | None = None

    @property
    def weighted(self) -> Floats | None:
        """What each row counts."""
        if self.weights is None or self.factor is None:
            return self.weights if self.factor is None else self.factor
        return self.weights * self.factor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FittedStrengths:
    """Strengths of all systems with the reasons of those that have none, and the covariance of the others."""

    strength: Floats
    reasons: tuple[Reason | None, ...]
    wins: Floats
    found: Covariance | None = None
    no_interval: Reason | None = None
    even: bool = True  # the clusters of the first clustering have the same total weight


def bradley_terry(
    system_x: Any,
    system_y: Any,
    won: Any,
    *,
    systems: Sequence[str] | None = None,
    clusters: Mapping[str, Any] | None = None,
    weights: Any = None,
    regularisation: float | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
    alike: str | None = None,
    least_df: float | None = None,
) -> BradleyTerry:
    """Estimate Bradley-Terry strengths from comparisons, with sandwich intervals and rank intervals.

    P(i beats j) = 1 / (1 + exp(s_j - s_i)); intervals are s ± t · SE with CR2 and Satterthwaite's degrees of freedom
    of each strength, or ± z · SE over rows.

    Parameters
    ----------
    system_x, system_y : sequence or array, shape (n,)
        Ids of the systems compared (lists, pandas or polars columns), or whole numbers into ``systems``.
    won : sequence or array of float, shape (n,)
        What x won: 1, 0, 0.5 for a tie, or any preference probability.
    systems : sequence of str, optional
        All systems in the order of the result. Needed for whole numbers; ids default to their first appearance.
    clusters : mapping of str to sequence, optional
        What answers hang together by, e.g. ``{"annotator": ...}`` or ``{"annotator": ..., "item": ...}``:
        the sandwich is then robust to one clustering or to both. Without it rows count as independent.
    weights : sequence of float, shape (n,), optional
        Frequency weights: doubling them is having every row twice (in its cluster).
    regularisation : float, optional
        Wins added to both directions of every pair. Intervals are then those of the regularised strengths.
    confidence : float
        Level of the intervals; of the rank intervals jointly.
    rng : numpy.random.Generator, optional
        For rank intervals by simulation; without it they use Šidák's bound.
    alike : str, optional
        A clustering whose clusters have the same total weight each, however many answers they gave.
    least_df : float, optional
        Where some strength has fewer degrees of freedom, all are estimated again with the clusters of the first
        clustering alike; a strength that still has fewer is without an interval. The report takes ``LEAST_DF``, 4.

    Returns
    -------
    BradleyTerry
        O(n) for counting, then what :mod:`analysis.strengths.sandwich` says of G clusters, whatever n; above 300
        systems (without regularisation) what :mod:`analysis.strengths.sparse_sandwich` says of the pairs compared.

    Raises
    ------
    ValueError
        Rows that cannot be counted (:func:`analysis.strengths.counting.count_wins`), more than two clusterings.

    References
    ----------
    See :func:`fit_bradley_terry`, :mod:`analysis.strengths.sandwich` and :mod:`analysis.strengths.bounds`.

    >>> found = bradley_terry(["a"] * 4, ["b"] * 4, [1, 1, 1, 0])
    >>> found.strength.round(4).tolist(), found.se.round(4).tolist()
    ([0.5493, -0.5493], [0.5774, 0.5774])
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    if clusters is not None and len(clusters) > 2:
        raise ValueError(f"expected at most two clusterings, got {', '.join(clusters)}")
    names, x, y = _coded(system_x, system_y, systems)
    rows = _Rows(
        x=x,
        y=y,
        won=np.asarray(won, dtype=np.float64),
        weights=None if weights is None else np.asarray(weights, dtype=np.float64),
        clusters={name: _numbers(ids) for name, ids in (clusters or {}).items()},
    )
    if len(names) > DENSE and regularisation is None:
        many = estimate_many(
            x,
            y,
            rows.won,
            names,
            clusters=rows.clusters,
            weights=rows.weights,
            confidence=confidence,
            alike=alike,
            least_df=least_df or 0.0,
        )
        return of_many(names, many, tuple(rows.clusters), confidence)
    return _of_few(
        names, rows, regularisation=regularisation, confidence=confidence, rng=rng, alike=alike, least_df=least_df
    )


def _of_few(
    names: tuple[str, ...],
    rows: _Rows,
    *,
    regularisation: float | None,
    confidence: float,
    rng: np.random.Generator | None,
    alike: str | None,
    least_df: float | None,
) -> BradleyTerry:
    """Do what :func:`bradley_terry` does, by the dense sandwich."""
    made = _estimate(names, replace(rows, alike=alike), regularisation)
    if least_df is not None and alike is None and rows.clusters and made.found is not None and not made.even:
        if made.found.df.min() < least_df - ROUNDING:
            alike = next(iter(rows.clusters))
            made = _estimate(names, replace(rows, alike=alike), regularisation)
    nothing, none = np.full(len(names), np.nan), np.zeros(len(names), dtype=np.int64)
    found, bounds = made.found, None
    if found is not None:
        bounds = strength_bounds(
            made.strength,
            np.flatnonzero(np.isfinite(made.strength)),
            found.matrix,
            found.df,
            found.df_differences,
            confidence=confidence,
            rng=rng,
            least_df=least_df or 0.0,
            unit=" and ".join(rows.clusters),
        )
    return BradleyTerry(
        systems=names,
        strength=made.strength,
        se=nothing if bounds is None else bounds.se,
        ci_low=nothing if bounds is None else bounds.low,
        ci_high=nothing if bounds is None else bounds.high,
        rank_low=none if bounds is None else bounds.rank_low,
        rank_high=none if bounds is None else bounds.rank_high,
        reasons=made.reasons,
        confidence=confidence,
        interval=None
        if bounds is None or not np.isfinite(bounds.low).any()
        else interval_words(tuple(rows.clusters), regularisation),
        n_clusters=None if found is None else found.n_clusters,
        df=nothing if bounds is None else bounds.df,
        rank_method=None if bounds is None else bounds.places.method,
        covariance=None if found is None else found.matrix,
        regularisation=regularisation,
        df_differences=None if found is None else found.df_differences,
        p_differences=None if bounds is None else bounds.places.p_values,
        alike=alike,
        no_interval=made.no_interval if bounds is None else bounds.no_interval,
        warnings=(NOT_POSITIVE,) if found is not None and found.mended else (),
        levels=levels_of(made.wins, made.strength),
    )


def of_many(names: tuple[str, ...], many: ManyStrengths, clusters: Sequence[str], confidence: float) -> BradleyTerry:
    """Return what :func:`bradley_terry` does, from the estimates of many systems."""
    nothing, none = np.full((4, len(names)), np.nan), np.zeros((2, len(names)), dtype=np.int64)
    se, df, low, high = nothing if many.columns is None else many.columns
    ranks = none if many.ranks is None else many.ranks
    found = many.covariance
    words = None
    if found is not None and np.isfinite(low).any():
        words = interval_words(clusters, None, adjusted=found.adjusted)
    return BradleyTerry(
        systems=names,
        strength=many.strength,
        se=se,
        ci_low=low,
        ci_high=high,
        rank_low=ranks[0],
        rank_high=ranks[1],
        reasons=many.reasons,
        confidence=confidence,
        interval=words,
        n_clusters=None if found is None else found.n_clusters,
        df=df,
        rank_method=None if many.differences is None else many.differences.method,
        covariance=None,
        regularisation=None,
        differences=many.differences,
        alike=many.alike,
        no_interval=many.no_interval,
        levels=levels_of(many.wins, many.strength),
    )


def interval_words(clusters: Sequence[str], regularisation: float | None, *, adjusted: bool = True) -> str:
    """Name an interval; ``adjusted``: its residuals are.

    >>> interval_words(("annotator",), None)
    'clustered by annotator (CR2)'
    """
    made = f"clustered by {' and '.join(clusters)} ({'CR2' if adjusted else 'CR1'})" if clusters else "over rows"
    return made if regularisation is None else f"{made}, of regularised strengths"


def _estimate(names: tuple[str, ...], rows: _Rows, regularisation: float | None) -> _FittedStrengths:
    """Fit all systems that can be fitted, with the clusters ``rows.alike`` alike, and their covariance."""
    counts = count_wins(rows.x, rows.y, rows.won, len(names), rows.weights)
    fit, wins = fit_strengths(counts.wins, names, regularisation=regularisation), counts.wins
    kept = fit.fitted
    if not len(kept):
        return _FittedStrengths(strength=fit.strength, reasons=fit.reasons, wins=wins)
    if len(kept) < len(names):
        rows, counts = _restricted(rows, counts, kept)
    strength, reasons = fit.strength, fit.reasons
    if rows.alike is not None:
        rows = replace(rows, factor=alike_factor(rows.clusters[rows.alike], rows.weights)[0])
        counts = count_wins(rows.x, rows.y, rows.won, len(kept), rows.weighted)
        again = fit_strengths(counts.wins, [names[place] for place in kept.tolist()], regularisation=regularisation)
        strength, listed = strength.copy(), list(reasons)
        strength[kept] = again.strength
        for place, reason in zip(kept.tolist(), again.reasons, strict=True):
            listed[place] = reason
        reasons = tuple(listed)
        if len(again.fitted) < len(kept):
            return _FittedStrengths(strength=strength, reasons=reasons, wins=wins)
    clustering = " and ".join(rows.clusters) or "comparison"
    found = _covariance(rows, counts, strength[kept], regularisation or 0.0)
    even = not rows.clusters or alike_factor(next(iter(rows.clusters.values())), rows.weights)[1]
    no_interval = why_no_spread(None if found is None else found.se, clustering)
    return _FittedStrengths(
        strength=strength,
        reasons=reasons,
        wins=wins,
        found=None if no_interval else found,
        no_interval=no_interval,
        even=even,
    )


def _covariance(rows: _Rows, counts: WinCounts, strength: Floats, pseudo: float) -> Covariance | None:
    """Return the sandwich; ``None`` where a clustering has one cluster only."""
    k = len(strength)
    cells = [count_cells(rows.x, rows.y, rows.won, k, of, rows.weighted) for of in rows.clusters.values()]
    if any(own.n_clusters < 2 for own in cells):
        return None
    if not cells:
        return over_rows(counts, strength, pseudo)
    weights = [_weight_of(rows, name, of) for name, of in rows.clusters.items()]
    if len(cells) == 1:
        return over_clusters(cells[0], counts, strength, pseudo, weight=weights[0])
    combined = fold(*(fold(of.astype(np.int64, copy=False)).of for of in rows.clusters.values())).of
    both = count_cells(rows.x, rows.y, rows.won, k, combined, rows.weighted)
    return over_two_clusterings(cells[0], cells[1], both, counts, strength, pseudo, weights=(weights[0], weights[1]))


def _weight_of(rows: _Rows, name: str, of: Codes) -> Floats | None:
    """Return what each row of a cluster counts; NaN where rows of one cluster differ."""
    if rows.factor is None:
        return None
    clusters = fold(of.astype(np.int64, copy=False))
    return np.full(len(clusters), np.nan) if name != rows.alike else rows.factor[clusters.first]


def _restricted(rows: _Rows, counts: WinCounts, kept: Ints) -> tuple[_Rows, WinCounts]:
    """Keep the rows between systems that have a strength, and number these anew."""
    number = np.full(len(counts.wins), -1)
    number[kept] = np.arange(len(kept))
    x, y = number[rows.x], number[rows.y]
    own = (x >= 0) & (y >= 0)
    place = np.ix_(kept, kept)
    return (
        _Rows(
            x=x[own],
            y=y[own],
            won=rows.won[own],
            weights=None if rows.weights is None else rows.weights[own],
            clusters={name: of[own] for name, of in rows.clusters.items()},
            alike=rows.alike,
        ),
        WinCounts(wins=counts.wins[place], squares=counts.squares[place]),
    )


def _coded(system_x: Any, system_y: Any, systems: Sequence[str] | None) -> tuple[tuple[str, ...], Codes, Codes]:
    x, y = np.asarray(system_x), np.asarray(system_y)
    if x.dtype.kind in "iu" and y.dtype.kind in "iu" and systems is not None:
        return tuple(systems), x, y
    ids = code(pl.concat([_series(x), _series(y)]), systems or ())
    if systems is not None and len(ids) > len(systems):
        raise ValueError(f"systems not listed: {', '.join(ids.ids[len(systems) :])}")
    return ids.ids, ids.of[: len(x)], ids.of[len(x) :]


def _numbers(ids: Any) -> Codes:
    array = np.asarray(ids)
    return array if array.dtype.kind in "iu" else code(_series(array)).of


def _series(ids: np.ndarray[Any, Any]) -> pl.Series:
    listed = ids.tolist()
    if any(value is None or value != value for value in listed):
        raise ValueError("ids must not be missing; drop these rows first")
    return pl.Series([str(value) for value in listed], dtype=pl.String)
