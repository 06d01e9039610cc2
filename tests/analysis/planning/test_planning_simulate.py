"""Drawn power agrees with reckoned power; drawn answers have the moments asked for; Holm by rows is Holm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.planning.power import expected_power
from analysis.planning.simulate import holm_rejects, scale_answers, simulate_family
from analysis.statistics.corrections import holm


@given(st.floats(0.2, 0.8), st.floats(0.06, 0.36))
@example(0.34038802858344336, 0.34038802858344336)  # the last Newton step falls by less than rounding hides
def test_answers_have_the_mean_and_sd_asked_for(mean: float, sd: float):
    points, chances = scale_answers(0, 1, 40, mean=mean, sd=sd)
    assert points @ chances == pytest.approx(mean, abs=1e-7)
    assert (points - mean) ** 2 @ chances == pytest.approx(sd**2, abs=1e-7)
    assert chances.sum() == pytest.approx(1)


def test_answers_with_the_sd_of_a_flat_scale_are_flat():
    points = np.linspace(0, 1, 21)
    _, chances = scale_answers(0, 1, 20, mean=0.5, sd=float(points.std()))
    assert chances == pytest.approx(np.full(21, 1 / 21))


@pytest.mark.parametrize(("mean", "sd"), [(0.9, 0.4), (0.5, 0.6), (0.5125, 0.001)])
def test_impossible_answers_are_refused(mean: float, sd: float):
    with pytest.raises(ValueError, match="no answers between 0 and 1"):
        scale_answers(0, 1, 40, mean=mean, sd=sd)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.05, 0.2]))
def test_holm_by_rows_is_holm(p_values: list[float], fwer: float):
    expected = list(holm(p_values, fwer=fwer).rejected)
    assert holm_rejects(np.array([p_values]), fwer=fwer)[0].tolist() == expected
    with_gap = np.array([[*p_values, np.nan]])
    assert holm_rejects(with_gap, fwer=fwer)[0].tolist() == [*expected, False]


@pytest.mark.parametrize(
    ("ends", "mean", "null", "sd", "annotators"),
    [((0, 1), 0.6, 0.5, 0.3, 90), ((0, 1), 0.55, 0.5, 0.2, 150), ((-4, 4), 0.6, 0.0, 1.2, 40)],
)
def test_a_drawn_test_has_the_reckoned_power(
    ends: tuple[float, float], mean: float, null: float, sd: float, annotators: int
):
    answers = scale_answers(*ends, 40, mean=mean, sd=sd)
    settings = {"null": null, "annotators": annotators, "exclusion_rate": 0.1, "fwer": 0.05}
    found = simulate_family([answers], replicates=6000, rng=np.random.default_rng(11), **settings)
    wanted = expected_power((mean - null) / sd, annotators, alpha=0.05, exclusion_rate=0.1)
    assert found.power.value == pytest.approx(wanted, abs=4 * found.power.standard_error)
    assert found.false_finding is None


def test_simulated_power_at_the_end_of_the_scale():
    """Strong preferences of few annotators are skewed; this is what the check is for."""
    answers = scale_answers(0, 1, 40, mean=0.7, sd=0.25)
    settings = {"null": 0.5, "annotators": 20, "exclusion_rate": 0.1, "fwer": 0.05}
    found = simulate_family([answers], replicates=6000, rng=np.random.default_rng(11), **settings)
    wanted = expected_power(0.8, 20, alpha=0.05, exclusion_rate=0.1)
    assert wanted - 0.06 < found.power.value < wanted - 4 * found.power.standard_error


def test_simulated_holm_and_bonferroni():
    """Holm finds no less than bonferroni and errs no more than it may."""
    same, other = scale_answers(0, 1, 40, mean=0.5, sd=0.3), scale_answers(0, 1, 40, mean=0.6, sd=0.3)
    settings = {"null": 0.5, "annotators": 126, "exclusion_rate": 0.1, "fwer": 0.05, "replicates": 6000}
    bound = expected_power(0.1 / 0.3, 126, alpha=0.05 / 6, exclusion_rate=0.1)
    alone = simulate_family([other] + [same] * 5, rng=np.random.default_rng(2), **settings)
    together = simulate_family([other] * 6, rng=np.random.default_rng(2), **settings)
    assert alone.power.value == pytest.approx(bound, abs=0.01 + 4 * alone.power.standard_error)
    assert together.power.value > alone.power.value + 0.05
    assert alone.false_finding is not None
    assert alone.false_finding.value <= 0.05 + 4 * alone.false_finding.standard_error


def test_the_same_seed_draws_the_same_studies():
    answers = [scale_answers(-4, 4, 8, mean=0.5, sd=1.6)]
    settings = {"null": 0.0, "annotators": 60, "exclusion_rate": 0.2, "fwer": 0.05, "replicates": 200}
    first, again = (simulate_family(answers, rng=np.random.default_rng(4), **settings) for _ in range(2))
    assert first == again


def test_so_few_that_nothing_can_be_tested_finds_nothing():
    answers = [scale_answers(0, 1, 20, mean=0.7, sd=0.3)]
    settings = {"null": 0.5, "annotators": 2, "exclusion_rate": 0.9, "fwer": 0.05, "replicates": 500}
    assert simulate_family(answers, rng=np.random.default_rng(4), **settings).power.value < 0.02
