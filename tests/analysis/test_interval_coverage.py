"""Small calibration of intervals of means, agreement and Davidson's strengths; the large one is ``make calibrate``."""

from __future__ import annotations

import pytest

from tests.calibration import agreement, single
from tests.calibration.comparisons import choice_designs, lines_of, preference_designs, rating_designs
from tests.calibration.table import Line, most_by_luck

RUNS = 1500
DESIGNS = {
    f"{one.kind}: {one.name}": one
    for one in (*preference_designs(), *rating_designs(), *choice_designs())
    if one.measured and one.promised
}
AGREEMENT = [
    *(one for one in agreement.alpha_designs() if one.units == 30 and one.level != "nominal"),
    *(one for one in agreement.other_designs() if one.promised),
]


def holds(line: Line) -> bool:
    """Tell whether the truth was missed no more often than luck allows, at a chance of 1 in 10,000."""
    return 1 - line.seen <= most_by_luck(line.runs - line.lost, 1 - line.nominal)


@pytest.mark.parametrize(
    "name",
    [
        "preferences: 10 annotators, whole percent",
        "ratings: 10 annotators on the same 10 items",
        "choices: 3 annotators who like all systems equally, by 30 items",
    ],
)
def test_intervals_of_means_hold_the_truth(name: str) -> None:
    _, differences, means = lines_of(DESIGNS[name], RUNS, seed=6)
    assert differences is not None
    assert holds(differences)
    assert (means is not None) == name.startswith("ratings")
    assert means is None or holds(means)


@pytest.mark.parametrize("design", AGREEMENT, ids=lambda one: f"{one.name} {one.level}")
def test_intervals_of_agreement_hold_what_many_units_give(design: agreement.Design) -> None:
    for line in agreement.coverage(design, 200, seed=6):
        assert line.lost == 0
        assert holds(line), line


@pytest.mark.parametrize("design", [one for one in agreement.icc_designs() if not one.holes and one.units == 20])
def test_intervals_of_intraclass_correlations_hold_the_truth(design: agreement.IccDesign) -> None:
    """That of icc2 is an approximation which falls short by a few points; the report warns of few raters."""
    for line in agreement.icc_coverage(design, RUNS, seed=6):
        assert holds(line) if line.promised else line.seen > 0.91, line


@pytest.mark.parametrize("design", list(single.davidson_designs()), ids=lambda one: one.name)
def test_intervals_of_davidson_hold_the_truth(design: single.Design) -> None:
    line = single.simulate(design, 200, seed=6)
    assert line.lost == 0
    assert holds(line)
