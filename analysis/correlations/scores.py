"""Mean scores of one group or metric, one an output, ready to be laid beside another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.comparisons.rating_cells import RatingCells
from analysis.correlations.levels import PairedScores, add_up, clean_sums
from analysis.statistics.coding import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """One value an output.

    ``output`` is sorted: item number · number of systems + system number. ``direction`` is 1 where a
    higher score should mean a better output, -1 where a lower one, 0 where nobody said.
    """

    name: str  # "ratings:gpt4", "metrics:BLEU"
    output: Ints
    value: Floats
    direction: int = 1

    def at(self, outputs: Ints) -> Floats:
        """Return the values of outputs, all of which must have one (KeyError).

        >>> scores = Scores(name="metrics:BLEU", output=np.array([1, 3, 4]), value=np.array([0.1, 0.3, 0.4]))
        >>> scores.at(np.array([4, 1]))
        array([0.4, 0.1])
        """
        place = np.searchsorted(self.output, outputs)
        there = self.output[np.minimum(place, len(self.output) - 1)] == outputs if len(self.output) else outputs < 0
        if not np.all(there):
            raise KeyError(f"{self.name}: no score of the outputs {outputs[~there].tolist()[:5]}")
        values: Floats = self.value[place]
        return values


def outputs_of(cells: RatingCells) -> Ints:
    """Return the number of the output that each cell is about."""
    numbers: Ints = cells.item * len(cells.systems) + cells.system
    return numbers


def group_scores(cells: RatingCells) -> Scores:
    """Average a group's cells output by output; what is 0 in exact arithmetic is 0."""
    outputs, of = np.unique(outputs_of(cells), return_inverse=True)
    sums = clean_sums(add_up(of, cells.value), add_up(of, np.abs(cells.value)))
    return Scores(name=f"ratings:{cells.group}", output=outputs, value=sums / np.bincount(of))


def metric_scores(table: pl.DataFrame, items: Mapping[str, int], systems: Sequence[str]) -> list[Scores]:
    """Read a checked table of metrics; outputs that nobody rated are left out.

    Returns
    -------
    list of Scores
        In the order in which the metrics first appear.
    """
    places = {system: place for place, system in enumerate(systems)}
    item = pl.col("item_id").replace_strict(items, default=None, return_dtype=pl.Int64)
    system = pl.col("system").replace_strict(places, default=None, return_dtype=pl.Int64)
    has_direction = "higher_is_better" in table.columns
    better = pl.col("higher_is_better") if has_direction else pl.lit(None, dtype=pl.Boolean)
    known = table.select("metric", "value", better.alias("better"), (item * len(systems) + system).alias("output"))
    found = []
    for name, rows in known.partition_by("metric", maintain_order=True, as_dict=True).items():
        directions = rows["better"].drop_nulls().unique().to_list()
        rated = rows.drop_nulls(["output", "value"]).sort("output")
        found.append(
            Scores(
                name=f"metrics:{name[0]}",
                output=rated["output"].to_numpy(),
                value=rated["value"].to_numpy(),
                direction=0 if len(directions) != 1 else 1 if directions[0] else -1,
            )
        )
    return found


def common_outputs(first: Scores, *others: Scores) -> Ints:
    """Return the outputs that all have a value for."""
    common = first.output
    for other in others:
        if len(common) != len(other.output) or not np.array_equal(common, other.output):
            common = np.intersect1d(common, other.output, assume_unique=True)
    return common


def pair_scores(a: Scores, b: Scores, n_systems: int) -> PairedScores:
    """Lay two measures side by side where both have a value."""
    common = common_outputs(a, b)
    return PairedScores(item=common // n_systems, system=common % n_systems, a=a.at(common), b=b.at(common))
