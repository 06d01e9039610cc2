"""Some buckets of the exchange: all answers of some annotators about some items, looked through and added up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analysis.answers.answer_checks import DOUBLED_SHOWN
from analysis.large.adding import Grid, Sums, add_up, coded, doubled
from analysis.large.parts import scratch_errors
from analysis.large.totals import LargeKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketTask:
    """What a worker needs to add up the buckets from ``first`` to ``last``."""

    first: int
    last: int
    files: tuple[str, ...]
    kind: LargeKind
    grid: Grid
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketFound:
    """The sums of some buckets; or how many cells are answered twice, and the parts and rows of the first of them."""

    doubled: int = 0
    first: tuple[tuple[tuple[int, int], ...], ...] = ()
    sums: Sums


def add_buckets(task: BucketTask) -> BucketFound:
    """Add up buckets; O(rows log rows) time, memory by their rows."""
    with scratch_errors(task.scratch):
        mine = pl.scan_parquet(list(task.files), glob=False).filter(pl.col("bucket").is_between(task.first, task.last))
        found = mine.drop("bucket").collect()
    rows = coded(found, task.kind, task.grid)
    twice = doubled(rows, task.kind)
    if twice.height:
        cells = twice.group_by("cell").agg("part", "row").select("part", "row")
        places = [tuple(sorted(zip(parts, of, strict=True))) for parts, of in cells.iter_rows()]
        return BucketFound(doubled=len(places), first=tuple(sorted(places)[:DOUBLED_SHOWN]), sums={})
    return BucketFound(sums=add_up(rows, task.kind, task.grid))
