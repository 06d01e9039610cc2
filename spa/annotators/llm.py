"""An LLM answers the forms that people answer: whole form, one conversation, every attempt on record.

An attempt is written to the store before its request is sent and again, with the raw response,
before anything is read from it. A rerun reads what is stored and asks only what is open.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from spa.annotators.llm_client import ChatClient, ChatReply
from spa.annotators.llm_reading import Conversation, settle
from spa.annotators.llm_wording import Wording, writable
from spa.errors import PlatformError
from spa.forms.form import Form, Question
from spa.responses.answers import answer_schema
from spa.responses.store import Attempt, Store
from spa.responses.submission import Missing, Response, Submission
from spa.study.study import Rater

CONCURRENCY = 8  # requests under way at once
TRIES = 4  # requests in one run for a turn that the endpoint does not answer
FIRST_WAIT = 1.0  # seconds before the second try, then double
LONGEST_WAIT = 60.0  # a server that wants a longer wait is left alone until the next run
GIVING_UP = 8  # assignments in a row that nobody answered: the endpoint is down
SPOKE = ("answered", "refused", "truncated", "unreadable")
TRANSIENT = ("connection", "http_408", "http_409", "http_425", "http_429")  # a timeout may have been paid: no haste
HOPELESS = ("quota", "connection", "http_401", "http_403", "http_404")  # the same for every assignment

Progress = Callable[[int, int], None]


class Forms(Protocol):
    """What a workspace is to a rater."""

    @property
    def store(self) -> Store:
        """Where assignments come from and attempts go."""

    def form(self, assignment_id: str) -> Form:
        """Return the form of an assignment."""


@dataclass(slots=True, kw_only=True)
class RatingSummary:
    """What a run of a rater came to."""

    rater: str
    assignments: int = 0
    finished_before: int = 0
    finished: int = 0
    answered: int = 0  # questions
    missing: Counter[str] = field(default_factory=Counter)  # reason -> questions
    unfinished: Counter[str] = field(default_factory=Counter)  # outcome -> assignments that a rerun asks again
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    problem: str | None = None  # why the run stopped early, or what the endpoint said last


def rate_assignments(
    forms: Forms,
    rater: Rater,
    wording: Wording,
    *,
    client: ChatClient,
    limit: int | None = None,
    progress: Progress | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RatingSummary:
    """Let a rater answer the assignments of a store.

    Parameters
    ----------
    forms : Forms
        A workspace: the store and the forms of its assignments.
    rater : Rater
        Who answers.
    wording : Wording
        How the form is put.
    client : ChatClient
        The connection; closed on return.
    limit : int, optional
        Only the first so many assignments.
    progress : callable, optional
        Called with (assignments done, assignments in all).
    sleep : callable
        Waits between tries.

    Returns
    -------
    RatingSummary
        Counts of this run. ``problem`` is set where assignments were left for a rerun.
    """
    run = RatingRun(forms, rater, wording, client=client, sleep=sleep)
    return asyncio.run(run.everything(limit, progress))


class RatingRun:
    """One run of one rater."""

    def __init__(
        self,
        forms: Forms,
        rater: Rater,
        wording: Wording,
        *,
        client: ChatClient,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._forms = forms
        self._store = forms.store
        self._rater = rater
        self._wording = wording
        self._client = client
        self._sleep = sleep
        self._in_a_row = 0
        self._stopped = False
        self.summary = RatingSummary(rater=rater.id)

    async def everything(self, limit: int | None, progress: Progress | None) -> RatingSummary:
        """Work through the assignments, some at a time."""
        wanted = [assignment.assignment_id for assignment in self._store.assignments()][:limit]
        self.summary.assignments = len(wanted)
        waiting = iter(wanted)
        done = 0

        async def work(queue: Iterator[str]) -> None:
            nonlocal done
            for assignment_id in queue:
                if self._stopped:
                    return
                whole = False
                try:
                    await self._rate(assignment_id)
                    whole = True
                finally:  # the others finish what they have asked and paid for, and begin nothing new
                    self._stopped = self._stopped or not whole
                done += 1
                if progress is not None:
                    progress(done, len(wanted))

        async with self._client:
            ends = await asyncio.gather(*(work(waiting) for _ in range(CONCURRENCY)), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return self.summary

    async def _rate(self, assignment_id: str) -> None:
        """Finish one assignment, or leave it for a rerun."""
        lease = self._store.lease_for_rater(self._rater.id, assignment_id)
        if lease.completed:
            self.summary.finished_before += 1
            return
        form = self._forms.form(assignment_id)
        questions = tuple(form.questions("everybody"))
        while True:
            attempts = self._store.attempts(self._rater.id, assignment_id)
            conversation = settle(questions, attempts)
            if not conversation.missing or conversation.closed or len(conversation.turns) >= self._rater.attempts:
                break
            if self._stopped:
                self.summary.unfinished["not asked"] += 1
                return
            outcome = await self._ask(form, questions, conversation, number=len(attempts) + 1)
            if outcome is not None:
                self.summary.unfinished[outcome] += 1
                return
        seconds = sum(attempt.seconds or 0.0 for attempt in attempts)
        submission = Submission(
            submission_id=lease.submission_id,
            assignment_id=assignment_id,
            annotator_id=lease.annotator_id,
            annotator_kind=lease.annotator_kind,
            source=lease.source,
            answers=conversation.answers,
            seconds=seconds,
        )
        self._store.complete(submission, completion_code="rater")
        self._count(conversation.answers)

    async def _ask(
        self, form: Form, questions: Sequence[Question], conversation: Conversation, *, number: int
    ) -> str | None:
        """Ask for what is missing until the endpoint answers; return the outcome where it does not."""
        messages = self._wording.opening(form)
        for turn in conversation.turns:
            if turn.text.strip():  # an empty turn is refused by some endpoints
                messages.append({"role": "assistant", "content": writable(turn.text)})
                messages.append({"role": "user", "content": self._wording.again(form, turn)})
        missing = {answer.question_id for answer in conversation.missing}
        schema = answer_schema(question for question in questions if question.question_id in missing)
        wait = FIRST_WAIT
        for trial in range(TRIES):
            reply = await self._attempt(form.assignment_id, number + trial, messages, schema, questions)
            if reply.outcome in SPOKE:
                self._in_a_row = 0
                return None
            self.summary.problem = self._told(reply)
            wanted = wait if reply.retry_after is None else reply.retry_after
            transient = reply.outcome in TRANSIENT or reply.outcome.startswith("http_5")
            if not transient or trial == TRIES - 1 or wanted > LONGEST_WAIT or self._stopped:
                break
            await self._sleep(wanted)
            wait *= 2
        self._in_a_row += 1
        if reply.outcome in HOPELESS or self._in_a_row >= GIVING_UP:
            self._stopped = True
        return reply.outcome

    async def _attempt(
        self,
        assignment_id: str,
        number: int,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        questions: Sequence[Question],
    ) -> ChatReply:
        """Make one request, on record before and after."""
        parameters = self._client.parameters(schema)
        attempt = Attempt(
            rater_id=self._rater.id,
            assignment_id=assignment_id,
            attempt=number,
            requested_at=time.time(),
            request=self._client.request_record(messages, parameters),
            response=None,
            outcome="started",
        )
        self._store.save_attempt(attempt)
        self.summary.requests += 1
        reply = await self._client.ask(messages, parameters)
        spoke = reply.outcome in SPOKE
        attempt = replace(
            attempt,
            response=reply.body,
            outcome="received" if spoke else reply.outcome,
            seconds=reply.seconds,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
        )
        self._store.save_attempt(attempt)
        self.summary.prompt_tokens += reply.prompt_tokens or 0
        self.summary.completion_tokens += reply.completion_tokens or 0
        if spoke:
            left = settle(questions, self._store.attempts(self._rater.id, assignment_id)).missing
            outcome = reply.outcome if reply.outcome != "answered" else "unreadable" if left else "ok"
            self._store.save_attempt(replace(attempt, outcome=outcome))
        return reply

    def _count(self, answers: Sequence[Response | Missing]) -> None:
        self.summary.finished += 1
        for answer in answers:
            if isinstance(answer, Missing):
                self.summary.missing[answer.reason.partition(", got")[0]] += 1
            else:
                self.summary.answered += 1

    def _told(self, reply: ChatReply) -> str:
        """Return one line: what the endpoint did and what to do."""
        place = f"rater {self._rater.id!r}: {self._client.shown_url}"
        said = f" ({reply.detail})" if reply.detail else ""
        match reply.outcome:
            case "http_401" | "http_403":
                variable = self._rater.api_key_env
                return f"{place} did not accept the key{said}; set the environment variable {variable} to a valid one"
            case "http_404":
                model = self._rater.model
                return f"{place} does not know the address or the model {model!r}{said}; correct base_url or model"
            case "quota":
                return f"{place} says that the account's quota is used up{said}; top it up and run the command again"
            case "connection":
                return f"{place} cannot be reached{said}; start the server or correct base_url"
            case "timeout":
                return f"{place} did not answer in time{said}; run the command again, or allow more with --timeout"
            case outcome:
                status = outcome.removeprefix("http_")
                return f"{place} answered {status}{said}; run the command again, what is answered is kept"


def stop_if_unfinished(summary: RatingSummary) -> None:
    """Raise a ``PlatformError`` where assignments were left for a rerun."""
    left = summary.assignments - summary.finished - summary.finished_before
    if left:
        raise PlatformError(f"{summary.problem} [{left} of {summary.assignments} assignments are not finished]")
