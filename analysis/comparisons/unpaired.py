"""Ratings of two systems that nobody rated on one item: what is tested, for whom it holds, and why they are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

from analysis.answers.units import Unit
from analysis.statistics.clustered_difference import ClusteredValues, clustered_t
from analysis.statistics.t_tests import TTest

SeparatingColumn = Literal["item_id", "annotator_id", "assignment_id"]
OTHERS_BY_ITEM: Final = (
    "a test by item mistakes differences between annotators for differences between systems, and finds one between "
    "equal "
    "systems in about 17% of studies, not 5%"
)
ONE: Final = {"annotators": "by one annotator", "items": "of one item"}
FEW, TOO_UNEVEN = 4, 3  # below so many annotators or items of one system, beside so many times as many of the other


def compare_clusters(
    x: ClusteredValues, y: ClusteredValues, names: tuple[str, str], *, who: Unit, llm: bool, confidence: float
) -> tuple[Unit, TTest, dict[str, Any]]:
    """Return the unit, the test, and as fields of a row what it holds for.

    Parameters
    ----------
    x, y : ClusteredValues
        Sums of both systems, by ``who`` (annotator, or an LLM's assignment) and by item.
    names : tuple of str
        The systems.
    llm : bool
        The ratings are an LLM's, whose tests hold for this LLM.
    confidence : float
        Level of the interval.
    """
    found = clustered_t(x, y, confidence=confidence)
    counts = [("items", (len(x.items), len(y.items)), found.n_items)]
    if not llm:
        counts.append(("annotators", (len(x.annotators), len(y.annotators)), found.n_annotators))
    problems = [_level_problem(names, own, kind) for kind, own, together in counts if together > 1]
    reasons = "; ".join(filter(None, problems)) if found.test.reason is None else ""
    return (
        who if found.over_annotators else "item",
        found.test,
        {
            "n_items": found.n_items if found.over_annotators and found.over_items else None,
            "level_problem": f"on this design no test holds its level ({reasons})" if reasons else None,
        },
    )


def _level_problem(names: tuple[str, str], counts: Sequence[int], kind: str) -> str | None:
    """Say why no test of two systems keeps its level, by simulation; counts are of their annotators or items."""
    (few, name), (many, other) = sorted(zip(counts, names, strict=True))
    if many == 1:
        return f"all ratings of either system are {ONE[kind]}"
    if few == 1:
        return f"all ratings of {name} are {ONE[kind]}"
    if few < FEW and many >= TOO_UNEVEN * few:
        return f"{name} has {few} {kind}, {other} {many}"
    return None


def separating_column(x: ClusteredValues, y: ClusteredValues, who: Unit) -> SeparatingColumn:
    """Name the column by which ratings of two systems never meet; ``who`` as in :func:`compare_clusters`."""
    if not len(np.intersect1d(x.items.cluster, y.items.cluster)):
        return "item_id"
    if who == "assignment" or len(np.intersect1d(x.cells.cluster, y.cells.cluster)):
        return "assignment_id"
    return "annotator_id"
