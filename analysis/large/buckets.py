"""Some buckets of the exchange: all answers of some annotators about some items, looked through and added up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analysis.answers.answer_checks import DOUBLED_SHOWN
from analysis.large.adding import Grid, Sums, add_up, coded, doubled
from analysis.large.parts import scratch_errors
from analysis.large.totals import SummedKind


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubled:
    """How many cells are answered twice, and the parts and rows of the first of them."""

    cells: int
    first: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketTask:
    """What a worker needs to add up buckets."""

    buckets: BucketRange
    kind: SummedKind
    grid: Grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketFound:
    """The sums of some buckets, or the cells that are answered twice."""

    doubled: Doubled | None = None
    sums: Sums


def add_buckets(task: BucketTask) -> BucketFound:
    """Add up buckets; O(rows log rows) time, memory by their rows."""
    rows = coded(task.buckets.rows().drop("bucket"), task.kind, task.grid)
    twice = doubled(rows, task.kind)
    if twice.height:
        return BucketFound(doubled=places_of(twice, "cell"), sums={})
    return BucketFound(sums=add_up(rows, task.kind, task.grid))


def places_of(twice: pl.DataFrame, *cell: str) -> Doubled:
    """Return where cells are answered more than once; ``twice`` has their rows."""
    cells = twice.group_by(cell).agg("part", "row").select("part", "row")
    places = [tuple(sorted(zip(parts, rows, strict=True))) for parts, rows in cells.iter_rows()]
    return Doubled(cells=len(places), first=tuple(sorted(places)[:DOUBLED_SHOWN]))
