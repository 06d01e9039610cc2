"""Probabilities as answers: what counts, what is refused, and that nothing said in words is read as one."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.journal import JournalEntry
from spa.raters.endpoints.distribution import Distribution, answer_values
from spa.raters.reading import distribution_from_top_logprobs, read_turn, value_of
from spa.raters.vendors.local.option_tree import OptionTree, Path, SameTokens, option_tree
from spa.records.form import Answer, AnswerOption, Question
from spa.records.raters import RaterProtocol
from spa.records.submission import Missing, Response
from spa.widgets import OptionsAnswer
from tests.spa.hand_made import FIVE, HUNDRED, PERCENT, WINNER, hand_made

LOGIT = RaterProtocol(readout="logit", conversation="question", answer_format="text")
WORDS = OptionsAnswer(
    options=tuple(AnswerOption(value=value, text=value, score=None) for value in ("strongly agree", "neutral"))
)
TEN = OptionsAnswer(options=tuple(AnswerOption(value=str(n), text=str(n), score=n) for n in range(1, 11)))
AGREE = OptionsAnswer(options=tuple(AnswerOption(value=one, text=one) for one in ("Agree", "Agree in part")))
TARGET = next(hand_made()[0].questions("everybody")).target


def question(answer: Answer) -> Question:
    return Question(question_id="q1", text="How good?", answer=answer, target=TARGET)


def completion(top: dict[str, float], *, said: str | None = None) -> dict[str, Any]:
    """Return a chat completion of one token, as endpoints send it with ``logprobs``; probabilities, not logs."""
    listed = [{"token": token, "logprob": math.log(p) if p else -9999.0, "bytes": None} for token, p in top.items()]
    said = max(top, key=lambda token: top[token]) if said is None else said
    first = {"token": said, "logprob": math.log(top.get(said, 1e-4)), "bytes": None, "top_logprobs": listed}
    message = {"role": "assistant", "content": said, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "length", "logprobs": {"content": [first]}}
    return {"object": "chat.completion", "choices": [choice]}


def call(body: object) -> JournalEntry:
    text = json.dumps(body)
    return JournalEntry(
        kind="llm", scope="v", key="q1", attempt=1, request="{}", begun_at=0, outcome="ok", response=text
    )


def read(body: object, answer: Answer) -> Response | Missing:
    (found,) = read_turn([question(answer)], [call(body)], LOGIT).answers
    return found


def test_the_mean_of_a_scale_is_read_from_the_first_token() -> None:
    """By hand: (0.6 x 4 + 0.2 x 5 + 0.1 x 3) / 0.9 = 4.1111, with " 4" and "4" one answer."""
    body = completion({"4": 0.5, " 4": 0.1, "5": 0.2, "3": 0.1, "The": 0.05})
    answer = read(body, FIVE)
    assert isinstance(answer, Response)
    assert answer.value == pytest.approx(3.7 / 0.9)
    told = json.loads(answer.raw)
    assert told["probabilities"] == pytest.approx({"1": 0, "2": 0, "3": 1 / 9, "4": 6 / 9, "5": 2 / 9}, abs=1e-6)
    assert (told["mass"], told["mean"]) == (0.9, pytest.approx(4.11111))


def test_percent_is_the_mean_as_a_probability() -> None:
    answer = read(completion({"70": 0.5, "80": 0.3, "100": 0.1, "I": 0.1}), PERCENT)
    assert isinstance(answer, Response)
    assert answer.value == pytest.approx((35 + 24 + 10) / 0.9 / 100)
    whole = read(completion({"70": 0.5, "80": 0.5}), HUNDRED)
    assert isinstance(whole, Response)
    assert whole.value == pytest.approx(75)


def test_a_choice_is_the_most_probable_and_a_tie_is_missing() -> None:
    answer = read(completion({"x": 0.4, "y": 0.5, "tie": 0.1}), WINNER)
    assert isinstance(answer, Response)
    assert answer.value == "y"
    tied = read(completion({"x": 0.5, "y": 0.5}), WINNER)
    assert isinstance(tied, Missing)
    assert tied.reason == "equally probable: x, y"
    assert json.loads(tied.raw or "")["probabilities"] == {"x": 0.5, "y": 0.5, "tie": 0.0}


@pytest.mark.parametrize(
    ("top", "answer", "reason"),
    [
        ({"The": 0.7, "4": 0.2}, FIVE, "begins with an answer less often than min_mass = 0.5"),
        ({"The": 0.7, "I": 0.3}, FIVE, "no answer is among the tokens"),
        ({"7": 0.8, "8": 0.1}, PERCENT, "more than one token"),
        ({"5": 0.6, "4": 0.3, "1": 0.1}, TEN, 'may only begin an answer, such as "1" of "10"'),
        ({"Agree": 0.9, "Dis": 0.1}, AGREE, "more than one token"),
        ({"strong": 0.6, "neutral": 0.4}, WORDS, "more than one token"),
    ],
)
def test_what_the_first_token_cannot_tell_is_missing(top: dict[str, float], answer: Answer, reason: str) -> None:
    found = read(completion(top), answer)
    assert isinstance(found, Missing)
    assert reason in found.reason


def test_numbers_that_an_endpoint_writes_whole_are_read() -> None:
    """Where "10" or "20" is one token, "1" is 1; and where hardly anything lies on "1", it does not matter."""
    for top, mean in (({"1": 0.1, "5": 0.6, "10": 0.3}, 6.1), ({"8": 0.6, "9": 0.395, "1": 0.005}, 8.36)):
        answer = read(completion(top), TEN)
        assert isinstance(answer, Response)
        assert answer.value == pytest.approx(mean)


@pytest.mark.parametrize(("min_mass", "is_read"), [(0.5, False), (0.007, True), (0.0, True)])
def test_one_floor_holds_over_http_and_on_this_machine(min_mass: float, is_read: bool) -> None:
    shares = {"1": 0.0, "2": 0.0, "3": 0.1, "4": 0.8, "5": 0.1}
    local = {"distribution": {"probabilities": shares, "mass": 0.008}, "choices": [{"message": {"content": None}}]}
    http = completion({"The": 0.99, "3": 0.0008, "4": 0.0064, "5": 0.0008})
    for body in (local, http):
        protocol = LOGIT.model_copy(update={"min_mass": min_mass})
        (found,) = read_turn([question(FIVE)], [call(body)], protocol).answers
        assert isinstance(found, Response) == is_read
        assert json.loads(found.raw or "")["mass"] == pytest.approx(0.008)  # is on record either way


def test_a_token_said_that_is_not_listed_counts_once() -> None:
    body = completion({"4": 0.6, "5": 0.3}, said="2")
    body["choices"][0]["logprobs"]["content"][0]["logprob"] = math.log(0.05)
    found = distribution_from_top_logprobs(body, question(FIVE))
    assert found.mass == pytest.approx(0.95)
    assert distribution_from_top_logprobs(completion({"4": 0.6, "5": 0.3}), question(FIVE)).mass == pytest.approx(0.9)


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{"message": {"content": "4"}}]}, [], "4", None])
def test_words_are_never_read_as_probabilities(body: object) -> None:
    found = read(body, FIVE)
    assert isinstance(found, Missing)
    both = read_turn([question(FIVE)], [call(completion({"4": 1.0}))], RaterProtocol()).answers[0]
    assert isinstance(both, Missing)  # nor probabilities as words


def test_probabilities_of_other_answers_are_refused() -> None:
    stored = {"distribution": {"probabilities": {"1": 0.5, "2": 0.5}, "mass": 0.1}}
    found = read(stored | {"choices": [{"message": {"content": None, "role": "assistant"}}]}, FIVE)
    assert isinstance(found, Missing)
    assert "not those of this question's answers" in found.reason


FIELDS = ("choices", "logprobs", "content", "top_logprobs", "token", "logprob", "distribution", "probabilities", "mass")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner),
    )
)
def test_no_body_is_too_strange(body: object) -> None:
    assert isinstance(read(body, FIVE), Missing)


@given(st.lists(st.floats(0.001, 1), min_size=5, max_size=5), st.permutations(range(5)))
def test_relabelling_the_options_relabels_the_answer(shares: list[float], order: list[int]) -> None:
    total = math.fsum(shares)
    values = answer_values(question(FIVE))
    one = Distribution(probabilities={v: s / total for v, s in zip(values, shares, strict=True)}, mass=1.0)
    scores = {value: float(value) for value in values}
    moved = Distribution(probabilities={values[n]: one.probabilities[values[n]] for n in order}, mass=1.0)
    assert moved.mean(scores) == pytest.approx(one.mean(scores))
    mirrored = Distribution(
        probabilities={str(6 - int(value)): share for value, share in one.probabilities.items()}, mass=1.0
    )
    mean = value_of(one, question(FIVE))
    assert isinstance(mean, float)
    assert value_of(mirrored, question(FIVE)) == pytest.approx(6 - mean)


def characters(texts: Any) -> list[list[int]]:
    return [[ord(character) for character in text] for text in texts]


@given(
    st.sets(st.text(alphabet="01x", min_size=1, max_size=3), min_size=1, max_size=8),
    st.lists(st.floats(0.05, 1), min_size=4, max_size=4),
    st.integers(0, 1000),
)
def test_option_probability_by_prefix(options: set[str], weights: list[float], seed: int) -> None:
    """Against every string of three tokens, counted one by one."""
    alphabet = "01x."

    def next_token(before: str) -> dict[str, float]:
        turned = [weights[(number + 7 * len(before) + sum(map(ord, before)) + seed) % 4] for number in range(4)]
        return {token: one / sum(turned) for token, one in zip(alphabet, turned, strict=True)}

    listed = sorted(options)
    tree = option_tree("prompt", listed, characters)
    logs: dict[Path, dict[int, float]] = {}
    for place in tree.inner:
        table = next_token("".join(map(chr, place)))
        logs[place] = {token: math.log(table[chr(token)]) for token in tree.children(place)}
    found = tree.distribution(logs)
    counted = dict.fromkeys(listed, 0.0)
    for one in alphabet:
        for two in alphabet:
            for three in alphabet:
                reply = one + two + three
                p = next_token("")[one] * next_token(one)[two] * next_token(one + two)[three]
                begun = [option for option in listed if reply.startswith(option)]
                if begun:
                    counted[max(begun, key=len)] += p
    mass = math.fsum(counted.values())
    assert found.mass == pytest.approx(mass)
    assert found.probabilities == pytest.approx({option: one / mass for option, one in counted.items()})


def test_options_are_cut_as_they_follow_the_prompt() -> None:
    """A tokeniser that puts a colon and a digit together: the colon at the prompt's end is given up."""

    def encode(texts: Any) -> list[list[int]]:
        pieces = []
        for text in texts:
            joined = text.replace(":1", "\ue001").replace(":2", "\ue002")
            pieces.append([ord(character) for character in joined])
        return pieces

    tree = option_tree("Rating:", ["1", "2"], encode)
    assert (tree.dropped, dict(tree.paths)) == (1, {"1": (0xE001,), "2": (0xE002,)})
    with pytest.raises(SameTokens, match="'1' and '2'"):
        option_tree("Rating:", ["1", "2"], lambda texts: [[0] * len(text) for text in texts])
    assert OptionTree(paths={"1": (1,), "10": (1, 0)}).inner == ((), (1,))
