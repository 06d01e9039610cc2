"""Dask clusters of threads of the test's own process, or of forks of one that has loaded what they need."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import distributed
import pytest

from spa import cluster
from tests.spa.forks import load_before
from tests.warm import LOADED_IN_CLUSTERS


def in_this_process(workers: int = 1, **arguments: Any) -> distributed.LocalCluster:
    """Return a cluster, to be entered; ``threads`` of a worker and ``protocol`` are 1 and "tcp" unless given."""
    return distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        processes=False,
        threads_per_worker=arguments.pop("threads", 1),
        protocol=arguments.pop("protocol", "tcp"),
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs=cluster.NO_DASHBOARD,
        silence_logs=logging.CRITICAL,
        **arguments,
    )


@contextmanager
def forked_workers(number: int) -> Iterator[distributed.Client]:
    """Yield the client of a cluster of this machine; its processes are forks, which need not import for seconds."""
    load_before(*LOADED_IN_CLUSTERS)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("distributed.utils._forkserver_preload_set", True)  # it would load other things
        with (
            dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
            cluster.open_cluster(f"local:{number}") as client,
        ):
            yield client
