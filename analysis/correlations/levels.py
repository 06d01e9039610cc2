"""On which level two measures agree: single outputs, systems, systems within an item, items within a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from analysis.correlations.coefficients import (
    FEWEST,
    METHODS,
    Method,
    correlate_series,
    prepare,
    round_significant,
)
from analysis.correlations.intervals import CorrelationInterval, correlation_interval
from analysis.statistics.checks import check_one_of
from analysis.statistics.coding import Floats, Ints, at_target, fold, scale_of
from analysis.statistics.reasons import Reason, why
from analysis.statistics.t_tests import exact_mean, one_sample

Level = Literal["overall", "system", "per_item", "within_system"]
LEVELS: tuple[Level, ...] = get_args(Level)
POOLED = ("overall", "system")  # levels on which all scores are correlated at once
BY_SIGNS = 128  # values a row up to which sign products beat sorting
AT_ONCE = 2**18  # signs that are held in one array
NOISE = 1e-13  # a sum smaller than this share of its terms is 0 in exact arithmetic
SHARED_ITEMS = why("shared_items")
OVER_ITEMS = "t over items"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCorrelation:
    """A coefficient on one level.

    ``n`` counts what was correlated (outputs, systems) or averaged over (items, systems);
    ``n_undefined`` those left out of an average because one side is constant there. Without an interval there is a
    ``reason``, unless the value has none already.
    """

    level: Level
    method: Method
    value: float | None
    p_value: float | None
    n: int
    n_undefined: int = 0
    ci_low: float | None = None
    ci_high: float | None = None
    interval: str | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedScores:
    """Scores of two measures for the same outputs; ``item`` and ``system`` number what each output is."""

    item: Ints
    system: Ints
    a: Floats
    b: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowCorrelations:
    """One coefficient a row, NaN where a row holds fewer than two values in common or one side is constant."""

    kendall: Floats
    spearman: Floats
    pearson: Floats


def correlate_levels(
    paired: PairedScores, levels: tuple[Level, ...] = LEVELS, *, confidence: float = 0.95
) -> list[LevelCorrelation]:
    """Correlate two measures on every level by every method.

    * overall: all outputs pooled; the p-value takes outputs as independent, as the published
      studies do, although those of one system or item are not.
    * system: the systems' means over the outputs that both measures scored.
    * per_item: the correlation over systems within each item, averaged over items; undefined ones
      are left out and counted. p: one-sample t over items, so it holds for these systems.
    * within_system: the correlation over items within each system, averaged over systems. No test.

    Parameters
    ----------
    paired : PairedScores
        One value an output on both sides.
    levels : tuple of str
        Which levels.
    confidence : float
        Of the intervals: on the scale of Fisher's z (:func:`correlation_interval`), for ``per_item`` by t over
        items, for ``within_system`` none. Like the p-values they take outputs (items, systems) as independent.

    Returns
    -------
    list of LevelCorrelation
        One row a level and method.

    References
    ----------
    Chhun, C., Suchanek, F. M. and Clavel, C. (2024). Do language models enjoy their own stories?
    TACL 12, section 3 (overall, system).
    Deutsch, D., Foster, G. and Freitag, M. (2023). Ties matter: meta-evaluating modern metrics with
    pairwise accuracy and tie calibration. EMNLP, section 3 (group-by-item, group-by-system).
    """
    return correlate_all([paired], levels, confidence=confidence)[0]


def correlate_all(
    several: Sequence[PairedScores], levels: tuple[Level, ...] = LEVELS, *, confidence: float = 0.95
) -> list[list[LevelCorrelation]]:
    """Do :func:`correlate_levels` for each of several pairs of measures, the rows of all in one table."""
    for level in levels:
        check_one_of("level", level, LEVELS)
    found: list[list[LevelCorrelation]] = [[] for _ in several]
    for level in levels:
        if level in POOLED:
            for own, rows in zip(several, found, strict=True):
                a, b = own.a, own.b
                if level == "system":
                    a, b = group_means(own.system, a), group_means(own.system, b)
                rows += _pooled(level, a, b, confidence)
            continue
        of, each = _row_by_row(several, level)
        ends = np.searchsorted(of, np.arange(len(several) + 1)).tolist()
        for rows, start, end in zip(found, ends, ends[1:], strict=False):
            rows += _averaged(level, {method: getattr(each, method)[start:end] for method in METHODS}, confidence)
    return found


def group_means(of: Ints, values: Floats) -> Floats:
    """Average the values of each group that occurs; what is 0 in exact arithmetic becomes 0.

    >>> group_means(np.array([0, 0, 0, 5]), np.array([0.1, 0.2, -0.3, 4.0])).tolist()
    [0.0, 4.0]
    """
    counts = np.bincount(of)
    there = counts > 0
    means: Floats = clean_sums(add_up(of, values), add_up(of, np.abs(values)))[there] / counts[there]
    return means


def add_up(of: Ints, values: Floats, n: int = 0) -> Floats:
    """Sum the values of each number in ``of``."""
    sums: Floats = np.bincount(of, weights=values, minlength=n).astype(np.float64)
    return sums


def clean_sums(sums: Floats, sizes: Floats) -> Floats:
    """Set sums to 0 that are rounding noise of their terms, whose absolute values add up to ``sizes``."""
    cleaned: Floats = np.where(np.abs(sums) <= NOISE * sizes, 0.0, sums)
    return cleaned


def correlate_rows(a: npt.ArrayLike, b: npt.ArrayLike) -> RowCorrelations:
    """Correlate each row of ``a`` with the same row of ``b``.

    With s_ij = sign(x_i - x_j) in one row: tau-b is Σ s_ij(a) s_ij(b) over the root of the counts of
    untied pairs, and Σ_j s_ij is twice the centred average rank of i, which gives Spearman's rho.
    Wide rows are sorted instead.

    Parameters
    ----------
    a, b : array_like of float, shape (n_rows, n_columns)
        NaN is missing; a place counts where both sides have a value.

    Returns
    -------
    RowCorrelations
        Arrays of shape (n_rows,). O(n_rows · n_columns²) simple operations up to 128 columns.

    >>> correlate_rows([[1, 2, 3], [1, 1, 1]], [[1, 3, 2], [1, 2, 3]]).kendall.round(3).tolist()
    [0.333, nan]
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 2 or first.shape != second.shape:
        raise ValueError(f"expected two tables of the same shape, got {first.shape} and {second.shape}")
    both = np.isfinite(first) & np.isfinite(second)
    first, second = (np.where(both, round_significant(side), np.nan) for side in (first, second))
    if first.shape[1] > BY_SIGNS:
        return _rows_sorted(first, second, both)
    return _rows_by_signs(first, second, both)


def _rows_by_signs(a: Floats, b: Floats, both: npt.NDArray[np.bool_]) -> RowCorrelations:
    x, y = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    counted = _count_at_once(x, y) if x.size * len(x) <= AT_ONCE else _count_in_steps(x, y)
    defined = (counted.untied_x > 0) & (counted.untied_y > 0)
    untied = np.sqrt(counted.untied_x.astype(np.float64)) * np.sqrt(counted.untied_y.astype(np.float64))
    return RowCorrelations(
        kendall=_ratio(counted.agreement.astype(np.float64), untied, defined),
        spearman=_moments(counted.rank_x.astype(np.float64), counted.rank_y.astype(np.float64), defined),
        pearson=_moments(_centred(x, both), _centred(y, both), defined),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Signs:
    """Sums over pairs of columns, one a row, and twice the centred ranks (columns x rows)."""

    agreement: npt.NDArray[np.integer]
    untied_x: npt.NDArray[np.integer]
    untied_y: npt.NDArray[np.integer]
    rank_x: npt.NDArray[np.integer]
    rank_y: npt.NDArray[np.integer]


def _count_at_once(x: Floats, y: Floats) -> _Signs:
    """Take all ordered pairs in one array; every sum but the ranks is doubled, which no ratio shows."""
    width, n_rows = x.shape
    one: tuple[slice | None, ...]
    other: tuple[slice | None, ...]
    if n_rows < width:  # the longer of the two runs innermost
        one, other = (slice(None), slice(None), None), (slice(None), None, slice(None))
        pairs, x, y = (1, 2), np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
    else:
        one, other, pairs = (slice(None), None), (None, slice(None)), (0, 1)
    signs_x, signs_y = (sign_of(side[one], side[other]) for side in (x, y))
    ranks = [signs.sum(axis=pairs[1], dtype=np.int32) for signs in (signs_x, signs_y)]
    return _Signs(
        agreement=(signs_x * signs_y).sum(axis=pairs, dtype=np.int32),
        untied_x=(signs_x != 0).sum(axis=pairs, dtype=np.int32),
        untied_y=(signs_y != 0).sum(axis=pairs, dtype=np.int32),
        rank_x=ranks[0].T if n_rows < width else ranks[0],
        rank_y=ranks[1].T if n_rows < width else ranks[1],
    )


def _count_in_steps(x: Floats, y: Floats) -> _Signs:
    """Compare one column with those after it at a time, so that the signs stay in the cache."""
    width, n_rows = x.shape
    agreement, untied_x, untied_y = (np.zeros(n_rows, dtype=np.int32) for _ in range(3))
    rank_x, rank_y = (np.zeros((width, n_rows), dtype=np.int32) for _ in range(2))
    for i in range(width - 1):
        signs_x, signs_y = sign_of(x[i + 1 :], x[i]), sign_of(y[i + 1 :], y[i])
        agreement += (signs_x * signs_y).sum(axis=0, dtype=np.int16)
        untied_x += (signs_x != 0).sum(axis=0, dtype=np.int16)
        untied_y += (signs_y != 0).sum(axis=0, dtype=np.int16)
        for rank, signs in ((rank_x, signs_x), (rank_y, signs_y)):
            rank[i + 1 :] += signs
            rank[i] -= signs.sum(axis=0, dtype=np.int16)
    return _Signs(agreement=agreement, untied_x=untied_x, untied_y=untied_y, rank_x=rank_x, rank_y=rank_y)


def sign_of(one: Floats, other: Floats) -> npt.NDArray[np.int8]:
    """Return 1 where ``one`` is higher, -1 where it is lower, 0 for a tie and beside a gap (NaN)."""
    signs: npt.NDArray[np.int8] = (one > other).view(np.int8) - (one < other).view(np.int8)
    return signs


def _centred(values: Floats, both: npt.NDArray[np.bool_]) -> Floats:
    there = both.T
    filled = np.where(there, values, 0.0)
    largest = np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    filled = filled / largest  # so that squares neither overflow nor vanish
    mean = filled.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    centred: Floats = np.where(there, filled - mean, 0.0)
    return centred


def _moments(x: Floats, y: Floats, defined: npt.NDArray[np.bool_]) -> Floats:
    norm = np.sqrt((x * x).sum(axis=0)) * np.sqrt((y * y).sum(axis=0))
    return _ratio((x * y).sum(axis=0), norm, defined)


def _ratio(above: Floats, below: Floats, defined: npt.NDArray[np.bool_]) -> Floats:
    shares = np.full(len(above), np.nan)
    np.divide(above, below, out=shares, where=defined)
    clipped: Floats = np.clip(shares, -1.0, 1.0)
    return clipped


def _rows_sorted(a: Floats, b: Floats, both: npt.NDArray[np.bool_]) -> RowCorrelations:
    found = {method: np.full(len(a), np.nan) for method in METHODS}
    for row, there in enumerate(both):
        x, y = prepare(a[row][there]), prepare(b[row][there])
        if len(x) == 2 and len(x.counts) == len(y.counts) == 2:
            same = float(np.sign(x.values[1] - x.values[0]) * np.sign(y.values[1] - y.values[0]))
            for values in found.values():
                values[row] = same
        elif x.reason is None and y.reason is None:
            for method, values in found.items():
                values[row] = correlate_series(x, y, method).value
    return RowCorrelations(**found)


def correlate_each(
    several: Sequence[PairedScores], levels: tuple[Level, ...] = LEVELS
) -> dict[tuple[Level, Method], Floats]:
    """Correlate each of several pairs of measures, all at once: the values of :func:`correlate_levels` alone.

    Parameters
    ----------
    several : sequence of PairedScores
        At least one.
    levels : tuple of str
        Which levels.

    Returns
    -------
    dict of (level, method) to array of float, shape (len(several),)
        NaN where there is no value.
    """
    found: dict[tuple[Level, Method], Floats] = {}
    for level in levels:
        of, each = _row_by_row(several, level)
        for method in METHODS:
            own = getattr(each, method)
            there = ~np.isnan(own)
            counts = np.bincount(of[there], minlength=len(several))
            sums = add_up(of[there], own[there], len(several))
            found[level, method] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return found


def _row_by_row(several: Sequence[PairedScores], level: Level) -> tuple[Ints, RowCorrelations]:
    """Correlate row by row what stands in one row on a level; of each row the number of its pair of measures."""
    part = np.repeat(np.arange(len(several)), [len(own.a) for own in several])
    item, system = (np.concatenate([getattr(own, name) for own in several]) for name in ("item", "system"))
    a, b = (np.concatenate([getattr(own, name) for own in several]) for name in ("a", "b"))
    row, column = part, item
    if level == "overall":
        column = fold(item, system).of
    elif level == "system":
        cells = fold(part, system)
        row, column = part[cells.first], system[cells.first]
        a, b = group_means(cells.of, a), group_means(cells.of, b)
    elif level == "per_item":
        row, column = fold(part, item).of, system
    else:
        row = fold(part, system).of
    kept = np.bincount(row)[row] >= (FEWEST if level in POOLED else 2)
    of = (row if level in POOLED else part)[kept][np.unique(row[kept], return_index=True)[1]]
    return of, correlate_rows(*grids(row[kept], column[kept], a[kept], b[kept]))


def coefficients_by_row(paired: PairedScores, level: Level, method: Method) -> Floats:
    """Return the coefficient of each item or system, NaN where it is not defined."""
    found: Floats = getattr(_row_by_row([paired], level)[1], method)
    return found


def _pooled(level: Level, a: Floats, b: Floats, confidence: float) -> list[LevelCorrelation]:
    first, second = prepare(a), prepare(b)
    rows = []
    for method in METHODS:
        row = correlate_series(first, second, method)
        bounds = CorrelationInterval()
        if row.value is not None:
            bounds = correlation_interval(first, second, row.value, method, confidence=confidence)
        rows.append(
            LevelCorrelation(
                level=level,
                method=method,
                value=row.value,
                p_value=row.p_value,
                n=row.n,
                ci_low=bounds.low,
                ci_high=bounds.high,
                interval=bounds.interval,
                reason=row.reason or bounds.reason,
            )
        )
    return rows


def grids(row: Ints, column: Ints, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Lay the outputs out as a table, those of a row from its left; every row has two or more."""
    order = np.lexsort((column, row))
    sizes = np.bincount(row)
    sizes = sizes[sizes > 0]
    rows = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tables = np.full((2, len(sizes), sizes.max(initial=0)), np.nan)
    tables[:, rows, columns] = a[order], b[order]
    return tables[0], tables[1]


def _averaged(level: Level, by_method: Mapping[Method, Floats], confidence: float) -> list[LevelCorrelation]:
    rows = []
    for method in METHODS:
        values = by_method[method]
        defined = values[~np.isnan(values)]
        row = LevelCorrelation(
            level=level, method=method, value=None, p_value=None, n=len(defined), n_undefined=len(values) - len(defined)
        )
        if not len(defined):
            names = ("item", "systems") if level == "per_item" else ("system", "items")
            rows.append(replace(row, reason=why("nowhere_defined", row=names[0], entries=names[1])))
            continue
        if level == "within_system":
            mean = at_target(exact_mean(defined.tolist()), 0.0, scale=scale_of(defined))
            rows.append(replace(row, value=mean, reason=SHARED_ITEMS))
            continue
        test = one_sample(defined, against=0.0, confidence=confidence)
        row = replace(row, value=test.mean, p_value=test.p_value, reason=test.reason)
        if test.ci_low is not None and test.ci_high is not None:
            row = replace(row, ci_low=max(test.ci_low, -1.0), ci_high=min(test.ci_high, 1.0), interval=OVER_ITEMS)
        rows.append(row)
    return rows
