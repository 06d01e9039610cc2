"""What the commands have in common: options, and how they print."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from prolific.checklist import ChecklistItem
from spa.commands.options import json_option as json_option
from spa.commands.options import store_option, study_argument

Command = TypeVar("Command", bound=Callable[..., Any])


def study_options(command: Command) -> Command:
    """Add the study, its store and the platform's address."""
    for add in (
        click.option(
            "--endpoint-url", metavar="URL", help="Address of the API. [default: PROLIFIC_API_URL, or Prolific]"
        ),
        store_option,
        study_argument,
    ):
        command = add(command)
    return command


def session_option(command: Command) -> Command:
    """Add the number of the session."""
    return click.option(
        "--session",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Which session of a study in several.",
    )(command)


def yes_option(what: str) -> Callable[[Command], Command]:
    """Add ``--yes``, without which nothing is done."""
    return click.option("--yes", is_flag=True, help=f"{what}; the default is a dry run.")


def announce(text: str) -> None:
    """Say what is waited for, beside the output."""
    click.echo(text, err=True)


def tell_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2, default=str))


def tell(title: str, lines: Iterable[str]) -> None:
    """Print a title and lines under it."""
    click.echo(title)
    for line in lines:
        click.echo(f"  {line}")


def tell_checklist(lines: Iterable[ChecklistItem]) -> None:
    """Print the checklist, a line each."""
    tell("checklist:", (f"{line.state:<8}{line.name}: {line.told}" for line in lines))
