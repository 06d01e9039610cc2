"""From comparisons to strengths with intervals and ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.statistics.t_tests import t_bound
from analysis.strengths.counting import Codes, WinCounts, count_cells, count_wins
from analysis.strengths.fit import fit_strengths
from analysis.strengths.ranks import RankIntervals, rank_intervals
from analysis.strengths.sandwich import Covariance, over_clusters, over_rows, over_two_clusterings

FEW_CLUSTERS = 6
ONE_CLUSTER = "one {} only: no spread to make an interval from"
NO_SPREAD = "no variation: every {} says the same, so there is no interval"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BradleyTerry:
    """Strengths of systems (natural log, mean zero over those that have one), with all that was estimated.

    Arrays run over ``systems``. Where a system has no strength, its numbers are NaN (ranks 0) and
    ``reasons`` says why; where there is no interval, ``no_interval`` does. ``covariance`` and
    ``p_differences`` (p-values of all differences, adjusted for all of them) are over the systems
    fitted, in their order.
    """

    systems: tuple[str, ...]
    strength: Floats
    se: Floats
    ci_low: Floats
    ci_high: Floats
    rank_low: Ints
    rank_high: Ints
    reasons: tuple[str | None, ...]
    confidence: float
    interval: str | None
    n_clusters: int | None
    df: float | None
    rank_method: str | None
    covariance: Floats | None
    regularisation: float | None
    p_differences: Floats | None = None
    no_interval: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Coded rows; ``clusters`` may be none (rows are independent), one or two."""

    x: Codes
    y: Codes
    won: Floats
    weights: Floats | None
    clusters: Mapping[str, Codes] = field(default_factory=dict)


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
) -> BradleyTerry:
    """Estimate Bradley-Terry strengths from comparisons, with sandwich intervals and rank intervals.

    P(i beats j) = 1 / (1 + exp(s_j - s_i)); intervals are s ± t(G - 1) · SE, or ± z · SE over rows.

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

    Returns
    -------
    BradleyTerry
        O(n) for counting, then O(G k² + k³), whatever n.

    Raises
    ------
    ValueError
        Rows that cannot be counted (:func:`analysis.strengths.counting.count_wins`), more than two clusterings.

    References
    ----------
    See :func:`fit_bradley_terry`, :mod:`analysis.strengths.sandwich` and :mod:`analysis.strengths.ranks`.

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
    counts = count_wins(rows.x, rows.y, rows.won, len(names), rows.weights)
    fit = fit_strengths(counts.wins, names, regularisation=regularisation)
    kept = fit.fitted
    clustering = " and ".join(rows.clusters) or "comparison"
    found = covariance = None
    no_interval = None
    if len(kept):
        if len(kept) < len(names):
            rows, counts = _restricted(rows, counts, kept)
        strength = fit.strength[kept]
        found = _covariance(rows, counts, strength, regularisation or 0.0)
        covariance = None if found is None else found.matrix
        if found is None:
            no_interval = ONE_CLUSTER.format(clustering)
        elif not found.se.any():
            no_interval, found, covariance = NO_SPREAD.format(clustering), None, None
    places = (
        None
        if found is None
        else rank_intervals(fit.strength[kept], found.matrix, df=found.df, confidence=confidence, rng=rng)
    )
    return _result(
        names, fit.strength, fit.reasons, kept, found, covariance, places, confidence, rows, no_interval, regularisation
    )


def _result(
    names: tuple[str, ...],
    strength: Floats,
    reasons: tuple[str | None, ...],
    kept: Ints,
    found: Covariance | None,
    covariance: Floats | None,
    places: RankIntervals | None,
    confidence: float,
    rows: _Rows,
    no_interval: str | None,
    regularisation: float | None,
) -> BradleyTerry:
    k = len(names)
    se, low, high = np.full(k, np.nan), np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    half = np.full(k, np.nan)
    if found is not None and places is not None:
        se[kept] = found.se
        bound = t_bound(found.df, confidence) if np.isfinite(found.df) else float(ndtri((1 + confidence) / 2))
        half = bound * se
        low[kept], high[kept] = places.low, places.high
    return BradleyTerry(
        systems=names,
        strength=strength,
        se=se,
        ci_low=strength - half,
        ci_high=strength + half,
        rank_low=low,
        rank_high=high,
        reasons=reasons,
        confidence=confidence,
        interval=None if found is None else interval_words(tuple(rows.clusters), regularisation),
        n_clusters=None if found is None else found.n_clusters,
        df=None if found is None else found.df,
        rank_method=None if places is None else places.method,
        covariance=covariance,
        p_differences=None if places is None else places.p_values,
        regularisation=regularisation,
        no_interval=no_interval,
        warnings=_warnings(found, tuple(rows.clusters)),
    )


def interval_words(clusters: Sequence[str], regularisation: float | None) -> str:
    """Name an interval.

    >>> interval_words(("annotator",), None)
    'clustered by annotator'
    """
    made = f"clustered by {' and '.join(clusters)}" if clusters else "over rows"
    return made if regularisation is None else f"{made}, of regularised strengths"


def _covariance(rows: _Rows, counts: WinCounts, strength: Floats, pseudo: float) -> Covariance | None:
    """Return the sandwich; ``None`` where a clustering has one cluster only."""
    k = len(strength)
    cells = [count_cells(rows.x, rows.y, rows.won, k, of, rows.weights) for of in rows.clusters.values()]
    if any(own.n_clusters < 2 for own in cells):
        return None
    if not cells:
        return over_rows(counts, strength, pseudo)
    if len(cells) == 1:
        return over_clusters(cells[0], counts, strength, pseudo)
    combined = fold(*(fold(of.astype(np.int64, copy=False)).of for of in rows.clusters.values())).of
    both = count_cells(rows.x, rows.y, rows.won, k, combined, rows.weights)
    return over_two_clusterings(cells[0], cells[1], both, counts, strength, pseudo)


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
        ),
        WinCounts(wins=counts.wins[place], squares=counts.squares[place]),
    )


def _warnings(found: Covariance | None, clusters: Sequence[str]) -> tuple[str, ...]:
    if found is None or found.n_clusters is None:
        return ()
    lines = []
    if found.n_clusters < FEW_CLUSTERS:
        lines.append(f"only {found.n_clusters} clusters ({' or '.join(clusters)}): intervals may be far too narrow")
    if found.mended:
        lines.append("the two-way covariance was not positive; its negative part was set to zero")
    return tuple(lines)


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
