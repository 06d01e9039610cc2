"""A few designs of the grid in ``tests/calibration/planning.md``: planned power is that of simulated studies."""

from __future__ import annotations

import pytest

from tests.calibration.planning import check_plan
from tests.calibration.planning_designs import PlannedDesign, planned_designs

CHOSEN = (
    ("SPA, both directions", 14),
    ("SPA, one direction", 8),
    ("SPA, exposures 1, 2, 4", 90),
    ("Ratings, 30 of 60 items", 70),
    ("Ratings, 1 of 40 items", 13),
    ("Error spans, 1 an output, 1 of 40 items", 60),
    ("Choices, 6 of 6 pairs", 176),
    ("Choices, 3 of 6 pairs", 176),
    ("Choices, 2 a pair of 60 items", 30),
    ("Rankings of 4 of 4, 5 items", 60),
    ("Choices, 9 of 6 pairs", 176),
    ("Choices, 1 a pair of 60 items", 14),
    ("Choices, 60 a pair of 60 items", 6),
    ("Rankings of 3 of 6, 4 items", 120),
    ("Ratings, all 10 items", 16),
    ("Ratings, 10 of 30 items, 3 sessions", 98),
    ("Ratings, all 100 items", 3),
    ("Ratings, 10 of 60 items", 65),
    ("Ratings, all 10 items", 11),
    ("Ratings, own items: 8 of 36 a system", 22),
)


def _design(label: str, annotators: int) -> PlannedDesign:
    return next(one for one in planned_designs() if (one.label, one.annotators) == (label, annotators))


@pytest.mark.parametrize(("label", "annotators"), CHOSEN)
def test_planned_power_is_that_of_simulated_studies(label: str, annotators: int) -> None:
    runs = 1000 if "own items" in label else 2000  # whose studies are tested one by one
    line = check_plan(_design(label, annotators), runs=runs, often=runs, seed=5)
    assert line.kept, f"planned {line.planned}, simulated {line.simulated}"


def test_the_grid_has_corners_of_every_kind() -> None:
    designs = planned_designs()
    assert len(designs) >= 200
    assert {design.truth.kind for design in designs} == {"spa", "likert", "spans", "choices", "ranking"}
    assert {design.study.systems for design in designs} >= {2, 30}
    counts = [design.annotators for design in designs if design.annotators]
    assert (min(counts), max(counts)) == (2, 489)
    assert max(design.truth.ties for design in designs) == 0.99
    assert sum(design.often for design in designs) == 20
