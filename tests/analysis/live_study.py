"""A live study that people with known preferences have answered one after another, each on what was open by then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.live import live_state, narrow
from spa.records.form import Form
from tests.spa.hand_made import ASKED
from tests.spa.small_study import BEGINNING, answer_form, write_study
from tests.spa.store_steps import complete, lease_assignment, lease_for_rater

STUDY = f"""{BEGINNING}
people = {{annotators = 40, pay = "2.00", currency = "GBP"}}

[spa]
exposure = 2

[stopping]
rule = "when_decided"
most = 36
"""
UTILITIES = {"alpha": 0.0, "beta": 0.02, "gamma": 0.3}  # differences of mean preferences
LEAST = 10  # people before anything can be decided
INCOHERENT = 3  # number of the person who says 90 % both ways


def build(folder: Path, text: str = STUDY) -> Path:
    """Write and build the study, and return the path of its file."""
    path = write_study(folder, text)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    return path


def answer(path: Path, until: Callable[[int], bool] = lambda people: False) -> None:
    """Let people answer until everything is decided, or so many have."""
    rng = np.random.default_rng(7)
    with open_workspace(path) as workspace:
        people = 0
        while not until(people) and people < len(workspace.store.assignments):
            _one(workspace, people, rng)
            people += 1
            state = narrow(workspace.study, workspace.store) if people >= LEAST else None
            if state is not None and state.enough:
                break
        assert live_state(workspace.study, workspace.store, "human") is not None


def _one(workspace: Workspace, number: int, rng: np.random.Generator) -> None:
    lease = lease_assignment(workspace.store, f"person{number}", source="link", annotator_kind="human")
    form = workspace.form(lease.assignment_id)
    raw = _answers(form, workspace.store.assignments.key(lease.assignment_id).systems, rng, number == INCOHERENT)
    complete(workspace.store, answer_form(lease, form, **raw), completion_code="code")


def answer_by_llm(path: Path, forms: int) -> None:
    """Let an LLM answer the first forms as they were drawn, one of them incoherently."""
    rng = np.random.default_rng(3)
    with open_workspace(path) as workspace:
        for number, name in enumerate(workspace.store.assignments.ids()[:forms]):
            lease = lease_for_rater(workspace.store, "gpt", name, ASKED)
            form, key = workspace.form(name, respondents="llm"), workspace.store.assignments.key(name, "llm")
            raw = _answers(form, key.systems, rng, number == INCOHERENT)
            complete(workspace.store, replace(answer_form(lease, form, **raw), asked=ASKED), completion_code="rater")


def _answers(form: Form, systems: dict[str, str], rng: np.random.Generator, incoherent: bool) -> dict[str, str]:
    raw, noise = {}, float(rng.normal(0, 0.1))
    for question in form.questions("everybody"):
        if isinstance(question.target, PreferenceTarget):
            x, y = systems[question.target.label_x], systems[question.target.label_y]
            sign = 1 if x < y else -1
            preference = np.clip(0.5 + UTILITIES[x] - UTILITIES[y] + sign * noise, 0, 1)
            raw[question.question_id] = "90" if incoherent else str(round(100 * preference))
        elif isinstance(question.target, RatingTarget):
            pleases = 3 + 4 * UTILITIES[systems[question.target.label]] + rng.normal(0, 0.7)
            raw[question.question_id] = str(int(np.clip(round(pleases), 1, 5)))
        elif isinstance(question.target, ChoiceTarget):
            x, y = (systems[label] for label in (question.target.label_x, question.target.label_y))
            raw[question.question_id] = "x" if UTILITIES[x] - UTILITIES[y] + rng.normal(0, 0.2) > 0 else "y"
    return raw
