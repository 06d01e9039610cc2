"""What a researcher does in a rehearsal, as ``spa`` commands from plan to report, while participants come and go."""

from __future__ import annotations

import csv
import io
import json
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import click

from prolific.emulator.participant_pool import fitting
from prolific.prolific_study import open_prolific_study
from prolific.rehearse.environment import RehearsalEnvironment
from prolific.rehearse.participant_traffic import ParticipantTraffic
from prolific.rehearse.participants import ParticipantPlan
from prolific.screening import requirements_of
from spa.commands.options import StudyLocation
from spa.errors import SpaError, StudyError
from spa.live import in_waves

GROUP = "spa.commands"
MOST_TRIES = 4
PAUSE = 0.5  # seconds before a command that failed is run again
ROUNDS = 12  # of replacing those who were asked to return
CROWD_PER_PLACE = 5  # others on the platform who could take part, so that the count is comfortable
LEAST_CROWD = 300
REASON = "There are no complete answers of yours in our survey; please return the submission."
TWO_BONUSES = 2
BONUS = "0.50"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """One run of a command: its output, and the error where it failed."""

    command: str
    output: str  # all that it printed
    result: str  # what it printed to stdout, which of --json is nothing else
    problem: str | None
    seconds: float
    permanent: bool  # an error in the study file, with which it would fail again


class CommandFailedError(SpaError):
    """A command failed every time it was run."""


@dataclass(slots=True)
class CommandRunner:
    """Runs ``spa`` commands in this process and keeps their output."""

    steps: list[CommandRun] = field(default_factory=list)

    def run(self, *arguments: object, kept: bool = True) -> str:
        """Run a command, again if it fails, a few times at most; return what it printed to stdout.

        ``arguments`` are the command line after ``spa``; a successful command that is not ``kept`` is left out of the
        report.
        """
        words = [str(argument) for argument in arguments]
        for left in reversed(range(MOST_TRIES)):
            step = _run(words)
            if kept or step.problem is not None:
                self.steps.append(step)
            if step.problem is None:
                return step.result
            if step.permanent:
                break
            if left:
                time.sleep(PAUSE)
        raise CommandFailedError(f"{step.command}: {step.problem}")

    def read(self, *arguments: object) -> Any:
        """Run a command with ``--json`` and return the result."""
        return json.loads(self.run(*arguments, "--json", kept=False))


class _Result(io.StringIO):
    """What a command prints to stdout, which stands among all that it prints as well."""

    def __init__(self, everything: io.StringIO) -> None:
        super().__init__()
        self._everything = everything

    def write(self, text: str, /) -> int:
        self._everything.write(text)
        return super().write(text)


@cache
def _command_called(name: str) -> EntryPoint:
    """Look up a command once: that reads a file of every package that is installed."""
    (point,) = entry_points(group=GROUP, name=name)
    return point


def _run(words: Sequence[str]) -> CommandRun:
    began = time.monotonic()
    output, problem, permanent = io.StringIO(), None, False
    result = _Result(output)
    command: click.Command = _command_called(words[0]).load()
    with redirect_stdout(result), redirect_stderr(output):
        try:
            command.main(args=list(words[1:]), prog_name=f"spa {words[0]}", standalone_mode=False)
        except SpaError as error:
            problem, permanent = "; ".join(error.problems), isinstance(error, StudyError)
        except click.ClickException as error:
            problem = error.format_message()
        except (click.exceptions.Exit, SystemExit) as error:
            code = error.exit_code if isinstance(error, click.exceptions.Exit) else error.code
            problem = None if code in (0, None) else f"exit code {code}"
    return CommandRun(
        command=f"spa {shlex.join(words)}",
        output=output.getvalue(),
        result=result.getvalue(),
        problem=problem,
        seconds=time.monotonic() - began,
        permanent=permanent,
    )


@dataclass(slots=True)
class ScenarioRunner:
    """Runs the researcher's commands and lets participants come; collects what the report shows."""

    study: Path
    out: Path
    stage: RehearsalEnvironment
    script: CommandRunner
    plan: ParticipantPlan
    bonus: bool
    say: Callable[[str], None]
    progress: Callable[[int, int], None]
    crowds: list[ParticipantTraffic] = field(default_factory=list)
    accepted: list[dict[str, str]] = field(default_factory=list)  # lines of the checklist that are not in order
    estimates: list[dict[str, Any]] = field(default_factory=list)
    added_filters: list[str] = field(default_factory=list)  # which the emulator did not know
    asked_back: set[str] = field(default_factory=set)
    most: int | None = None  # places of a live study at most; None in one of fixed size
    looks: list[dict[str, Any]] = field(default_factory=list)  # at a live study, before each wave

    def play(self) -> None:
        """Run the whole study; steps that an interrupted rehearsal has done are not repeated."""
        with open_prolific_study(StudyLocation(study=self.study)) as prolific_study:
            if in_waves(prolific_study.workspace.study):
                self.most = prolific_study.offer.most
            sessions, minutes = prolific_study.offer.sessions, prolific_study.offer.minutes
            for one in requirements_of(prolific_study.table):
                self.added_filters += self.stage.people.offer(one.names, one.choices, one.lowest, one.highest)
        self.script.run("prolific", "plan", self.study, "--public-url", self.stage.survey_url)
        came: tuple[str, ...] | None = None
        for session in range(1, sessions + 1):
            crowd = self._session(session, minutes, among=came)
            came = tuple(one["participant_id"] for one in self._submissions(crowd, "APPROVED"))
        self._pay_bonuses(sessions)
        self.say("reconcile, export, report")
        self.script.run("prolific", "status", self.study)
        self.script.run("prolific", "reconcile", self.study)
        self.script.run("export", self.study, "--out", self.out / "tables")
        self.script.run("report", self.study, "--out", self.out / "report")

    def _session(self, session: int, minutes: float, *, among: tuple[str, ...] | None) -> ParticipantTraffic:
        which = ["--session", session] if session > 1 else []
        self.say(f"session {session}: draft, checklist, publication" if among else "draft, checklist, publication")
        url = ["--public-url", self.stage.survey_url]
        self.script.run("prolific", "create", self.study, *url, *which)
        study_id = str(self.script.read("prolific", "create", self.study, *url, *which)["study_id"])
        filters = self.stage.people.study(study_id)["filters"]
        places = int(self.stage.people.study(study_id)["places"])
        self.stage.people.crowd(max(LEAST_CROWD, CROWD_PER_PLACE * places), fitting(filters))
        self._publish(url, which)
        if session == 1:
            self.script.run("prolific", "hooks", self.study, *url)
        self.say("people come, answer and go")
        crowd = ParticipantTraffic(
            stage=self.stage,
            plan=self.plan,
            study_id=study_id,
            minutes=minutes,
            progress=lambda taken: self.progress(taken, places),
            collect=lambda: self._collect(kept=False) if self.most is None else self._advance(),
            among=among,
        )
        self.crowds.append(crowd)
        if self.most is not None:
            self._play_waves(crowd, self.most)
            return crowd
        for _ in range(ROUNDS):
            crowd.play()
            self._review(crowd)
            status = self.stage.people.study(study_id)["status"]
            if status == "COMPLETED":
                break
            if among is not None:  # whoever did not come back is not replaced
                self.script.run("prolific", "stop", self.study, *which, "--yes")
            elif status in ("AWAITING REVIEW", "PAUSED"):
                self.script.run("prolific", "stop", self.study, *which, "--resume")
        return crowd

    def _play_waves(self, crowd: ParticipantTraffic, most: int) -> None:
        """Let participants come wave by wave, until the study is decided or has asked the maximum number."""
        for _ in range(most + ROUNDS):
            crowd.play()
            self._review(crowd)
            self._advance()
            last = self.looks[-1]
            if last["reason"] in ("enough", "most") and not last["at_work"]:
                break

    def _advance(self) -> None:
        """Open the next wave of a live study, or stop it once it is decided."""
        said = self.script.run("prolific", "advance", self.study, "--yes", "--stop", "--json")
        self.looks.append(json.loads(said))

    def _publish(self, url: list[str], which: list[object]) -> None:
        """Publish, accepting every line of the checklist that is not in order."""
        plan = self.script.read("prolific", "plan", self.study, *url, *which)
        self.estimates.append(plan["estimate"])
        accepted = [line for line in plan["checklist"] if line["state"] != "ok"]
        if not which:  # later sessions ask the people of the first, who are few
            self.accepted += [line for line in accepted if line not in self.accepted]
        options = [word for line in accepted for word in ("--accept", line["name"])]
        self.script.run("prolific", "publish", self.study, *url, *which, *options, "--yes")

    def _review(self, crowd: ParticipantTraffic) -> None:
        """Collect and approve; ask participants without answers to return their submissions, and let them do so."""
        self.say("collect, approve, ask to return")
        self._collect(kept=True)
        listed = json.loads(self.script.run("prolific", "approve", self.study, "--yes", "--json"))
        look_at = [one for session in listed for one in session["to_look_at"]]
        waiting = [one["id"] for one in self._submissions(crowd, "AWAITING REVIEW") if one["id"] in look_at]
        if waiting:
            self.asked_back.update(waiting)
            to = [word for one in waiting for word in ("--to", one)]
            self.script.run("prolific", "message", self.study, *to, "--ask-return", "--text", REASON, "--yes")
            crowd.give_back(waiting)
            self._collect(kept=True)

    def _submissions(self, crowd: ParticipantTraffic, status: str) -> list[dict[str, Any]]:
        return [one for one in self.stage.people.submissions(crowd.study_id) if one["status"] == status]

    def _collect(self, *, kept: bool) -> None:
        self.script.run("prolific", "collect", self.study, kept=kept)

    def _pay_bonuses(self, sessions: int) -> None:
        """Pay the study's completion bonus, or two small ones to show how it is done."""
        if not self.bonus:
            return
        self.say("bonuses")
        with open_prolific_study(StudyLocation(study=self.study)) as prolific_study:
            share = prolific_study.table.completion_bonus_percent
        if share and sessions > 1:
            self.script.run("prolific", "bonus", self.study, "--completion", "--yes")
            return
        approved = [one["id"] for one in self._submissions(self.crowds[-1], "APPROVED")]
        listed = self.out / "bonuses.csv"
        with listed.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["recipient", "amount", "reason"])
            writer.writerows([[one, BONUS, "rehearsed"] for one in approved[:TWO_BONUSES]])
        self.script.run("prolific", "bonus", self.study, "--from", listed, "--yes")
