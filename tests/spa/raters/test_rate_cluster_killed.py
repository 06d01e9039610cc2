"""Workers, schedulers and clients are killed at random times: no form is lost, and none asked anew but those under way.

The processes are forks of one that has imported everything, so that a kill takes a second or two.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import distributed
import pytest

from spa import cluster
from spa.commands.workspace import open_workspace
from spa.journal import Journal
from spa.raters.estimate import spent_before
from spa.raters.visits import KIND
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url
from tests.spa.cluster_bench import FORM_COSTS, PRICES, check_asked_once, dear
from tests.spa.forks import FORKS, load_before, rate_in_short_batches, serve_cluster
from tests.spa.raters.test_rater_exactly_once import CONCURRENCY, judge, slow
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, Served, scripted
from tests.spa.small_study import write_study
from tests.warm import LOADED_IN_CLUSTERS

pytestmark = pytest.mark.slow
KILLED = ["worker"] * 3 + ["scheduler"] + ["client"] * 2  # `make soak` kills 200
FORMS = 40
WORKERS = 2


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.01)


class KillableRun:
    """A scheduler, its workers and a client; who is killed is replaced."""

    def __init__(self, folder: Path, words: list[object]) -> None:
        self.folder, self.words = folder, words
        self.started: list[BaseProcess] = []
        self.schedulers = 0
        self.start_all()

    def start(self, work: Callable[..., None], *words: object, **arguments: object) -> BaseProcess:
        """Start a process."""
        process = FORKS.Process(target=work, args=words, kwargs=arguments, daemon=True)
        process.start()
        self.started.append(process)
        return process

    def start_all(self) -> None:
        """Start a scheduler with workers, and the command."""
        self.schedulers += 1
        self.file = self.folder / f"scheduler-{self.schedulers}.json"
        log, file = self.folder / "dask.log", str(self.file)
        self.scheduler = self.start(
            serve_cluster, distributed.Scheduler, log, port=0, scheduler_file=file, **cluster.NO_DASHBOARD
        )
        wait_until(self.file.exists)
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        self.start_client()

    def start_worker(self) -> BaseProcess:
        """Start a worker of the scheduler."""
        given = {"scheduler_file": str(self.file), "nthreads": 1, "memory_limit": 0, "dashboard": False}
        return self.start(serve_cluster, distributed.Worker, self.folder / "dask.log", **given)

    def start_client(self) -> None:
        """Start the command."""
        self.output = self.folder / f"client-{len(self.started)}.log"
        self.client = self.start(rate_in_short_batches, self.output, *self.words, "--cluster", f"file:{self.file}")

    def kill(self, victim: str, rng: random.Random) -> None:
        """Kill one process, and do what a user does then."""
        assert self.client.is_alive(), self.output.read_text()
        if victim == "worker":
            self.workers.pop(rng.randrange(WORKERS)).kill()
            self.workers.append(self.start_worker())
        elif victim == "client":
            self.client.kill()
            self.start_client()
        else:
            self.scheduler.kill()
            self.client.join(60)
            assert self.client.exitcode == 1
            *_, line = self.output.read_text().split("spa: ")
            assert re.match("the scheduler of the cluster is lost|cluster .* expected a Dask scheduler", line), line
            self.start_all()

    def end(self) -> None:
        """Kill what is left."""
        for process in self.started:
            process.kill()
            process.join()


@contextmanager
def killable_run(folder: Path, words: list[object]) -> Iterator[KillableRun]:
    """Have a run end with a block."""
    load_before(*LOADED_IN_CLUSTERS)
    running = KillableRun(folder, words)
    try:
        yield running
    finally:
        running.end()


def kill_at_random(running: KillableRun, served: Served, rng: random.Random) -> None:
    """Kill processes of each kind, each after some further requests."""
    for victim in rng.sample(KILLED, len(KILLED)):
        enough = len(served.asked) + rng.randint(1, 3)
        wait_until(lambda enough=enough: len(served.asked) >= enough)  # type: ignore[misc]
        time.sleep(rng.uniform(0, 0.1))
        running.kill(victim, rng)


def test_cluster_run_killed_and_resumed(postgres_url: str, tmp_path: Path) -> None:
    """Whatever is killed each form is answered and only what was under way is asked again."""
    study = write_study(tmp_path)
    spa("build", study, "--store", postgres_url, "--annotators", FORMS)
    with scripted(slow(0.4)) as served:
        rater = judge(tmp_path, served.url)
        words = [study, "--store", postgres_url, "--rater", rater, "--no-probe", "--limit", FORMS]
        with killable_run(tmp_path, words) as running:
            kill_at_random(running, served, random.Random(1))
            running.client.join(60)
            assert running.client.exitcode == 0, running.output.read_text()
        assert check_asked_once(study, served, FORMS, postgres_url) <= CONCURRENCY * len(KILLED)


def test_workers_that_are_killed_pass_no_budget_and_leave_none(postgres_url: str, tmp_path: Path) -> None:
    study, budget, kills = built_example(tmp_path, annotators=1), 20.5 * FORM_COSTS, 3
    spa("build", study, "--store", postgres_url, "--annotators", FORMS)
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)

    async def answer(asked: Asked) -> Said:
        await asyncio.sleep(0.3)
        return dear(asked)

    rng = random.Random(2)
    with scripted(answer) as served:
        words = ["--store", postgres_url, "--rater", judge(tmp_path, served.url), "--no-probe", "--prices", prices]
        with killable_run(tmp_path, [study, *words, "--budget", budget]) as running:
            for killed in range(1, kills + 1):
                wait_until(lambda killed=killed: len(served.asked) >= 4 * killed)  # type: ignore[misc]
                running.kill("worker", rng)
            running.client.join(180)
            assert "the next request could pass the budget" in " ".join(running.output.read_text().split())
        with open_workspace(study, postgres_url, read_only=True) as workspace:
            journal = Journal(workspace.store)
            spent, lost = spent_before(journal, "judge"), len(journal.unfinished(KIND))
        assert lost <= CONCURRENCY * kills
        assert len(served.asked) * FORM_COSTS <= spent + lost * FORM_COSTS <= budget
        assert budget < spent + (lost + 2) * FORM_COSTS
