"""A rater answers the forms that people answer: every call is recorded, and nothing answered is asked again.

A call is written to the journal before its request is sent, and what came of it together with
the answers that follow from it. A rerun reads what is on record and asks only what is open.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from sqlalchemy import Connection

from spa import journal
from spa.journal import JournalEntry
from spa.raters.budget import RaterBudget, budget_message, expected_tokens, is_cut
from spa.raters.context_hint import context_hint
from spa.raters.conversation import RaterConversation
from spa.raters.endpoints.endpoint import LLMEndpoint, LLMReply, LLMRequest
from spa.raters.endpoints.failures import LONGEST_WAIT, backoff, failure_message, is_refusal, remedy_for
from spa.raters.endpoints.rate_limiter import RateLimiter
from spa.raters.interrupts import STOPPED, stop_on_interrupt
from spa.raters.prompt_messages import PromptWriter
from spa.raters.settings import note_settings
from spa.raters.silence import MAX_FAILED_VISITS, Silence
from spa.raters.stopping import RaterStopping
from spa.raters.summary import Progress, RatingSummary
from spa.raters.vendors import in_batches, samples_of, vendor_of
from spa.raters.visits import KIND, RaterVisit, RaterVisitState, group_repeats, visit_states
from spa.records.form import Form
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.responses.batches import BatchedWriter, LoopWriter, Writer
from spa.responses.leases import Lease, ask_anew
from spa.responses.store import Store
from spa.responses.visit_ends import complete_rater_visit

TRIES = 4  # requests in one run for a turn that the endpoint does not answer
TRIES_BUSY = 10  # where it says that there are too many
MAX_SAMPLES = 8  # repeats that share a request; the fewest that an endpoint which takes several is known to allow

FIRST_REPLY = 10.0  # seconds for which others wait for the first reply of all
WRITE_PAUSE = 0.005  # seconds that a record waits for others; a model takes a hundred times as long to answer
GC_THRESHOLD = 20_000  # new objects after which Python looks for cycles among them; its default is 700


OpenConversation = tuple[RaterConversation, Lease]


class Forms(Protocol):
    """What a workspace is to a rater."""

    @property
    def store(self) -> Store:
        """Where assignments come from and answers go."""

    def form(self, assignment_id: str, protocol: RaterProtocol | None = None) -> Form:
        """Return the form of an assignment, with what a protocol adds to it."""

    def expect(self, assignment_ids: Sequence[str]) -> None:
        """Get ready for the forms of these assignments, which come next."""


def rate_visits(
    forms: Forms,
    visits: Sequence[RaterVisit],
    prompts: PromptWriter,
    *,
    endpoint: LLMEndpoint,
    rater_budget: RaterBudget | None = None,
    progress: Progress | None = None,
    several: bool = False,
    stopping: RaterStopping | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    rng: np.random.Generator | None = None,
) -> RatingSummary:
    """Let one rater answer the visits given, and return the counts of this run.

    ``problem`` of the counts is set where visits were left for a rerun. The endpoint is closed on return; if it gives
    ``several`` answers to one request, repeats without seeds share theirs. Without a budget nothing is counted.
    ``stopping`` says of whom enough is known in a live study; requests in progress are finished.
    ``progress`` is called with the summary so far after each reply and each visit. ``rng`` draws how long to ``sleep``
    between tries, and nothing else depends on it.
    """
    rater = visits[0].asked.rater
    note_settings(forms.store, rater_variants(rater))
    run = RatingRun(
        forms=forms,
        prompts=prompts,
        endpoint=endpoint,
        rater_budget=rater_budget or RaterBudget(None),
        rater=rater,
        samples=most_samples(rater, several=several),
        most=min(requests_at_once(rater), len(visits)),
        sleep=sleep,
        rng=np.random.default_rng() if rng is None else rng,
        progress=progress,
        stopping=stopping,
    )
    return asyncio.run(run.run(visits))


@dataclass(kw_only=True)
class RatingRun:
    """One run of one rater, with as many visits at once as the endpoint allows, up to ``most``."""

    forms: Forms
    prompts: PromptWriter
    endpoint: LLMEndpoint
    rater_budget: RaterBudget
    rater: Rater
    samples: int
    most: int
    sleep: Callable[[float], Awaitable[None]]
    rng: np.random.Generator
    progress: Progress | None
    stopping: RaterStopping | None = None
    limiter: RateLimiter | None = None  # a new one, unless something is known of the endpoint
    _failed_visits: int = 0
    _answered: int = 0  # requests of this run
    _asked: bool = False  # whether a request is under way or answered
    stopped: bool = False  # once set, by any thread, nothing more is asked; requests under way are finished
    _saving: set[asyncio.Future[None]] = field(default_factory=set)  # outcomes being written
    _write_error: BaseException | None = None  # why one of them could not be written
    # How the leases of visits are written, with their first call
    _lease_writers: dict[str, Callable[[Connection, Lease], object]] = field(default_factory=dict)

    async def run(self, visits: Sequence[RaterVisit]) -> RatingSummary:
        """Answer the visits."""
        self.summary = RatingSummary(rater=self.rater.id, visits=len(visits))
        self._limiter = self.limiter or RateLimiter(self.most, sleep=self.sleep)
        self._writer = writer_of(self.forms.store, self.most)
        self._began = time.monotonic()
        self._heard = asyncio.Event()
        self._silence = Silence(self.forms.store, self.rater)
        waiting = group_repeats(visit_states(self.forms.store, visits, self.forms.expect), self.samples)

        async def work(queue: Iterator[list[RaterVisitState]]) -> None:
            for group in queue:
                if self.stopped:
                    return
                if await self._is_enough(group):
                    continue
                if await self._is_silent(group):
                    return
                whole = False
                try:
                    await self._rate(group)
                    whole = True
                finally:  # the other tasks finish their requests and begin nothing new
                    self.stopped = self.stopped or not whole
                self._report()

        with stop_on_interrupt(self._stop), closing(self._writer), fewer_collections():
            try:
                async with self.endpoint:
                    ends = await asyncio.gather(*(work(waiting) for _ in range(self.most)), return_exceptions=True)
            finally:
                await asyncio.gather(*self._saving, return_exceptions=True)
            if self.stopping is not None:
                self.summary.notes += self.stopping.notes()
            if self.summary.unfinished["budget"]:  # reported when all requests in progress are paid
                self.summary.problem = budget_message(self.rater, self.rater_budget)
            self.summary.silent = self._silence.at_end()
            self._report()
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        self._raise_write_error()
        return self.summary

    async def _first_reply(self, request: LLMRequest) -> None:
        """Wait a little for the first reply of a rater that has never answered, which may take no files."""
        if self._asked and self.limiter is None and not self._silence.spoke and has_files(request):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._heard.wait(), FIRST_REPLY)
        self._asked = True

    def _raise_write_error(self) -> None:
        if self._write_error is not None:
            raise self._write_error

    def _stop(self) -> None:
        """End the run once the requests under way are answered."""
        self.stopped = True
        self.summary.problem = STOPPED

    async def _is_enough(self, group: Sequence[RaterVisitState]) -> bool:
        """Leave visits out that nobody needs; those that are completed are counted as ever."""
        if self.stopping is None or not any(one.open for one in group):
            return False
        await asyncio.gather(*self._saving, return_exceptions=True)
        if not self.stopping.is_enough(group[0].visit):
            return False
        open_ = sum(one.open for one in group)
        self.summary.not_needed += open_
        self.summary.finished_before += len(group) - open_
        return True

    async def _is_silent(self, group: Sequence[RaterVisitState]) -> bool:
        """End the run where a rater has given no readable answer to many forms."""
        if self._silence.is_doubtful(group[0].visit):
            await asyncio.gather(*self._saving, return_exceptions=True)
        if any(one.write is ask_anew for one in group):
            self._silence.hope(group[0].visit)
        problem = self._silence.problem(group[0].visit) if any(one.open for one in group) else None
        if problem is not None:
            self.stopped, self.summary.problem = True, problem
        return problem is not None

    def _count_visit(self, conversation: RaterConversation, reply: LLMReply | None = None) -> None:
        self.summary.count_visit(conversation.answers)
        self._silence.count(conversation.visit, conversation.answers, reply)
        if (problem := self._silence.problem(conversation.visit)) is not None:
            self.stopped, self.summary.problem = True, problem
        if self.stopping is not None:
            self.stopping.count_visit()

    def _report(self) -> None:
        self.summary.seconds = time.monotonic() - self._began
        if self.progress is not None:
            self.progress(self.summary)

    async def _rate(self, group: Sequence[RaterVisitState]) -> None:
        """Finish visits that may share requests, or leave them for a rerun."""
        conversations: list[OpenConversation] = []
        for visit_state in group:
            visit, lease = visit_state.visit, visit_state.lease
            if lease.completed:
                self.summary.finished_before += 1
                continue
            if visit_state.write is not None:
                self._lease_writers[lease.submission_id] = visit_state.write
            form = self.forms.form(visit.assignment_id, visit.asked.protocol)
            conversation = RaterConversation(form, visit_state.calls, visit)
            if conversation.is_over:  # and not completed, as the last call usually does
                await self._finish(conversation, lease)
            else:
                conversations.append((conversation, lease))
        while conversations:
            if self.stopped:
                self.summary.unfinished["not asked"] += len(conversations)
                return
            asked, rest = next_asked(conversations)
            asked, outcome = await self._ask(asked)
            if outcome is not None:
                self.summary.unfinished[outcome] += len(asked)
                asked = []
            conversations = [one for one in (*asked, *rest) if not one[0].is_over]

    async def _finish(self, conversation: RaterConversation, lease: Lease) -> None:
        await self._save(
            lambda connection: self._complete(connection, conversation, lease), lambda: self._count_visit(conversation)
        )

    async def _ask(self, conversations: list[OpenConversation]) -> tuple[list[OpenConversation], str | None]:
        """Send the open turn until the endpoint answers; return the outcome too where it does not."""
        conversation = conversations[0][0]
        request = conversation.request(self.prompts)
        if len(conversations) > 1:
            request = replace(request, samples=len(conversations))
        read, said = expected_tokens(request, self.rater.model) if self.rater_budget.counts else (0, 0)
        record = self.endpoint.record(request)
        answered = self._answered
        await self._first_reply(request)
        if self.stopped:
            return conversations, "not asked"
        for trial in range(TRIES_BUSY):
            reserved = self.rater_budget.reserve(read, said)
            if reserved is None:
                self.stopped = True
                return conversations, "budget"
            conversations, reply = await self._call(conversations, request, record, reserved)
            if reply.model_replied:
                self._failed_visits = 0
                self._answered += 1
                return conversations, None
            if len(conversations) > 1 and is_refusal(reply.outcome) and not remedy_for(reply.outcome).hopeless:
                return conversations, None  # it may refuse several answers at once; retry one by one
            self.summary.problem = failure_message(reply, self.endpoint.rater, self.endpoint.shown)
            if is_refusal(reply.outcome):
                visit = conversation.visit
                form = self.forms.form(visit.assignment_id, visit.asked.protocol)
                self.summary.problem += context_hint(form, visit, self.prompts, reply.detail)
            tries = TRIES_BUSY if reply.outcome == "http_429" else TRIES
            if trial >= tries - 1 or self.stopped or not remedy_for(reply.outcome).retry:
                break
            wait = backoff(trial, self.rng)
            if reply.retry_after is None or reply.retry_after < wait:  # a server may always say 0
                await self.sleep(wait)
            elif reply.retry_after > LONGEST_WAIT:
                self.stopped = True
                break
        self._failed_visits += 1
        shut = reply.outcome == "http_429" and self._answered == answered  # for all tasks, for minutes
        if shut or remedy_for(reply.outcome).hopeless or self._failed_visits >= MAX_FAILED_VISITS:
            self.stopped = True
        return conversations, reply.outcome

    async def _call(
        self, conversations: Sequence[OpenConversation], request: LLMRequest, record: str, reserved: float
    ) -> tuple[list[OpenConversation], LLMReply]:
        """Send one request, recorded before and after; the last answer of a visit completes it."""

        def begin(connection: Connection) -> list[JournalEntry]:
            begun = []
            for conversation, lease in conversations:
                self._write_lease(connection, lease)
                scope, key, attempt = lease.submission_id, conversation.turn.turn_id, conversation.next_attempt
                begun.append(journal.begin(connection, KIND, scope, key, record, attempt=attempt))
            return begun

        async with self._limiter.slot() as slot:
            begun = await self._writer.write(begin)
            self._raise_write_error()
            for _, lease in conversations:
                self._lease_writers.pop(lease.submission_id, None)
            reply = slot.reply = await self.endpoint.ask(request)
        self._heard.set()
        replies = samples_of(reply, len(conversations))
        done, further = [], []
        for (conversation, lease), call, one in zip(conversations, begun, replies, strict=True):
            facts = self.rater_budget.pay(reserved, one)
            reserved = 0.0  # paid once
            done.append(journal.ended(call, conversation.outcome_of(call, one), response=one.body, facts=facts))
            further.append((conversation.with_call(done[-1]), lease))

        def save(connection: Connection) -> None:
            for call, (conversation, lease) in zip(done, further, strict=True):
                journal.keep(connection, call)
                if conversation.is_over:
                    self._complete(connection, conversation, lease)

        def count() -> None:
            for call, one, (conversation, _) in zip(done, replies, further, strict=True):
                self.summary.count_request(call.outcome, one, self.rater_budget)
                self.summary.further += call.outcome == "ok" and conversation.asked_again(call)
                if conversation.is_over:
                    self._count_visit(conversation, one)
            self.summary.shared += len(done) - 1
            self.summary.cut_prompts += not vendor_of(self.rater).on_this_machine and is_cut(request, reply)

        self._save(save, count)
        self._report()
        return further, reply

    def _save(self, work: Callable[[Connection], None], count: Callable[[], None]) -> asyncio.Future[None]:
        """Record the outcome of a request, and count it once it is on disk.

        Callers need not wait: the record of the next request is written after it, and waited for.
        """
        saving = self._writer.write(work)
        self._saving.add(saving)

        def saved(saving: asyncio.Future[None]) -> None:
            self._saving.discard(saving)
            if saving.cancelled():
                return
            if (error := saving.exception()) is not None:
                self._write_error, self.stopped = self._write_error or error, True
                return
            count()

        saving.add_done_callback(saved)
        return saving

    def _write_lease(self, connection: Connection, lease: Lease) -> None:
        if write := self._lease_writers.get(lease.submission_id):
            write(connection, lease)

    def _complete(self, connection: Connection, conversation: RaterConversation, lease: Lease) -> None:
        """Store the answers of a visit, which may be one that was asked nothing."""
        self._write_lease(connection, lease)
        complete_rater_visit(connection, conversation.submission(lease), completion_code="rater")


def requests_at_once(rater: Rater) -> int:
    """Return how many requests may be under way; a model on this machine reuses what it read last."""
    return 1 if vendor_of(rater).on_this_machine else rater.concurrency


def has_files(request: LLMRequest) -> bool:
    """Return whether a request holds more than text."""
    contents = (message["content"] for message in request.messages)
    return any(part.get("type") != "text" for parts in contents if isinstance(parts, list) for part in parts)


def most_samples(rater: Rater, *, several: bool) -> int:
    """Return how many visits may share a request, where the endpoint was seen to give ``several`` answers."""
    return MAX_SAMPLES if several and vendor_of(rater).several and not in_batches(rater) else 1


def next_asked(conversations: Sequence[OpenConversation]) -> tuple[list[OpenConversation], list[OpenConversation]]:
    """Return what is asked next, the visit that is furthest behind and those that share its request, and the others."""
    behind = min(conversations, key=lambda one: one[0].position)
    alike = [one for one in conversations if one[0].may_share and one[0].turn.turn_id == behind[0].turn.turn_id]
    asked = alike if behind in alike else [behind]
    return asked, [one for one in conversations if one not in asked]


def writer_of(store: Store, most: int) -> Writer:
    """Return the writer for ``most`` concurrent visits: in the event loop for a file, else in a thread."""
    pause = WRITE_PAUSE if most > 1 else 0.0
    return LoopWriter(store, pause=pause) if store.is_file else BatchedWriter(store, pause=pause)


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Let Python look for cycles less often: forms and requests are thousands of objects each, and none is in a cycle.

    It saves a tenth of a run's CPU time and costs a few megabytes.
    """
    before = gc.get_threshold()
    if before[0] > 0:  # else somebody has switched the search off
        gc.set_threshold(max(before[0], GC_THRESHOLD), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
