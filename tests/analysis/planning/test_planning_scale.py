"""Power of answers on a scale: enumeration, statsmodels, studies drawn answer by answer, monotony."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from statsmodels.stats.power import TTestPower

from analysis.planning.assumptions import Assumptions, assumed
from analysis.planning.contributions import answers, scale_test
from analysis.planning.plan import annotators_for, detectable
from analysis.planning.scale_power import ScaleTest, sum_power
from analysis.planning.simulate import scale_answers
from analysis.planning.variance import Components


def spa(sd: float = 0.3, **changes: object) -> Assumptions:
    return replace(assumed("spa", directions=2), components=Components(annotator_sd=sd), **changes)


def scaled(assumptions: Assumptions, difference: float) -> ScaleTest:
    return scale_test(assumptions, answers(assumptions, difference), assumptions.alpha)


def test_scale_power_equals_statsmodels_when_fine():
    """Fine answers that are nearly normal have the power of statsmodels."""
    points, chances = scale_answers(0, 1, 400, mean=0.52, sd=0.06)
    wanted = TTestPower().power(0.02 / 0.06, 60, 0.05)
    assert sum_power(points, chances, null=0.5, n=60, alpha=0.05) == pytest.approx(wanted, abs=5e-4)


def test_scale_power_of_few_answers_is_exact():
    """Few answers have the power of all studies that there can be."""
    points, chances = scale_answers(-2, 2, 4, mean=0.9, sd=0.9)
    wanted = 0.0
    for study in product(range(5), repeat=5):
        values = points[list(study)]
        if len(set(study)) > 1 and values.mean() > 0 and ttest_1samp(values, 0).pvalue <= 0.1:
            wanted += float(np.prod(chances[list(study)]))
    found = ScaleTest(points=points, chances=chances, null=0.0, alpha=0.1, exclusion_rate=0.0, seed=3).power(5)
    assert found == pytest.approx(wanted, abs=0.006)


def test_scale_power_of_strong_preferences():
    """Strong preferences of few annotators have less power than normal answers."""
    test = scaled(spa(0.25), 0.2)
    assert test.formula(20) == pytest.approx(0.89, abs=0.005)
    assert test.power(20) == pytest.approx(0.848, abs=0.005)


@settings(deadline=None, max_examples=25)
@given(st.floats(0.04, 0.2), st.floats(0.15, 0.35), st.sampled_from([0.7, 0.8, 0.95]))
def test_scale_number_is_the_smallest(difference: float, sd: float, power: float):
    """The number needed is the smallest that reaches the power."""
    test, need = scaled(spa(sd), difference), annotators_for(spa(sd), difference, power, 0.05)
    assert need.annotators is not None
    assert need.reached == test.power(need.annotators) >= power
    assert test.power(need.annotators - 1) < power


@settings(deadline=None, max_examples=25)
@given(st.floats(0.04, 0.2), st.floats(0.15, 0.35), st.integers(20, 400))
def test_power_on_the_scale_rises_with_annotators(difference: float, sd: float, annotators: int):
    test = scaled(spa(sd), difference)
    assert test.power(annotators + 5) >= test.power(annotators) - 1e-4


def test_detectable_difference_has_the_power():
    design = spa(n_tests=6)
    found = detectable(design, 24, 0.8)
    assert found.difference is not None
    assert scaled(design, found.difference).power(24) == pytest.approx(0.8, abs=0.002)
    assert "too few for 90% power if answers scatter by SD 0.25; clear winners can still be found" in str(
        detectable(spa(0.25), 6, 0.9).reason
    )
