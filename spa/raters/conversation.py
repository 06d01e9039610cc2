"""Where one visit stands: its asks, the calls made for each, and what they settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spa.forms.prompt_turns import PromptTurn
from spa.journal import JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.prompt_messages import Wording, conversation_messages
from spa.raters.reading.reply_reader import READ_OUTCOMES, TurnOutcome, read_turn
from spa.raters.visits import RaterVisit
from spa.responses.leases import Lease
from spa.responses.submission import Missing, Response, Submission


class RaterConversation:
    """Where one visit stands: its asks, the calls made for each, and what they settled."""

    def __init__(self, asks: Sequence[PromptTurn], calls: Sequence[JournalEntry], visit: RaterVisit) -> None:
        self.visit = visit
        self._read: tuple[str, str | None, TurnOutcome] | None = None  # of the last call that was tried
        self._asks = tuple(asks)
        self._calls: dict[str, tuple[JournalEntry, ...]] = {
            ask.turn_id: tuple(call for call in calls if call.key == ask.turn_id) for ask in asks
        }
        self._settled: dict[str, TurnOutcome] = {ask.turn_id: self._settle(ask) for ask in asks}

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be asked any more."""
        return all(self._is_final(ask) for ask in self._asks)

    @property
    def ask(self) -> PromptTurn:
        """The first ask that is open."""
        return next(ask for ask in self._asks if not self._is_final(ask))

    @property
    def place(self) -> int:
        """The number of the first ask that is open."""
        return self._asks.index(self.ask)

    @property
    def may_share(self) -> bool:
        """Whether the first ask that is open would be put in the same words to every repeat of the visit."""
        return self.ask.alone and not self._calls[self.ask.turn_id]

    @property
    def next_attempt(self) -> int:
        """The number of the next call for the first ask that is open."""
        calls = self._calls[self.ask.turn_id]
        return calls[-1].attempt + 1 if calls else 1

    @property
    def answers(self) -> tuple[Response | Missing, ...]:
        """One answer a question, in the order of the form."""
        return tuple(answer for ask in self._asks for answer in self._settled[ask.turn_id].answers)

    @property
    def seconds(self) -> float:
        """How long the calls took, all together."""
        return sum(call.seconds or 0.0 for calls in self._calls.values() for call in calls)

    @property
    def open_turns(self) -> tuple[PromptTurn, ...]:
        """Every ask that is open."""
        return tuple(ask for ask in self._asks if not self._is_final(ask))

    def calls(self, ask: PromptTurn) -> tuple[JournalEntry, ...]:
        """Return the calls made for an ask."""
        return self._calls[ask.turn_id]

    def request(self, wording: Wording, ask: PromptTurn | None = None) -> LLMRequest:
        """Return the request for an ask, the first that is open: for what it lacks, after what was said before."""
        ask = self.ask if ask is None else ask
        place = self._asks.index(ask)
        while not self._asks[place].alone:
            place -= 1
        history = [(each, self._settled[each.turn_id].turns) for each in self._asks[place : self._asks.index(ask) + 1]]
        missing = {answer.question_id for answer in self._settled[ask.turn_id].missing}
        questions = tuple(question for question in ask.questions if question.question_id in missing)
        protocol = self.visit.protocol
        return LLMRequest(
            messages=tuple(conversation_messages(wording, history, protocol)), questions=questions, protocol=protocol
        )

    def submission(self, lease: Lease) -> Submission:
        """Return the visit with its answers."""
        return Submission(
            submission_id=lease.submission_id,
            assignment_id=lease.assignment_id,
            annotator_id=lease.annotator_id,
            annotator_kind=lease.annotator_kind,
            source=lease.source,
            answers=self.answers,
            seconds=self.seconds,
            asked=self.visit.label,
        )

    def outcome_of(self, call: JournalEntry, reply: LLMReply) -> str:
        """Return the outcome of a call as the journal has it: "ok" where every question has its answer."""
        if reply.outcome not in ("answered", "truncated"):
            return reply.outcome
        settled = self._settled_after(replace(call, outcome="ok", response=reply.body))
        cut = (
            reply.outcome == "truncated" and self.visit.asked.protocol.readout != "logit"
        )  # else one token was all we asked for
        return ("truncated" if cut else "unreadable") if settled.missing else "ok"

    def after(self, call: JournalEntry) -> RaterConversation:
        """Return where the visit stands with one more call."""
        updated = RaterConversation((), (), self.visit)
        updated._asks = self._asks
        updated._calls = {**self._calls, call.key: (*self._calls[call.key], call)}
        updated._settled = {**self._settled, call.key: self._settled_after(call)}
        return updated

    def _settled_after(self, call: JournalEntry) -> TurnOutcome:
        """Read one more call of an ask; the same response is read once."""
        spoken = call.outcome in READ_OUTCOMES
        if self._read is not None and spoken and self._read[:2] == (call.key, call.response):
            return self._read[2]
        ask = next(ask for ask in self._asks if ask.turn_id == call.key)
        settled = read_turn(ask.questions, (*self._calls[call.key], call), self.visit.asked.protocol)
        if spoken:
            self._read = (call.key, call.response, settled)
        return settled

    def _is_final(self, ask: PromptTurn) -> bool:
        return self._settled[ask.turn_id].is_final(self.visit.asked.protocol.attempts)

    def _settle(self, ask: PromptTurn) -> TurnOutcome:
        return read_turn(ask.questions, self._calls[ask.turn_id], self.visit.asked.protocol)
