"""Systems that a metric measures others by: their own value is its end, and says nothing of how good it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import polars as pl

from analysis.correlations.scores import Scores
from analysis.statistics.coding import Floats

SAME = 1e-6  # of its size, by which a metric computed in single precision may err
FEWEST_VALUES = 3  # of a metric; one that says right or wrong has no end that only a reference reaches


def reference_systems(metrics: pl.DataFrame, named: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return by metric the systems that are its references: those ``named``, and those at its end in every item.

    BLEU of a text with itself is 100. A system whose value is one and the same in all of several items and the best
    that any output has can only be what the metric compares with; in correlations over systems it is one far point
    that decides alone. None is found where all systems have one value each, or the metric has two values only.

    Parameters
    ----------
    metrics : DataFrame
        Checked scores: ``item_id, system, metric, value`` and perhaps ``higher_is_better``; where that is not given,
        the highest value is taken for the best.
    named : collection of str
        Systems that are references of every metric.

    Returns
    -------
    dict of str to tuple of str
        Metrics without references are left out.
    """
    known = metrics.filter(pl.col("value").is_not_null())
    found: dict[str, tuple[str, ...]] = {}
    for (metric,), rows in known.partition_by("metric", maintain_order=True, as_dict=True).items():
        ends = _at_the_end(rows)
        systems = rows["system"].unique(maintain_order=True).to_list()
        if left := tuple(system for system in systems if system in named or system in ends):
            found[str(metric)] = left
    return found


def _at_the_end(rows: pl.DataFrame) -> set[str]:
    directions = set(rows["higher_is_better"].drop_nulls()) if "higher_is_better" in rows.columns else set()
    turned = directions == {False}
    values: dict[str, Floats] = {
        str(system): own["value"].to_numpy() * (-1 if turned else 1)
        for (system,), own in rows.partition_by("system", as_dict=True).items()
    }
    constant = {system for system, own in values.items() if len(own) > 1 and np.ptp(own) <= SAME * np.abs(own).max()}
    if constant == set(values) or rows["value"].n_unique() < FEWEST_VALUES:
        return set()
    best = max(float(own.max()) for own in values.values())
    return {system for system in constant if values[system].min() >= best - SAME * abs(best)}


def without_systems(scores: Scores, left_out: Collection[int], n_systems: int) -> Scores:
    """Return scores without the outputs of some systems, which are numbered."""
    if not left_out:
        return scores
    kept = ~np.isin(scores.output % n_systems, list(left_out))
    return replace(scores, output=scores.output[kept], value=scores.value[kept])
