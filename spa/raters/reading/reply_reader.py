"""Replies of an LLM read as answers: one JSON object, found strictly, validated like a person's form.

Everything is computed from recorded calls alone, so that an interrupted run resumes without asking anything again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spa.forms.form import Question, TextAnswer
from spa.journal import JournalEntry
from spa.raters.endpoints.endpoint import LLMReply, read_body
from spa.raters.reading.distribution import read_distributions
from spa.raters.reading.free_text import UnreadableText, read_free_text
from spa.raters.reading.json_replies import UnreadableReply, find_payload
from spa.responses.answers import parse_answer, parse_answers
from spa.responses.submission import Missing, Response
from spa.study.raters import RaterProtocol, Reading

BROKE_OFF = "the reply broke off at the token limit; give the rater a larger max_tokens"
READ_OUTCOMES = ("ok", "unreadable", "refused", "truncated")  # outcomes of a call to which the model replied


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTurn:
    """One reply, and the questions that it left without a usable answer."""

    text: str
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """What the calls of one turn have answered so far."""

    answers: tuple[Response | Missing, ...]  # one a question, in the order of the form
    missing: tuple[Missing, ...]  # those of them that are no usable answer so far
    replies: tuple[ReplyTurn, ...]
    closed: bool  # the last reply was a refusal or was truncated: asking again would only cost

    def is_final(self, attempts: int) -> bool:
        """Whether all is answered, or the attempts are used up."""
        return not self.missing or self.closed or len(self.replies) >= attempts


def read_turn(questions: Sequence[Question], calls: Iterable[JournalEntry], protocol: RaterProtocol) -> TurnOutcome:
    """Read all calls of one turn, oldest first.

    A question keeps its first usable answer; what a later reply says about it is not read.
    """
    read: dict[str, Response | Missing] = {}
    replies: list[ReplyTurn] = []
    closed = False
    open_questions = questions
    for call in calls:
        if call.outcome not in READ_OUTCOMES or call.response is None:
            continue
        reply = read_body(call.response)
        answers = read_answers(open_questions, reply, protocol)
        read.update({answer.question_id: answer for answer in answers})
        missing = missing_of(answers)
        left = {answer.question_id for answer in missing}
        open_questions = [question for question in open_questions if question.question_id in left]
        replies.append(ReplyTurn(text=reply.text, missing=missing))
        same_again = protocol.readout == "logit" and reply.outcome == "answered"  # the probabilities would be
        closed = same_again or reply.outcome in ("refused", "truncated")
    not_asked = all_missing(questions, "not asked", None)
    answers = tuple(read.get(one.question_id, one) for one in not_asked)
    return TurnOutcome(answers=answers, missing=missing_of(answers), replies=tuple(replies), closed=closed)


def missing_of(answers: Iterable[Response | Missing]) -> tuple[Missing, ...]:
    """Return the answers that cannot be used."""
    return tuple([answer for answer in answers if isinstance(answer, Missing)])


def read_answers(
    questions: Sequence[Question], reply: LLMReply, protocol: RaterProtocol
) -> tuple[Response | Missing, ...]:
    """Read one reply as answers to the questions that it was asked."""
    if protocol.readout == "logit":
        return read_distributions(questions, reply, min_mass=protocol.min_mass)
    if reply.outcome == "refused":
        return all_missing(questions, "the model refused to answer", reply.detail)
    if reply.outcome == "unreadable":
        return all_missing(questions, reply.detail, reply.text or None)
    try:
        payload = find_payload(reply.text) if protocol.answer_format != "text" else None
    except UnreadableReply as problem:
        return all_missing(questions, BROKE_OFF if reply.outcome == "truncated" else str(problem), reply.text or None)
    if payload is not None:
        return parse_answers(questions, payload)
    return tuple(read_alone(question, reply, reading=protocol.reading) for question in questions)


def read_alone(question: Question, reply: LLMReply, *, reading: Reading) -> Response | Missing:
    """Read a free text as the answer to one question; ``raw`` is the whole text, which the other reader reads too."""
    answer = _read_text(question, reply, reading=reading)
    if isinstance(question.answer, TextAnswer):
        return answer
    other = _read_text(question, reply, reading="first_number" if reading == "strict" else "strict")
    return replace(answer, readings_differ=getattr(answer, "value", None) != getattr(other, "value", None))


def _read_text(question: Question, reply: LLMReply, *, reading: Reading) -> Response | Missing:
    try:
        value = read_free_text(question, reply.text, reading=reading)
    except UnreadableText as problem:
        reason = BROKE_OFF if reply.outcome == "truncated" else str(problem)
        (missing,) = all_missing([question], reason, reply.text or None)
        return replace(missing, level=" or ".join(problem.levels) or None)
    return replace(parse_answer(question, value), raw=reply.text)


def all_missing(questions: Sequence[Question], reason: str, raw: str | None) -> tuple[Missing, ...]:
    """Return a ``Missing`` for every question."""
    return tuple(
        Missing(question_id=question.question_id, target=question.target, reason=reason, raw=raw)
        for question in questions
    )
