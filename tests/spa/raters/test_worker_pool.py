"""Which workers of a cluster a rater uses, and the requests that each may have."""

from __future__ import annotations

from typing import Any

import distributed
import pytest

from spa.errors import PlatformError
from spa.raters.cluster.worker_pool import WorkerPool
from spa.records.raters import Rater
from tests.dask_here import in_this_process


def test_worker_of_other_versions_gets_no_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that comes later with other versions gets no forms."""

    def versions(self: Any, packages: list[str]) -> dict[str, Any]:
        found = distributed.versions.get_versions(packages=packages)
        return {**found, "packages": found["packages"] | {"polars": "1.0.0"}}

    with in_this_process() as running:
        with distributed.Client(running, set_as_default=False) as client:
            notes: list[str] = []
            pool = WorkerPool(client, Rater(id="judge", model="m"), notes)
            pool.look()
            (first,) = pool.ids
            monkeypatch.setattr(distributed.Worker, "versions", versions, raising=False)
            running.scale(2)
            client.wait_for_workers(2)
            pool.look()
            pool.look()
            assert [*pool.ids] == [first]
            (note,) = notes
            assert "polars 1.0.0" in note
            assert note.endswith("it got no forms")


@pytest.mark.parametrize(("requests", "shares"), [(5, [3, 2]), (2, [1, 1]), (1, [1])])
def test_workers_share_the_requests_at_once(requests: int, shares: list[int]) -> None:
    pool = WorkerPool(None, Rater(id="judge", model="m", concurrency=requests), [])  # type: ignore[arg-type]
    pool.ids = {"a": "1", "b": "2"}
    assert [pool.share(worker, []) for worker in pool.used] == shares


def test_a_worker_waits_while_others_have_more_than_is_theirs() -> None:
    pool = WorkerPool(None, Rater(id="judge", model="m", concurrency=4), [])  # type: ignore[arg-type]
    pool.ids = {"a": "1", "b": "2"}
    assert pool.share("b", [("a", 4)]) == 0
    assert pool.share("b", [("a", 3)]) == 1
    assert pool.share("b", [("a", 1), ("a", 2)]) == 2


def test_a_scheduler_that_was_killed_is_told() -> None:
    class ClosedClient:
        status = "closed"
        scheduler = None

    pool = WorkerPool(ClosedClient(), Rater(id="judge", model="m"), [])  # type: ignore[arg-type]
    with pytest.raises(PlatformError, match=r"the scheduler of the cluster is lost .* run the command again"):
        pool.look()
