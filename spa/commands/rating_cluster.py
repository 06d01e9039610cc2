"""``spa rate --cluster``: opening the cluster, and what its workers open."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spa.commands.options import announce
from spa.errors import StudyError

if TYPE_CHECKING:
    import distributed

    from spa.commands.workspace import Workspace
    from spa.raters.budget import Price, RaterBudget
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.stopping import RaterStopping
    from spa.raters.summary import Progress, RatingSummary
    from spa.raters.visits import RaterVisit
    from spa.records.raters import Rater
    from spa.responses.store import Store


@contextmanager
def opened_cluster(
    where: str | None, workspace: Workspace, rater: Rater, *, store: str | None, simulate: bool
) -> Iterator[distributed.Client | None]:
    """Yield a client of the cluster that is asked for, or ``None``."""
    if where is None:
        yield None
        return
    from spa.cluster import is_local, open_cluster

    local = is_local(where)
    refuse_unfit(workspace.store, store, rater, local=local, simulate=simulate)
    with ExitStack() as stack:
        with ignored_interrupts() if local else ExitStack():
            client = stack.enter_context(open_cluster(where))
        yield client


def refuse_unfit(opened: Store, store: str | None, rater: Rater, *, local: bool, simulate: bool) -> None:
    """Refuse what cannot be rated on a cluster.

    Raise StudyError for batch files; away from this machine also for a store or endpoint on it, or a password in
    ``store``.
    """
    from spa.raters.vendors import in_batches
    from spa.responses.database import has_password

    if in_batches(rater):
        got = "batch = true" if rater.batch else f'provider = "{rater.provider}"'
        raise StudyError(f"--cluster: expected a rater that is asked at once, got {got}; rate without it")
    if opened.is_file and not local:
        raise StudyError(
            f"--cluster: expected a store that all machines reach, got the SQLite file {opened.name}; build into "
            "PostgreSQL (--store postgresql://HOST/NAME), or use --cluster local"
        )
    if store is not None and not local and has_password(store):
        raise StudyError(
            "--cluster: expected --store without a password, which would be sent to all workers, got one; write it "
            "into ~/.pgpass, or the environment variable PGPASSWORD, of every machine"
        )
    if simulate and not local:
        raise StudyError('--cluster: expected "local" with --simulate, whose endpoint is on this machine; name it')


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
    from spa.raters.cluster.coordinator import rate_on_cluster
    from spa.raters.cluster.runs import begin_run, new_run
    from spa.raters.cluster.worker import WorkerSetup
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.settings import note_settings
    from spa.records.raters import rater_variants
    from spa.responses.database import parse_target

    study, rater = study.resolve(), visits[0].asked.rater
    note_settings(workspace.store, rater_variants(rater))
    file = parse_target(store or default_store(study)).path
    setup = WorkerSetup(
        run=new_run(),
        fingerprint=workspace.store.fingerprint,
        rater=rater,
        price=price,
        several=several,
        open_study=partial(open_study, study, str(store if file is None else file.resolve())),
        open_endpoint=partial(open_endpoint, timeout=timeout, folder=study.parent, keep=True),
    )
    begin_run(workspace.store, rater.id, setup.run, say=announce)
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
