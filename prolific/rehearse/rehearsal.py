"""Run a rehearsal: a copy of the study in a folder, platform and survey server, and the researcher's commands."""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tomlkit

from prolific.emulator.contract import Contract
from prolific.rehearse.environment import RehearsalEnvironment, free_port, run_emulator, run_survey_server
from prolific.rehearse.participants import plan_participants
from prolific.rehearse.report_page import fetch_invoice, report_content, write_page
from prolific.rehearse.scenario_runner import CommandRunner, ScenarioRunner
from spa.errors import StudyError
from spa.files import write_text
from spa.study.load import load_study

STATE = "rehearsal.json"
DESCRIPTION = "<p>You read texts and say which you prefer.</p>"
PAY, MINUTES = "2.00", 10.0
ELSEWHERE = ("only_groups", "exclude_groups", "exclude_studies")  # things that are on the real platform only
FAMILY_STORE = "family.sqlite"  # beside the copy
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
    bar = click.progressbar(length=places, label="places", hidden=not show_progress, file=sys.stderr)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCopy:
    """The study file that is rehearsed, and what it changes: keys filled in or left out."""

    text: str
    project: str
    currency: str
    filled_in: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return what the copy hashes to."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def copy_study(study_path: Path, *, annotators: int | None, seed: int) -> StudyCopy:
    """Return the copy of a study that is rehearsed, with another number of ``annotators`` where one is given.

    ``seed`` gives a study without a project one. Raise StudyError if the study cannot be used, or its groups fix the
    number of annotators.
    """
    study = load_study(study_path)  # refuses what cannot be read, in the user's own file
    document: dict[str, Any] = tomllib.loads(study_path.read_text("utf-8"))
    folder = study_path.resolve().parent
    document["outputs"]["files"] = [str((folder / file).resolve()) for file in document["outputs"]["files"]]
    for name in ("instructions", "consent", "debriefing"):
        if "file" in document.get(name, {}):  # a study's texts are in its own folder, and the copy's is another
            document[name] = {"text": getattr(study, name).text}
    _make_files_absolute(document, folder)
    people: dict[str, Any] = document.setdefault("people", {})
    filled_in = []
    if annotators is not None and annotators != study.people.annotators:
        if study.people.groups:
            raise StudyError(f"{study_path}: [[people.groups]] say how many come; leave --annotators out")
        people["annotators"] = annotators
    if annotators is not None and "most" in document.get("stopping", {}):
        document["stopping"]["most"] = annotators
    if "family_store" in people:  # a rehearsal takes nobody's turn in a real study
        people["family_store"] = FAMILY_STORE
    people.pop("completion_url", None)
    prolific: dict[str, Any] = document.setdefault("prolific", {})
    if annotators is not None:
        prolific.pop("places", None)
    if not prolific:
        filled_in.append("[prolific]: missing table; it needs at least project and description")
        prolific["description"] = DESCRIPTION
    left_out = [name for name in ELSEWHERE if prolific.pop(name, None)]
    if left_out:
        names = ", ".join(left_out)
        filled_in.append(f"[prolific] {names}: not rehearsed; the emulator has no such groups and studies")
    if "project" not in prolific:
        prolific["project"] = hashlib.sha256(f"project {seed}".encode()).hexdigest()[:24]
    if study.people.pay is None and "reward" not in prolific:
        filled_in.append(f"[people] pay: the study says nothing; rehearsed with {PAY} {study.people.currency}")
        people["pay"] = PAY
    if study.people.minutes is None and "minutes" not in prolific:
        filled_in.append(f"[people] minutes: the study says nothing; rehearsed with {MINUTES:g}")
        people["minutes"] = MINUTES
    return StudyCopy(
        text=tomlkit.dumps(document),
        project=str(prolific["project"]),
        currency=study.people.currency,
        filled_in=tuple(filled_in),
    )


def _make_files_absolute(value: Any, folder: Path) -> None:
    """Make the paths under every key ``file`` absolute."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "file" and isinstance(inner, str):
                value[name] = str((folder / inner).resolve())
            else:
                _make_files_absolute(inner, folder)
    elif isinstance(value, list):
        for inner in value:
            _make_files_absolute(inner, folder)
