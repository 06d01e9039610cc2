"""Options and output of the commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

import click

from spa.commands.options import annotators_option, json_option, platform_study_options
from spa.commands.terminal import progress_bar

T = TypeVar("T")


def study_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add STUDY, --store, --endpoint-url and --json."""
    add = platform_study_options("Endpoint of the MTurk protocol. [default: $MTURK_ENDPOINT_URL]")
    return add(json_option(command))


hit_option = click.option(
    "--hit", "named", metavar="ID", multiple=True, help="Only this HIT; repeatable. [default: all]"
)
total_option = annotators_option("Total number of annotators.")
assignment_option = click.option(
    "--assignment", "named", metavar="ID", multiple=True, help="Assignment id of a submission; repeatable."
)
except_option = click.option(
    "--except", "except_for", metavar="ID", multiple=True, help="Skip this submission; repeatable."
)


def in_progress(steps: Iterable[T], *, label: str, length: int, silent: bool) -> Iterator[T]:
    """Yield the steps while a progress bar is shown on stderr."""
    with progress_bar(steps, length=length, label=label, hidden=silent) as bar:
        yield from bar


def waiting_line(count: int) -> list[str]:
    """Return a line about decisions on submissions that are not collected yet, if any."""
    if not count:
        return []
    return [f"{count} decisions are on submissions not yet collected from this endpoint; run `spa mturk collect`"]


def format_time(seconds: float | None) -> str:
    """Format a time in UTC.

    >>> format_time(0.0), format_time(None)
    ('1970-01-01 00:00 UTC', 'never')
    """
    if seconds is None:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
