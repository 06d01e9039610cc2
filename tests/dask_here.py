"""A Dask cluster whose scheduler and workers are threads of the test's own process."""

from __future__ import annotations

import logging
from typing import Any

import distributed

from spa.cluster import NO_DASHBOARD


def in_this_process(workers: int = 1, **arguments: Any) -> distributed.LocalCluster:
    """Return a cluster, to be entered; ``threads`` of a worker and ``protocol`` are 1 and "tcp" unless given."""
    return distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        processes=False,
        threads_per_worker=arguments.pop("threads", 1),
        protocol=arguments.pop("protocol", "tcp"),
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs=NO_DASHBOARD,
        silence_logs=logging.CRITICAL,
        **arguments,
    )
