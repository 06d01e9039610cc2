"""A small study with its survey server beside an emulated platform, and people who go through it over HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from click.testing import CliRunner, Result
from fastapi import FastAPI

from prolific.routes import mount_with
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.records.form import Form
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.survey_context import SurveyContext
from spa.simulation.survey_client import visit
from tests import patience
from tests.prolific.conftest import Emulator
from tests.prolific.studies import study_text
from tests.reading_evidence import ReadingClient
from tests.spa.small_study import raw_answer, write_study

TOKEN = "token-of-the-tests"


@dataclass
class Running:
    """A study that is served, and the commands on it."""

    path: Path
    emulator: Emulator
    workspace: Workspace
    url: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    store: str | None = None  # where that is not beside the study

    def spa(self, *arguments: str, yes: bool = False, code: int | None = 0) -> Result:
        """Run ``spa prolific NAME STUDY ...`` and check how it ended."""
        name, *rest = arguments
        command = ["prolific", name, str(self.path), *rest, *(["--yes"] if yes else []), *_at(self.store)]
        result = CliRunner().invoke(main, command, env=self.environment)
        if code is not None:
            assert result.exit_code == code, f"{command}: {result.output} {result.stderr} {result.exception!r}"
        return result

    def json(self, *arguments: str, yes: bool = False) -> Any:
        """Run a command with ``--json`` and read what it printed."""
        return json.loads(self.spa(*arguments, "--json", yes=yes).stdout)

    def create(self, *more: str) -> str:
        """Create the draft and return its id."""
        return str(self.json("create", "--public-url", self.url, *more)["study_id"])

    def publish(self, *more: str) -> str:
        """Create and publish, and return the id of the study."""
        study_id = self.create(*more)
        self.spa("publish", "--public-url", self.url, "--accept", "eligible people", *more, yes=True)
        return study_id

    def settle_bonuses(self, file: Path, run: Callable[..., object], paid_before: int) -> None:
        """Tell a command that does not know whether bonuses were paid, as who looks at the platform would."""
        paid = len(self.emulator.people.payments()) > paid_before
        run("bonus", "--from", str(file), "--settle", "paid" if paid else "unpaid", "--yes")

    def arrive(self, study_id: str, person: str | None = None) -> Visitor:
        """Let somebody take a place and open the study."""
        taken = self.emulator.people.enter(study_id, person)
        return Visitor(self, taken["id"], taken["participant_id"], taken["study_url"])

    def complete(self, study_id: str, person: str | None = None) -> Visitor:
        """Let somebody take part to the end."""
        somebody = self.arrive(study_id, person)
        somebody.answer()
        somebody.hand_in()
        return somebody


@dataclass
class Visitor:
    """Somebody who takes part."""

    running: Running
    submission_id: str
    person: str
    address: str
    token: str = ""
    left_for: str = ""

    def open(self) -> httpx2.Response:
        """Open the address that the platform gave and press the first page's button; note where it leads."""
        response = httpx2.get(self.address, trust_env=False)
        if response.status_code == 200 and "data-begin" in response.text:
            response = httpx2.post(self.address, trust_env=False)
        if response.status_code == 303:
            self.token = response.headers["location"].rpartition("/")[2]
        return response

    def answer(self, *, likes: Sequence[str] = (), **raw: str) -> None:
        """Answer everything; ``raw`` replaces answers by what is asked: ``screening``, ``check``, ``consent``.

        ``likes`` are systems, of which the one named first is chosen.
        """
        assert self.open().status_code == 303

        def answering(assignment_id: str) -> tuple[Form, dict[str, str]]:
            client.form = form = self.running.workspace.form(assignment_id)
            answers = {}
            for page in form.pages:
                for question in page.questions:
                    kind = type(question.target).__name__.removesuffix("Target").lower()
                    answers[question.question_id] = raw.get(kind, raw_answer(question))
                    if likes and isinstance(question.target, ChoiceTarget):
                        systems = self.running.workspace.store.assignments.key(assignment_id).systems
                        shown = {"x": question.target.label_x, "y": question.target.label_y}
                        answers[question.question_id] = min(shown, key=lambda side: likes.index(systems[shown[side]]))
            return form, answers

        with ReadingClient(timeout=patience.SECONDS, trust_env=False) as client:
            visit(client, self.running.url, self.token, answering)
            done = client.get(f"{self.running.url}/a/{self.token}/done")
        assert done.status_code == 303, done.text
        self.left_for = done.headers["location"]

    @property
    def code(self) -> str:
        """Return the code that the person was sent off with."""
        return parse_qs(urlsplit(self.left_for).query)["cc"][0]

    def hand_in(self, code: str | None = None) -> None:
        """Enter the code on the platform."""
        self.running.emulator.people.complete(self.submission_id, code or self.code)


@contextmanager
def running_study(
    folder: Path,
    emulator: Emulator,
    *,
    places: int = 6,
    top: str = "",
    people: str = "",
    prolific: str = "",
    stopping: str = "",
    store: str | None = None,
) -> Iterator[Running]:
    """Build a study, serve it, and point the commands at the emulated platform."""
    text = study_text(
        top=f'consent.text = "I agree."\n{top}',
        annotators=places,
        pay="2.00",
        people=people,
        project=first_project(emulator),
        prolific=prolific,
        stopping=stopping,
    )
    path = write_study(folder, text)
    built = CliRunner().invoke(main, ["build", str(path), *_at(store)])
    assert built.exit_code == 0, built.output + built.stderr
    environment = {"PROLIFIC_API_URL": emulator.url, "PROLIFIC_API_TOKEN": TOKEN}

    def now() -> float:
        return float(emulator.people.do("GET", "clock/")["now"])

    def door(app: FastAPI, context: SurveyContext) -> None:
        mount_with(app, context, environment)

    with open_workspace(path, store) as workspace:
        app = create_app(workspace, adapters=[door], clock=now)
        with serve_on_loopback(app) as url:
            yield Running(
                path=path,
                emulator=emulator,
                workspace=workspace,
                url=url,
                environment={**os.environ, **environment},
                store=store,
            )


def _at(store: str | None) -> list[str]:
    return [] if store is None else ["--store", store]


def first_project(emulator: Emulator) -> str:
    """Return the project that the emulated account has."""
    workspaces = emulator.api.get("/api/v1/workspaces/").json()["results"]
    return str(emulator.api.get(f"/api/v1/workspaces/{workspaces[0]['id']}/projects/").json()["results"][0]["id"])
