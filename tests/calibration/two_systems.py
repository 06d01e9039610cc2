"""The report's tests of ratings of two systems, without its sums of a whole table: a tenth of a small study's time.

The first studies of each design are tested by the functions that the report calls, too, which must find the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.comparisons.partly_paired import PairedOutputs, compare_all
from analysis.comparisons.rated_parts import rated_part
from analysis.comparisons.rating_cells import RatingCells
from analysis.comparisons.ratings import compare_ratings
from analysis.comparisons.unpaired import compare_clusters
from analysis.statistics.clustered_difference import SystemClusters
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.t_tests import welch

COMPARED = 20  # studies of a design that are tested both ways


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What a report says of two systems: p, x minus y, and how many items its test takes as drawn beside its units."""

    p_value: float | None
    difference: float
    n_items: int | None = None


class TwoSystems:
    """Tests one study of a design after another."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.studies = 0

    def test(self, cells: RatingCells) -> Tested:
        """Test a study as the report does."""
        self.studies += 1
        own = straight(cells, self.plan)
        if own is not None and self.studies > COMPARED:
            return own
        (row,) = compare_ratings(rated_part(cells), self.plan)
        theirs = Tested(p_value=row.p_value, difference=row.mean_difference, n_items=row.n_items)
        if own is not None and not _alike(own, theirs):
            raise AssertionError(f"study {self.studies}: {own}, the report's {theirs}")
        return theirs


def straight(cells: RatingCells, plan: Plan) -> Tested | None:
    """Test ratings that do not pair, or few of which do; ``None`` where the report may test others, or other sums."""
    sides = [cells.system == side for side in (0, 1)]
    blocks = [cells.block[side] for side in sides]
    paired = np.isin(cells.block, np.intersect1d(*blocks))
    outputs = PairedOutputs(n_x=len(blocks[0]), n_y=len(blocks[1]), n_paired=int(paired.sum()) // 2)
    people = np.bincount(cells.annotator)
    if plan.rating_test == "welch" or outputs.enough or 2 * people.max() >= len(cells.value):
        return None
    if plan.unit != "auto":
        if outputs.n_paired:
            return None
        x, y = (_means(cells.value[side], cells.column(plan.unit)[side]) for side in sides)
        test = welch(x, y, confidence=plan.confidence)
        return Tested(p_value=test.p_value, difference=test.mean)
    alike = not outputs.n_paired and all(len(np.unique(cells.annotator[side])) > 1 for side in sides)
    columns = (cells.system, cells.value, cells.annotator, cells.item)
    sums = SystemClusters(*columns, scale=cells.scale, annotators_alike=alike)
    if outputs.n_paired:
        several = len(np.unique(cells.annotator[paired])) >= ENOUGH_ANNOTATORS
        _, test, holds = compare_all(
            sums[0],
            sums[1],
            ("x", "y"),
            outputs,
            unit="annotator" if several else "item",
            planned=False,
            who="annotator",
            llm=False,
            confidence=plan.confidence,
        )
    else:
        _, test, holds = compare_clusters(
            sums[0], sums[1], ("x", "y"), who="annotator", llm=False, confidence=plan.confidence
        )
    return Tested(p_value=test.p_value, difference=test.mean, n_items=holds.get("n_items"))


def _means(values: Floats, units: np.ndarray) -> Floats:
    _, of = np.unique(units, return_inverse=True)
    means: Floats = np.bincount(of, weights=values) / np.bincount(of)
    return means


def _alike(one: Tested, other: Tested) -> bool:
    if (one.p_value is None) != (other.p_value is None) or one.n_items != other.n_items:
        return False
    same = math.isclose(one.difference, other.difference, rel_tol=1e-9, abs_tol=1e-9)
    return same and math.isclose(one.p_value or 0.0, other.p_value or 0.0, rel_tol=1e-6, abs_tol=1e-12)


def empty_cells(system: Ints, annotator: Ints, item: Ints) -> RatingCells:
    """Return ratings of one scale of two systems, 0 in every cell, by the numbers of system, annotator and item."""
    return RatingCells(
        group="human",
        criterion="overall",
        llm=False,
        systems=("x", "y"),
        system=system,
        annotator=annotator,
        assignment=annotator,
        item=item,
        block=annotator * (int(item.max()) + 1) + item,
        value=np.zeros(len(system)),
        scale=5.0,
    )
