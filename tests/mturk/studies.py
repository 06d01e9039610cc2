"""A small study that becomes HITs, an emulator to publish it at, and annotators who answer as they are told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from mturk.endpoints import MTurkEndpoint
from mturk.settings import MTurkTable, read_settings
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.spa import PreferenceTarget
from spa.records.form import Form, Question, ScreeningTarget
from spa.widgets import ConfirmAnswer, NumberAnswer, OptionsAnswer
from tests.audited_study import LIKED
from tests.mturk.emulated import Emulator
from tests.spa.small_study import write_study

STUDY = """
id = "small"
title = "Which writer is better?"
seed = 3
outputs = {files = ["outputs.jsonl"], item_text = "item_text"}
systems = [{id = "alpha"}, {id = "beta"}, {id = "gamma"}]
likert.outputs = "first"
consent.text = "You may stop at any time."

[spa]
exposure = 2
comparisons = "chain"

[people]
annotators = ANNOTATORS
pay = "1.00"
minutes = 6.0

[[screening]]
id = "native"
question = "Is English your first language?"
options = ["Yes", "No"]
eligible = ["Yes"]

[mturk]
countries = ["US"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A study on disk and an emulator beside it."""

    study: Path
    emulator: Emulator

    def run(self, *arguments: str, code: int = 0) -> Result:
        """Run a command of the bridge on the study and check how it ends."""
        command, *rest = arguments
        result = CliRunner().invoke(main, ["mturk", command, str(self.study), *rest], catch_exceptions=False)
        assert result.exit_code == code, result.output + result.stderr
        return result

    def run_any(self, *arguments: str) -> int:
        """Run a command and return how it ends; a mistake of the program is raised."""
        command, *rest = arguments
        return CliRunner().invoke(main, ["mturk", command, str(self.study), *rest], catch_exceptions=False).exit_code

    def json(self, *arguments: str) -> dict[str, Any]:
        """Run a command and return what it says as JSON."""
        found: dict[str, Any] = json.loads(self.run(*arguments, "--json").stdout)
        return found

    @contextmanager
    def open(self) -> Iterator[Workspace]:
        """Open the study with its store."""
        with open_workspace(self.study) as workspace:
            yield workspace

    def settings(self, **changes: Any) -> MTurkTable:
        """Return the table [mturk] with changes."""
        with self.open() as workspace:
            return read_settings({**workspace.study.platforms["mturk"], **changes}, str(self.study))

    def endpoint(self) -> MTurkEndpoint:
        """Return the emulator as the bridge sees it."""
        return MTurkEndpoint(self.emulator.url)

    def hits(self) -> list[dict[str, Any]]:
        """Return all HITs of the account, as the endpoint knows them."""
        found = self.emulator.client.get_paginator("list_hits").paginate()
        return [hit for page in found for hit in page["HITs"]]

    def form_of(self, hit_id: str) -> Form:
        """Return the form that stands in a HIT."""
        from mturk import records

        with self.open() as workspace:
            hit = records.find_hit(workspace.store, hit_id)
            assert hit is not None
            assert hit.assignment_id is not None
            return workspace.form(hit.assignment_id)

    def answer(self, hit_id: str, worker_id: str, **changes: str) -> str:
        """Let a worker accept a HIT that holds its form, answer everything and hand it in."""
        assignment = self.emulator.accept(worker_id, hit_id)
        self.emulator.submit(worker_id, assignment, **{**answers_to(self.form_of(hit_id)), **changes})
        return assignment

    def preferring(self, hit_id: str, order: Sequence[str] = LIKED) -> dict[str, str]:
        """Return answers to the form in a HIT by which the systems stand in this order."""
        form = self.form_of(hit_id)
        with self.open() as workspace:
            systems = workspace.store.assignments.key(form.assignment_id).systems
        said = {}
        for question in form.questions("people"):
            if isinstance(question.target, PreferenceTarget):
                x, y = (order.index(systems[label]) for label in (question.target.label_x, question.target.label_y))
                said[question.question_id] = "100" if x < y else "0"
        return said


def make_bench(folder: Path, emulator: Emulator, *, annotators: int = 3, text: str = STUDY) -> Bench:
    """Write and build a study."""
    study = write_study(folder, text.replace("ANNOTATORS", str(annotators)))
    built = CliRunner().invoke(main, ["build", str(study), "--json"], catch_exceptions=False)
    assert built.exit_code == 0, built.output + built.stderr
    return Bench(study=study, emulator=emulator)


def answers_to(form: Form) -> Mapping[str, str]:
    """Return an answer to every question of a form, as a page would send it."""
    return {question.question_id: answer_to(question) for question in form.questions("people")}


def answer_to(question: Question) -> str:
    """Return an answer that a question accepts; screening passes."""
    match question.answer:
        case NumberAnswer():
            return "70"
        case OptionsAnswer():
            target = question.target
            return target.eligible[0] if isinstance(target, ScreeningTarget) else question.answer.options[0].value
        case ConfirmAnswer():
            return "yes"
        case _:
            return "because"
