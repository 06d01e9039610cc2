"""What tests let processes do that die or are killed, each forked from the one that has loaded everything.

A test process has one such server of forks: whoever comes first says what it loads, so that all must say the same.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import tracemalloc
from itertools import count, islice
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.responses.store import Store
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.hand_made import ASKED
from tests.spa.store_steps import complete, lease_for_rater, save_payload, submission_of
from tests.warm import LOADED

FORKS = multiprocessing.get_context("forkserver")


def load_before(*modules: str) -> None:
    """Have forks find loaded what all tests need, and some modules more, unless one was forked already."""
    FORKS.set_forkserver_preload([*LOADED, __name__, *modules])


def open_and_die(database: str, statements: int) -> None:
    """Open a store, and kill this process before the statement after so many."""
    left = statements

    def count_down(*_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count_down)
    Store.open(database).close()


def open_with_others(database: str, start: Barrier) -> None:
    """Open a store when all are there."""
    start.wait()
    Store.open(database).close()


def keep_writing(database: str, name: str, acknowledged: Connection) -> None:
    """Write until killed; say of everything that it is written."""
    with Store.open(database) as store:
        for number in count():
            lease = lease_for_rater(store, f"{name}-{number}", "a00001", ASKED)
            save_payload(store, lease.submission_id, "p1", "x" * 3000)
            acknowledged.send(("payload", lease.submission_id))
            complete(store, submission_of(lease), completion_code="C")
            acknowledged.send(("complete", lease.submission_id))


def serve_cluster(kind: type[Any], output: Path, **arguments: Any) -> None:
    """Run a scheduler or a worker of Dask until it ends."""
    silence(output)

    async def run() -> None:
        async with kind(host="127.0.0.1", **arguments) as server:
            await server.finished()

    asyncio.run(run())


def rate_in_short_batches(output: Path, *words: object) -> None:
    """Run ``spa rate`` with short batches."""
    from spa import cluster
    from spa.cli import main
    from spa.raters.cluster import coordinator

    silence(output)
    coordinator.BATCH, coordinator.LOOK = 0.5, 0.2
    cluster.CONNECT_SECONDS = 3
    main(["rate", *map(str, words)])


def kill_under_load(output: Path, *words: str) -> None:
    """Do what ``python -m tests.load.killed`` does with some words."""
    from tests.load import killed

    silence(output)
    sys.argv = ["killed", *words]
    killed.main()


def trace_draws(study: Study, outputs: Outputs, told: Connection) -> None:
    """Draw 2,000 assignments; send how many bytes the last 1,500 need at once, which no other thread adds to."""
    draws = sample_assignments(study, outputs, count=2_000, rng=study_rng(0))
    for _ in islice(draws, 500):  # every deck has come up
        pass
    tracemalloc.start()
    for _ in draws:
        pass
    told.send(tracemalloc.get_traced_memory()[1])


def silence(output: Path) -> None:
    """Write what this process says to a file."""
    with output.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
