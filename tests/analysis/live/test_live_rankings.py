"""Live studies of rankings and of marked errors: a share of orders, or the score that follows, decides each pair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analysis.answers.study_answers import answers_of
from analysis.live.state import live_states
from analysis.results.analyse import analyse
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.ranking import RankingTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spans import SpanTarget
from spa.errors import StudyError
from spa.live import narrow
from spa.records.form import Form
from spa.study.load import load_study
from spa.study.stopping import deciding_answers, deciding_section, rating_scale_width
from spa.widgets import NumberAnswer
from tests.analysis.live_study import build
from tests.spa.small_study import BEGINNING, answer_form, write_study
from tests.spa.store_steps import complete, lease_assignment

STUDY = f"""{BEGINNING}
people = {{annotators = 200}}

[ranking]
outputs = 3

[analysis]
unit = "annotator"

[stopping]
rule = "when_decided"
most = 200
"""
UTILITIES = {"alpha": 2.0, "beta": 0.0, "gamma": 0.0}
DECIDED = {("alpha", "beta"): "x", ("alpha", "gamma"): "x", ("beta", "gamma"): None}


def ranked(form: Form, systems: dict[str, str], rng: np.random.Generator) -> dict[str, str]:
    """Return the orders of somebody whom alpha's outputs please more, and the others' by chance."""
    raw = {}
    for question in form.questions("people"):
        if isinstance(question.target, RankingTarget):
            pleases = {label: UTILITIES[systems[label]] + rng.normal() for label in question.target.labels}
            raw[question.question_id] = " > ".join(sorted(pleases, key=lambda label: -pleases[label]))
    return raw


def systems_asked(workspace: Workspace, assignment_id: str) -> list[set[str]]:
    assignment, key = workspace.store.assignments.draw(assignment_id)
    return [{key.systems[output.label] for output in outputs} for outputs in assignment.groups_of("ranking")]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Return a study that fourteen people answered, each what was open by then."""
    rng = np.random.default_rng(4)
    with open_workspace(build(tmp_path_factory.mktemp("live"), STUDY)) as workspace:
        for number in range(14):
            narrow(workspace.study, workspace.store)
            lease = lease_assignment(workspace.store, f"person{number}", source="link", annotator_kind="human")
            form = workspace.form(lease.assignment_id)
            raw = ranked(form, workspace.store.assignments.key(lease.assignment_id).systems, rng)
            complete(workspace.store, answer_form(lease, form, **raw), completion_code="code")
        yield workspace


def test_live_rankings_decide_by_shares(answered: Workspace) -> None:
    """Shares of orders decide and what is decided is ranked no further."""
    (state,) = live_states(answered.study, answered.store)
    assert (state.answers, state.units) == ("choices", 14)
    assert {(pair.system_x, pair.system_y): pair.decision for pair in state.pairs} == DECIDED
    narrow(answered.study, answered.store)
    *_, last = answered.store.assignments.ids()
    assert systems_asked(answered, last) == [{"beta", "gamma"}] * 3
    assert systems_asked(answered, answered.store.assignments.ids()[0]) == [set(UTILITIES)] * 3


def test_live_ranking_means_of_implied_choices(answered: Workspace) -> None:
    """The mean is that of the implied choices in the fixed analysis."""
    (state,) = live_states(answered.study, answered.store)
    found = answers_of(answered)
    results = analyse(found.tables, plan=found.plan, study=found.facts)
    rows = {(row.system_x, row.system_y): row for row in results.choices.pairs}
    for pair in state.pairs:
        row = rows[pair.system_x, pair.system_y]
        assert (pair.n_asked, pair.mean_asked) == (row.n, pytest.approx(row.win_rate, abs=1e-12))
    assert results.live is not None
    assert [row.n_kept for row in results.live.pairs] == [pair.n_asked for pair in state.pairs]


def test_of_marked_errors_the_score_decides(tmp_path: Path) -> None:
    text = STUDY.replace("[ranking]\noutputs = 3", "[spans]")
    rng = np.random.default_rng(4)
    with open_workspace(build(tmp_path, text.replace("most = 200", "most = 14"))) as workspace:
        study = workspace.study
        assert (deciding_answers(study), deciding_section(study).key, rating_scale_width(study)) == (
            "ratings",
            "spans",
            100.0,
        )
        for number in range(12):
            lease = lease_assignment(workspace.store, f"person{number}", source="link", annotator_kind="human")
            form = workspace.form(lease.assignment_id)
            systems = workspace.store.assignments.key(lease.assignment_id).systems
            raw = {
                one.question_id: str(int(90 * (systems[one.target.label] == "alpha") + rng.integers(0, 10)))
                if isinstance(one.answer, NumberAnswer)
                else "[]"
                for one in form.questions("people")
                if isinstance(one.target, RatingTarget | SpanTarget)
            }
            complete(workspace.store, answer_form(lease, form, **raw), completion_code="code")
        (state,) = live_states(study, workspace.store)
        decided = {(pair.system_x, pair.system_y): pair.decision for pair in state.pairs}
        assert decided[("alpha", "beta")] == decided[("alpha", "gamma")] == "x"
        assert decided[("beta", "gamma")] in (None, "futile")
        (first, *_) = state.pairs
        found = answers_of(workspace)
        results = analyse(found.tables, plan=found.plan, study=found.facts)
        (row,) = [
            row
            for row in results.ratings.pairs
            if (row.criterion, row.system_x, row.system_y) == ("overall", "alpha", "beta")
        ]
        assert row.mean_difference is not None
        assert first.mean_asked == pytest.approx((row.mean_difference / 100 + 1) / 2, abs=1e-12)


def test_counts_of_errors_alone_decide_nothing(tmp_path: Path) -> None:
    path = write_study(tmp_path, STUDY.replace("[ranking]\noutputs = 3", "[spans]\nscore = false"))
    with pytest.raises(StudyError) as refused:
        load_study(path)
    assert (
        '[stopping] rule = "when_decided": expected [spa], [choices], [ranking], [likert], [continuous], or [spans] '
        "with a score, of two systems, got [spans]"
    ) in str(refused.value)
