"""Ratings as comparisons of two systems: of one annotator's two ratings of one item the higher wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from analysis.answers.plan import Plan
from analysis.answers.units import Unit
from analysis.comparisons.rating_cells import RatingCells
from analysis.statistics.differences import Differences
from analysis.strengths.strength_table import Judgements


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
