"""Rating on a cluster of two processes that tests share, and a server's own count of what it was asked."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spa import cluster
from spa.commands.workspace import open_workspace
from spa.journal import STARTED, Journal
from spa.raters.cluster import coordinator
from spa.raters.visits import KIND
from tests.conftest import need
from tests.spa.raters.test_rater_exactly_once import hashed
from tests.spa.rehearsed import spa
from tests.spa.scripted_server import Asked, Said, Served, http, middle

PRICES = "[models]\nm = {input = 1000, output = 10000}\nsimulated-rater = {input = 1, output = 10}\n"
FORM_COSTS = 16.0


def dear(asked: Asked) -> Said:
    """Answer a form for ``FORM_COSTS`` at ``PRICES``."""
    said = middle(asked)
    said["usage"] = {"prompt_tokens": 9000, "completion_tokens": 700}
    return http(said)


def ready() -> None:
    """Import what a worker needs, so that all begin at once."""
    import spa.commands.workspace
    import spa.raters.endpoints.http_endpoint  # noqa: F401


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Any]:
    """Return a client of two processes."""
    need("distributed")
    from tests.dask_here import forked_workers

    with forked_workers(2) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def workers(two_workers: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the client that ``--cluster`` leads to; batches are short."""

    @contextmanager
    def opened(where: str) -> Iterator[Any]:
        two_workers.wait_for_workers(2)
        yield two_workers

    monkeypatch.setattr(cluster, "open_cluster", opened)
    monkeypatch.setattr(coordinator, "BATCH", 0.3)
    monkeypatch.setattr(coordinator, "LOOK", 0.2)
    return two_workers


def rate(study: Path, *arguments: object, cluster: bool = True, code: int = 0) -> Any:
    """Run ``spa rate`` and return its counts."""
    where = ("--cluster", "local:2") if cluster else ()
    done = spa("rate", study, "--json", "--no-probe", *where, *arguments, code=code)
    return json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])


def check_asked_once(study: Path, served: Served, assignments: int, store: str | None = None) -> int:
    """Compare the server's own count with the journal; return how many attempts there were beyond one a form."""
    time.sleep(0.2)  # what a killed worker had sent
    arrived = Counter(hashed(asked.body["messages"]) for asked in served.asked)
    begun: Counter[str] = Counter()
    outcomes: dict[str, list[str]] = {}
    with open_workspace(study, store, read_only=True) as workspace:
        for call in Journal(workspace.store).every(KIND):
            begun[hashed(json.loads(call.request)["messages"])] += 1
            outcomes.setdefault(call.scope, []).append(call.outcome)
        visits = [visit.assignment_id for visit in workspace.store.submissions()]
    assert len(visits) == len(set(visits)) == assignments
    assert all("ok" in one and set(one) <= {"ok", STARTED} for one in outcomes.values()), outcomes
    assert set(arrived) <= set(begun)  # nothing was sent that is not on record
    assert all(arrived[name] <= begun[name] for name in arrived)
    more = sum(len(one) - 1 for one in outcomes.values())
    assert assignments <= len(served.asked) <= assignments + more
    return more
