"""Replies of an LLM read as answers: words found strictly and validated like a person's form, or probabilities.

Everything is computed from recorded calls alone, so that an interrupted run resumes without asking anything again.
Probabilities are what ``readout = "logit"`` reads: a model on this machine records that of every option (field
``distribution`` of the body), an endpoint returns those of the most probable first tokens (``top_logprobs``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spa.journal import JournalEntry
from spa.raters.endpoints.distribution import Distribution, answer_values
from spa.raters.endpoints.endpoint import LLMReply, mapping
from spa.raters.vendors import provider_here, read_body, top_tokens
from spa.records.form import ExplanationTarget, Question
from spa.records.raters import RaterProtocol, Reading
from spa.records.submission import Missing, Response
from spa.responses.answers import parse_answer, parse_answers
from spa.widgets import widget_of
from spa.widgets.free_text.json_replies import UnreadableReply, find_payload
from spa.widgets.free_text.phrases import UnreadableText

BROKE_OFF = "the reply broke off at the token limit; give the rater a larger max_tokens"
READ_OUTCOMES = ("ok", "unreadable", "refused", "truncated")  # outcomes of a call to which the model replied
BEGUN = 0.01  # most of what lies on answers that may lie on tokens which only begin one
DIGITS = 6  # significant ones, of probabilities in tables


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
        if call.outcome == "refused" and reply.outcome != "refused":  # by an error in the words of a gateway
            reply = replace(reply, outcome="refused", detail=str(call.facts.get("detail") or ""))
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
    if reply.outcome == "truncated" and all(isinstance(one.target, ExplanationTarget) for one in questions):
        return all_missing(questions, BROKE_OFF, reply.text or None)  # no answer is read after half a reasoning
    return tuple(read_alone(question, reply, reading=protocol.reading) for question in questions)


def read_alone(question: Question, reply: LLMReply, *, reading: Reading) -> Response | Missing:
    """Read a free text as the answer to one question; ``raw`` is the whole text, which the other reader reads too."""
    answer = _read_text(question, reply, reading=reading)
    if widget_of(question.answer).is_free:
        return answer
    other = _read_text(question, reply, reading="first_number" if reading == "strict" else "strict")
    return replace(answer, readings_differ=getattr(answer, "value", None) != getattr(other, "value", None))


def _read_text(question: Question, reply: LLMReply, *, reading: Reading) -> Response | Missing:
    widget = widget_of(question.answer)
    try:
        value = widget.read_text(question.answer, question, reply.text, reading=reading)
    except UnreadableText as problem:
        reason = BROKE_OFF if reply.outcome == "truncated" else str(problem)
        (missing,) = all_missing([question], reason, reply.text or None)
        return replace(missing, level=" or ".join(problem.levels) or None)
    if (between := widget.said_between(question.answer, value)) is not None:
        return Response(question_id=question.question_id, target=question.target, value=between, raw=reply.text)
    return replace(parse_answer(question, value), raw=reply.text)


def all_missing(questions: Sequence[Question], reason: str, raw: str | None) -> tuple[Missing, ...]:
    """Return a ``Missing`` for every question."""
    return tuple(
        Missing(question_id=question.question_id, target=question.target, reason=reason, raw=raw)
        for question in questions
    )


class NoDistribution(Exception):
    """A body holds no probabilities of the answers; the message is the reason."""


def read_distributions(
    questions: Sequence[Question], reply: LLMReply, *, min_mass: float
) -> tuple[Response | Missing, ...]:
    """Read a reply as the probabilities of the answers to the one question that it was asked.

    A ``Response`` holds the mean where the answers are numbers (a preference probability in [0, 1], or a rating in the
    units of its scale), else the most probable option; ``raw`` is the distribution as JSON. ``Missing`` where there is
    none, the probability in [0, 1] that the reply begins with any answer is below ``min_mass``, or options tie.
    """
    return tuple(_read(question, reply, min_mass) for question in questions)


def _read(question: Question, reply: LLMReply, min_mass: float) -> Response | Missing:
    raw = differ = None
    try:
        if reply.outcome in ("refused", "unreadable"):
            raise NoDistribution("the model refused to answer" if reply.outcome == "refused" else reply.detail)
        found = read_distribution(reply.body or "", question)
        raw, differ = distribution_json(found, question), _differs_from_words(found, question, reply.text)
        if found.mass < min_mass:
            raise NoDistribution(f"a reply begins with an answer less often than min_mass = {min_mass:g}")
        value = value_of(found, question)
    except NoDistribution as problem:
        return Missing(
            question_id=question.question_id,
            target=question.target,
            reason=str(problem),
            raw=raw or reply.text or None,
            readings_differ=differ,
        )
    return Response(
        question_id=question.question_id, target=question.target, value=value, raw=raw, readings_differ=differ
    )


def _differs_from_words(found: Distribution, question: Question, text: str) -> bool | None:
    """Return whether the words of the reply give another answer than the most probable; None where they give none."""
    try:
        said = widget_of(question.answer).read_text(question.answer, question, text, reading="strict")
    except UnreadableText:
        return None
    return said not in found.most_probable


def read_distribution(body: str, question: Question) -> Distribution:
    """Return the distribution that a stored body holds; raise NoDistribution if none is of this question's answers."""
    try:
        completion = mapping(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise NoDistribution(f"the response is not JSON: {error}") from error
    if "distribution" in completion:
        return _recorded_distribution(mapping(completion["distribution"]), question)
    return distribution_from_top_logprobs(completion, question)


def _recorded_distribution(written_down: Mapping[str, Any], question: Question) -> Distribution:
    """Return the distribution that a local model recorded."""
    probabilities = mapping(written_down.get("probabilities"))
    if set(probabilities) != set(answer_values(question)):
        raise NoDistribution("the probabilities on record are not those of this question's answers")
    try:
        return Distribution(
            probabilities={value: float(probabilities[value]) for value in answer_values(question)},
            mass=float(written_down["mass"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NoDistribution(f"the probabilities on record cannot be used: {error}") from error


def distribution_from_top_logprobs(body: Mapping[str, Any], question: Question) -> Distribution:
    """Return the distribution over a question's answers from the first token of a chat completion.

    Only answers that are one token can be read. Those that are not among the tokens listed (20 at
    most, as a rule) count as 0; each is less probable than any token listed. Raise NoDistribution if
    the endpoint returned no probabilities, or none of an answer; if answers are more than one token long there, so that
    the first only begins them.
    """
    values = answer_values(question)
    first = dict(_first_token(body))
    if not first:
        raise NoDistribution('the endpoint returns no probabilities (no "top_logprobs"); set readout = "verbalised"')
    if not values:
        raise NoDistribution("expected a question with a number or options, which have probabilities")
    tokens: dict[str, float] = {}
    for token, probability in first.items():  # " 4" and "4" are one answer
        tokens[token.strip()] = tokens.get(token.strip(), 0.0) + probability
    found = {value: tokens.get(value, 0.0) for value in values}
    mass = math.fsum(found.values())
    begun = {token: p for token, p in tokens.items() if p and _only_begins(token, values, tokens)}
    if math.fsum(begun.values()) > BEGUN * math.fsum({**found, **begun}.values()):
        most = max(begun, key=lambda token: begun[token])
        longer = next(value for value in values if value != most and value.startswith(most))
        raise NoDistribution(
            f"answers are more than one token at this endpoint: {math.fsum(begun.values()):.0%} of its first token may "
            f'only begin an answer, such as "{most}" of "{longer}"; set readout = "verbalised", or run the model here '
            f'(provider = "{provider_here()}")'
        )
    if not mass:
        raise NoDistribution("no answer is among the tokens that the endpoint lists")
    return Distribution(probabilities={value: one / mass for value, one in found.items()}, mass=min(mass, 1.0))


def _first_token(body: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    said = next(iter(top_tokens(body)), {})
    top = said.get("top_logprobs")
    for one in (said, *map(mapping, top)) if isinstance(top, list) else ():  # said need not be among the most probable
        token, logprob = one.get("token"), one.get("logprob")
        if isinstance(token, str) and isinstance(logprob, int | float) and logprob <= 1e-6:
            yield token, math.exp(max(min(logprob, 0.0), -1e4))


def _only_begins(token: str, values: Sequence[str], tokens: Mapping[str, float]) -> bool:
    """Return whether a first token may go on to a longer answer: "strong", or "1" where 10 is offered.

    Where the endpoint lists a number of several digits as one token, it writes numbers whole, and "1" is 1.
    """
    whole = token.isdecimal() and any(len(other) > 1 and other.isdecimal() for other in tokens)
    return bool(token) and not whole and any(value != token and value.startswith(token) for value in values)


def value_of(distribution: Distribution, question: Question) -> float | str:
    """Return what a distribution counts as: its mean where answers are numbers, else the one most probable option."""
    widget = widget_of(question.answer)
    scores = widget.scores(question.answer)
    if len(scores) == len(distribution.probabilities):
        return distribution.mean(scores) / widget.scale(question.answer)
    if len(distribution.most_probable) > 1:
        raise NoDistribution(f"equally probable: {', '.join(distribution.most_probable)}")
    (value,) = distribution.most_probable
    return scores.get(value, value)


def distribution_json(distribution: Distribution, question: Question) -> str:
    """Return a distribution as one line of JSON, for the tables."""

    def shortened(number: float) -> float:
        return float(f"{number:.{DIGITS}g}")

    record: dict[str, Any] = {
        "probabilities": {value: shortened(one) for value, one in distribution.probabilities.items()}
    }
    record["mass"] = shortened(distribution.mass)
    try:
        value = value_of(distribution, question)
    except NoDistribution:
        value = ""
    if isinstance(value, float):
        record["mean"] = shortened(value)
    return json.dumps(record, ensure_ascii=False)
