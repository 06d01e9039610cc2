"""A live study watched unit by unit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.sequential.family import NAMES
from analysis.sequential.futility import futile
from analysis.sequential.monitor import Monitor
from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Tally
from analysis.statistics.coding import Floats
from tests.calibration.sequential_errors import preferences

RULE = StoppingRule(effect=0.1, sd=0.22)


def watched(values: Floats, rule: StoppingRule) -> Monitor:
    monitor = Monitor.start(rule, values.shape[1])
    for row in values:
        monitor = monitor.after(row)
    return monitor


def asked_on(values: Floats, rule: StoppingRule) -> Tally:
    """Return what is decided where futile pairs are asked to the end all the same."""
    tally = Tally.start(rule, (*values.shape[:-2], values.shape[-1]))
    for unit in range(values.shape[-2]):
        tally = tally.after(values[..., unit, :], rule)
    return tally


def test_a_study_by_hand() -> None:
    """Everybody says 80 %: a unit multiplies the three bets by 1 + 0.3 lambda; 40 decides one pair, two-sided."""
    monitor, n = Monitor.start(RULE, 1), 0
    bets = {0.1 / 0.0584: 0.7, 0.04 / 0.0584: 0.1, 1.8: 0.2}
    while not monitor.all_decided:
        monitor, n = monitor.after(np.array([0.8])), n + 1
        x, y = (sum(share * (1 + sign * bet * 0.3) ** n for bet, share in bets.items()) for sign in (1, -1))
        (state,) = monitor.states
        assert state.e_value == pytest.approx((x + y) / 2)
        assert state.p_value == pytest.approx(min(1, 2 / x))
        assert (state.decision == "x") == ((x + y) / 2 >= 20)
    assert (state.n, state.mean, state.decided_at) == (n, pytest.approx(0.8), n)
    assert state.low > 0.45
    assert state.expected_more is None


@pytest.mark.parametrize("changes", [{}, {"margin": 0.1}, {"margin": 0.1, "most": 50}])
def test_watching_finds_what_asking_all_to_the_end_finds(changes: dict[str, Any]) -> None:
    rule = replace(RULE, **changes)
    values = preferences(np.random.default_rng(1), (80, 5), np.array([0.5, 0.6, 0.35, 0.8, 0.5]))
    values[::7, 2] = np.nan
    found, states = asked_on(values, rule), watched(values, rule).states
    assert [state.decision or "" for state in states] == NAMES[found.marks].tolist()
    assert [state.decided_at or 0 for state in states] == found.decided_at.tolist()
    assert [state.n for state in states] == found.n.tolist()


def test_many_studies_at_once_are_those_studies() -> None:
    values = preferences(np.random.default_rng(2), (6, 60, 3), np.array([0.5, 0.6, 0.7]))
    together = replay(values, RULE)
    for place, study in enumerate(values):
        assert replay(study, RULE).decided_at.tolist() == together.decided_at[place].tolist()


def test_monitor_decided_stays_decided() -> None:
    """A decided hypothesis is asked no further and stays decided."""
    monitor = watched(np.tile([0.9, 0.5], (20, 1)), RULE)
    later = monitor
    for _ in range(20):
        later = later.after(np.array([0.0, 0.5]))
    assert monitor.states[0].decision == "x"
    assert later.states[0] == monitor.states[0]
    assert (later.open, later.states[1].n) == ((1,), 40)


def test_nothing_is_decided_before_the_least_units() -> None:
    monitor = watched(np.ones((15, 1)), replace(RULE, least=16))
    assert monitor.open == (0,)
    assert monitor.after(np.ones(1)).states[0].decided_at == 16


def test_a_unit_that_was_not_asked_changes_nothing() -> None:
    start = Monitor.start(RULE, 2)
    state = start.after(np.array([np.nan, 0.9])).states[0]
    assert state == start.states[0]
    assert (state.mean, state.low, state.high, state.e_value, state.p_value) == (None, 0.0, 1.0, 1.0, 1.0)


def test_futile_is_advice_that_further_answers_take_back() -> None:
    rule = replace(RULE, most=60)
    even = watched(np.tile([0.3, 0.7], 20)[:, None], rule)
    assert (even.states[0].decision, even.open) == ("futile", ())
    going_on = even
    for _ in range(20):
        going_on = going_on.after(np.ones(1))
    assert going_on.states[0].decision == "x"
    unjudged = watched(np.concatenate([np.tile([0.3, 0.7], 20), np.ones(20)])[:, None], RULE)
    assert going_on.states[0].e_value == unjudged.states[0].e_value


def test_monitor_barely_futile_start() -> None:
    """A study that starts as barely futile finds the effect in a fifth of runs."""
    log_e = np.zeros((1, 2))
    most = next(n for n in range(2, 100) if not futile(log_e, np.zeros(1, dtype=np.int64), replace(RULE, most=n))[0])
    values = preferences(np.random.default_rng(5), (2000, most, 1), np.array([0.6]))
    assert (replay(values, RULE).decisions == "x").mean() == pytest.approx(RULE.futility, abs=0.07)


def test_futility_moves_no_decision_of_others() -> None:
    values = preferences(np.random.default_rng(3), (200, 70, 5), np.array([0.5, 0.6, 0.65, 0.7, 0.8]))
    judged, not_judged = (asked_on(values, rule) for rule in (replace(RULE, most=70), RULE))
    decided = not_judged.decided
    assert (judged.marks[decided] == not_judged.marks[decided]).all()
    assert not judged.decided[~decided].any()


def test_monitor_expected_further_units() -> None:
    """The expected number of further units is about what it takes."""
    values = preferences(np.random.default_rng(4), (400, 40), np.array(0.6))
    ratios = []
    for column in values.T:
        monitor = watched(column[:15, None], RULE)
        (state,) = monitor.states
        if state.expected_more:
            ratios.append((replay(column[:, None], RULE).decided_at[0] - 15) / state.expected_more)
    assert 0.5 < np.median(ratios) < 2


@pytest.mark.parametrize(
    ("values", "message"), [([1.2], "must lie in"), ([-0.1], "must lie in"), ([0.5, 0.5], "must have shape")]
)
def test_values_that_are_none_are_refused(values: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Monitor.start(RULE, 1).after(np.array(values))


@pytest.mark.parametrize(
    "changes",
    [
        {"effect": 0.5},
        {"effect": 0.0},
        {"margin": math.nan},
        {"sd": 0.6},
        {"error_rate": 1.0},
        {"most": 1},
        {"least": 0},
        {"futility": 0.0},
    ],
)
def test_rules_that_make_no_sense_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        replace(RULE, **changes)


@given(seed=st.integers(0, 2**32 - 1), margin=st.sampled_from([None, 0.1]), k=st.integers(1, 5))
def test_the_interval_of_a_decided_pair_leaves_no_difference_out(seed: int, margin: float | None, k: int) -> None:
    rng = np.random.default_rng(seed)
    monitor = Monitor.start(StoppingRule(effect=0.1, margin=margin), k)
    for _ in range(40):
        monitor = monitor.after(rng.beta(4, 1.5, k))
    for state in monitor.states:
        assert state.low <= state.mean <= state.high
        assert state.decision != "x" or state.low > 0.5 - 1e-6
        assert state.decision != "y" or state.high < 0.5 + 1e-6
