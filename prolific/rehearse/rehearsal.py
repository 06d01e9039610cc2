"""Run a rehearsal: its folder, the platform and survey server, the workflow, and the invoice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from prolific.emulator.contract import Contract
from prolific.rehearse.environment import RehearsalEnvironment, free_port, run_emulator, run_survey_server
from prolific.rehearse.participants import plan_participants
from prolific.rehearse.report_page import fetch_invoice, report_content, write_page
from prolific.rehearse.scenario_runner import CommandRunner, ScenarioRunner
from prolific.rehearse.study_copy import StudyCopy, copy_study
from spa.errors import StudyError
from spa.files import write_text
from spa.study.load import load_study

STATE = "rehearsal.json"
# Operation, what goes wrong, details: the faults that find most mistakes, at every call that makes or pays.
FAULTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("CreateStudy", "drop_after_effect", {}),
    ("CreateParticipantGroup", "drop_after_effect", {}),
    ("PublishStudy", "500_after_effect", {}),
    ("GetSubmission", "429", {"count": 3}),
    ("GetSubmission", "drop", {"count": 2, "skip": 9}),
    ("GetStudySubmissions", "429", {"count": 2, "retry_after": 1}),
    ("BulkApproveSubmissions", "drop_after_effect", {}),
    ("CreateBonusPayments", "500", {}),
    ("PayBonusPayments", "drop_after_effect", {}),
    ("webhooks", "duplicate", {"count": 20}),
    ("webhooks", "reorder", {"count": 20, "skip": 10}),
    ("webhooks", "lose", {"count": 20, "skip": 30}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """What to rehearse, where, and with which participants."""

    study: Path
    annotators: int | None  # places, where not as the study says
    out: Path
    shares: Mapping[str, float]  # of those who come, by what they do
    browsers: int
    faults: bool
    bonus: bool
    seed: int
    openapi: Path | None  # every request is held to it

    @property
    def study_file(self) -> Path:
        """Return the copy of the study that is rehearsed."""
        return self.out / "study.toml"


def run_rehearsal(settings: RehearsalOptions, *, show_progress: bool) -> dict[str, Any]:
    """Run or resume a rehearsal; write its report and return the content."""
    copy = copy_study(settings.study, annotators=settings.annotators, seed=settings.seed)
    state, script = _load_state(settings, copy), CommandRunner()
    if not settings.study_file.with_suffix(".sqlite").exists():
        script.run("check", settings.study_file)
        script.run("build", settings.study_file)
    study = load_study(settings.study_file)
    places = study.people.annotators * study.people.sessions
    bar = click.progressbar(length=places, label="places", hidden=not show_progress)

    def say(text: str) -> None:
        bar.label = text
        bar.render_progress()

    with _run_servers(settings, copy, state) as stage, bar:
        rehearsal = ScenarioRunner(
            study=settings.study_file,
            out=settings.out,
            stage=stage,
            script=script,
            plan=plan_participants(stage, settings.shares, browsers=settings.browsers, seed=settings.seed),
            bonus=settings.bonus,
            say=say,
            progress=lambda taken, places: bar.update(taken - bar.pos),
        )
        rehearsal.play()
        content = report_content(
            rehearsal, fetch_invoice(rehearsal), title=study.title, original=settings.study, filled_in=copy.filled_in
        )
        write_page(settings.out / "rehearsal.html", content)
        bar.update(bar.length - bar.pos if bar.length else 0)
    return content


def _load_state(settings: RehearsalOptions, copy: StudyCopy) -> dict[str, Any]:
    """Return the saved options and ports; a folder holds one rehearsal."""
    out, path = settings.out, settings.out / STATE
    names = ("seed", "shares", "faults", "bonus", "browsers")
    options = {"study": copy.digest, **{name: getattr(settings, name) for name in names}}
    if path.is_file():
        state = json.loads(path.read_text("utf-8"))
        if state["options"] != options:
            raise StudyError(
                f"{out}: expected the folder of this rehearsal, got one of another study or with other options; "
                "name another with --out, or remove it"
            )
        return dict(state)
    if out.exists() and any(out.iterdir()):
        raise StudyError(f"{out}: expected an empty folder for the rehearsal, got one with other files; name another")
    out.mkdir(parents=True, exist_ok=True)
    settings.study_file.write_text(copy.text, encoding="utf-8")
    ports = {"platform_port": free_port(), "survey_port": free_port()}
    state = {"options": options, "original": str(settings.study), **ports}
    write_text(path, json.dumps(state, indent=2))
    return state


@contextmanager
def _run_servers(
    settings: RehearsalOptions, copy: StudyCopy, state: Mapping[str, Any]
) -> Iterator[RehearsalEnvironment]:
    """Run the platform and the survey server, with faults planned where they are asked for and not yet there."""
    contract = None if settings.openapi is None else Contract(settings.openapi)
    store, port = settings.out / "platform.sqlite", state["platform_port"]
    with (
        run_emulator(store, port, project=copy.project, contract=contract, currency=copy.currency) as (url, platform),
        run_survey_server(settings.study_file, url, state["survey_port"], clock=platform.time) as stage,
    ):
        if settings.faults and not stage.people.faults():
            for operation, kind, details in FAULTS:
                stage.people.plan_fault(operation, kind, **details)
        yield stage
