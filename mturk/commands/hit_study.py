"""Options and helpers of the commands that work on a study's HITs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spa.commands.options import StudyLocation, json_option, platform_study_options

if TYPE_CHECKING:
    from mturk.endpoints import MTurkEndpoint
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from mturk.settings import MTurkTable
    from spa.commands.workspace import Workspace
    from spa.responses.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HitStudy:
    """A study, its [mturk] settings and its endpoint."""

    workspace: Workspace
    settings: MTurkTable
    idempotent_calls: IdempotentMTurkCalls

    @property
    def endpoint(self) -> MTurkEndpoint:
        """The endpoint of the MTurk protocol."""
        return self.idempotent_calls.endpoint

    @property
    def store(self) -> Store:
        """The store."""
        return self.workspace.store

    @property
    def family(self) -> str:
        """The family of studies that share their annotators; by default the study itself."""
        return self.workspace.study.people.family or self.workspace.study.id


def study_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add STUDY, --store, --endpoint-url and --json."""
    add = platform_study_options("Endpoint of the MTurk protocol. [default: $MTURK_ENDPOINT_URL]")
    return add(json_option(command))


hit_option = click.option(
    "--hit", "named", metavar="ID", multiple=True, help="Only this HIT; repeatable. [default: all]"
)
annotators_option = click.option(
    "--annotators", type=click.IntRange(min=1), help="Total number of annotators. [default: the study's]"
)
assignment_option = click.option(
    "--assignment", "named", metavar="ID", multiple=True, help="Assignment id of a submission; repeatable."
)
except_option = click.option(
    "--except", "except_for", metavar="ID", multiple=True, help="Skip this submission; repeatable."
)


@contextmanager
def open_hit_study(location: StudyLocation, *, changes: bool) -> Iterator[HitStudy]:
    """Open a study with its endpoint; ``changes`` allows one process at a time."""
    from mturk import records
    from mturk.collecting import note_rejections
    from mturk.endpoints import choose_endpoint
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from mturk.settings import read_settings
    from spa.commands.workspace import open_workspace
    from spa.responses.run_lock import exclusive_run

    endpoint = choose_endpoint(location.endpoint_url)
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(location.study, location.store))
        settings = read_settings(workspace.study.bridges["mturk"], location.study)
        if changes:
            stack.enter_context(exclusive_run(workspace.store.name, "mturk", workspace.store.reading, what="bridge"))
        records.set_up(workspace.store)
        yield HitStudy(
            workspace=workspace,
            settings=settings,
            idempotent_calls=IdempotentMTurkCalls(workspace.store, endpoint),
        )
        if changes:
            note_rejections(workspace.store, endpoint.origin, now=time.time())


def in_progress(steps: Iterable[T], *, label: str, length: int, silent: bool) -> Iterator[T]:
    """Yield the steps while a progress bar is shown on stderr."""
    hidden = silent or length == 0 or not sys.stderr.isatty()
    with click.progressbar(steps, length=length, label=label, hidden=hidden, file=sys.stderr) as bar:
        yield from bar


def print_result(lines: Iterable[str], facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result as lines of text, or as JSON."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, default=str))
        return
    for line in lines:
        click.echo(line)


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
    from datetime import UTC, datetime

    if seconds is None:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
