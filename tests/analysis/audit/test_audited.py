"""An LLM answers all, people a drawn part: peers' figures, properties, and simulations with known truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.audit.audit_bets import StandIn, audit_rule, audit_values, stand_in
from analysis.audit.audited_mean import audited_mean
from analysis.audit.chances import inclusion_chances, predicted_errors
from analysis.llm_vs_people import prediction_powered_mean
from analysis.sequential.bets import bets_of
from analysis.sequential.rule import StoppingRule
from tests.calibration.audit import Design, decided, intervals, normal_rejections

PEERS = Path(__file__).parents[2] / "peers" / "powered.json"


def test_fixed_lambda_as_the_peers_find() -> None:
    """glide-py 0.11.0 without tuning: estimate and error; ppi-python 0.2.3: the estimate (its error divides by n)."""
    peers = json.loads(PEERS.read_text())
    made, found = peers["made"], peers["found"]
    people, llm, chance = (np.array(made[name]) for name in ("people", "llm", "chance"))
    n = made["n_people"]
    fixed = prediction_powered_mean(people[:n], llm[:n], llm[n:], llm_weight=1.0)
    active = audited_mean(np.where(made["asked"], people, np.nan), llm, chance, llm_weight=1.0)
    for own, peer in ((fixed, "glide PPIMeanEstimator"), (active, "glide ASIMeanEstimator")):
        assert own.estimate == pytest.approx(found[peer]["estimate"], abs=1e-9)
        assert own.se == pytest.approx(found[peer]["se"], abs=1e-9)
    assert fixed.estimate == pytest.approx(found["ppi_mean_pointestimate"]["estimate"], abs=1e-9)
    assert peers["versions"] == ["glide-py==0.11.0", "ppi-python==0.2.3"]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-3.0, 0.25, 7.0]), st.floats(-5, 5))
def test_audited_mean_hangs_on_no_unit_or_order(seed: int, scale: float, shift: float) -> None:
    """Scores in other units, shuffled units: the same interval; people's scale moves it."""
    rng = np.random.default_rng(seed)
    llm, chance = rng.normal(size=80), rng.uniform(0.2, 0.9, 80)
    people = np.where(rng.random(80) < chance, llm + rng.normal(size=80), np.nan)
    one = audited_mean(people, llm, chance)
    order = rng.permutation(80)
    two = audited_mean(10 * people[order] + 3, scale * llm[order] + shift, chance[order])
    assert two.estimate == pytest.approx(10 * one.estimate + 3)
    assert two.se == pytest.approx(10 * (one.se or 0))


def test_people_who_answer_all_need_no_llm() -> None:
    people = np.random.default_rng(1).normal(size=50)
    found = audited_mean(people, np.arange(50.0), np.ones(50))
    assert found.estimate == pytest.approx(people.mean())
    assert found.se == pytest.approx(people.std(ddof=1) / np.sqrt(50), rel=0.03)


@pytest.mark.parametrize(
    ("people", "chance", "wrong"),
    [
        ([np.nan, np.nan], [0.5, 0.5], "at least one answer"),
        ([1.0, np.nan], [0.5, 0.0], "chance"),
        ([1.0], [0.5], "one length"),
        ([np.inf, 1.0], [0.5, 0.5], "finite"),
    ],
)
def test_audits_refuse_what_is_no_audit(people: list[float], chance: list[float], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        audited_mean(people, [1.0, 2.0], chance)


def test_few_or_even_answers_of_an_audit_have_reasons() -> None:
    few = audited_mean([1.0, 2.0, np.nan, np.nan], [1.0, 2, 3, 4], [0.5] * 4)
    assert (few.llm_weight, few.ci_low is None) == (0.0, False)
    assert audited_mean([1.0, np.nan], [1.0, 2], [0.5] * 2).reason is not None
    assert audited_mean([1.0] * 9 + [np.nan], np.arange(10.0), [0.9] * 10).reason is not None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.01, 5), min_size=5, max_size=60), st.floats(0.2, 0.9))
def test_chances_meet_their_mean_and_floor(errors: list[float], share: float) -> None:
    found = inclusion_chances(np.array(errors), len(errors), share=share, floor=0.1)
    assert found.mean() == pytest.approx(share, abs=1e-6)
    assert found.min() >= 0.1 * (1 - 1e-6)
    assert found.max() <= 1
    assert np.all(np.diff(found[np.argsort(errors)]) >= -1e-12)


def test_errors_are_predicted_where_doubt_tells() -> None:
    rng = np.random.default_rng(2)
    doubt = rng.uniform(0, 1, 400)
    error = doubt * rng.normal(size=400)
    found = predicted_errors(error, doubt, np.ones(400), np.array([0.2, 0.9]))
    assert found is not None
    assert found[1] > 1.5 * found[0] > 0
    assert predicted_errors(error, np.ones(400), np.ones(400), doubt) is None
    assert predicted_errors(error[:19], doubt[:19], np.ones(19), doubt) is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(-3, 3), st.floats(-2, 2))
def test_values_of_audits_stay_within_bounds(seed: int, slope: float, offset: float) -> None:
    """Whatever the stand-in, values lie on [0, 1]; drawn over and over, their mean is that of people."""
    rng = np.random.default_rng(seed)
    people, llm, chance = rng.random(200), rng.random(200), rng.uniform(0.25, 1, 200)
    expected = StandIn(llm_weight=slope, offset=offset)
    total = np.zeros(200)
    for _ in range(2):
        asked = rng.random(200) < chance
        values = audit_values(np.where(asked, people, np.nan), llm, chance, expected, floor=0.25)
        assert values.min() >= 0
        assert values.max() <= 1
    for said, weight in ((people, chance), (np.full(200, np.nan), 1 - chance)):
        of_all = audit_values(said, llm, chance, expected, floor=0.25)
        total += weight * of_all
    assert 0.5 + 7 * (total - 0.5) == pytest.approx(people)


def test_the_planned_bet_is_that_of_unscaled_values() -> None:
    """Stakes in people's units: the scale divides values and multiplies bets."""
    rule = audit_rule(StoppingRule(effect=0.1, margin=0.05, sd=0.2), floor=0.5, share=0.5, correlation=0.0)
    assert [rule.effect, rule.margin] == pytest.approx([0.1 / 3, 0.05 / 3])
    assert rule.sd == pytest.approx(0.2 * np.sqrt(2) / 3)
    assert bets_of(rule).amount[0, 0] / 3 == pytest.approx(min(0.1 / (0.08 + 0.01), 0.9 / 1.5))


def test_a_useless_llm_is_left_out() -> None:
    rng = np.random.default_rng(3)
    people, llm = rng.random(40), rng.random(40)
    assert abs(stand_in(people, llm, np.ones(40)).llm_weight) < 0.25
    assert stand_in(people[:0], llm[:0], people[:0]) == StandIn()
    assert stand_in(people, np.ones(40), np.ones(40)).llm_weight == 0
    close = stand_in(llm / 4 + 0.6, llm, np.ones(40))
    assert close.llm_weight == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("design", [Design(rho=0.0), Design(rho=0.9, scale="errors"), Design(rho=0.5, active=True)])
def test_intervals_of_audits_hold(design: Design) -> None:
    runs = 250
    held, variance, expected = intervals(design, runs=runs, seed=4, forms=240)
    assert held >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)
    assert variance <= expected + 0.06


def test_decisions_of_audits_are_rarely_false() -> None:
    """Of answers 0 and 1, too, for which tests that estimate the variance are wrong in most studies."""
    runs = 60
    false, _, _ = decided(Design(rho=0.7, scale="two values"), mean=0.5, runs=runs, seed=5, most=400)
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
    assert normal_rejections(runs=60, seed=6, n=60) > 0.2
    done, people, alone = decided(Design(rho=0.95), mean=0.58, runs=20, seed=7, most=800)
    assert done > 0.9
    assert people < 0.85 * alone
