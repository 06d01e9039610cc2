"""The coordinator hands batches of visits to workers, and out again where one was lost; workers ask and store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from spa.errors import PlatformError, ResponseError
from spa.journal import Journal
from spa.raters.budget import RaterBudget, budget_message
from spa.raters.cluster.batches import OpenBatches, VisitBatch, add_summary
from spa.raters.cluster.grants import BudgetGrants
from spa.raters.cluster.progress import ClusterProgress
from spa.raters.cluster.runs import ORPHANS, begin_run, run_fact
from spa.raters.cluster.worker import (
    BatchEnd,
    EndpointLimit,
    WorkerBatch,
    WorkerSetup,
    adopt_limit,
    ended_by,
    rate_batch,
    stop_run,
)
from spa.raters.cluster.worker_pool import AWAY, LOST, WorkerPool
from spa.raters.estimate import estimate, spent_before
from spa.raters.interrupts import STOPPED, stop_on_interrupt
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import Forms
from spa.raters.silence import MAX_FAILED_VISITS
from spa.raters.stopping import RaterStopping
from spa.raters.summary import Progress, RatingSummary
from spa.raters.visits import KIND, RaterVisit
from spa.responses.store import Store

if TYPE_CHECKING:
    import distributed

T = TypeVar("T")
POLL = 0.05  # seconds between looks at what has ended
LOOK = 1.0  # seconds between looks at which workers there are
FETCH = 10.0  # seconds in which a result comes, unless its worker is gone
BATCH = 20.0  # seconds that a batch is to take
SHORTER = 8  # times, at most, near the end: each batch opens a connection
GROWTH = 4  # times the visits of the last batch, at most
MOST_VISITS = 2000  # in a batch
AHEAD = 1  # batches that wait at a worker, beside the one it is at
MOST_LOST = 5  # times that a batch is lost before it is taken to be the reason
SAMPLE = 40  # visits whose cost is estimated


def rate_on_cluster(
    client: distributed.Client,
    forms: Forms,
    visits: Sequence[RaterVisit],
    prompts: PromptWriter,
    *,
    setup: WorkerSetup,
    rater_budget: RaterBudget,
    progress: Progress | None = None,
    stopping: RaterStopping | None = None,
) -> RatingSummary:
    """Let one rater answer the visits given on the workers of a cluster; return the counts of this run.

    As :func:`spa.raters.run.rate_visits`: requests at once, their rate and the budget are those of all workers
    together. The caller has begun the run with :func:`begin_run`.

    Raises
    ------
    PlatformError
        If a worker cannot work, the scheduler is lost, or no worker comes.
    ResponseError
        If the store is away for minutes.
    """
    cost = 0.0
    if rater_budget.counts and visits:
        sample = visits[:: max(1, len(visits) // SAMPLE)][:SAMPLE] if len(visits) > SAMPLE else visits
        found = estimate(forms, sample, prompts, price=setup.price)
        cost = (found.cost or 0.0) / max(1, found.visits - found.finished)
    run = ClusterRun(client, forms.store, visits, setup, rater_budget, cost, progress, stopping)
    return run.run()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTask:
    """A batch in the hands of a worker."""

    handed: WorkerBatch
    worker: str  # its address
    future: Any


class ClusterRun:
    """One run of a rater on a cluster."""

    def __init__(
        self,
        client: distributed.Client,
        store: Store,
        visits: Sequence[RaterVisit],
        setup: WorkerSetup,
        rater_budget: RaterBudget,
        cost: float,
        progress: Progress | None,
        stopping: RaterStopping | None,
    ) -> None:
        self._client: Any = client
        self._store, self._setup = store, setup
        self._budget, self._stopping = rater_budget, stopping
        self._rater = setup.rater
        self.summary = RatingSummary(rater=self._rater.id, visits=len(visits))
        self._open = OpenBatches(store, visits, self.summary, stopping)
        self._grants = BudgetGrants(rater_budget, cost)
        self._pool = WorkerPool(client, self._rater, self.summary.notes)
        self._tasks: dict[int, BatchTask] = {}
        self._later: list[tuple[float, VisitBatch]] = []  # when a batch is put back
        self._progress = ClusterProgress(self.summary, progress)
        self._size = 1  # visits of the next batch
        self._limit: EndpointLimit | None = None  # what the endpoint let a worker know last
        self._limit_at = 0.0  # when it was known
        self._limit_is_new = False  # to the other workers
        self._too_little = 0.0  # a share of the budget with which nothing could be asked
        self._failed = 0  # visits in a row that nobody answered
        self._stopped = False
        self._free = setup.price is None or setup.price.input + setup.price.output == 0
        self._began_at = time.time()

    def run(self) -> RatingSummary:
        """Have all visits answered."""
        from distributed.client import ClosedClientError

        try:
            self._hand_out_all()
        except ClosedClientError as error:
            raise PlatformError(LOST.format("it does not answer")) from error
        if self._grants.lost and not self._stopped:
            self._reclaim(wait=0.0)
        if self._stopping is not None:
            self.summary.notes += self._stopping.notes()
        self.summary.cost = self._budget.spent_now if self._budget.counts else None
        self._report()
        return self.summary

    def _hand_out_all(self) -> None:
        self._client.subscribe_topic(self._setup.topic, self._heard)
        try:
            with stop_on_interrupt(self._interrupted):
                self._pool.look()
                self._size = 2 * max(1, self._rater.concurrency // max(1, len(self._pool.ids)))
                while not self._is_over():
                    time.sleep(POLL)
        finally:
            if self._tasks:  # after an error
                self._stop_workers()
            self._client.unsubscribe_topic(self._setup.topic)
            for task in self._tasks.values():
                task.future.cancel()

    def _is_over(self) -> bool:
        """Do what there is to do now; tell whether nothing more is."""
        if time.monotonic() - self._pool.looked >= LOOK:
            self._pool.look()
            self._report()
        for number, task in list(self._tasks.items()):
            if task.future.status != "pending" or self._pool.ids.get(task.worker) != task.handed.worker_id:
                del self._tasks[number]
                self._collect(task)
        if self._limit_is_new:  # at once, but not with each of a hundred replies
            self._limit_is_new = False
            self._on_workers(adopt_limit, self._limit_now())
        now = time.monotonic()
        for due, batch in [one for one in self._later if one[0] <= now or self._stopped]:
            self._later.remove((due, batch))
            self._open.put_back(batch)
        more = not self._stopped and self._hand_out()
        if not self._tasks and self._stopped:
            self._open.drop("not asked")
        return not (self._tasks or self._later or more)

    def _hand_out(self) -> bool:
        """Give each worker a batch, and then one that waits; tell whether there are more."""
        for waiting in range(1 if self._stopping is not None else 1 + AHEAD):
            for worker in self._pool.used:
                if sum(task.worker == worker for task in self._tasks.values()) > waiting:
                    continue
                at_work = [(task.worker, task.handed.concurrency) for task in self._tasks.values()]
                share = self._pool.share(worker, at_work)
                if share < 1:
                    continue
                batch = self._while_store_is_away(partial(self._open.take, self._visits_of_a_batch(), worker))
                if batch is None:
                    return False
                if not self._submit(batch, worker, share):
                    return not self._stopped
        return self._open.left > 0

    def _submit(self, batch: VisitBatch, worker: str, share: int) -> bool:
        """Give a batch to a worker; False where no money is left for it at present."""
        available = self._grants.available
        if available is not None and available <= self._too_little and not self._free:
            self._open.put_back(batch)
            if not self._tasks and not self._reclaim(wait=ORPHANS):
                self._open.drop("budget")
                self.summary.problem, self._stopped = budget_message(self._rater, self._budget), True
            return False
        handed = WorkerBatch(
            batch=batch,
            worker_id=self._pool.ids[worker],
            budget=self._grants.grant(batch, least=2 * self._too_little),
            concurrency=share,
            limit=self._limit_now(),
        )
        resources = {"GPU": 1} if self._pool.gpus else None
        future = self._client.submit(
            rate_batch, self._setup, handed,
            key=f"{self._setup.topic}-{batch.number}-{batch.lost}-{batch.stopped}",
            workers=[worker], allow_other_workers=False, resources=resources, pure=False, retries=0,
        )  # fmt: skip
        self._tasks[batch.number] = BatchTask(handed=handed, worker=worker, future=future)
        return True

    def _collect(self, task: BatchTask) -> None:
        """Count a batch that has ended, or have it handed out again."""
        batch = task.handed.batch
        self._progress.forget(batch.number)
        end = result_of(task.future)
        if end is None or (end.ended == "overtaken" and not end.seconds):
            task.future.cancel()
            self._pool.ids.pop(task.worker, None)  # looked at again
            self._grants.lose(batch)
            self._again(replace(batch, lost=batch.lost + 1), f"worker {task.worker} was lost")
            return
        part = end.summary
        self._grants.settle(batch, end.cost, finished=part.finished)
        finished = self.summary.finished
        batch = add_summary(self.summary, part, batch)
        self.summary.cost = self._budget.spent_now if self._budget.counts else None
        if self._stopping is not None:
            for _ in range(self.summary.finished - finished):
                self._stopping.count_visit()
        if end.limit is not None and end.limit.rate is not None:
            self._limit, self._limit_at = end.limit, time.monotonic()
        if end.ended == "refused":
            raise PlatformError(str(end.problem))
        if end.ended in ("overtaken", "store away"):
            self._again(replace(batch, lost=batch.lost + 1), str(end.problem))
            if end.ended == "store away":
                self._while_store_is_away(lambda: self._store.meta(run_fact(self._rater.id)))
        elif part.unfinished["budget"] and not self._stopped:
            if not part.requests:
                self._too_little = max(self._too_little, task.handed.budget or 0.0)
            self._open.put_back(replace(batch, stopped=batch.stopped + 1))
        else:
            self._settle_visits(end)
        self._adapt(end)
        self._report()

    def _settle_visits(self, end: BatchEnd) -> None:
        """Count the visits that a batch leaves for a rerun; where nobody answers, the run ends."""
        part = end.summary
        self.summary.unfinished.update(part.unfinished)
        self.summary.silent = None if self.summary.answered else part.silent
        if part.unfinished or part.silent:
            self.summary.problem = self.summary.problem or end.problem if self._stopped else end.problem
        self._failed = 0 if part.finished else self._failed + part.unfinished.total()
        if (end.ended == "stopped" or self._failed >= MAX_FAILED_VISITS) and not self._stopped:
            self._stopped = True
            self._stop_workers()

    def _again(self, batch: VisitBatch, why: str) -> None:
        """Have a lost batch handed out again in a while."""
        if batch.lost > MOST_LOST:
            self.summary.problem = f"{why}, the {batch.lost}th time with the same forms; see the workers' logs"
            self.summary.unfinished["lost"] += len(batch.visits)
            self._stopped = True
            self._stop_workers()
        else:
            self._later.append((time.monotonic() + min(2.0 ** (batch.lost - 1), 10.0), batch))

    def _adapt(self, end: BatchEnd) -> None:
        """Let the next batches take as long as they are to."""
        done = end.summary.finished
        if done and end.ended == "done":
            self._size = max(1, min(round(done * BATCH / max(end.seconds, 0.01)), GROWTH * max(done, self._size)))

    def _visits_of_a_batch(self) -> int:
        """Return how many visits the next batch is to have: fewer near the end, so that all workers end together."""
        workers = max(1, len(self._pool.used))
        most = min(self._size, MOST_VISITS, max(self._open.left // (2 * workers), self._size // SHORTER))
        if self._stopping is not None:
            most = min(most, self._stopping.wave // (2 * workers))
        return max(1, most)

    def _while_store_is_away(self, work: Callable[[], T]) -> T:
        """Do what needs the store, which may be away for some minutes."""
        until, wait = time.monotonic() + AWAY, 0.25
        while True:
            try:
                return work()
            except ResponseError as error:
                if ended_by(error) != "store away" or time.monotonic() > until:
                    raise
            time.sleep(wait)
            wait = min(2 * wait, 5.0)

    def _reclaim(self, *, wait: float) -> bool:
        """Have the grants of lost batches back, once no worker is at work on one: the journal says what was paid."""
        if not self._grants.lost:
            return False
        try:
            begin_run(self._store, self._rater.id, self._setup.run, say=self.summary.notes.append, wait=wait)
        except PlatformError:
            return False
        calls = Journal(self._store).unfinished(KIND)
        own = [
            call for call in calls if call.scope.startswith(f"{self._rater.id}/") and call.begun_at >= self._began_at
        ]
        spent = spent_before(Journal(self._store), self._rater.id)
        self._grants.reclaim(spent + len(own) * self._grants.expected)
        return True

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Note how far a batch is, and what the endpoint asks for; called by the client's own thread."""
        counts = event[1]
        if counts["batch"] in self._tasks:
            self._progress.note(counts)
        if "limit" in counts:
            rate, pause = counts["limit"]
            self._limit = EndpointLimit(run=self._setup.run, rate=rate, pause=pause)
            self._limit_at, self._limit_is_new = time.monotonic(), True

    def _limit_now(self) -> EndpointLimit | None:
        """Return what is known of the endpoint, with what is left of its pause."""
        if (limit := self._limit) is None:
            return None
        return replace(limit, pause=max(0.0, limit.pause - (time.monotonic() - self._limit_at)))

    def _report(self) -> None:
        self._progress.report(len(self._pool.ids))

    def _on_workers(self, work: Callable[..., None], *arguments: object) -> None:
        """Have the workers at work do something at once, without waiting for one that does not hear."""
        from distributed.client import ClosedClientError

        workers = list({task.worker for task in list(self._tasks.values())})

        def run() -> None:
            with suppress(OSError, RuntimeError, ClosedClientError):  # the next look says that the cluster is gone
                self._client.run(work, *arguments, workers=workers, on_error="ignore")

        threading.Thread(target=run, daemon=True).start()

    def _stop_workers(self) -> None:
        self._on_workers(stop_run, self._setup.run)

    def _interrupted(self) -> None:
        """End the run once the requests under way are answered."""
        self._stopped = True
        self.summary.problem = STOPPED
        self._stop_workers()


def result_of(future: Any) -> BatchEnd | None:
    """Return how a batch ended; ``None`` where its worker or its scheduler was lost. Any other error is raised."""
    from distributed import KilledWorker

    if future.status == "finished":
        try:
            end: BatchEnd = future.result(timeout=FETCH)
        except (OSError, TimeoutError):  # the result was on a worker that is gone
            return None
        return end
    if future.status == "error" and not isinstance(error := future.exception(), KilledWorker | OSError):
        raise error
    return None
