"""Small calibration of Bradley-Terry intervals; the large one is ``make calibrate``."""

from __future__ import annotations

import pytest

from tests.calibration.strengths import Design, coverage, designs

RUNS = 200
SMALL = [design for design in designs() if "50" not in design.name and "on the same 30" not in design.name]


@pytest.mark.parametrize("design", [one for one in SMALL if one.enough], ids=lambda design: design.name)
def test_intervals_hold_the_truth_as_often_as_they_say(design: Design) -> None:
    found = coverage(design, RUNS, seed=2)
    assert found.lost == 0
    assert abs(found.seen - found.nominal) < 3 * found.error
    assert found.joint is not None
    assert found.joint > found.nominal - 3 * found.error


def test_leaving_out_the_clusters_is_far_too_narrow() -> None:
    """What the clustered design guards against."""
    (wrong,) = [design for design in SMALL if design.over_rows]
    found = coverage(wrong, RUNS, seed=2)
    assert found.seen < found.nominal - 10 * found.error
