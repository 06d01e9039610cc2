"""A small study that is being served in this process, and how a person goes through it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.records.form import Form, Page
from spa.server.app import create_app
from tests.spa.served_pages import ReadPage
from tests.spa.small_study import STUDY, raw_answer, write_study
from tests.spa.store_steps import lease_assignment


@dataclass
class Place:
    """A study that is being served."""

    path: Path
    workspace: Workspace
    client: TestClient

    def token(self, number: int = 0) -> str:
        """Return one of the personal links."""
        return self.workspace.store.tokens()[number]

    def form(self, token: str) -> Form:
        """Return the form of a person, whose visit begins with this."""
        return self.workspace.form(self.lease(token).assignment_id)

    def lease(self, token: str):  # type: ignore[no-untyped-def]
        """Return the lease of a person."""
        store = self.workspace.store
        return lease_assignment(store, store.keyed(token), source="link", annotator_kind="human", token=token)

    def send(self, token: str, page: Page, go: str = "", **answers: str):  # type: ignore[no-untyped-def]
        """Post a page with good answers, or these."""
        fields = {q.question_id: raw_answer(q) for q in page.questions} | answers
        return self.client.post(f"/a/{token}/p/{page.page_id}{go}", data=fields, follow_redirects=False)


def build(folder: Path, text: str = STUDY) -> Path:
    path = write_study(folder, text)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("study"))


def opened(path: Path, store: Path) -> Place:
    with sqlite3.connect(path.with_suffix(".sqlite")) as source, sqlite3.connect(store) as copy:
        source.backup(copy)
    source.close()
    copy.close()
    workspace = open_workspace(path, str(store))
    return Place(path, workspace, TestClient(create_app(workspace)))


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Iterator[Place]:
    found = opened(built, tmp_path / "answers.sqlite")
    with found.workspace:
        yield found


def finish(place: Place, token: str) -> str:
    for page in place.form(token).pages:
        answer = place.send(token, page)
        assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def code_on(html: str) -> str:
    (code,) = ReadPage(html).all("code")
    assert "data-completion-code" in code.attributes
    return code.text
