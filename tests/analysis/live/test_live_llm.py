"""People and an LLM in one live study: each group is decided by its own answers, of the LLM form by form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.answers.study_answers import answers_of
from analysis.live.state import live_states
from analysis.report import render_report
from analysis.results.analyse import analyse
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.spa import PreferenceTarget
from spa.live import LiveState
from tests.analysis.live_study import answer, answer_by_llm, build
from tests.spa.rehearsed import spa

FORMS = 14


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study of which the LLM answered assignments."""
    found = build(tmp_path_factory.mktemp("both"))
    answer_by_llm(found, FORMS)
    return found


@pytest.fixture(scope="module")
def alone(path: Path) -> LiveState:
    """Return what the LLM had decided before people came, who answered the same assignments."""
    with open_workspace(path) as workspace:
        (state,) = live_states(workspace.study, workspace.store)
    answer(path)
    return state


@pytest.fixture(scope="module")
def workspace(path: Path, alone: LiveState) -> Iterator[Workspace]:
    with open_workspace(path, read_only=True) as opened:
        yield opened


def asked(workspace: Workspace, name: str, respondents: str) -> int:
    form = workspace.form(name, respondents="llm" if respondents == "llm" else "people")
    return sum(isinstance(each.target, PreferenceTarget) for each in form.questions("everybody"))


def test_each_group_is_decided_by_its_own_answers(workspace: Workspace, alone: LiveState) -> None:
    people, llm = live_states(workspace.study, workspace.store)
    assert (people.group, llm.group) == ("human", "gpt")
    assert (llm.units, llm.excluded, llm.enough) == (FORMS - 1, 1, False)
    assert people.enough
    assert llm == alone


def test_live_llm_shortens_peoples_forms(workspace: Workspace) -> None:
    """People are asked less in assignments that the LLM answered whole."""
    visits = [visit for visit in workspace.store.visits.of_people() if visit.completed]
    shared = [visit.assignment_id for visit in visits if int(visit.assignment_id[1:]) <= FORMS]
    assert {asked(workspace, name, "llm") for name in shared} == {6}
    assert min(asked(workspace, name, "people") for name in shared) < 6


def test_status_and_report_say_so_of_each(path: Path, workspace: Workspace) -> None:
    status = spa("status", path).output
    assert "people (1 excluded): 2 of 3 decided, 1 futile, no further answers are needed" in status
    assert f"{FORMS - 1} of at most 36 forms by gpt (1 excluded): 2 of 3 decided, collection continues" in status
    found = answers_of(workspace)
    report = render_report(analyse(found.tables, found.plan, study=found.facts), full=True)["report.md"]
    assert f"2 of 3, after {FORMS - 1} forms by gpt (LLM) (1 excluded)" in report
