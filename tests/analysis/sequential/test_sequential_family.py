"""Decisions of a family: against closed testing done by hand, and in simulated studies with a known truth."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.sequential.family import EQUAL, OPEN, X, Y, decide
from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from analysis.statistics.corrections import holm
from tests.calibration.sequential_errors import DESIGNS, LiveDesign, counts, preferences
from tests.calibration.sequential_holm import rejected
from tests.calibration.sequential_saving import FOUR, cost, fixed_people
from tests.calibration.table import most_by_luck

RULE = StoppingRule(effect=0.1, sd=0.22)
MARGIN = replace(RULE, margin=0.1)
LOGS = st.sampled_from([0.01, 1.0, 15.0, 21.0, 30.0, 41.0, 50.0, 63.0, 81.0, 110.0, 500.0]).map(math.log)


def sides(log_two: list[float]) -> Floats:
    """Return e-values for x and y of which one is negligible."""
    return np.array([[value, -9.0] for value in log_two])


@given(st.lists(LOGS, min_size=1, max_size=5))
def test_sequential_family_without_a_margin(log_x: list[float]) -> None:
    """Without a margin every set of pairs has an average of 20."""
    log_e = sides(log_x)
    e_values = np.exp(log_e).mean(axis=-1)
    k = len(log_x)
    sets = [subset for size in range(1, k + 1) for subset in combinations(range(k), size)]
    expected = [all(e_values[list(subset)].mean() >= 20 for subset in sets if place in subset) for place in range(k)]
    assert (decide(log_e, RULE) != OPEN).tolist() == expected


@given(st.lists(st.tuples(st.booleans(), LOGS, LOGS, LOGS), min_size=1, max_size=3))
def test_with_a_margin_every_combination_of_states_is_refused(rows: list[tuple[bool, float, float, float]]) -> None:
    """States of a pair: at 1/2, just above or below, at the margin or beyond; weights 2, 1, 1, 1, 1."""
    log_e = np.array([[won, -9, *bounds] if x else [-9, won, *bounds] for x, won, *bounds in rows])
    e_values = np.exp(log_e)
    false_in = {0: {X, Y}, 1: {Y}, 2: {X}, 3: {Y, EQUAL}, 4: {X, EQUAL}}

    def excess(place: int, state: int) -> float:
        x, y, below, above = e_values[place]
        return float((x + y - 40, y - 20, x - 20, below - 20, above - 20)[state])

    expected = []
    for place in range(len(rows)):
        standing = {
            mark
            for states in product(range(5), repeat=len(rows))
            if sum(excess(other, state) for other, state in enumerate(states)) < -1e-9
            for mark in false_in[states[place]]
        }
        direction = X if log_e[place, 0] > log_e[place, 1] else Y
        expected.append(direction if direction not in standing else EQUAL if EQUAL not in standing else OPEN)
    assert decide(log_e, MARGIN).tolist() == expected


@given(st.lists(LOGS, min_size=1, max_size=6))
def test_holm_is_that_of_always_valid_p_values(log_x: list[float]) -> None:
    peak = sides(log_x)
    p_values = np.minimum(2 * np.exp(-peak.max(axis=-1)), 1.0)
    expected = holm(p_values.tolist(), fwer=0.05).rejected
    assert rejected(peak, 0.05).tolist() == expected.tolist()


@pytest.mark.parametrize("rule", [RULE, MARGIN, replace(MARGIN, most=60)])
@settings(max_examples=15)
@given(order=st.permutations(range(4)), seed=st.integers(0, 50))
def test_the_order_of_pairs_and_the_name_of_x_change_nothing(rule: StoppingRule, order: list[int], seed: int) -> None:
    values = preferences(np.random.default_rng(seed), (60, 4), np.array([0.5, 0.6, 0.3, 0.7]))
    found, moved, turned = replay(values, rule), replay(values[:, order], rule), replay(1 - values, rule)
    assert moved.decisions.tolist() == found.decisions[order].tolist()
    assert moved.decided_at.tolist() == found.decided_at[order].tolist()
    swapped = {"x": "y", "y": "x"}
    assert turned.decisions.tolist() == [swapped.get(name, name) for name in found.decisions]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_false_decisions_stay_rare_at_every_moment(design: LiveDesign) -> None:
    runs = 400
    false, _, repeated = counts(replace(design, people=60), runs, np.random.default_rng(8))
    assert false / runs <= most_by_luck(runs, 0.05)
    if set(design.means) == {0.5}:
        assert repeated / runs > 0.2


def test_sequential_family_saves_a_third() -> None:
    """Four pairs take a third fewer questions than the fixed study."""
    values = preferences(np.random.default_rng(9), (500, 120, 4), np.array(FOUR))
    fixed = fixed_people(values, 0.05)
    assert 38 <= fixed <= 46
    assert cost(values, RULE, fixed).fewer_questions > 0.35


def test_an_even_pair_is_found_equal() -> None:
    values = preferences(np.random.default_rng(10), (300, 77, 5), np.array([*FOUR, 0.5]))
    assert (replay(values, MARGIN).decisions[:, -1] == "equal").mean() > 0.6
