"""An LLM answers all, people a drawn part: peers' figures, properties, and simulations with known truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.audit.audit_bets import audit_terms, term_range
from analysis.audit.audited_mean import audited_mean
from analysis.audit.chances import inclusion_chances, predicted_errors
from analysis.audit.waves import KnownUnits, WavePlan, plan_wave
from analysis.llm_vs_people import prediction_powered_mean
from analysis.sequential.bets import bets_of, bets_within, log_factors
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from tests.calibration.audit import Design, decided, intervals, normal_rejections

RULE = StoppingRule(effect=0.08)
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


def test_audits_spend_degrees_of_freedom_on_tuning() -> None:
    """Two less than the people where lambda and the offset are tuned, besides the one of the mean."""
    rng = np.random.default_rng(2)
    people = np.where(np.arange(200) < 60, rng.normal(size=200), np.nan)
    llm, chance = rng.normal(size=200), np.full(200, 0.3)
    assert audited_mean(people, llm, chance).df == pytest.approx(57)
    assert audited_mean(people, llm, chance, llm_weight=1.0).df == pytest.approx(59)


def test_a_mean_that_even_llms_leave_to_people() -> None:
    """Where the LLM said the same of all that people answered, nothing of it counts, whatever it said of the others."""
    rng = np.random.default_rng(3)
    people = np.where(np.arange(40) < 16, rng.normal(size=40), np.nan)
    llm = np.where(np.arange(40) < 16, 2.0, rng.normal(size=40))
    found = audited_mean(people, llm, np.full(40, 0.4))
    assert found.llm_weight == 0
    assert found.estimate == pytest.approx(audited_mean(people, np.zeros(40), np.full(40, 0.4)).estimate)


def test_a_mean_of_uneven_chances_has_fewer_answers() -> None:
    """The degrees of freedom are those of the effective number: (8 + 2)^2 / (8 + 4), less the one of the mean."""
    people = np.array([*np.arange(9.0), *[np.nan] * 9])
    chance = np.array([1.0] * 8 + [0.5] + [0.7] * 9)
    assert audited_mean(people, np.zeros(18), chance, llm_weight=1.0).df == pytest.approx(10**2 / 12 - 1)


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


def of_units(people: Floats, llm: Floats, chance: Floats, doubt: Floats, *, decides: bool = True) -> WavePlan:
    known = KnownUnits(people=people[:, None], llm=llm[:, None], chance=chance, doubt=doubt, before=doubt)
    return plan_wave(known, RULE, share=0.25, floor=0.15, by_doubt=True, decides=decides)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 60), st.floats(0, 1))
def test_terms_of_audits_are_people_on_average(seed: int, n: int, rho: float) -> None:
    """Whatever earlier waves say: terms stay within reach, where no bet loses all; over all draws they are people."""
    rng = np.random.default_rng(seed)
    people, llm = rng.random(n + 200), rng.random(n + 200)
    llm = np.where(rng.random(n + 200) < rho, people, llm)
    doubt = np.abs(people - llm) + rng.random(n + 200) / 4
    plan = of_units(people[:n], llm[:n], rng.uniform(0.15, 1, n), doubt[:n], decides=bool(seed % 2))
    people, chance, expected = people[n:], plan.scale.of(doubt[n:]), plan.expected(llm[n:, None])[:, 0]
    bets = bets_within(RULE, term_range(plan.reach, plan.sd))
    total = np.zeros(200)
    for said, weight in ((people, chance), (np.full(200, np.nan), 1 - chance)):
        terms = audit_terms(said, expected, chance)
        assert np.abs(terms - 0.5).max() <= plan.reach[0] + 1e-9
        assert log_factors(terms[:, None], bets).min() >= np.log(0.1) - 1e-9
        total += weight * terms
    assert total == pytest.approx(people)


def test_useless_llms_leave_the_bets_of_people_alone() -> None:
    """Before the first wave, and where nobody follows the LLM: each stake is that of people alone over the chance."""
    rng = np.random.default_rng(3)
    people, llm = np.tile(rng.random(20), 2), rng.random(40)
    people[20:] = 1 - people[20:]
    alone = bets_of(RULE).amount
    for n in (0, 40):
        even = np.full(n, 0.25)
        (found,) = of_units(people[:n], llm[:n], even, even).stand_ins
        assert (found.llm_weight, found.within) == (0.0, 0.0)
        assert bets_within(RULE, term_range(np.array(found.reach), np.array(found.sd))).amount / 0.25 == pytest.approx(
            alone
        )
    (close,) = of_units(llm / 4 + 0.4, llm, np.full(40, 0.25), np.full(40, 0.25)).stand_ins
    assert close.llm_weight == pytest.approx(0.25, abs=0.01)
    assert np.all(close.of(np.array([np.nan])) == 0.5)


def test_units_are_drawn_by_doubt_where_bets_gain_by_it() -> None:
    rng = np.random.default_rng(4)
    llm, doubt = rng.random(200), rng.choice([0.0, 1.0], 200)
    people = np.clip(llm + doubt * rng.normal(size=200) / 2, 0, 1)
    even = np.full(200, 0.25)
    plan = of_units(people, llm, even, doubt, decides=False)
    assert plan.scale.of(np.array([0.0, 1.0, np.nan])).tolist() == pytest.approx([0.15, 0.35, 0.26], abs=0.03)
    assert of_units(people, llm, even, doubt).scale.line is None  # stakes would be smaller than the gain is worth
    assert of_units(people, llm, even, doubt[::-1] * 0, decides=False).scale.line is None


@pytest.mark.parametrize("design", [Design(rho=0.0), Design(rho=0.9, scale="errors"), Design(rho=0.5, active=True)])
def test_intervals_of_audits_hold(design: Design) -> None:
    runs = 250
    held, variance, expected = intervals(design, runs=runs, seed=4, forms=240)
    assert held >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)
    assert variance <= expected + 0.06


def test_decisions_of_audits_are_rarely_false() -> None:
    """Of answers 0 and 1, too, for which tests that estimate the variance are wrong in most studies."""
    runs = 60
    false = decided(Design(rho=0.7, scale="two values"), mean=0.5, runs=runs, seed=5, most=400).share
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
    assert normal_rejections(runs=60, seed=6, n=60) > 0.2
    close, useless = (decided(Design(rho=rho), mean=0.6, runs=20, seed=7, most=1000) for rho in (0.95, 0.0))
    assert min(close.share, useless.share) > 0.9
    assert close.more < -0.25
    assert useless.more < 0.03 + 2 * useless.sd / useless.alone
