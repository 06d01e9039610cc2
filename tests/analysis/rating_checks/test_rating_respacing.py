"""Which order of two means holds on other spacings of the scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from analysis import respacing_range
from analysis.rating_checks.respacing import share_of_spacings
from spa.elicitation.ratings import RatingTarget
from spa.responses.answers import parse_answers
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.true_utilities import likert_reversal_truth
from tests.analysis.made_answers import ratings, run
from tests.spa.hand_made import hand_made

SCORES = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def leads(x: list[int], y: list[int]) -> list[float]:
    """Return P(x above level) - P(y above level) for the steps of a scale of five."""
    return [float(np.mean(np.array(x) > level) - np.mean(np.array(y) > level)) for level in range(1, 5)]


def lowest(lead: list[float], ratio: float) -> float:
    """Least mean difference over all spacings whose steps differ by at most ``ratio``, by linear programming."""
    steps = len(lead)
    bounds = [(0, None)] * (steps + 1)  # the steps, and the smallest of them
    above = np.hstack([-np.eye(steps), np.ones((steps, 1))])
    below = np.hstack([np.eye(steps), -ratio * np.ones((steps, 1))])
    found = linprog(
        [*lead, 0], A_ub=np.vstack([above, below]), b_ub=np.zeros(2 * steps), A_eq=[[1] * steps + [0]], b_eq=[1],
        bounds=bounds,
    )  # fmt: skip
    return float(found.fun)


def test_a_worked_example() -> None:
    """x: 1, 5, 5, 5, y: 3, 4, 4, 4. x leads by 3/4 on the last step, y by 1/4 on the first and second."""
    found = respacing_range([1, 5, 5, 5], [4, 4, 4, 3])
    assert (found.holds, found.ratio) == ("depends", 0.75 / 0.5)
    assert found.share == pytest.approx(0.75 * 0.75)  # one time of mean 3 outlasts two of mean 1: (3/4)^2
    values = dict(zip(found.levels, found.example, strict=True))
    assert np.mean([values[score] for score in (1, 5, 5, 5)]) < np.mean([values[score] for score in (4, 4, 4, 3)])


@given(SCORES, SCORES)
def test_respacing_ratio_by_linear_programming(x: list[int], y: list[int]) -> None:
    """The ratio is where linear programming finds the first reversal."""
    found = respacing_range(x, y, levels=range(1, 6))
    lead = leads(x, y)
    sign = 1 if sum(lead) > -1e-9 else -1
    if found.holds == "depends":
        assert found.ratio is not None
        turned = [sign * value for value in lead]
        assert lowest(turned, found.ratio) == pytest.approx(0, abs=1e-9)
        assert lowest(turned, found.ratio * 1.1) < 0
        values = np.array(found.example)
        means = [values[np.array(side) - 1].mean() for side in (x, y)]
        assert sign * (means[0] - means[1]) < 1e-9 or abs(sum(lead)) < 1e-9  # of equal means either may come first
        assert np.all(np.diff(values) > 0)
    elif found.holds is None:
        assert sorted(np.repeat(x, len(y))) == sorted(np.repeat(y, len(x)))
    else:
        assert {"always": min(lead) >= -1e-12, "never": max(lead) <= 1e-12}[found.holds]


@given(SCORES, SCORES)
def test_swapping_the_systems_mirrors_the_range(x: list[int], y: list[int]) -> None:
    one, two = respacing_range(x, y), respacing_range(y, x)
    assert two.holds == {"always": "never", "never": "always"}.get(str(one.holds), one.holds)
    assert (one.ratio, one.rounding) == (two.ratio, two.rounding)
    assert one.share is None or two.share == pytest.approx(1 - one.share)


@given(st.lists(st.floats(-3, 3).filter(lambda value: abs(value) > 0.01), min_size=2, max_size=6))
def test_the_share_is_that_of_drawn_spacings(worth: list[float]) -> None:
    drawn = np.random.default_rng(0).exponential(size=(20000, len(worth)))
    assert share_of_spacings(worth) == pytest.approx(np.mean(drawn @ np.array(worth) > 0), abs=0.02)


def test_other_scales() -> None:
    slider = respacing_range([0, 60, 100], [50, 55, 52])
    assert (slider.holds, slider.levels, slider.rounding) == ("depends", (), False)
    thirds = respacing_range([1, 2 + 1 / 3], [1, 1 + 2 / 3])
    assert (thirds.holds, thirds.rounding) == ("always", None)
    rng = np.random.default_rng(0)
    fine = respacing_range(rng.normal(size=90), rng.normal(size=90) * 2)
    assert fine.share is None
    assert "more than 100 steps" in str(fine.reason)
    alike = respacing_range([1, 2], [2, 1, 1, 2])
    assert alike.holds is None
    assert "equally often" in str(alike.reason)
    for wrong in ([[], [1]], [[1], [2], [1]], [[1], [2], [2, 1]]):
        with pytest.raises(ValueError, match=r"expected|levels"):
            respacing_range(*wrong)


def test_the_simulated_reversal_is_seen() -> None:
    """The better system has the lower mean on every spacing: what hides the truth is rounding, and it is flagged."""
    items = tuple(f"i{number}" for number in range(20))
    truth = likert_reversal_truth("good", "poor", items)
    people = Temperament(noise_sd=0.03, taste_sd=0, severity_sd=0.02, doubt=1.0)
    rows: list[tuple[str, str, str, object]] = []
    for person, rng in enumerate(np.random.default_rng(2022).spawn(40)):
        shown = tuple(rng.permutation(items)[:5])
        labels = {"A": "good", "B": "poor"} if person % 2 == 0 else {"A": "poor", "B": "good"}
        form, key = hand_made(f"a{person:05}", systems=labels, items=shown, rated=shown)
        answers = SimulatedAnnotator(truth, people, rng=rng).answers(form, key)
        for answer in parse_answers(form.questions("people"), answers):
            if isinstance(answer.target, RatingTarget) and answer.target.elicitation == "likert":
                rows.append((f"p{person}", str(answer.target), labels[answer.target.label], answer.value))
    place = [number % 5 for number in range(len(rows))]
    results = run(ratings=ratings([(who, f"i{at}", *rest) for (who, _, *rest), at in zip(rows, place, strict=True)]))  # type: ignore[misc]
    (pair,), (row,) = results["ratings"]["pairs"], results["ratings"]["respacing"]
    winner = pair["system_x"] if pair["verdict"] == "x" else pair["system_y"]
    assert winner == "poor"
    assert row["rounding"] is True
    assert row["holds"] in ({"x": "always", "y": "never"}[pair["verdict"]], "depends")
