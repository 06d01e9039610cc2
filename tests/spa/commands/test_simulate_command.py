"""Simulated annotators are replaced by others when they are screened out, and stay who they are in all sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.answers.study_answers import answers_of
from analysis.results.analyse import analyse
from spa.cli import main
from spa.commands.simulate import annotators_by_link, reserve_links
from spa.commands.workspace import open_workspace
from spa.records.form import ScreeningTarget
from spa.responses.outcomes import COMPLETED, SCREENED_OUT
from spa.simulation import survey_client
from spa.simulation.simulated_annotators import Temperament
from spa.simulation.true_utilities import TrueUtilities
from tests.spa.small_study import BEGINNING, write_study

SCREENED = f"""{BEGINNING}
[people]
annotators = 12

[likert]
points = 5
outputs = "all"

[[screening]]
id = "fluent"
question = "Do you read this language fluently?"
options = ["yes", "no"]
eligible = ["yes"]

[stopping]
rule = "when_decided"
least = 12
"""
SESSIONS = f"""{BEGINNING}
[people]
annotators = 4
sessions = 3

[likert]
points = 5
outputs = "all"

[design]
items = 3
"""
FLAT = TrueUtilities(utilities={"alpha": 0.0, "beta": 0.0, "gamma": 0.0}, item_sd=0, output_sd=0)
MOST = 400  # visits, after which a test gives up


def run(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def built(folder: Path, text: str) -> Path:
    path = write_study(folder, text)
    run("build", str(path))
    return path


def truth_file(folder: Path, **temperament: float) -> Path:
    path = folder / "truth.toml"
    utilities = "".join(f"{name} = {value}\n" for name, value in FLAT.utilities.items())
    traits = "".join(f"{name} = {value}\n" for name, value in temperament.items())
    path.write_text(f"item_sd = 0\noutput_sd = 0\n[utilities]\n{utilities}[temperament]\n{traits}", encoding="utf-8")
    return path


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run that goes on for ever fail instead."""
    done: list[int] = []
    visit_all = survey_client.visit_all

    def counting(*given: Any, **named: Any) -> Any:
        found = visit_all(*given, **named)
        done.extend(range(len(found)))
        assert len(done) < MOST, "the run does not end"
        return found

    monkeypatch.setattr(survey_client, "visit_all", counting)


def test_simulated_place_given_up_gets_another(tmp_path: Path) -> None:
    """Whoever comes to a place that was given up is another annotator."""
    with open_workspace(built(tmp_path, SCREENED)) as workspace:
        annotator_of = annotators_by_link(workspace, FLAT, Temperament(not_eligible=0.5), seed=1)
        eligible, ratings = set(), set()
        for _ in range(12):
            (token,) = reserve_links(workspace.store, 1)
            lease = workspace.store.visits.of_token(token)
            assert lease is not None
            assert lease.assignment_id == "a00001"
            form, answers = annotator_of(token)(lease.assignment_id)
            (asked,) = (one.question_id for one in form.questions("people") if isinstance(one.target, ScreeningTarget))
            eligible.add(answers[asked])
            ratings.add(tuple(answers[one.question_id] for one in form.questions("everybody")))
            workspace.store.visits.release(lease.submission_id, SCREENED_OUT, now=lease.leased_at)
        assert eligible == {"yes", "no"}
        assert len(ratings) > 6


@pytest.mark.usefixtures("bounded")
def test_live_simulation_replaces_screened_out(tmp_path: Path) -> None:
    """A live study goes on with another where somebody was screened out."""
    study = built(tmp_path, SCREENED)
    run("simulate", str(study), "--truth", str(truth_file(tmp_path, not_eligible=0.5)))
    with open_workspace(study, rehearsal=True) as workspace:
        visits = list(workspace.store.visits.of_people())
    outcomes = [visit.outcome for visit in visits]
    assert outcomes.count(COMPLETED) == 12
    assert set(outcomes) == {COMPLETED, SCREENED_OUT}


@pytest.mark.usefixtures("bounded")
def test_simulation_ends_at_place_nobody_completes(tmp_path: Path) -> None:
    """A place that nobody completes ends the run with one line."""
    study = built(tmp_path, SCREENED)
    result = CliRunner().invoke(main, ["simulate", str(study), "--truth", str(truth_file(tmp_path, not_eligible=1))])
    assert result.exit_code == 1
    (line,) = [line for line in result.output.splitlines() if line.startswith("spa: ")]
    assert "expected one of 100 simulated annotators to complete a00001, got none" in line
    assert len(line) < 500
    with open_workspace(study, rehearsal=True) as workspace:
        assert len(list(workspace.store.visits.leases())) <= 101


def test_in_all_sessions_of_a_study_comes_the_same_person(tmp_path: Path) -> None:
    study = built(tmp_path, SESSIONS)
    truth = truth_file(tmp_path, severity_sd=2.0, noise_sd=0.05, taste_sd=0.0)
    found = json.loads(run("simulate", str(study), "--truth", str(truth), "--json"))
    assert (found["annotators"], found["with_code"]) == (4, 12)
    with open_workspace(study, rehearsal=True) as workspace:
        visits = list(workspace.store.visits.of_people())
        answers = answers_of(workspace)
        results = analyse(answers.tables, plan=answers.plan, study=answers.facts)
    assert sorted(visit.session for visit in visits) == [1] * 4 + [2] * 4 + [3] * 4
    assert len({visit.annotator_id for visit in visits}) == 4
    assert len({visit.completion_code for visit in visits}) == 12
    assert len({visit.assignment_id for visit in visits}) == 12
    (group,) = results.groups
    assert group.annotators == 4
    assert answers.tables.ratings is not None
    visit = ["annotator_id", "assignment_id"]
    means = answers.tables.ratings.group_by(visit).agg(pl.col("value").mean())
    of_people = means.group_by("annotator_id").agg(within=pl.col("value").var(), mean=pl.col("value").mean())
    within, between = of_people["within"].mean(), of_people["mean"].var()
    assert within is not None  # one severity a person: sessions agree, people do not
    assert within < 0.1 < between


def test_simulation_resumes_between_sessions(tmp_path: Path) -> None:
    """A run that was broken off between sessions goes on with the same people."""
    study = built(tmp_path, SESSIONS)
    with open_workspace(study, rehearsal=True) as workspace:
        token = reserve_links(workspace.store, 1, workspace.study.people)[0]
        annotator = workspace.store.keyed(token)
    assert json.loads(run("simulate", str(study), "--json"))["annotators"] == 4
    with open_workspace(study, rehearsal=True) as workspace:
        own = [visit for visit in workspace.store.visits.of_people() if visit.annotator_id == annotator]
        assert [visit.session for visit in own] == [1, 2, 3]
        assert reserve_links(workspace.store, None, workspace.study.people) == []
