"""Holm's correction: published example, properties, another library, calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from analysis import Plan
from analysis.corrections import holm, stars
from tests.analysis.answers import preferences, run

P_VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30)


@given(st.permutations([0.01, 0.04, 0.03, 0.005]))
def test_holm_does_not_depend_on_order(p: list[float]) -> None:
    expected = {0.01: 0.03, 0.04: 0.06, 0.03: 0.06, 0.005: 0.02}
    assert holm(p).p_adjusted.tolist() == pytest.approx([expected[x] for x in p])


@settings(max_examples=40)
@given(P_VALUES)
def test_holm_equals_statsmodels(p: list[float]) -> None:
    rejected, adjusted, *_ = multipletests(p, alpha=0.05, method="holm")
    assert holm(p).p_adjusted.tolist() == pytest.approx(adjusted.tolist(), rel=1e-12)
    assert holm(p).p_adjusted.tolist() == [min(x, 1.0) for x in holm(p).p_adjusted.tolist()]
    clear = np.abs(adjusted - 0.05) > 1e-12
    assert holm(p).rejected[clear].tolist() == rejected[clear].tolist()


def test_a_value_at_the_level_is_rejected() -> None:
    assert holm([0.025, 0.9]).rejected.tolist() == [True, False]


@pytest.mark.parametrize("wrong", [[float("nan")], [1.1], [-0.1, 0.5]])
def test_what_is_no_p_value_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        holm(wrong)


def test_stars_are_strict() -> None:
    assert [stars(p) for p in (0.0099, 0.01, 0.0499, 0.05, 0.0999, 0.1)] == ["***", "**", "**", "*", "*", ""]


def test_familywise_error_under_the_null_stays_at_or_below_the_level() -> None:
    """Six pairs, 20 annotators without any preference, 300 studies: at most fwer + 3 standard errors."""
    rng = np.random.default_rng(8)
    pairs = [(x, y) for place, x in enumerate("abcd") for y in "abcd"[place + 1 :]]
    studies = 300
    rows = []
    group = []
    for study in range(studies):
        answers = rng.normal(0.5, 0.2, size=(20, len(pairs))).clip(0, 1)
        for annotator in range(20):
            rows += [(f"{study}.{annotator}", x, y, answers[annotator, place]) for place, (x, y) in enumerate(pairs)]
            group += [f"study {study}"] * len(pairs)
    results = run(preferences=preferences(rows, group=group), plan=Plan(fwer=0.1))
    wrong = {row["group"] for row in results["preferences"] if row["verdict"] != "indifferent"}
    assert len(wrong) / studies <= 0.1 + 3 * (0.1 * 0.9 / studies) ** 0.5
    assert len(wrong) > 0  # the correction is not so strict that nothing can happen
