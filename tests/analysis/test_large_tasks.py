"""Tasks on a cluster that is lost."""

from __future__ import annotations

import logging
import time

import dask
import distributed
import pytest

from analysis.large.tasks import run_tasks
from spa.cluster import NO_DASHBOARD
from spa.errors import AnalysisError


def slow(number: int) -> int:
    """Take a moment."""
    time.sleep(0.05)
    return number


def test_a_scheduler_that_is_lost_is_told_in_a_line() -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        distributed.LocalCluster(
            n_workers=1,
            processes=False,
            protocol="tcp",
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs=NO_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as running,
        distributed.Client(running, set_as_default=False) as client,
    ):
        found = run_tasks(slow, range(100), client)
        next(found)
        running.sync(running.scheduler.close)
        with pytest.raises(AnalysisError, match="the scheduler is lost"):
            list(found)
