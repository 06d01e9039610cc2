"""``spa rate --cluster``: opening the cluster, and what its workers open."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import distributed

    from spa.commands.workspace import Workspace
    from spa.raters.budget import Price, RaterBudget
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.stopping import RaterStopping
    from spa.raters.summary import Progress, RatingSummary
    from spa.raters.visits import RaterVisit
    from spa.study.raters import Rater


def print_waiting(line: str) -> None:
    """Say what is waited for."""
    click.echo(line, err=True)


@contextmanager
def opened_cluster(
    where: str | None, workspace: Workspace, rater: Rater, *, simulate: bool
) -> Iterator[distributed.Client | None]:
    """Yield a client of the cluster that is asked for, or ``None``."""
    if where is None:
        yield None
        return
    from spa.cluster import is_local, open_cluster
    from spa.raters.cluster.coordinator import refuse_unfit

    local = is_local(where)
    refuse_unfit(workspace.store, rater.provider, local=local, simulate=simulate)
    with ExitStack() as stack:
        with ignored_interrupts() if local else ExitStack():
            client = stack.enter_context(open_cluster(where))
        yield client


@contextmanager
def ignored_interrupts() -> Iterator[None]:
    """Have processes started meanwhile ignore Ctrl-C, which is for the coordinator."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_on_cluster(
    client: distributed.Client,
    workspace: Workspace,
    visits: Sequence[RaterVisit],
    rater_budget: RaterBudget,
    progress: Progress | None,
    *,
    study: Path,
    store: str | None,
    timeout: float,
    price: Price | None,
    several: bool,
    stopping: RaterStopping | None,
) -> RatingSummary:
    """Have the workers of a cluster answer the visits."""
    from spa.commands.rating import open_endpoint
    from spa.commands.workspace import default_store
    from spa.raters.cluster.coordinator import begin_run, rate_on_cluster
    from spa.raters.cluster.worker import WorkerSetup
    from spa.raters.prompt_messages import PromptWriter
    from spa.responses.database import parse_target

    study, rater = study.resolve(), visits[0].asked.rater
    file = parse_target(store or default_store(study)).path
    setup = WorkerSetup(
        run=secrets.token_hex(8),
        fingerprint=workspace.store.fingerprint,
        rater=rater,
        price=price,
        several=several,
        open_study=partial(open_study, study, str(store if file is None else file.resolve())),
        open_endpoint=partial(open_endpoint, timeout=timeout, folder=study.parent, keep=True),
    )
    begin_run(workspace.store, rater.id, setup.run, say=print_waiting)
    return rate_on_cluster(
        client,
        workspace,
        visits,
        PromptWriter(workspace.texts),
        setup=setup,
        rater_budget=rater_budget,
        progress=progress,
        stopping=stopping,
    )


def open_study(study: Path, store: str) -> tuple[Workspace, PromptWriter]:
    """Open a study on a worker."""
    from spa.commands.workspace import open_workspace
    from spa.raters.prompt_messages import PromptWriter

    workspace = open_workspace(study, store)
    return workspace, PromptWriter(workspace.texts)
