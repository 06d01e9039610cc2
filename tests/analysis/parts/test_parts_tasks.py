"""Tasks on a cluster that is lost."""

from __future__ import annotations

import time

import dask
import distributed
import pytest

from analysis.parts.tasks import run_tasks
from spa.errors import AnalysisError
from tests.dask_here import in_this_process


def slow(number: int) -> int:
    """Take a moment."""
    time.sleep(0.05)
    return number


def test_a_scheduler_that_is_lost_is_told_in_a_line() -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        in_this_process() as running,
        distributed.Client(running, set_as_default=False) as client,
    ):
        found = run_tasks(slow, range(100), client)
        next(found)
        running.sync(running.scheduler.close)
        with pytest.raises(AnalysisError, match="the scheduler is lost"):
            list(found)
