"""One visit of a rater as a conversation: its turns, the calls made for each, and the answers read so far."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.journal import JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, LLMRequest
from spa.raters.prompt_messages import PromptWriter, conversation_messages
from spa.raters.reading import READ_OUTCOMES, TurnOutcome, all_missing, read_turn
from spa.raters.reasoning import protocol_of
from spa.raters.visits import RaterVisit
from spa.records.form import Form
from spa.records.raters import RaterProtocol
from spa.records.submission import Missing, Response, Submission
from spa.responses.leases import Lease


class RaterConversation:
    """One visit of a rater: the turns of its form, the calls made for each, and the answers read so far."""

    def __init__(self, form: Form, calls: Sequence[JournalEntry], visit: RaterVisit) -> None:
        self.visit = visit
        self._protocol = visit.asked.protocol
        protocol = self._protocol
        self._turns = turns_of(visit.shown(form), protocol.conversation, reasoned=protocol.reasoned)
        self._calls = {turn.turn_id: tuple(call for call in calls if call.key == turn.turn_id) for turn in self._turns}
        self._outcomes = {
            turn.turn_id: read_turn(turn.questions, self._calls[turn.turn_id], protocol_of(turn, protocol))
            for turn in self._turns
        }
        self._last_read: tuple[str, str | None, TurnOutcome] | None = None  # key, response and what was read

    @property
    def open_turns(self) -> tuple[PromptTurn, ...]:
        """The turns that still need a reply."""
        attempts = self._protocol.attempts
        unanswered = tuple(turn for turn in self._turns if not self._outcomes[turn.turn_id].is_final(attempts))
        return unanswered if not self._protocol.reasoned else tuple(one for one in unanswered if self._may_ask(one))

    @property
    def is_over(self) -> bool:
        """Whether no turn needs a reply any more."""
        return not self.open_turns

    @property
    def turn(self) -> PromptTurn:
        """The first open turn."""
        return self.open_turns[0]

    @property
    def position(self) -> int:
        """The number of the first open turn."""
        return self._turns.index(self.turn)

    @property
    def may_share(self) -> bool:
        """Whether the first open turn would be put in the same words to every repeat of the visit."""
        return self.turn.alone and not self._calls[self.turn.turn_id]

    @property
    def next_attempt(self) -> int:
        """The number of the next call for the first open turn."""
        calls = self._calls[self.turn.turn_id]
        return calls[-1].attempt + 1 if calls else 1

    @property
    def answers(self) -> tuple[Response | Missing, ...]:
        """One answer a question, in the order of the form."""
        return tuple(answer for turn in self._turns for answer in self._answers_to(turn))

    def _answers_to(self, turn: PromptTurn) -> Sequence[Response | Missing]:
        if not self._protocol.reasoned or self._may_ask(turn):
            return self._outcomes[turn.turn_id].answers
        return all_missing(turn.questions, f"no reasoning: {self._before(turn).missing[0].reason}", None)

    def _may_ask(self, turn: PromptTurn) -> bool:
        """Return whether the reasoning that an answer follows is there, or still to come."""
        return turn.alone or not self._before(turn).missing or not self._before(turn).is_final(self._protocol.attempts)

    def _before(self, turn: PromptTurn) -> TurnOutcome:
        return self._outcomes[self._turns[self._turns.index(turn) - 1].turn_id]

    def request(self, prompts: PromptWriter, turn: PromptTurn | None = None) -> LLMRequest:
        """Return the request for a turn (the first open one by default): its open questions, after all said before."""
        turn = self.turn if turn is None else turn
        last = first = self._turns.index(turn)
        while not self._turns[first].alone:
            first -= 1
        history = [(each, self._outcomes[each.turn_id].replies) for each in self._turns[first : last + 1]]
        missing = {answer.question_id for answer in self._outcomes[turn.turn_id].missing}
        questions = tuple(question for question in turn.questions if question.question_id in missing)
        protocol = self.visit.protocol
        messages = tuple(conversation_messages(prompts, history, protocol))
        return LLMRequest(messages=messages, questions=questions, protocol=protocol_of(turn, protocol))

    def submission(self, lease: Lease) -> Submission:
        """Return the visit with its answers; its seconds are those of its calls."""
        seconds = sum(call.seconds or 0.0 for calls in self._calls.values() for call in calls)
        return replace(lease.submission(self.answers, seconds), asked=self.visit.label)

    def outcome_of(self, call: JournalEntry, reply: LLMReply) -> str:
        """Return the outcome of a call as the journal has it: "ok" where every question has its answer."""
        if reply.outcome not in ("answered", "truncated"):
            return reply.outcome
        if not self._outcome_after(replace(call, outcome="ok", response=reply.body)).missing:
            return "ok"
        cut = reply.outcome == "truncated" and self._way(call).readout != "logit"  # where one token is requested
        return "truncated" if cut else "unreadable"

    def _turn_of(self, call: JournalEntry) -> PromptTurn:
        return next(turn for turn in self._turns if turn.turn_id == call.key)

    def _way(self, call: JournalEntry) -> RaterProtocol:
        return protocol_of(self._turn_of(call), self._protocol)

    def asked_again(self, call: JournalEntry) -> bool:
        """Return whether an earlier reply to the turn of a call could not be used."""
        return len(self._outcomes[call.key].replies) > 1

    def with_call(self, call: JournalEntry) -> RaterConversation:
        """Return the conversation with one more call."""
        updated = copy(self)
        updated._last_read = None
        updated._calls = {**self._calls, call.key: (*self._calls[call.key], call)}
        updated._outcomes = {**self._outcomes, call.key: self._outcome_after(call)}
        return updated

    def _outcome_after(self, call: JournalEntry) -> TurnOutcome:
        """Read one more call of a turn; the same response is read once."""
        readable = call.outcome in READ_OUTCOMES
        if self._last_read is not None and readable and self._last_read[:2] == (call.key, call.response):
            return self._last_read[2]
        outcome = read_turn(self._turn_of(call).questions, (*self._calls[call.key], call), self._way(call))
        if readable:
            self._last_read = (call.key, call.response, outcome)
        return outcome
