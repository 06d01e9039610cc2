"""What a live study counts is what the fixed analysis of the same answers counts, in the order of completion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.answers.study_answers import answers_of
from analysis.live.state import live_states
from analysis.records.results import Results
from analysis.results.analyse import analyse
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.live import LiveState
from spa.records.form import CheckTarget, Question, ScreeningTarget
from spa.widgets import NumberAnswer, OptionsAnswer
from tests.spa.small_study import STUDY, answer_form, write_study
from tests.spa.store_steps import complete, lease_assignment

LIVE = f"""{STUDY}
[likert]
identical_pairs = 0

[analysis]
unit = "annotator"

[stopping]
rule = "when_decided"
least = 6
""".replace("likert.identical_pairs = 1\n", "")
SCREENED = "no"  # the answer of somebody who may not take part


def varied(question: Question, rng: np.random.Generator) -> str | None:
    """Return a random answer to what is compared or rated, none to the rest."""
    if isinstance(question.target, ScreeningTarget | CheckTarget):
        return None
    match question.answer:
        case NumberAnswer():
            return str(int(rng.integers(0, 51)))  # sums of two directions stay below the filter's bound
        case OptionsAnswer(options=options):
            return options[int(rng.integers(len(options)))].value
        case _:
            return None


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Return a study that five people answered, the last of whom failed the attention check."""
    path = write_study(tmp_path_factory.mktemp("live"), LIVE)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    rng = np.random.default_rng(5)
    with open_workspace(path) as workspace:
        for number in range(5):
            lease = lease_assignment(workspace.store, f"person{number}", source="link", annotator_kind="human")
            form = workspace.form(lease.assignment_id)
            raw = {one.question_id: answer for one in form.questions("people") if (answer := varied(one, rng))}
            if number == 4:
                raw |= {
                    one.question_id: "table" for one in form.questions("people") if isinstance(one.target, CheckTarget)
                }
            complete(workspace.store, answer_form(lease, form, **raw), completion_code="code")
        yield workspace


def fixed(workspace: Workspace) -> Results:
    answers = answers_of(workspace)
    return analyse(answers.tables, plan=answers.plan, study=answers.facts)


def live(workspace: Workspace, **stopping: object) -> LiveState:
    study = workspace.study
    study = study.model_copy(update={"stopping": study.stopping.model_copy(update=stopping)})
    (state,) = live_states(study, workspace.store)
    return state


def test_who_is_counted_and_who_is_left_out(answered: Workspace) -> None:
    state = live(answered)
    assert (state.group, state.answers, state.units, state.excluded, state.most) == ("human", "preferences", 4, 1, 6)
    assert [(pair.system_x, pair.system_y, pair.exposure) for pair in state.pairs] == [
        ("beta", "alpha", 4),
        ("gamma", "beta", 4),
    ]
    assert not state.enough
    assert state.decided == ()


@pytest.mark.parametrize("criterion", ["overall", "meaning"])
def test_mean_preferences_are_those_of_the_fixed_analysis(answered: Workspace, criterion: str) -> None:
    found = {(row.system_x, row.system_y): row for row in fixed(answered).preferences if row.criterion == criterion}
    for pair in live(answered, criteria=(criterion,)).pairs:
        row = found[pair.system_x, pair.system_y]
        assert (pair.n, pair.mean) == (row.n, pytest.approx(row.mean, abs=1e-12))


def test_mean_choices_are_those_of_the_fixed_analysis(answered: Workspace) -> None:
    rows = [row for row in fixed(answered).choices.pairs if row.criterion == "overall"]
    found = {frozenset((row.system_x, row.system_y)): row for row in rows}
    for pair in live(answered, answers="choices").pairs:
        row = found[frozenset((pair.system_x, pair.system_y))]
        own = row.win_rate if row.system_x == pair.system_x else 1 - row.win_rate
        assert (pair.n, pair.mean) == (4, pytest.approx(own, abs=1e-12))


def test_live_mean_ratings_on_unit_scale(answered: Workspace) -> None:
    """Mean ratings are those of the fixed analysis on the unit scale."""
    rows = [row for row in fixed(answered).ratings.pairs if row.criterion == "overall"]
    found = {(row.system_x, row.system_y): row.mean_difference for row in rows}
    for pair in live(answered, answers="ratings").pairs:
        difference = found[pair.system_x, pair.system_y]
        assert pair.mean == pytest.approx((difference / 4 + 1) / 2, abs=1e-12)  # five points are four apart
