"""A rater asked through batches.

A run collects finished results and submits open requests. Each request is recorded before its batch is submitted, and
is made once per attempt.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby

from spa import journal
from spa.errors import StudyError
from spa.forms.prompt_turns import PromptTurn
from spa.journal import STARTED, Journal, calls_of
from spa.raters.budget import RaterBudget, budget_message, expected_tokens
from spa.raters.conversation import RaterConversation
from spa.raters.endpoints.endpoint import LLMEndpoint, LLMReply, LLMRequest
from spa.raters.endpoints.failures import failure_message, is_refusal, remedy_for
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import Forms
from spa.raters.settings import note_settings
from spa.raters.silence import MAX_FAILED_VISITS, Silence
from spa.raters.stopping import RaterStopping
from spa.raters.summary import Progress, RatingSummary
from spa.raters.vendors import vendor_of
from spa.raters.vendors.batches import COMPLETED, KIND, NOT_SENT, Batches, EndedBatch, SubmittedBatch, batches_of
from spa.raters.visits import KIND as REQUEST
from spa.raters.visits import RaterVisit, RaterVisitState, rater_visits, visit_state_of, visit_states
from spa.records.raters import CONTINUED, rater_variants
from spa.responses.leases import Lease, ask_anew, leases_named
from spa.responses.visit_ends import complete_rater_visit

MAX_LINES = 20_000  # in a batch; vendors take 50,000 or more
POLL = 20.0  # seconds between two looks


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One request of a batch."""

    lease: Lease
    turn: PromptTurn
    request: LLMRequest
    expected: float  # cost


def rate_in_batches(
    forms: Forms,
    visits: Sequence[RaterVisit],
    prompts: PromptWriter,
    *,
    endpoint: LLMEndpoint,
    rater_budget: RaterBudget | None = None,
    wait: bool = False,
    progress: Progress | None = None,
    stopping: RaterStopping | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RatingSummary:
    """Collect the results of a rater's batches, and submit open requests.

    The arguments are those of :func:`spa.raters.run.rate_visits`; ``wait`` polls until nothing is pending or open.
    ``waiting`` of the summary counts the visits that are under way. Raise PlatformError if the endpoint refuses a
    batch, or cannot be reached; what is known is on record.
    """
    note_settings(forms.store, rater_variants(endpoint.rater))
    run = BatchRun(forms, visits, prompts, endpoint, rater_budget or RaterBudget(None), progress, stopping)
    return asyncio.run(run.run(wait=wait, sleep=sleep))


@dataclass(slots=True)
class BatchRun:
    """One run of one rater through batches."""

    forms: Forms
    visits: Sequence[RaterVisit]
    prompts: PromptWriter
    endpoint: LLMEndpoint
    rater_budget: RaterBudget
    progress: Progress | None
    stopping: RaterStopping | None
    _journal: Journal = field(init=False)
    _batches: Batches = field(init=False)
    _silence: Silence = field(init=False)
    _first: dict[str, set[str]] = field(default_factory=dict)  # visits asked of variants that never answered yet
    summary: RatingSummary = field(init=False)

    def __post_init__(self) -> None:
        rater = self.endpoint.rater
        continued = [way for visit in self.visits if (way := visit.asked.protocol.conversation) in CONTINUED]
        if continued:
            raise StudyError(
                f'rater {rater.id!r}: expected conversation = "form", "page_alone" or "question" with batch files, got '
                f'"{continued[0]}", which needs several turns; set one of them'
            )
        if any(visit.asked.protocol.reasoned for visit in self.visits):
            raise StudyError(
                f'rater {rater.id!r}: expected explain = "no" with readout = "logit" in batches, got "before", which '
                "takes a second turn; set it, or ask without batches"
            )
        self._journal = Journal(self.forms.store)
        open_batches = vendor_of(rater).batches
        if open_batches is None:
            raise StudyError(f"rater {rater.id!r}: expected a provider that takes batches, got {rater.provider!r}")
        self._batches = open_batches(self.endpoint, self._journal)
        self._silence = Silence(self.forms.store, rater)
        self.summary = RatingSummary(rater=rater.id, visits=len(self.visits))

    async def run(self, *, wait: bool, sleep: Callable[[float], Awaitable[None]]) -> RatingSummary:
        """Recover, collect and submit; repeat where the user waits."""
        for batch in self._pending():
            self.rater_budget.reserved += batch.expected
        known = visit_states(self.forms.store, self.visits, lambda assignment_ids: None)
        self.summary.finished_before = sum(not visit_state.open for visit_state in known)
        async with self.endpoint:
            while True:
                for batch in self._pending():
                    await self._advance(batch)
                if self.summary.problem is None:
                    await self._submit(wait=wait)
                self._report()
                if not wait or not self._pending():
                    self._note_stopping()
                    if wait and self.summary.requests:
                        self.summary.notes.append("all results are collected")
                    self.summary.silent = None if self._pending() else self._silence.at_end()
                    return self.summary
                await sleep(POLL)

    def _note_stopping(self) -> None:
        if self.stopping is not None:
            self.summary.notes += self.stopping.notes()
        if self.summary.later:
            self.summary.notes.append(f"{self.summary.later} assignments wait for the results of this wave")

    def _report(self) -> None:
        under_way = {name.rsplit("|", 2)[0] for batch in self._pending() for name in batch.custom_ids}
        self.summary.waiting = sum(visit.submission_id in under_way for visit in self.visits)
        if self.progress is not None:
            self.progress(self.summary)

    def _pending(self) -> list[SubmittedBatch]:
        return batches_of(self._journal, self.endpoint.rater.id)

    async def _advance(self, batch: SubmittedBatch) -> None:
        """Read the results of a batch that has ended; requests without a result are open again."""
        ended = await self._batches.look(batch)
        if ended is None:
            return
        begun = self._journal.begin(KIND, self.endpoint.rater.id, f"collect {batch.digest}", "{}")
        replies = await self._batches.fetch(ended)
        self._record_replies(batch, replies, left_open(ended))
        self._journal.finish(begun, ended.status, response=ended.record)
        if ended.status not in (COMPLETED, NOT_SENT):
            fix = "correct what it names, then " if ended.status == "failed" else ""
            self.summary.problem = (
                f"rater {self.endpoint.rater.id!r}: the batch {ended.batch_id} {ended.status}{ended.detail}; "
                f"{fix}run the command again to submit what is left"
            )

    def _record_replies(self, batch: SubmittedBatch, replies: Mapping[str, LLMReply], left: str) -> None:
        visits = {visit.submission_id: visit for visit in self._visits_of(batch)}
        each = batch.expected / max(1, len(batch.custom_ids))
        for submission_id, names in groupby(sorted(batch.custom_ids), key=lambda name: name.rsplit("|", 2)[0]):
            if submission_id in visits:
                self._record_visit(visits[submission_id], list(names), replies, left, each)

    def _visits_of(self, batch: SubmittedBatch) -> Iterator[RaterVisit]:
        """Yield the visits of a batch, also those that this run is not to make: they are paid."""
        submission_ids = {name.rsplit("|", 2)[0] for name in batch.custom_ids}
        every = rater_visits(self.forms.store, rater_variants(self.endpoint.rater))
        return (visit for visit in (*self.visits, *every) if visit.submission_id in submission_ids)

    def _record_visit(
        self, visit: RaterVisit, names: Sequence[str], replies: Mapping[str, LLMReply], left: str, expected: float
    ) -> None:
        lease, conversation = self._open(visit)
        calls = {(call.key, call.attempt): call for call in self._journal.calls(REQUEST, visit.submission_id)}
        finished = lease.completed
        with self.forms.store.transaction() as connection:
            for name in names:
                _, turn_id, attempt = name.rsplit("|", 2)
                begun = calls.get((turn_id, int(attempt)))
                if begun is None or begun.outcome != STARTED:
                    continue  # already read by an interrupted run
                reply = replies.get(name, LLMReply(outcome=left))
                outcome = conversation.outcome_of(begun, reply)
                facts = self.rater_budget.pay(expected, reply)
                earlier = calls.get((turn_id, int(attempt) - 1))
                again = earlier is not None and (earlier.outcome, earlier.request) == (outcome, begun.request)
                if remedy_for(outcome).hopeless or (again and is_refusal(outcome)):
                    self.summary.problem = failure_message(reply, self.endpoint.rater, self.endpoint.shown)
                conversation = conversation.with_call(
                    journal.finish(connection, begun, outcome, response=reply.body, facts=facts)
                )
                self.summary.count_request(outcome, reply, self.rater_budget)
                self.summary.further += outcome == "ok" and conversation.asked_again(begun)
            if conversation.is_over and not finished:
                complete_rater_visit(connection, conversation.submission(lease), completion_code="rater")
        if conversation.is_over and not finished:
            self.summary.count_visit(conversation.answers)
            self._silence.count(visit, conversation.answers, replies.get(names[-1]))

    def _open(self, visit: RaterVisit) -> tuple[Lease, RaterConversation]:
        name = visit.submission_id
        with self.forms.store.transaction() as connection:
            lease = leases_named(connection, [name]).get(name)
            visit_state = visit_state_of(visit, lease, calls_of(connection, REQUEST, [name]).get(name, ()))
            if visit_state.write is not None:
                visit_state.write(connection, visit_state.lease)
        form = self.forms.form(visit.assignment_id, visit.asked.protocol)
        return visit_state.lease, RaterConversation(form, visit_state.calls, visit)

    async def _submit(self, *, wait: bool) -> None:
        waiting: list[BatchRequest] = []
        size, most = 0, vendor_of(self.endpoint.rater).batch_bytes
        for line in self._open_requests():
            waiting.append(line)
            size += sum(len(str(message["content"])) for message in line.request.messages) + 4000
            if len(waiting) >= MAX_LINES or size >= most:
                await self._send(waiting, wait=wait)
                waiting, size = [], 0
        if waiting:
            await self._send(waiting, wait=wait)

    def _open_requests(self) -> Iterator[BatchRequest]:
        under_way = {name.rsplit("|", 1)[0] for batch in self._pending() for name in batch.custom_ids}
        asked = self._begin_wave(under_way)
        pending = {name.rsplit("|", 1)[0] for name in under_way}
        self._first = {visit.asked.name: set() for visit in self.visits}
        for visit in self.visits:
            if visit.submission_id in pending:
                self._first[visit.asked.name].add(visit.submission_id)
        for visit_state in visit_states(self.forms.store, self.visits, self.forms.expect):
            visit = visit_state.visit
            if not visit_state.open or not self._is_asked(visit, asked):
                continue
            if visit_state.write is ask_anew:
                self._silence.hope(visit)
            if (problem := self._silence.problem(visit)) is not None:
                self.summary.problem = problem
                return
            if not self._is_first(visit):
                self.summary.later += 1
                continue
            lease, conversation = self._open(visit)
            if conversation.is_over:
                with self.forms.store.transaction() as connection:
                    complete_rater_visit(connection, conversation.submission(lease), completion_code="rater")
                self.summary.count_visit(conversation.answers)
                continue
            for turn in conversation.open_turns:
                if f"{lease.submission_id}|{turn.turn_id}" in under_way:
                    continue
                request = conversation.request(self.prompts, turn)
                if (refused := self._refused_twice(visit_state, turn, request)) is not None:
                    self.summary.problem = failure_message(refused, visit.asked.rater, self.endpoint.shown)
                    continue
                reserved = self.rater_budget.reserve(*expected_tokens(request, visit.asked.rater.model))
                if reserved is None:
                    self.summary.problem = budget_message(visit.asked.rater, self.rater_budget)
                    return
                yield BatchRequest(lease=lease, turn=turn, request=request, expected=reserved)

    def _is_first(self, visit: RaterVisit) -> bool:
        """Return whether a visit may be asked: few of a variant are, until one of them has a readable answer."""
        if self._silence.has_spoken(visit):
            return True
        first = self._first[visit.asked.name]
        if len(first) < MAX_FAILED_VISITS:
            first.add(visit.submission_id)
        return visit.submission_id in first

    def _begin_wave(self, under_way: Collection[str]) -> dict[str, set[str]]:
        """Look at what is decided; return the visits under way of each group."""
        self.summary.not_needed = self.summary.later = 0
        if self.stopping is None:
            return {}
        self.stopping.look_again()
        names = {name.rsplit("|", 1)[0] for name in under_way}
        asked: dict[str, set[str]] = {visit.asked.name: set() for visit in self.visits}
        for visit in self.visits:
            if visit.submission_id in names:
                asked[visit.asked.name].add(visit.submission_id)
        return asked

    def _is_asked(self, visit: RaterVisit, asked: dict[str, set[str]]) -> bool:
        """Return whether a visit is asked now: in a live study no more than a wave, and none once it is enough."""
        if self.stopping is None or visit.submission_id in asked[visit.asked.name]:
            return True
        if self.stopping.is_enough(visit):
            self.summary.not_needed += 1
            return False
        if len(asked[visit.asked.name]) >= self.stopping.wave:
            self.summary.later += 1
            return False
        asked[visit.asked.name].add(visit.submission_id)
        return True

    def _refused_twice(self, known: RaterVisitState, turn: PromptTurn, request: LLMRequest) -> LLMReply | None:
        """Return the refusal that the endpoint has given this very request twice."""
        calls = [call for call in known.calls if call.key == turn.turn_id][-2:]
        if len(calls) < 2 or calls[0].outcome != calls[1].outcome or not is_refusal(calls[1].outcome):
            return None
        if {call.request for call in calls} != {self.endpoint.record(request)}:
            return None
        return LLMReply(outcome=calls[1].outcome, detail=str(calls[1].facts.get("detail") or ""))

    async def _send(self, lines: Sequence[BatchRequest], *, wait: bool) -> None:
        """Record every request, then submit the batch."""
        with self.forms.store.transaction() as connection:
            requests = []
            for line in lines:
                record = self.endpoint.record(line.request)
                begun = journal.begin(connection, REQUEST, line.lease.submission_id, line.turn.turn_id, record)
                name = f"{begun.scope}|{begun.key}|{begun.attempt}"
                requests.append((name, line.request))
            content = self._batches.content(requests)
            digest = sha256(content).hexdigest()
            asked = {"custom_ids": [name for name, _ in requests], "expected": sum(line.expected for line in lines)}
            key = f"upload {digest}"
            upload = journal.begin(connection, KIND, self.endpoint.rater.id, key, json.dumps(asked))
        await self._batches.submit(upload, digest, content)
        then = "" if wait else "; run the command again to collect"
        self.summary.notes.append(f"{len(lines):,} requests submitted as a batch file{then}")


def left_open(ended: EndedBatch) -> str:
    """Return the outcome of requests of which a batch holds no result."""
    if ended.status == NOT_SENT:
        return NOT_SENT
    return "failed" if ended.status == COMPLETED else f"batch_{ended.status}"
