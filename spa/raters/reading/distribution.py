"""Probabilities of the answers as an answer: what ``readout = "logit"`` reads.

A local model records the probability of every option (field ``distribution`` of the body); a chat endpoint returns
those of the most probable first tokens (``top_logprobs``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spa.forms.form import ConfirmAnswer, NumberAnswer, OptionsAnswer, OrderAnswer, Question, SpansAnswer, TextAnswer
from spa.raters.endpoints.endpoint import LLMReply, listed, mapping, parts_of
from spa.raters.reading.free_text import UnreadableText, read_free_text
from spa.responses.submission import Missing, Response

BEGUN = 0.01  # most of what lies on answers that may lie on tokens which only begin one
EQUAL = 1e-9  # probabilities closer than this are a tie
DIGITS = 6  # significant ones, of probabilities in tables


class NoDistribution(Exception):
    """A body holds no probabilities of the answers; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How probable each answer is.

    ``probabilities`` maps the value of an option to its probability among the options (they sum to
    1); ``mass`` is the probability that the reply begins with any of them, in [0, 1].
    """

    probabilities: Mapping[str, float]
    mass: float

    def __post_init__(self) -> None:
        total = math.fsum(self.probabilities.values())
        if not self.probabilities or not all(0 <= one <= 1 for one in self.probabilities.values()):
            raise ValueError("expected probabilities from 0 to 1")
        if abs(total - 1) > 1e-6 or not 0 <= self.mass <= 1 + 1e-6:
            raise ValueError(f"expected probabilities that sum to 1, a mass from 0 to 1, got {total} and {self.mass}")

    @property
    def most_probable(self) -> tuple[str, ...]:
        """The values of the most probable options: one, or several that are equally probable."""
        most = max(self.probabilities.values())
        return tuple(value for value, one in self.probabilities.items() if most - one <= EQUAL)

    def mean(self, scores: Mapping[str, float]) -> float:
        """Return the expected score, given the score of each option."""
        return math.fsum(scores[value] * one for value, one in self.probabilities.items())


def answer_values(question: Question) -> tuple[str, ...]:
    """Return the values of the answers that a question takes, in its order; none where they cannot be counted."""
    match question.answer:
        case NumberAnswer(low=low, high=high):
            return tuple(str(number) for number in range(low, high + 1))
        case OptionsAnswer(options=options):
            return tuple(option.value for option in options)
        case OrderAnswer() | ConfirmAnswer() | TextAnswer() | SpansAnswer():
            return ()


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
        return read_free_text(question, text, reading="strict") not in found.most_probable
    except UnreadableText:
        return None


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
            '(provider = "local")'
        )
    if not mass:
        raise NoDistribution("no answer is among the tokens that the endpoint lists")
    return Distribution(probabilities={value: one / mass for value, one in found.items()}, mass=min(mass, 1.0))


def _first_token(body: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    if body.get("object") == "response":
        content = next((part["logprobs"] for part in parts_of(body) if part.get("logprobs")), None)
    else:
        choices = listed(body.get("choices"))
        content = mapping(mapping(choices[0]).get("logprobs")).get("content") if choices else None
    said = mapping(content[0]) if isinstance(content, list) and content else {}
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


def value_of(found: Distribution, question: Question) -> float | str:
    """Return what a distribution counts as: its mean where answers are numbers, else the one most probable option."""
    answer = question.answer
    if isinstance(answer, NumberAnswer):
        return found.mean({value: float(value) for value in found.probabilities}) / answer.scale
    options = answer.options if isinstance(answer, OptionsAnswer) else ()
    scores = {option.value: option.score for option in options if option.score is not None}
    if len(scores) == len(options):
        return found.mean(scores)
    if len(found.most_probable) > 1:
        raise NoDistribution(f"equally probable: {', '.join(found.most_probable)}")
    (value,) = found.most_probable
    return scores.get(value, value)


def distribution_json(found: Distribution, question: Question) -> str:
    """Return a distribution as one line of JSON, for the tables."""

    def shortened(number: float) -> float:
        return float(f"{number:.{DIGITS}g}")

    record: dict[str, Any] = {"probabilities": {value: shortened(one) for value, one in found.probabilities.items()}}
    record["mass"] = shortened(found.mass)
    try:
        value = value_of(found, question)
    except NoDistribution:
        value = ""
    if isinstance(value, float):
        record["mean"] = shortened(value)
    return json.dumps(record, ensure_ascii=False)
