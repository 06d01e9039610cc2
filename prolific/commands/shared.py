"""Options and output of the commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from prolific.plan import ChecklistItem
from spa.commands.options import platform_study_options, printer

Command = TypeVar("Command", bound=Callable[..., Any])


study_options = platform_study_options("URL of the API. [default: $PROLIFIC_API_URL or Prolific]")


public_url_option = click.option(
    "--public-url", metavar="URL", help="Public URL of `spa serve`. [default: public_url in the study file]"
)
session_option = click.option(
    "--session",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Session number, in a study with several sessions.",
)


def yes_option(effect: str) -> Callable[[Command], Command]:
    """Add ``--yes``; ``effect`` says what it does."""
    return click.option("--yes", is_flag=True, help=f"{effect}; the default is a dry run.")


def print_lines(title: str, lines: Iterable[str], *, as_json: bool = False) -> None:
    """Print a title with indented lines; to stderr where stdout is for JSON."""
    say = printer(as_json=as_json)
    say(title)
    for line in lines:
        say(f"  {line}")


def print_checklist(lines: Iterable[ChecklistItem], *, as_json: bool = False) -> None:
    """Print the checklist, one line per item; to stderr where stdout is for JSON."""
    print_lines("checklist:", (f"{line.state:<8}{line.name}: {line.finding}" for line in lines), as_json=as_json)
