"""What ending "when decided" costs: simulated studies beside a fixed number that is computed otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from analysis.planning.assumptions import assumed
from analysis.planning.plan import LiveCost, annotators_for
from analysis.planning.study_design import _holm_power, deciding_hypotheses, live_costs, study_design
from spa.forms.effort import SECONDS_A_QUESTION
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.analysis.live_study import STUDY, build
from tests.analysis.peers import multipletests
from tests.spa.rehearsed import spa

MINUTES = 12.0


def costs(n_tests: int, difference: float = 0.1) -> tuple[LiveCost, ...]:
    design = assumed("spa", n_tests=n_tests, directions=2, exclusion_rate=0.1)
    need = annotators_for(design, difference, 0.8, design.alpha).annotators
    assert need is not None
    return live_costs(
        design, difference=difference, power=0.8, units=need, rule=None, minutes=MINUTES, rng=np.random.default_rng(3)
    )


def test_the_fixed_number_of_one_test_is_that_of_the_plan() -> None:
    """The plan's power is an exact sum; here 300 studies are drawn, whose power has a standard error of 2.3 points."""
    design = assumed("spa", n_tests=1, directions=2, exclusion_rate=0.1)
    (cost,) = costs(1)
    need = annotators_for(design, 0.1, cost.power, design.alpha).annotators
    assert cost.fixed == pytest.approx(need, rel=0.1)
    assert cost.annotators < cost.fixed < cost.most


def test_power_by_holm_is_what_statsmodels_finds() -> None:
    values = np.random.default_rng(5).beta(2, 1.4, size=(40, 25, 3))
    found = []
    for study in values:
        tests = [ttest_1samp(column, 0.5) for column in study.T]
        rejected = multipletests([test.pvalue for test in tests], alpha=0.05, method="holm")[0]
        found.append([bool(no) and test.statistic > 0 for no, test in zip(rejected, tests, strict=True)])
    assert 0.1 < np.mean(found) < 0.9
    assert _holm_power(values, [0, 1, 2], 0.05) == pytest.approx(np.mean(found))
    assert _holm_power(values, [1], 0.05) == pytest.approx(np.mean(found, axis=0)[1])


def test_live_planning_families_and_equal_answers() -> None:
    """Families of tests follow one another and answers that are all alike are not found."""
    values = np.random.default_rng(6).beta(2, 1.5, size=(60, 25, 4))
    halves = [_holm_power(values[:, :, part], [0, 1], 0.05) for part in (slice(0, 2), slice(2, 4))]
    assert _holm_power(values, [0, 1, 2, 3], 0.05, 2) == pytest.approx(np.mean(halves))
    assert _holm_power(values, [0], 0.05, 12) < _holm_power(values, [0], 0.05, 4)  # others are tested, too
    values[:, :, 1] = 1.0
    assert _holm_power(values, [1], 0.05) == 0


def test_a_live_study_of_several_criteria_is_one_family(tmp_path: Path) -> None:
    """Four criteria, each a family of its own in a study of fixed size: more annotators than the same with one."""
    design = assumed("spa", n_tests=3, directions=2, exclusion_rate=0.1)
    need = annotators_for(design, 0.15, 0.8, design.alpha).annotators
    assert need is not None
    one, four = (
        live_costs(
            design,
            difference=0.15,
            power=0.8,
            units=need,
            rule=None,
            minutes=None,
            rng=np.random.default_rng(3),
            hypotheses=hypotheses,
        )
        for hypotheses in (None, 12)
    )
    for alone, among in zip(one, four, strict=True):
        assert among.most > alone.most
        assert among.fixed == pytest.approx(alone.fixed, rel=0.15)
    study = load_study(build(tmp_path, STUDY))
    outputs = load_outputs(study)
    (spa_design,) = (study_design(study, kind, outputs) for kind in ("spa",))
    criteria = study.criteria_of("spa")
    assert deciding_hypotheses(study, spa_design) == len(study.pairs) * (1 if "overall" in criteria else len(criteria))


def test_costs_add_up_and_unequal_pairs_save_most() -> None:
    by_truth = {cost.truth: cost for cost in costs(3)}
    assert by_truth.keys() == {"all differ", "unequal", "one differs"}
    for cost in by_truth.values():
        assert cost.questions is not None
        assert cost.minutes is not None
        assert cost.annotators <= cost.most
        assert cost.power == pytest.approx(0.8, abs=0.05)
        assert cost.fixed_minutes == pytest.approx(cost.fixed_questions / 6 * MINUTES)  # type: ignore[operator]
        spared = 6 * cost.annotators - cost.questions
        assert cost.minutes == pytest.approx(cost.annotators * MINUTES - spared * SECONDS_A_QUESTION / 60)
    shares = {truth: cost.questions / cost.fixed_questions for truth, cost in by_truth.items()}  # type: ignore[operator]
    assert shares["unequal"] < 0.8 < shares["all differ"]
    assert by_truth["one differs"].annotators > by_truth["one differs"].fixed  # even pairs go on to the end


def test_what_would_take_too_long_is_left_out() -> None:
    assert costs(10, 0.02) == ()


def test_the_plan_of_a_study_says_what_live_saves_or_costs(tmp_path: Path) -> None:
    path = build(tmp_path, STUDY)
    said = spa("plan", path).output.replace("\n", " ")
    assert '"When decided", where every pair differs by 10 percentage points' in said
    assert "more annotators" in said
    (plan,) = json.loads(spa("plan", path, "--json", "--power", 0.8).output)["plans"]
    assert [row["truth"] for row in plan["live"]] == ["all differ", "unequal", "one differs"]
    assert json.loads(spa("plan", path, "--json", "--power", 0.8, "--simulations", 0).output)["plans"][0]["live"] == []
