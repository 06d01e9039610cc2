"""What a worker does: open the study once, then answer batch by batch, storing every call and answer itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from spa.errors import SpaError
from spa.raters.budget import Price, RaterBudget
from spa.raters.cluster.batches import VisitBatch
from spa.raters.cluster.progress import COUNTED
from spa.raters.cluster.runs import run_fact, workers_of
from spa.raters.endpoints.endpoint import LLMEndpoint
from spa.raters.endpoints.rate_limiter import RateLimiter
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import Forms, RatingRun, most_samples, requests_at_once
from spa.raters.summary import RatingSummary
from spa.raters.vendors import vendor_of
from spa.records.raters import Rater
from spa.responses.run_lock import AlreadyRunning, shared_run

REPORT_SECONDS = 1.0
AT_WORK = ("running", "paused")  # states of a worker that is not about to end
Ended = Literal["done", "stopped", "overtaken", "store away", "refused"]


class ClosableForms(Forms, Protocol):
    """What a worker answers from."""

    def close(self) -> None:
        """Close the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What all batches of a run have in common; it holds no key: a worker reads its own environment.

    ``run`` names the run in the store, where a later one replaces it; ``topic`` is that of progress.
    """

    run: str
    fingerprint: str  # of the study
    rater: Rater
    price: Price | None
    several: bool  # answers in one response
    open_study: Callable[[], tuple[ClosableForms, PromptWriter]]
    open_endpoint: Callable[[Rater], LLMEndpoint]

    @property
    def topic(self) -> str:
        """Where workers report how far they are."""
        return f"spa-rate-{self.run.split()[0]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLimit:
    """What the endpoint of a run has let one worker know, for all of them.

    ``rate`` is in requests a second for each request at once that a worker may have; for ``pause`` seconds nothing is
    to be sent.
    """

    run: str
    rate: float | None
    pause: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBatch:
    """A batch for one worker, with its shares of what the cluster may spend and ask at once."""

    batch: VisitBatch
    worker_id: str  # a process; another one at the same address leaves it alone
    budget: float | None
    concurrency: int
    limit: EndpointLimit | None = None  # for a worker that knows of none


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """How a batch ended.

    "stopped": the endpoint does not answer, the budget is used up or the run was ended; "overtaken": another worker
    has asked what was to be asked; "refused": this worker cannot work, as ``problem`` says.
    """

    ended: Ended
    summary: RatingSummary
    cost: float = 0.0
    seconds: float = 0.0
    limit: EndpointLimit | None = None
    problem: str | None = None


@dataclass(slots=True, kw_only=True)
class OpenedStudy:
    """What a worker process keeps between the batches of a run."""

    run: str
    forms: ClosableForms
    prompts: PromptWriter
    endpoint: LLMEndpoint | None = None  # a model of this machine


_opened: list[OpenedStudy] = []  # one at most
_under_way: dict[str, RatingRun] = {}  # one batch at most, by its run
_ended: set[str] = set()  # runs of which nothing more is asked
_limiters: dict[str, RateLimiter] = {}  # of the batch under way or the last one, by its run


def worker_id(dask_worker: Any) -> str:
    """Return the id of this process."""
    return str(dask_worker.id)


def stop_run(name: str) -> None:
    """End a run's batch under way once its requests are answered, and those that wait as they begin."""
    _ended.add(name)
    if (run := _under_way.get(name)) is not None:
        run.stopped = True


def adopt_limit(limit: EndpointLimit) -> None:
    """Take over what the endpoint has let another worker know."""
    limiter = _limiters.get(limit.run) or new_limiter(limit.run, 1)
    limiter.learn(None if limit.rate is None else limit.rate * limiter.most, limit.pause)


def new_limiter(run: str, most: int, known: EndpointLimit | None = None) -> RateLimiter:
    """Return the limiter of a batch, which begins with what this process knows of the endpoint, else ``known``."""
    limiter = RateLimiter(most)
    if (known := limit_of(run) or known) is not None:
        limiter.learn(None if known.rate is None else known.rate * most, known.pause)
    _limiters[run] = limiter
    return limiter


def limit_of(run: str) -> EndpointLimit | None:
    """Return what this process knows of the endpoint of a run."""
    if (limiter := _limiters.get(run)) is None:
        return None
    rate = None if limiter.rate is None else limiter.rate / limiter.most
    return EndpointLimit(run=run, rate=rate, pause=limiter.pause)


def rate_batch(setup: WorkerSetup, handed: WorkerBatch) -> BatchEnd:
    """Answer a batch of visits; the task of a Dask worker, in a thread of its own."""
    from distributed import get_worker

    worker: Any = get_worker()
    nothing = RatingSummary(rater=setup.rater.id)
    if worker.id != handed.worker_id:
        return BatchEnd(ended="overtaken", summary=nothing)
    rater_budget = RaterBudget(setup.price, budget=handed.budget)
    began = time.monotonic()
    run: RatingRun | None = None
    try:
        opened = study_of(setup)
        with ExitStack() as stack:
            stack.enter_context(
                shared_run(opened.forms.store.name, workers_of(setup.rater.id), opened.forms.store.reading)
            )
            current = opened.forms.store.meta(run_fact(setup.rater.id))
            if current != setup.run:
                raise AlreadyRunning(
                    f"{opened.forms.store.name}: expected the store of the run that hands out batches, got "
                    f"{'that of a later run' if current else 'another store'}; give all workers the same --store"
                )
            run = rating_run(setup, handed, opened, rater_budget)
            reports = ProgressReports(worker, setup, handed, run)
            run.progress = reports.report
            _under_way[setup.run] = run
            stack.callback(_under_way.clear)
            run.stopped = setup.run in _ended
            summary = asyncio.run(run.run(handed.batch.visits))
        ended: Ended = "overtaken" if reports.abandoned else "stopped" if run.stopped else "done"
        problem = summary.problem
    except SpaError as error:
        summary = nothing if run is None or not hasattr(run, "summary") else run.summary
        ended, problem = ended_by(error), f"worker {worker.address}: {error.problems[0]}"
    return BatchEnd(
        ended=ended,
        summary=summary,
        cost=rater_budget.spent_now + rater_budget.reserved,
        seconds=time.monotonic() - began,
        limit=limit_of(setup.run),
        problem=problem,
    )


def study_of(setup: WorkerSetup) -> OpenedStudy:
    """Return the study of a run, opened by the first batch that this process gets; refuse another one's."""
    if _opened and _opened[0].run == setup.run:
        return _opened[0]
    while _opened:
        _limiters.pop(_opened[0].run, None)
        _opened.pop().forms.close()
    forms, prompts = setup.open_study()
    if forms.store.fingerprint != setup.fingerprint:
        forms.close()
        raise SpaError(
            f"{forms.store.name}: expected the study that is being rated, got another; give all machines one folder"
        )
    _opened.append(OpenedStudy(run=setup.run, forms=forms, prompts=prompts))
    return _opened[0]


def rating_run(setup: WorkerSetup, handed: WorkerBatch, opened: OpenedStudy, rater_budget: RaterBudget) -> RatingRun:
    """Return the run of a batch; a model of this machine is kept for the next."""
    rater = setup.rater
    endpoint = opened.endpoint or setup.open_endpoint(rater)
    opened.endpoint = endpoint if vendor_of(rater).on_this_machine else None
    most = min(handed.concurrency, requests_at_once(rater), len(handed.batch.visits))
    return RatingRun(
        forms=opened.forms,
        prompts=opened.prompts,
        endpoint=endpoint,
        rater_budget=rater_budget,
        rater=rater,
        samples=most_samples(rater, several=setup.several),
        most=most,
        sleep=asyncio.sleep,
        rng=np.random.default_rng(),
        progress=None,
        limiter=new_limiter(setup.run, most, handed.limit),
    )


@dataclass(slots=True)
class ProgressReports:
    """Tells the coordinator now and then how far a batch is, and ends a batch that nobody waits for any more."""

    worker: Any
    setup: WorkerSetup
    handed: WorkerBatch
    run: RatingRun
    key: str = ""
    abandoned: bool = False
    _last: float = 0.0
    _complaints: int = 0  # of the endpoint, that were sent on

    def __post_init__(self) -> None:
        self.key = self.worker.get_current_task()

    def report(self, summary: RatingSummary) -> None:
        """Send the counts so far, a second after the last ones at the earliest; what the endpoint asks for at once."""
        now, complaints = time.monotonic(), _limiters[self.setup.run].complaints
        if complaints == self._complaints and now - self._last < REPORT_SECONDS:
            return
        self._last = now
        task = self.worker.state.tasks.get(self.key)
        if self.worker.status.name not in AT_WORK or task is None or task.state != "executing":
            self.abandoned = True
            self.run.stopped = True
            return
        counts: dict[str, Any] = {name: getattr(summary, name) for name in COUNTED}
        counts |= {"outcomes": sum(summary.outcomes.values()), "cost": summary.cost}
        if complaints > self._complaints and (limit := limit_of(self.setup.run)) is not None:
            self._complaints = complaints
            counts["limit"] = (limit.rate, limit.pause)
        self.worker.log_event(self.setup.topic, {"batch": self.handed.batch.number, **counts})


def ended_by(error: SpaError) -> Ended:
    """Return what an error in a batch means for the run: another worker's record, a store that is away, or neither."""
    cause: BaseException | None = error
    while cause is not None:
        names = {kind.__name__ for kind in type(cause).__mro__}  # as PEP 249 has them, of whatever driver
        if "IntegrityError" in names:
            return "overtaken"
        if names & {"OperationalError", "InterfaceError"}:
            return "store away"
        cause = cause.__cause__
    return "refused"
