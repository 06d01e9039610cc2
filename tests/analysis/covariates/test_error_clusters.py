"""What errors are clustered by: both ways where both repeat, as the plan says, or nothing below ten."""

from __future__ import annotations

import numpy as np
import pytest

from analysis import Plan
from analysis.covariates.clusters import error_clusters

ROWS = np.arange(120)


@pytest.mark.parametrize(
    ("units", "items", "plan", "named"),
    [
        (12, 15, "auto", "annotator and item"),
        (120, 15, "auto", "item"),
        (12, 120, "auto", "annotator"),
        (120, 120, "auto", "annotator"),
        (9, 15, "auto", "item"),
        (12, 9, "auto", "annotator"),
        (12, 15, "item", "item"),
        (12, 15, "annotator", "annotator"),
        (12, None, "item", "annotator"),
    ],
)
def test_errors_are_clustered_by_what_repeats(units: int, items: int | None, plan: str, named: str) -> None:
    item = None if items is None else ROWS % items
    found = error_clusters("annotator", ROWS % units, item, Plan(unit=plan))  # type: ignore[arg-type]
    assert found.named == named
    assert len(found.of) == len(named.split(" and "))


def test_below_ten_there_is_a_reason() -> None:
    found = error_clusters("assignment", ROWS % 4, ROWS % 9, Plan())
    assert (found.of, str(found.reason)) == ((), "9 items are too few for an interval: 10 are needed")
