"""Several deciding criteria share one error rate; a store of an earlier release keeps the families it began with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from analysis.answers.study_answers import answers_of
from analysis.live.state import live_states
from analysis.live.unit_matrix import UnitMatrix, unit_matrices
from analysis.sequential.monitor import Monitor
from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.spa import PreferenceTarget
from spa.records.study import Study
from tests.analysis.live_study import build
from tests.calibration.sequential_criteria import NUMBERS, TRUTHS, Criteria, answers, false_studies
from tests.calibration.sequential_errors import PEOPLE as CALIBRATED
from tests.calibration.sequential_errors import preferences
from tests.calibration.table import most_by_luck
from tests.spa.small_study import BEGINNING, answer_form
from tests.spa.store_steps import complete, lease_assignment

CRITERIA = ("wit", "style", "plot", "depth")
MEANS = {"wit": 0.72, "style": 0.5, "plot": 0.5, "depth": 0.5}  # that the system first in the alphabet is better
PEOPLE = 24
STUDY = f"""{BEGINNING}
criteria = [{", ".join(f'{{id = "{name}", name = "{name}"}}' for name in CRITERIA)}]
people = {{annotators = 40, pay = "2.00", currency = "GBP"}}

[spa]
exposure = 2
overall = false

[stopping]
rule = "when_decided"
"""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study of four criteria, of which one tells the systems apart, that people answered."""
    path = build(tmp_path_factory.mktemp("criteria"), STUDY)
    rng = np.random.default_rng(4)
    with open_workspace(path) as workspace:
        for number in range(PEOPLE):
            _answer(workspace, f"person{number}", rng)
    return path


def _answer(workspace: Workspace, person: str, rng: np.random.Generator) -> None:
    lease = lease_assignment(workspace.store, person, source="link", annotator_kind="human")
    form, systems = workspace.form(lease.assignment_id), workspace.store.assignments.key(lease.assignment_id).systems
    raw: dict[str, str] = {}
    drawn: dict[tuple[str, ...], int] = {}
    for question in form.questions("people"):
        if isinstance(question.target, PreferenceTarget):
            x, y = systems[question.target.label_x], systems[question.target.label_y]
            criterion, first = question.target.criterion, min(x, y)
            key = (criterion, *sorted((x, y)))
            if key not in drawn:
                drawn[key] = round(100 * float(preferences(rng, (1,), np.array([MEANS[criterion]]))[0]))
            raw[question.question_id] = str(drawn[key] if x == first else 100 - drawn[key])
    complete(workspace.store, answer_form(lease, form, **raw), completion_code="code")


def of_an_earlier_release(path: Path) -> None:
    """Take from a store what stores of the last release did not have."""
    with closing(sqlite3.connect(path.with_name("study.sqlite"))) as store:
        store.execute("DELETE FROM meta WHERE name = 'live_rules'")
        store.commit()


def with_family(study: Study, family: str) -> Study:
    return study.model_copy(update={"analysis": study.analysis.model_copy(update={"family": family})})


def matrix_of(workspace: Workspace, family: str = "criterion") -> UnitMatrix:
    (matrix,) = unit_matrices(with_family(workspace.study, family), workspace.store)
    return matrix


def test_all_that_decides_is_one_family(answered: Path) -> None:
    with open_workspace(answered, read_only=True) as workspace:
        for family in ("criterion", "all"):  # which concerns tests of a fixed number
            matrix = matrix_of(workspace, family)
            assert matrix.families == (list(range(12)),)
            assert tuple(dict.fromkeys(criterion for criterion, *_ in matrix.hypotheses)) == CRITERIA


def test_false_decisions_stay_rare_over_all_criteria(answered: Path) -> None:
    """Of 2,000 studies of even systems, decided by the families of the product; with one a criterion 7.8% err."""
    with open_workspace(answered, read_only=True) as workspace:
        matrix = matrix_of(workspace)
    runs, rule = 2000, StoppingRule(effect=0.1, sd=0.22)
    values = preferences(np.random.default_rng(12), (runs, 60, len(matrix.hypotheses)), np.array(0.5))
    decided = [(replay(values[..., family], rule).decisions != "").any(axis=-1) for family in matrix.families]
    assert np.any(decided, axis=0).mean() <= most_by_luck(runs, 0.05)


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.name)
@pytest.mark.parametrize("criteria", NUMBERS)
def test_false_decisions_stay_rare_however_many_criteria_decide(truth: Criteria, criteria: int) -> None:
    runs = 300
    means = truth.means(criteria)
    values = answers(np.random.default_rng(criteria), runs, CALIBRATED, means, 0.5)
    together = false_studies(values, means.ravel(), truth.rule, means.size)
    assert together / runs <= most_by_luck(runs, 0.05)


def test_live_study_keeps_its_families(tmp_path: Path, answered: Path) -> None:
    """Of the last release each criterion had the error rate for itself, unless `family` pooled them."""
    path = tmp_path / "study.toml"
    for file in answered.parent.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with open_workspace(path) as workspace:
        (pooled,) = live_states(workspace.study, workspace.store)
        facts = answers_of(workspace).facts
        assert facts is not None
        assert facts.live is not None
        assert not facts.live.criteria_apart
    of_an_earlier_release(path)
    with open_workspace(path) as workspace:
        matrix = matrix_of(workspace)
        assert [len(family) for family in matrix.families] == [3, 3, 3, 3]
        assert matrix_of(workspace, "all").families == (list(range(12)),)
        (apart,) = live_states(workspace.study, workspace.store)
        facts = answers_of(workspace).facts
        assert facts is not None
        assert facts.live is not None
        assert facts.live.criteria_apart
    monitor = Monitor.start(StoppingRule(effect=0.1, least=10, most=40), 3)
    for values in matrix.values:
        monitor = monitor.after(values[matrix.families[0]])
    found = [(pair.decision, pair.decided_after) for pair in apart.pairs if pair.criterion == "wit"]
    assert found == [(state.decision, state.decided_at) for state in monitor.states]
    assert all(decision == "x" for decision, _ in found)
    later = [pair.decided_after or PEOPLE + 1 for pair in pooled.pairs[:3]]
    assert all(before is not None and before < after for (_, before), after in zip(found, later, strict=True))
