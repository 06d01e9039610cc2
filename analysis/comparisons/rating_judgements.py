"""Ratings as comparisons of two systems: of one annotator's two ratings of one item the higher wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from analysis.answers.plan import Plan
from analysis.answers.units import Unit
from analysis.comparisons.ratings import RatingCells
from analysis.statistics.cell_sums import CellSums
from analysis.statistics.differences import Differences
from analysis.strengths.rows import Judgements


def rating_judgements(cells: RatingCells, differences: Differences) -> Judgements:
    """Return each pair of ratings as one comparison: the higher of one annotator's two ratings of one item wins.

    Equal ratings are half for each. Raw: for a lower-is-better criterion the ranks turn, not the wins.
    """
    return Judgements(
        x=differences.x,
        y=differences.y,
        won=(np.sign(differences.value) + 1) / 2,
        unit="assignment" if cells.llm else "annotator",
        of_unit=differences.assignment if cells.llm else differences.annotator,
        item=differences.item,
    )


def counted_judgements(cells: RatingCells, differences: Differences, plan: Plan) -> Judgements:
    """Return :func:`rating_judgements` with equal rows of one cluster folded into one that carries their number.

    The fit and its interval are the same. O(differences) time; memory by clusters times pairs, not by rows.
    """
    return judgements_of_counts(lambda cluster: _count_outcomes(cells, differences, cluster), plan, llm=cells.llm)


def judgements_of_counts(counted: Callable[[Unit], dict[str, Any]], plan: Plan, *, llm: bool) -> Judgements:
    """Return judgements that carry their number, clustered as the plan says.

    Parameters
    ----------
    counted : callable
        From a unit to how often x won, tied and lost by unit: ``x``, ``y``, ``won``, ``of_unit``, ``weights``.
    plan : Plan
        What intervals are clustered by.
    llm : bool
        Whether an LLM rated, whose unit is the assignment.
    """
    unit: Unit = "assignment" if llm else "annotator"
    if plan.unit != "item":
        judged = Judgements(**counted(unit), unit=unit, item=None)
        if plan.unit == "annotator" or judged.speaks_for_units:
            return judged
    by_item = counted("item")
    return Judgements(
        **{**by_item, "of_unit": np.zeros_like(by_item["x"])},
        unit=unit,
        item=by_item["of_unit"],
    )


def _count_outcomes(cells: RatingCells, differences: Differences, cluster: Unit) -> dict[str, Any]:
    """Count how often x wins, ties and loses against y, by cluster."""
    k = len(cells.systems)
    counts = CellSums((int(cells.column(cluster).max()) + 1) * k * k * 3)
    for part in differences.parts():
        key = (getattr(part, cluster) * k + part.x) * k + part.y
        key *= 3
        key += np.sign(part.value).astype(np.int64) + 1
        counts.add(key)
    key, times, _ = counts.found()
    pair, won = np.divmod(key, 3)
    of, pair = np.divmod(pair, k * k)
    return {"x": pair // k, "y": pair % k, "won": won / 2, "of_unit": of, "weights": times}
