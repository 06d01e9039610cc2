"""Rows on their way to those with which they are added up: in files, sorted by bucket."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from analysis.parts.scratch import scratch_errors, write_whole
from analysis.statistics.coding import Ints

CLASSES = 64  # of items, and of annotators in each: what is about one item comes together, so that sums stay short
BUCKETS = CLASSES**2  # into which rows go by item and annotator
ROW_GROUP = 4096  # rows that are read from the exchange together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExchangeFile:
    """A file of rows, and how many each bucket has."""

    file: str
    buckets: Ints


def bucket_of(item: Ints, annotator: Ints) -> Ints:
    """Return the buckets of what annotators answered about items, from their keys."""
    bucket: Ints = (item & (CLASSES - 1)) * CLASSES + (annotator & (CLASSES - 1))
    return bucket


def by_bucket(rows: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by bucket, as numbers so narrow that they are sorted by counting."""
    bucket = rows["bucket"].to_numpy().astype(np.int16)
    return rows[np.argsort(bucket, kind="stable")]


def write_rows(rows: pl.DataFrame, path: Path) -> ExchangeFile:
    """Write sorted rows."""
    with scratch_errors(path.parent):
        write_whole(path, lambda begun: rows.write_parquet(begun, compression="lz4", row_group_size=ROW_GROUP))
    counts = np.bincount(rows["bucket"].to_numpy(), minlength=BUCKETS).astype(np.int64)
    return ExchangeFile(file=str(path), buckets=counts)
