"""What an answer widget brings: how a kind of answer is asked for, on pages and in prompts, and how it is read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from spa.errors import StudyError
from spa.records.form import Answer, AnswerOption, Question
from spa.widgets.payload import NO_ANSWER, UnreadableAnswer, bare

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

A = TypeVar("A", bound=Answer)
ESCAPED = 12  # bytes of a character at most, as a page sends it: four in UTF-8, each as %XX


class Say(Protocol):
    """The texts of the form's language: a key with what its placeholders become -> a text."""

    def __call__(self, key: str, **values: str) -> str:
        """Return the text of a key."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedText:
    """One unit of what is offered: an end of a scale, an option, a box; ``value`` is what is sent for an option."""

    role: Literal["end", "option", "box"]
    text: str
    value: str | None = None


class Widget(ABC, Generic[A]):
    """One answer widget: what there is to know of one class of answers.

    Its template stands beside its module as ``KEY.html``: a macro ``ask(question, state, say, widget)``.
    """

    key: str
    answer: type[A]
    own_texts: tuple[str, ...] | None = None  # of the locale, that the page asks with; None: each page is rendered anew
    late_texts: tuple[str, ...] = ()  # of the locale, without which a translation of a study's own may do
    script: str | None = None  # file beside the module, served with pages that ask for such an answer
    collected: tuple[str, ...] = ()  # files beside the module: parts of the style sheet and of the script of all pages
    is_list = True  # whether an empty line follows in a prompt what is offered
    is_free = False  # whether the answer is what the person or model writes, by whatever rule it is read

    # ---- how it is asked for ----

    @abstractmethod
    def offers(self, answer: A) -> tuple[OfferedText, ...]:
        """Return what is offered as an answer, on page and in prompt."""

    @abstractmethod
    def wanted(self, answer: A, say: Say, names: str, separator: str) -> str:
        """Return the line of a prompt that says what the questions named take."""

    @abstractmethod
    def schema(self, answer: A) -> dict[str, Any]:
        """Return the JSON Schema of an answer; every value that it allows is read."""

    def gap(self, answer: A, say: Say) -> str:
        """Return what the page says of an answer that cannot be used."""
        return say("page.gap_unusable")

    def is_scale(self, answer: A) -> bool:
        """Return whether the answers are points of a scale, told by its two ends."""
        return False

    # ---- what a page sends ----

    def parts(self, answer: A) -> Sequence[str]:
        """Return what the fields of a page hold each; "" is that of the question's own name."""
        return ("",)

    def fields(self, answer: A, name: str) -> dict[str, str]:
        """Return the fields in which a page sends the answer to the question ``name``, by what each holds."""
        return {part: f"{name}-{part}" if part else name for part in self.parts(answer)}

    def controls(self, answer: A, name: str) -> dict[str, list[str] | None]:
        """Return the values that each field of a page offers; ``None`` for free entry."""
        return dict.fromkeys(self.fields(answer, name).values())

    def longest(self, answer: A) -> int:
        """Return how many bytes the answer may take, beside a few for each field."""
        return 0

    def sent(self, answer: A, name: str, payload: Mapping[str, object]) -> object:
        """Return what a payload holds for the question ``name``; ``None`` where that is nothing."""
        return payload.get(name)

    def sends(self, answer: A, name: str, value: str) -> dict[str, str]:
        """Return the fields that a page sends for an answer, as simulated annotators write it."""
        return {name: value}

    # ---- how it is read ----

    @abstractmethod
    def value(self, answer: A, raw: object) -> float | str:
        """Return the value of what arrived, which is not blank; raise UnreadableAnswer."""

    def read(self, answer: A, raw: object) -> float | str:
        """Return the value of what arrived; raise UnreadableAnswer with the reason where it is none."""
        if isinstance(raw, str) and not bare(raw):
            raise UnreadableAnswer(NO_ANSWER)
        return self.value(answer, raw)

    def read_text(self, answer: A, question: Question, text: str, *, reading: Reading) -> str:
        """Return what a free text answers to the question by a rule, in the form in which a page would send it.

        Raise UnreadableText where it gives no answer, or more than one.
        """
        raise TypeError(f"no free text answers {type(answer).__name__}")

    def said_between(self, answer: A, text: str) -> float | None:
        """Return the value of a number between two that a page offers, as a free text gives it; ``None`` of others."""
        return None

    def is_written(self, raw: object) -> bool:
        """Return whether what arrived may hold what somebody wrote freely."""
        return self.is_free

    def keeps_written(self, value: str | None) -> bool:
        """Return whether the value, where it is no number, holds what somebody wrote freely."""
        return self.is_free

    # ---- answers that have probabilities, or count as numbers ----

    def values(self, answer: A) -> tuple[str, ...]:
        """Return the values of all answers, in order; none where they cannot be counted."""
        return ()

    def scores(self, answer: A) -> dict[str, float]:
        """Return what each value counts as; none for names."""
        return {}

    def scale(self, answer: A) -> int:
        """Return what a score is divided by to become the value."""
        return 1

    # ---- what is simulated ----

    @abstractmethod
    def careless(self, answer: A, rng: np.random.Generator | None) -> str:
        """Return what somebody answers who does not read: at random, or without ``rng`` always alike."""

    def levels(self, answer: A) -> tuple[str, ...]:
        """Return the values of a rating from the worst to the best; none where they are not told apart one by one."""
        return ()

    def at(self, answer: A, share: float) -> str:
        """Return the rating at a share, from 0 to 1, of the way from the worst to the best."""
        raise TypeError(f"{self.answer.__name__} holds no rating")

    def as_json(self, answer: A, value: str) -> object:
        """Return an answer, as simulated annotators write it, as its JSON Schema wants it."""
        return value

    def in_words(self, answer: A, value: Any) -> str:
        """Return a value of :meth:`as_json` as a sentence that a model may say."""
        return f"My answer is {value}."

    def text_of(self, name: str) -> str:
        """Return a file that stands beside the widget's module."""
        return read_beside(type(self).__module__, name)


def said_if_known(say: Say, key: str) -> str:
    """Return a text without placeholders; "" where a translation of a study's own, made before it, lacks it."""
    try:
        return say(key)
    except StudyError:
        return ""


def offered_options(options: Iterable[AnswerOption]) -> tuple[OfferedText, ...]:
    """Return options as they are offered, in their order."""
    return tuple([OfferedText(role="option", text=one.text, value=one.value) for one in options])


def listed(values: Sequence[str], separator: str) -> str:
    """Return values as a prompt lists them, in quotation marks."""
    return separator.join([json.dumps(value, ensure_ascii=False) for value in values])


@cache
def read_beside(module: str, name: str) -> str:
    """Return the text of a file beside a module."""
    return (files(module.rpartition(".")[0]) / name).read_text(encoding="utf-8")
