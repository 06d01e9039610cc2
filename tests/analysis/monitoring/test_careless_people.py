"""A script that answers 50% and 3 throughout, through the server: status, dashboard and report say so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from analysis.answers.study_answers import answers_of
from analysis.monitoring.alarms import find_alarms
from analysis.monitoring.annotator_profiles import annotator_profiles
from analysis.results.analyse import analyse
from spa.careless import signs_found
from spa.cli import main
from spa.commands.init import write_example
from spa.commands.workspace import Workspace, open_workspace
from spa.forms.effort import usual_seconds
from spa.records.form import CheckTarget, ConfirmationTarget, Form, ScreeningTarget
from spa.server.app import create_app
from spa.simulation.survey_client import visit

NOT_PLANNED = "excluded: no, as the plan does not say so"


def bot_answers(form: Form) -> Mapping[str, str]:
    """Answer as a script does that passes every check and reads nothing."""
    found = {}
    for question in form.questions("people"):
        match question.target:
            case ScreeningTarget(eligible=eligible):
                found[question.question_id] = eligible[0]
            case CheckTarget(expected=expected):
                found[question.question_id] = expected
            case ConfirmationTarget():
                found[question.question_id] = "yes"
            case _:
                found[question.question_id] = "50" if type(question.answer).__name__ == "NumberAnswer" else "3"
    return found


def demo(folder: Path, rules: str = "") -> Path:
    """Build the study ``demo``, whose reading nothing slows down, and let the script answer one form."""
    write_example(folder, "demo")
    path = folder / "study.toml"
    text = path.read_text().replace("[people]\n", "[people]\nseconds_per_100_words = 0\n")
    path.write_text(text.replace("[analysis]\n", f"[analysis]\n{rules}"))
    built = CliRunner().invoke(main, ["build", str(path)])
    assert built.exit_code == 0, built.output
    with open_workspace(path) as workspace:
        token = workspace.store.tokens()[0]
        browser = TestClient(create_app(workspace), follow_redirects=False)

        def answering(assignment_id: str) -> tuple[Form, Mapping[str, str]]:
            form = workspace.form(assignment_id)
            return form, bot_answers(form)

        assert visit(browser, "http://testserver", token, answering).completion_code is not None
    return path


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo(tmp_path_factory.mktemp("demo"))


def _signs(workspace: Workspace) -> dict[str, str | None]:
    found = signs_found(workspace.study, workspace.store, workspace.form)
    return {row.sign: row.excluded_by for row in found.shown}


def test_bot_shows_on_status(answered: Path) -> None:
    status = CliRunner().invoke(main, ["status", str(answered)])
    assert status.exit_code == 0, status.output
    said = " ".join(status.output.split())
    assert (
        "1 of 1 person shows signs of careless answering: faster than 2.6 times the usual reading speed (1), the same "
        f"answer throughout (1); {NOT_PLANNED}."
    ) in said
    found = json.loads(CliRunner().invoke(main, ["status", str(answered), "--json"]).stdout)["careless_signs"]
    assert {row["sign"]: (row["people"], row["shown"], row["excluded"]) for row in found["counts"]} == {
        "reading_speed": (1, 1, 0),
        "same_answers": (1, 1, 0),
        "both_directions": (1, 0, 0),
        "attention_checks": (1, 0, 0),
    }
    assert "by the server's clock over the visit" in found["shown"][0]["evidence"]
    assert "the same rating, 3, to 64 of 64 questions" in found["shown"][1]["evidence"]


def test_bot_shows_on_dashboard_and_report(answered: Path) -> None:
    """The main caveats of the report and the alarms of the dashboard name the signs; nobody is excluded."""
    with open_workspace(answered) as workspace:
        found = answers_of(workspace)
        results = analyse(found.tables, found.plan, study=found.facts)
        alarms = [one.text for one in find_alarms(results, annotator_profiles(found.tables), [])]
    assert results.exclusions == ()
    assert results.headline.problems[0].kind == "careless"
    assert NOT_PLANNED in results.headline.problems[0].text
    assert any(one.startswith("Faster than 2.6 times the usual reading speed: ") for one in alarms)
    assert any(one.startswith("The same answer throughout: ") for one in alarms)
    assert not any("straight-lining" in one for one in alarms)  # said once
    (row,) = found.tables.annotators.to_dicts()  # type: ignore[union-attr]
    assert row["usual_seconds"] > 600  # of a form that takes 28 minutes
    assert row["passed_seconds"] < row["usual_seconds"] / 2.6
    assert found.tables.reading is None  # no declared rule is about reading, so nothing else changes


def test_bot_leaves_by_declared_rules(tmp_path: Path) -> None:
    """The rules that new studies declare leave it out; pay is not touched."""
    path = demo(tmp_path, "max_reading_speed = 2.6\nmax_same_answers = 0.95\nusual_answer = 0.5\n")
    with open_workspace(path) as workspace:
        assert _signs(workspace) == {"reading_speed": "relative_speed", "same_answers": "relative_speed"}
        assert next(iter(workspace.store.visits.of_people())).completed
        form = workspace.form(next(iter(workspace.store.assignments)).assignment_id)
        assert usual_seconds(form) > 600
    said = CliRunner().invoke(main, ["status", str(path)]).output
    assert "excluded: yes (relative speed)." in " ".join(said.split())
