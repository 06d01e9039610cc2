"""Sums of what one annotator gave to one item: where that is one value each, they are those by annotator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from analysis.sums.adding import merged
from analysis.sums.grid import OVER, TOGETHER, Sums


def of_single_values(by_unit: pl.DataFrame, unit: str) -> pl.DataFrame:
    """Return the clusters of units each of whose values is alone with its item."""
    once = [pl.Series("n", np.ones(by_unit.height, dtype=np.int64)), by_unit["n"].alias("clusters")]
    return pl.DataFrame([by_unit["about"], by_unit[unit], *once, by_unit["total"], by_unit["squares"]])


def with_clusters(sums: Sums) -> Sums:
    """Return sums with their clusters, which were left out where each value is alone."""
    alone = {
        f"{of}_{kind}": of_single_values(sums[f"{of}_{unit}"], unit)
        for of in OVER
        for kind, unit in TOGETHER.items()
        if f"{of}_{unit}" in sums
    }
    return alone | sums


def told(sums: Sums) -> bool:
    """Whether sums say which clusters there are."""
    return any(f"{of}_{kind}" in sums for of in OVER for kind in TOGETHER)


def alike(each: Sequence[Sums]) -> list[Sums]:
    """Return several sums that all say their clusters, or none."""
    return [with_clusters(own) for own in each] if any(map(told, each)) else [*each]


def joined(alone: Sums, others: Sums) -> Sums:
    """Add sums whose values are all alone to others."""
    return merged([with_clusters(alone), others]) if alone and others else alone or others
