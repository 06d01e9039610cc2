"""``spa pause`` and ``spa resume``: nobody new comes in, whoever is at work finishes, and a running server heeds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from spa.commands.pause import pause, resume
from spa.commands.status import status
from spa.commands.workspace import Workspace, open_workspace
from spa.platforms.panel.routes import mount
from spa.records.texts import Texts
from spa.server.app import create_app
from spa.server.survey_context import SurveyContext
from tests.spa.server.served_study import build
from tests.spa.small_study import STUDY, answer_form

PANEL = '\n[panel]\nname = "panel"\nparticipant = "id"\nredirects.completed = "https://panel.example.org/end"\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_workspace(build(tmp_path, STUDY + PANEL)) as opened:
        yield opened


def run(command: click.Command, workspace: Workspace, *words: str) -> str:
    study = str(Path(workspace.store.name).with_suffix(".toml"))
    result = CliRunner().invoke(command, [study, *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_paused_study_lets_those_at_work_finish(workspace: Workspace) -> None:
    """Nobody new comes in while a study is paused and whoever is at work finishes."""
    contexts: list[SurveyContext] = []
    app = create_app(workspace, adapters=[mount, lambda _, context: contexts.append(context)])
    client = TestClient(app, follow_redirects=False)
    at_work, new = workspace.store.tokens()[:2]
    assert client.post(f"/a/{at_work}").status_code == 303
    told = run(pause, workspace)
    assert "nobody new comes in by links and panels; people at work: 1" in told
    for door in ("/", f"/a/{new}", "/panel?id=somebody"):
        shown = TestClient(app, follow_redirects=False).post(door)  # a browser of its own
        assert (shown.status_code, "This study is paused" in shown.text) == (503, True), door
    assert client.get(f"/a/{at_work}/p/p1").status_code == 200
    assert client.post(f"/a/{at_work}").status_code == 303
    lease = workspace.store.visits.of_token(at_work)
    assert lease is not None
    done = answer_form(lease, workspace.form(lease.assignment_id))
    assert workspace.store.visits.finish(done, "completed", "C", now=lease.leased_at + 60).completed
    (context,) = contexts
    assert context.admit(source="prolific", person="p", external_id="s", has_place=True).status_code == 303
    assert "until `spa resume`" in run(status, workspace)
    since = json.loads(run(pause, workspace, "--json"))["paused_since"]
    assert json.loads(run(status, workspace, "--json"))["paused_since"] == since
    assert "people come in again" in run(resume, workspace)
    assert json.loads(run(resume, workspace, "--json")) == {"was_paused_since": None}
    assert client.post(f"/a/{new}").status_code == 303
    assert "paused" not in run(status, workspace)


def test_a_language_without_the_text_says_that_nobody_is_let_in(workspace: Workspace) -> None:
    entries = {key: text for key, text in workspace.texts.entries.items() if not key.startswith("page.paused")}
    object.__setattr__(workspace, "texts", Texts(language="en", right_to_left=False, entries=entries))
    run(pause, workspace)
    shown = TestClient(create_app(workspace)).post(f"/a/{workspace.store.tokens()[0]}")
    assert (shown.status_code, "All places are taken" in shown.text) == (503, True)
