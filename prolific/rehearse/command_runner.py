"""Run ``spa`` commands as a user would and keep their output."""

from __future__ import annotations

import io
import json
import shlex
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

import click

from spa.errors import SpaError, StudyError

GROUP = "spa.commands"
MOST_TRIES = 4
PAUSE = 0.5  # seconds before a command that failed is run again


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """One command that was run: what it printed, and what it said where it failed."""

    command: str
    output: str
    problem: str | None
    seconds: float
    permanent: bool  # it failed for what the study file says, and will fail again


class CommandFailedError(SpaError):
    """A command fails however often it is run."""


@dataclass(slots=True)
class CommandRunner:
    """Runs commands and keeps what they printed."""

    steps: list[CommandRun] = field(default_factory=list)

    def run(self, *arguments: object, kept: bool = True) -> str:
        """Run a command until it works, a few times at most, as a user would; return what it printed.

        ``arguments`` are the command line after ``spa``; only a command that is ``kept`` appears in the report.
        """
        words = [str(argument) for argument in arguments]
        for left in reversed(range(MOST_TRIES)):
            step = _run(words)
            if kept or step.problem is not None:
                self.steps.append(step)
            if step.problem is None:
                return step.output
            if step.permanent:
                break
            if left:
                time.sleep(PAUSE)
        raise CommandFailedError(f"{step.command}: {step.problem}")

    def read(self, *arguments: object) -> Any:
        """Run a command with ``--json`` and return what it printed."""
        return json.loads(self.run(*arguments, "--json", kept=False))

    def offered(self, group: str, name: str) -> bool:
        """Return whether a group of commands has a command."""
        found = _find(group)
        return isinstance(found, click.Group) and name in found.list_commands(click.Context(found))


def _find(name: str) -> click.Command:
    points = entry_points(group=GROUP, name=name)
    if not points:
        raise CommandFailedError(f"spa {name}: there is no such command; install the whole package")
    found: click.Command = next(iter(points)).load()
    return found


def _run(words: Sequence[str]) -> CommandRun:
    began = time.monotonic()
    output, problem, permanent = io.StringIO(), None, False
    command = _find(words[0])
    with redirect_stdout(output), redirect_stderr(output):
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
        problem=problem,
        seconds=time.monotonic() - began,
        permanent=permanent,
    )
