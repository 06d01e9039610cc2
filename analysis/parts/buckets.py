"""All answers of some annotators about some items, looked through and added up: of slices, and of the exchange."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from analysis.answers.answer_checks import DOUBLED_SHOWN
from analysis.llm_vs_people.stand_in import Judged, judged, stand_in_sums
from analysis.parts.counted_buckets import counted_rows, counted_slice
from analysis.parts.rows import ExchangeFile, bucket_of, by_bucket, write_rows
from analysis.parts.scratch import scratch_errors
from analysis.parts.slices import Flags, SliceFile, SliceRows, read_rows
from analysis.statistics.coding import Ints
from analysis.sums.adding import add_up, add_weighed, doubled, in_cells
from analysis.sums.grid import Grid, Sums
from analysis.sums.totals import SummedKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRange:
    """The buckets from ``first`` to ``last``, and the files that may hold some of their rows."""

    first: int
    last: int
    files: tuple[str, ...]
    scratch: Path

    def rows(self) -> pl.DataFrame:
        """Read the rows."""
        with scratch_errors(self.scratch):
            rows = pl.scan_parquet(list(self.files), glob=False)
            return rows.filter(pl.col("bucket").is_between(self.first, self.last)).collect()


def ranges_of(rows: Ints, at_once: int) -> list[tuple[int, int]]:
    """Return first and last of buckets that are put together until they have so many rows.

    >>> ranges_of(np.array([1, 2, 3, 9, 1]), 4)
    [(0, 1), (2, 2), (3, 3), (4, 4)]
    """
    ends = np.flatnonzero(np.diff(np.cumsum(rows) // at_once, append=-1)).tolist()
    return [*zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True)]


def class_ranges(rows: Ints, classes: int, at_once: int) -> list[list[tuple[int, int]]]:
    """Do the same so that the ranges of one list hold all about some items.

    >>> class_ranges(np.array([1, 1, 2, 1, 9, 9, 1, 0]), 4, 5)
    [[(0, 1)], [(2, 3)], [(4, 4), (5, 7)]]
    """
    by_class = rows.reshape(classes, -1)
    width = by_class.shape[1]
    found = []
    for first, last in ranges_of(by_class.sum(axis=1), at_once):
        start = first * width
        own = ranges_of(rows[start : (last + 1) * width], at_once)
        found.append([(start + low, start + high) for low, high in own])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubled:
    """How many cells are answered twice, and the parts and rows of the first of them."""

    cells: int
    first: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SliceTask:
    """What a worker needs to add up the rows of a slice that no other slice adds to, and to send on the others.

    ``several`` are the keys of items and annotators that stand in several slices; without it all rows are sent on.
    """

    slice: SliceFile
    kind: SummedKind
    grid: Grid
    several: Mapping[str, Ints] | None
    weights: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def own(self) -> tuple[SliceRows, Flags]:
        """Read the rows, and mark those that are added up here."""
        rows = read_rows(self.slice, self.kind, self.grid)
        apart = np.ones(len(rows.value), dtype=np.bool_) if self.several is None else rows.apart(self.several)
        return rows, ~apart


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketTask:
    """What a worker needs to add up buckets."""

    buckets: BucketRange
    kind: SummedKind
    grid: Grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketFound:
    """The sums of some rows, or the cells that are answered twice; and the file of rows that were sent on."""

    doubled: Doubled | None = None
    sums: Sums
    file: ExchangeFile | None = None


def add_slice(task: SliceTask) -> BucketFound:
    """Add up rows of a slice, and write those that are added up elsewhere; O(rows log rows) time."""
    rows, own = task.own()
    file = None if own.all() else _sent_on(rows.some(~own), task.slice)
    if file is not None and not own.any():
        return BucketFound(sums={}, file=file)
    rows = rows if file is None else rows.some(own)
    if task.kind == "ratings" and (counted := counted_slice(rows, task.grid)) is not None:
        return BucketFound(sums=counted.sums(), file=file)
    return replace(_added(rows.frame, task.kind, task.grid), file=file)


def _sent_on(rows: SliceRows, where: SliceFile) -> ExchangeFile:
    frame = rows.frame
    bucket = bucket_of(frame["item"].to_numpy(), frame["annotator"].to_numpy())
    frame = frame.with_columns(bucket=pl.Series(bucket.astype(np.int32)))
    return write_rows(by_bucket(frame), Path(f"{where.file}.parquet"))


def add_buckets(task: BucketTask) -> BucketFound:
    """Add up buckets; O(rows log rows) time, memory by their rows."""
    rows = task.buckets.rows().drop("bucket")
    if task.kind == "ratings" and (counted := counted_rows(rows, task.grid)) is not None:
        return BucketFound(sums=counted.sums())
    return _added(rows, task.kind, task.grid)


def _added(rows: pl.DataFrame, kind: SummedKind, grid: Grid) -> BucketFound:
    rows = in_cells(rows, kind)
    twice = doubled(rows, kind)
    if twice.height:
        return BucketFound(doubled=places_of(twice, "cell"), sums={})
    return BucketFound(sums=add_up(rows, kind, grid))


def places_of(twice: pl.DataFrame, *cell: str) -> Doubled:
    """Return where cells are answered more than once; ``twice`` has their rows."""
    cells = twice.group_by(cell).agg("part", "row").select("part", "row")
    places = [tuple(sorted(zip(parts, rows, strict=True))) for parts, rows in cells.iter_rows()]
    return Doubled(cells=len(places), first=tuple(sorted(places)[:DOUBLED_SHOWN]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeighingTask:
    """What a worker needs to weigh the answers of some buckets."""

    buckets: BucketRange
    kind: SummedKind
    grid: Grid
    weights: Mapping[str, pl.DataFrame]


def weigh_buckets(task: WeighingTask) -> Sums:
    """Add up buckets by item, everybody weighing the same; O(rows log rows) time, memory by their rows."""
    rows = task.buckets.rows().drop("bucket")
    if task.kind == "ratings" and (counted := counted_rows(rows, task.grid)) is not None:
        return counted.weighed(task.weights)
    return add_weighed(in_cells(rows, task.kind), task.kind, task.grid, task.weights)


def weigh_slice(task: SliceTask) -> Sums:
    """Do the same of the rows that :func:`add_slice` added up."""
    rows, own = task.own()
    rows = rows if own.all() else rows.some(own)
    if task.kind == "ratings" and (counted := counted_slice(rows, task.grid)) is not None:
        return counted.weighed(task.weights)
    return add_weighed(in_cells(rows.frame, task.kind), task.kind, task.grid, task.weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandInTask:
    """What a worker needs to compare LLMs with people on some items: all buckets of these, some at a time."""

    buckets: Sequence[BucketRange]
    kind: SummedKind
    grid: Grid
    people: Sequence[int]


def compare_buckets(task: StandInTask) -> Sums:
    """Compare LLMs with people; O(rows) time, memory by the rows of one range and the outputs of all."""

    def read() -> Iterator[Judged]:
        return (judged(own.rows(), task.kind, task.grid, task.people) for own in task.buckets)

    if len(task.buckets) > 1:
        return stand_in_sums(read)
    once = [*read()]
    return stand_in_sums(lambda: once)
