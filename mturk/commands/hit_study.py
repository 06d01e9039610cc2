"""What the commands share: their options, and the study, settings and endpoint that they work on."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from spa.commands.options import json_option, store_option, study_argument

if TYPE_CHECKING:
    from mturk.endpoints import MTurkEndpoint
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from mturk.settings import MTurkTable
    from spa.commands.workspace import Workspace

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class HitStudy:
    """A study, the table [mturk] that goes with it, and the endpoint that it speaks to."""

    path: Path
    workspace: Workspace
    settings: MTurkTable
    endpoint: MTurkEndpoint
    idempotent_calls: IdempotentMTurkCalls

    @property
    def family(self) -> str:
        """The family of studies that take each annotator once; the study itself where none is named."""
        return self.workspace.study.people.family or self.workspace.study.id


def study_options(command: F) -> F:
    """Add what every command needs to find its study and its endpoint."""
    options: tuple[Callable[[Any], Any], ...] = (
        json_option,
        click.option(
            "--endpoint-url",
            metavar="URL",
            help="Endpoint that speaks the MTurk protocol. [default: the variable MTURK_ENDPOINT_URL]",
        ),
        store_option,
        study_argument,
    )
    decorated: Any = command
    for option in options:
        decorated = option(decorated)
    return cast(F, decorated)


def yes_option(command: F) -> F:
    """Add the switch without which nothing is spent or changed."""
    return click.option("--yes", is_flag=True, help="Apply; the default is a dry run.")(command)


assignment_option = click.option(
    "--assignment", "named", metavar="ID", multiple=True, help="The endpoint's id of a submission; repeatable."
)

except_option = click.option(
    "--except", "except_for", metavar="ID", multiple=True, help="Leave this one alone; repeatable."
)


@contextmanager
def open_hit_study(study: Path, store: str | None, endpoint_url: str | None, *, changes: bool) -> Iterator[HitStudy]:
    """Open a study with its endpoint; ``changes`` lets one process at a time do what creates or pays."""
    from mturk import records
    from mturk.endpoints import choose_endpoint
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from mturk.rejections import note_rejections
    from mturk.settings import read_settings
    from spa.commands.workspace import open_workspace
    from spa.responses.run_lock import exclusive_run

    endpoint = choose_endpoint(endpoint_url)
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(study, store))
        settings = read_settings(workspace.study.bridges["mturk"], study)
        if changes:
            stack.enter_context(exclusive_run(workspace.store.name, "mturk", workspace.store.reading, what="bridge"))
        records.set_up(workspace.store)
        yield HitStudy(
            path=study,
            workspace=workspace,
            settings=settings,
            endpoint=endpoint,
            idempotent_calls=IdempotentMTurkCalls(workspace.store),
        )
        if changes:
            note_rejections(workspace.store, endpoint.origin, now=time.time())


def in_progress(steps: Iterable[T], *, label: str, length: int, silent: bool) -> Iterator[T]:
    """Yield the steps with a bar on the error stream."""
    hidden = silent or length == 0 or not sys.stderr.isatty()
    with click.progressbar(steps, length=length, label=label, hidden=hidden, file=sys.stderr) as bar:
        yield from bar


def tell(lines: Iterable[str], facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result: lines to read, or facts as JSON."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, default=str))
        return
    for line in lines:
        click.echo(line)


def waiting_line(count: int) -> list[str]:
    """Return the line about decisions that cannot be executed yet, if any."""
    if not count:
        return []
    return [f"{count} decided on visits of which nothing is collected from this endpoint; run `spa mturk collect`"]


def when(seconds: float | None) -> str:
    """Write a time so that nobody asks which zone.

    >>> when(0.0), when(None)
    ('1970-01-01 00:00 UTC', 'never')
    """
    from datetime import UTC, datetime

    if seconds is None:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
