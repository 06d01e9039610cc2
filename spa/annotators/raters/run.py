"""A rater answers the forms that people answer: each call on record, nothing asked that is answered.

A call is written to the journal before its request is sent, and what came of it together with
the answers that follow from it. A rerun reads what is on record and asks only what is open.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sqlalchemy import Connection

from spa import journal
from spa.annotators.raters.endpoint import Endpoint, Reply, Request
from spa.annotators.raters.problems import is_hopeless, is_transient, told
from spa.annotators.raters.reading import Settled, settle
from spa.annotators.raters.wording import Wording, conversation
from spa.errors import PlatformError
from spa.forms.asks import Ask, asks_of
from spa.forms.form import Form
from spa.journal import BatchedWriter, Call, Journal
from spa.responses.leases import Lease, lease_for_rater
from spa.responses.store import Store
from spa.responses.submission import Asked, Missing, Response, Submission
from spa.study.raters import AskedWay, Way

KIND = "llm"  # of call, in the journal
TRIES = 4  # requests in one run for a turn that the endpoint does not answer
FIRST_WAIT = 1.0  # seconds before the second try, then double
LONGEST_WAIT = 60.0  # a server that wants a longer wait is left alone until the next run
GIVING_UP = 8  # visits in a row that nobody answered: the endpoint is down

Progress = Callable[["RatingSummary"], None]


class Forms(Protocol):
    """What a workspace is to a rater."""

    @property
    def store(self) -> Store:
        """Where assignments come from and answers go."""

    def form(self, assignment_id: str, way: Way | None = None) -> Form:
        """Return the form of an assignment, with what a way of asking adds to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One assignment answered once by one rater in one way."""

    assignment_id: str
    asked: AskedWay
    repeat: int

    @property
    def label(self) -> Asked:
        """How the visit is told apart from others in the store."""
        return Asked(
            variant=self.asked.variant,
            repeat=self.repeat,
            readout=self.asked.way.readout,
            form="identical" if self.asked.identical else "variant",
            fingerprint=self.asked.fingerprint,
        )


@dataclass(slots=True, kw_only=True)
class RatingSummary:
    """What a run of a rater came to."""

    rater: str
    visits: int = 0  # assignments, times the ways and repeats in which they are asked
    finished_before: int = 0
    finished: int = 0
    answered: int = 0  # questions
    missing: Counter[str] = field(default_factory=Counter)  # reason -> questions
    unfinished: Counter[str] = field(default_factory=Counter)  # outcome -> visits that a rerun asks again
    outcomes: Counter[str] = field(default_factory=Counter)  # of the requests of this run
    prompt_tokens: int = 0
    completion_tokens: int = 0
    problem: str | None = None  # why the run stopped early, or what the endpoint said last

    @property
    def requests(self) -> int:
        """Requests of this run."""
        return sum(self.outcomes.values())


def rate_assignments(
    forms: Forms,
    ways: Sequence[AskedWay],
    wording: Wording,
    *,
    endpoint: Endpoint,
    limit: int | None = None,
    progress: Progress | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RatingSummary:
    """Let a rater answer the assignments of a store.

    Parameters
    ----------
    forms : Forms
        A workspace: the store and the forms of its assignments.
    ways : sequence of AskedWay
        Who answers and how: the ways of one rater.
    wording : Wording
        How the form is put.
    endpoint : Endpoint
        The connection; closed on return.
    limit : int, optional
        Only the first so many assignments.
    progress : callable, optional
        Called with the summary so far whenever a visit has ended.
    sleep : callable
        Waits between tries.

    Returns
    -------
    RatingSummary
        Counts of this run. ``problem`` is set where visits were left for a rerun.
    """
    run = RatingRun(forms, wording, endpoint=endpoint, sleep=sleep, rater_id=ways[0].rater.id)
    names = forms.store.assignment_ids()[:limit]
    return asyncio.run(run.everything(visits_of(names, ways), ways[0].rater.concurrency, progress))


def visits_of(assignment_ids: Sequence[str], ways: Sequence[AskedWay]) -> Sequence[Visit]:
    """Return every visit: assignment by assignment, so that a run that is stopped has whole ones."""
    return _Visits(assignment_ids, ways)


class _Visits(Sequence[Visit]):
    """Visits made when they are looked at, so that memory does not grow with their number."""

    def __init__(self, assignment_ids: Sequence[str], ways: Sequence[AskedWay]) -> None:
        self._names = assignment_ids
        self._ways = [(way, repeat) for way in ways for repeat in range(1, way.way.repeats + 1)]

    def __len__(self) -> int:
        return len(self._names) * len(self._ways)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        number, way = divmod(place, len(self._ways))
        asked, repeat = self._ways[way]
        return Visit(assignment_id=self._names[number], asked=asked, repeat=repeat)


class RatingRun:
    """One run of one rater."""

    def __init__(
        self,
        forms: Forms,
        wording: Wording,
        *,
        endpoint: Endpoint,
        rater_id: str,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._forms = forms
        self._store = forms.store
        self._journal = Journal(forms.store)
        self._writer = BatchedWriter(forms.store)
        self._wording = wording
        self._endpoint = endpoint
        self._sleep = sleep
        self._in_a_row = 0
        self._stopped = False
        self.summary = RatingSummary(rater=rater_id)

    async def everything(self, visits: Sequence[Visit], concurrency: int, progress: Progress | None) -> RatingSummary:
        """Work through the visits, some at a time."""
        self.summary.visits = len(visits)
        waiting = iter(visits)

        async def work(queue: Iterator[Visit]) -> None:
            for visit in queue:
                if self._stopped:
                    return
                whole = False
                try:
                    await self._rate(visit)
                    whole = True
                finally:  # the others finish what they have asked and paid for, and begin nothing new
                    self._stopped = self._stopped or not whole
                if progress is not None:
                    progress(self.summary)

        async with self._endpoint:
            workers = min(concurrency, len(visits))
            ends = await asyncio.gather(*(work(waiting) for _ in range(workers)), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return self.summary

    async def _rate(self, visit: Visit) -> None:
        """Finish one visit, or leave it for a rerun."""
        rater_id, label = visit.asked.rater.id, visit.label
        lease = await self._writer.write(lambda c: lease_for_rater(c, rater_id, visit.assignment_id, label))
        if lease.completed:
            self.summary.finished_before += 1
            return
        form = self._forms.form(visit.assignment_id, visit.asked.way)
        talk = Talk(asks_of(form, visit.asked.way.conversation), self._journal.calls(KIND, lease.submission_id), visit)
        asked_before = talk.is_over  # and not completed, which the last call does as a rule
        while not talk.is_over:
            if self._stopped:
                self.summary.unfinished["not asked"] += 1
                return
            talk, outcome = await self._ask(talk, lease)
            if outcome is not None:
                self.summary.unfinished[outcome] += 1
                return
        if asked_before:
            await self._writer.write(lambda c: self._complete(c, talk, lease))
        self._count(talk.answers)

    async def _ask(self, talk: Talk, lease: Lease) -> tuple[Talk, str | None]:
        """Put what is open until the endpoint answers; return the outcome too where it does not."""
        request = talk.request(self._wording)
        wait = FIRST_WAIT
        for trial in range(TRIES):
            talk, reply = await self._call(talk, request, lease)
            if reply.spoke:
                self._in_a_row = 0
                return talk, None
            self.summary.problem = told(reply, talk.visit.asked.rater, self._endpoint.shown)
            wanted = wait if reply.retry_after is None else reply.retry_after
            last = trial == TRIES - 1 or wanted > LONGEST_WAIT or self._stopped
            if last or not is_transient(reply.outcome):
                break
            await self._sleep(wanted)
            wait *= 2
        self._in_a_row += 1
        if is_hopeless(reply.outcome) or self._in_a_row >= GIVING_UP:
            self._stopped = True
        return talk, reply.outcome

    async def _call(self, talk: Talk, request: Request, lease: Lease) -> tuple[Talk, Reply]:
        """Make one request, on record before and after; the last answer of a visit completes it."""
        key, record = talk.ask.ask_id, self._endpoint.record(request)
        begun = await self._writer.write(lambda c: journal.begin(c, KIND, lease.submission_id, key, record))
        reply = await self._endpoint.ask(request)
        outcome = talk.outcome_of(begun, reply)

        def save(connection: Connection) -> Talk:
            done = journal.finish(connection, begun, outcome, response=reply.body, facts=reply.facts)
            further = talk.after(done)
            if further.is_over:
                self._complete(connection, further, lease)
            return further

        after = await self._writer.write(save)
        self.summary.outcomes[outcome] += 1
        self.summary.prompt_tokens += reply.prompt_tokens or 0
        self.summary.completion_tokens += reply.completion_tokens or 0
        return after, reply

    def _complete(self, connection: Connection, talk: Talk, lease: Lease) -> None:
        """Store the answers of a visit."""
        submission = Submission(
            submission_id=lease.submission_id,
            assignment_id=lease.assignment_id,
            annotator_id=lease.annotator_id,
            annotator_kind=lease.annotator_kind,
            source=lease.source,
            answers=talk.answers,
            seconds=talk.seconds,
            asked=talk.visit.label,
        )
        self._store.complete_within(connection, submission, completion_code="rater")

    def _count(self, answers: Sequence[Response | Missing]) -> None:
        self.summary.finished += 1
        for answer in answers:
            if isinstance(answer, Missing):
                self.summary.missing[answer.reason.partition(", got")[0]] += 1
            else:
                self.summary.answered += 1


class Talk:
    """Where one visit stands: its asks, the calls made for each, and what they settled."""

    def __init__(self, asks: Sequence[Ask], calls: Sequence[Call], visit: Visit) -> None:
        self.visit = visit
        self._asks = tuple(asks)
        self._calls: dict[str, tuple[Call, ...]] = {
            ask.ask_id: tuple(call for call in calls if call.key == ask.ask_id) for ask in asks
        }
        self._settled: dict[str, Settled] = {ask.ask_id: self._settle(ask) for ask in asks}

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be asked any more."""
        return all(self._is_final(ask) for ask in self._asks)

    @property
    def ask(self) -> Ask:
        """The first ask that is open."""
        return next(ask for ask in self._asks if not self._is_final(ask))

    @property
    def answers(self) -> tuple[Response | Missing, ...]:
        """One answer a question, in the order of the form."""
        return tuple(answer for ask in self._asks for answer in self._settled[ask.ask_id].answers)

    @property
    def seconds(self) -> float:
        """How long the calls took, all together."""
        return sum(call.seconds or 0.0 for calls in self._calls.values() for call in calls)

    def request(self, wording: Wording) -> Request:
        """Return the request for the first ask that is open: for what it lacks, after what was said before."""
        ask = self.ask
        place = self._asks.index(ask)
        while not self._asks[place].alone:
            place -= 1
        history = [(each, self._settled[each.ask_id].turns) for each in self._asks[place : self._asks.index(ask) + 1]]
        missing = {answer.question_id for answer in self._settled[ask.ask_id].missing}
        questions = tuple(question for question in ask.questions if question.question_id in missing)
        way = self.visit.asked.way
        return Request(messages=tuple(conversation(wording, history, way)), questions=questions, way=way)

    def outcome_of(self, call: Call, reply: Reply) -> str:
        """Return the outcome of a call as the journal has it: "ok" where every question has its answer."""
        if not reply.spoke:
            return reply.outcome
        if reply.outcome != "answered":
            return reply.outcome
        after = self.after(replace(call, outcome="ok", response=reply.body))
        return "unreadable" if after._settled[call.key].missing else "ok"

    def after(self, call: Call) -> Talk:
        """Return where the visit stands with one more call."""
        ask = next(ask for ask in self._asks if ask.ask_id == call.key)
        talk = Talk((), (), self.visit)
        talk._asks = self._asks
        talk._calls = {**self._calls, call.key: (*self._calls[call.key], call)}
        talk._settled = {**self._settled, call.key: talk._settle(ask)}
        return talk

    def _is_final(self, ask: Ask) -> bool:
        return self._settled[ask.ask_id].is_final(self.visit.asked.way.attempts)

    def _settle(self, ask: Ask) -> Settled:
        return settle(ask.questions, self._calls[ask.ask_id], self.visit.asked.way)


def stop_if_unfinished(summary: RatingSummary) -> None:
    """Raise a ``PlatformError`` where visits were left for a rerun."""
    left = summary.visits - summary.finished - summary.finished_before
    if left:
        raise PlatformError(f"{summary.problem} [{left} of {summary.visits} assignments are not finished]")
