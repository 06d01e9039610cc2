"""Means of systems with intervals over annotators and items at once: both are drawn anew, crossed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from analysis.statistics.coding import Codes, Floats, Ints, code, fold
from analysis.statistics.reasons import Reason, why

AT_ONCE = 1 << 20  # weights of annotators and items that are held at once
UNDEFINED = 0.05  # share of replicates without a mean that an interval bears
METHOD = "percentiles, annotators and items drawn anew, crossed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrappedMean:
    """Mean of one system; ``se`` is the standard deviation of its replicates."""

    system: str
    mean: float
    se: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    n_annotators: int
    n_items: int
    undefined: int = 0
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBootstrap:
    """Means of all systems and how their intervals were made."""

    means: tuple[BootstrappedMean, ...]
    n_annotators: int
    n_items: int
    replicates: int
    confidence: float
    interval: str = METHOD


def bootstrap_means(
    values: Any,
    system: Any,
    annotator: Any,
    item: Any,
    *,
    rng: np.random.Generator,
    replicates: int = 1000,
    confidence: float = 0.95,
) -> MeanBootstrap:
    """Return the mean of each system with an interval for new annotators and new items.

    In each replicate annotators are drawn with replacement, and items apart from them; an answer counts as often as
    its annotator times as often as its item. So the weights of a replicate are two multinomials, and its sums one
    product of a sparse table (items x annotators) with them: no row is copied. The variance is a little too large
    (the part of the single answer is counted up to three times), so intervals are on the safe side.

    Parameters
    ----------
    values : sequence of float, shape (n,)
        One answer a row; leave missing ones out. Any scale.
    system, annotator, item : sequence, shape (n,)
        What each answer is about and who gave it.
    rng : numpy.random.Generator
        Source of randomness.
    replicates : int
        Number of resamples, at least 100.
    confidence : float
        Level of the percentile intervals.

    Returns
    -------
    MeanBootstrap
        Systems in the order of first appearance. A system that fewer than two annotators rated, or that was rated on
        one item, has no interval but a ``reason``; so has one that more than 5% of the replicates leave out.

    Raises
    ------
    ValueError
        Columns of different lengths, no rows, a value that is not finite, too few replicates.

    Notes
    -----
    Time O(n + replicates x cells), with a cell a system, annotator and item that occur together; memory O(n).

    References
    ----------
    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1(2), 386-411 (sections 3 and 4).

    Examples
    --------
    >>> rows = [(1.0, "a", 0, 0), (3.0, "a", 1, 1), (2.0, "a", 0, 1), (2.0, "a", 1, 0)]
    >>> bootstrap_means(*zip(*rows), rng=np.random.default_rng(1)).means[0].mean
    2.0
    """
    score = np.asarray(values, dtype=np.float64)
    lengths = {len(column) for column in (score, system, annotator, item)}
    if len(lengths) != 1 or not len(score):
        raise ValueError(f"expected columns of one length of at least 1, got {sorted(lengths)}")
    if not np.isfinite(score).all():
        raise ValueError("values must be finite numbers; leave missing answers out")
    if replicates < 100 or not 0 < confidence < 1:
        raise ValueError(f"expected at least 100 replicates and a confidence in (0, 1), got {replicates}, {confidence}")
    systems, people, items = code(_series(system)), _numbered(annotator), _numbered(item)
    tables = _tables(score, systems, people.of, items.of, (len(items), len(people)))
    found = np.empty((len(systems), replicates))
    done = 0
    for of_people, of_items in _weights(len(people), len(items), replicates, rng):
        rows = slice(done, done + of_people.shape[1])
        for number, (sums, counts) in enumerate(_totals(tables, of_people, of_items)):
            drawn = counts > 0
            found[number, rows] = np.where(drawn, sums / np.where(drawn, counts, 1.0), np.nan)
        done = rows.stop
    return MeanBootstrap(
        means=tuple(
            _summary(name, table, own, confidence) for name, table, own in zip(systems.ids, tables, found, strict=True)
        ),
        n_annotators=len(people),
        n_items=len(items),
        replicates=replicates,
        confidence=confidence,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Table:
    """Sums and counts of one system, items x annotators; ``twin`` is an earlier system with the same counts."""

    sums: sp.csr_array
    counts: sp.csr_array
    twin: int | None


def _tables(score: Floats, systems: Codes, annotator: Ints, item: Ints, shape: tuple[int, int]) -> list[_Table]:
    cells = fold(systems.of, item, annotator)
    count = np.bincount(cells.of, minlength=len(cells)).astype(np.float64)
    total = np.bincount(cells.of, weights=score, minlength=len(cells)).astype(np.float64)
    ends = np.cumsum(np.bincount(systems.of[cells.first], minlength=len(systems))).tolist()
    tables: list[_Table] = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        place = (item[cells.first[start:end]], annotator[cells.first[start:end]])
        sums, counts = (sp.csr_array((own[start:end], place), shape=shape) for own in (total, count))
        same = (number for number, table in enumerate(tables) if table.twin is None and _equal(table.counts, counts))
        tables.append(_Table(sums=sums, counts=counts, twin=next(same, None)))
    return tables


def _equal(one: sp.csr_array, other: sp.csr_array) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("indptr", "indices", "data"))


def _weights(
    n_annotators: int, n_items: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield how often each annotator and each item is drawn, both (number, some replicates)."""
    step = max(1, min(64, AT_ONCE // max(n_annotators, n_items)))
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        drawn = [rng.multinomial(n, np.full(n, 1 / n), size=size) for n in (n_annotators, n_items)]
        yield np.ascontiguousarray(drawn[0].T, dtype=np.float64), np.ascontiguousarray(drawn[1].T, dtype=np.float64)


def _totals(tables: list[_Table], of_people: Floats, of_items: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield the weighted sums and counts of each system, one a replicate."""
    counted: list[Floats] = []
    for table in tables:
        own = _weighted(table.counts, of_people, of_items) if table.twin is None else counted[table.twin]
        counted.append(own)
        yield _weighted(table.sums, of_people, of_items), own


def _weighted(table: sp.csr_array, of_people: Floats, of_items: Floats) -> Floats:
    total: Floats = np.einsum("ib,ib->b", table @ of_people, of_items)
    return total


def _summary(name: str, table: _Table, found: Floats, confidence: float) -> BootstrappedMean:
    n = int(table.counts.sum())
    n_items = int(np.count_nonzero(np.diff(table.counts.indptr)))
    n_annotators = len(np.unique(table.counts.indices))
    defined = found[np.isfinite(found)]
    undefined = len(found) - len(defined)
    reason = None
    if n_annotators < 2:
        reason = why("no_interval_one_annotator")
    elif n_items < 2:
        reason = why("no_interval_one_item")
    elif undefined > UNDEFINED * len(found):
        reason = why("no_interval_replicates_empty", lost=undefined, replicates=len(found))
    elif np.ptp(defined) <= 1e-12 * np.abs(defined).max():
        reason = why("no_interval_replicates_alike")
    half = (1 - confidence) / 2
    low, high = (None, None) if reason else np.quantile(defined, [half, 1 - half]).tolist()
    return BootstrappedMean(
        system=name,
        mean=float(table.sums.sum()) / n,
        se=None if reason else float(defined.std(ddof=1)),
        ci_low=low,
        ci_high=high,
        n=n,
        n_annotators=n_annotators,
        n_items=n_items,
        undefined=undefined,
        reason=reason,
    )


def _series(ids: Any) -> pl.Series:
    """Return ids as a polars column; an empty one is refused, as nobody gave the answer."""
    column = ids if isinstance(ids, pl.Series) else pl.Series(np.asarray(ids).tolist())
    if column.has_nulls():
        raise ValueError("an id of a system, annotator or item is missing")
    return column


def _numbered(ids: Any) -> Codes:
    """Give ids numbers in their own order, so that the order of the rows does not reach the draws."""
    column = _series(ids)
    return code(column, sorted(column.unique().cast(pl.String).to_list()))
