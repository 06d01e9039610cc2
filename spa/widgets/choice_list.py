"""A choice list: in each row something for sure or a gamble, whose chance rises from row to row.

An answer is written as a text, "5 sure, 50 sure, 95 chance". Whoever switches more than once has answered too: nothing
is mended, and the page does not object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, AnswerOption, Question
from spa.widgets.payload import NO_ANSWER, UnreadableAnswer, bare, object_schema, quoted
from spa.widgets.widget import OfferedText, Say, Widget, listed, offered_options

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

SURE, CHANCE = "sure", "chance"
BOTH = (SURE, CHANCE)
BETWEEN = ", "  # between the rows of an answer
NOT_ALL = "the reply does not give one choice for each chance"
CALLED = {
    SURE: r"\bsure\b|确定|مضمون|\bsicher\b|\bsûr\b",
    CHANCE: r"\bgamble\b|\bby chance\b|抽签|القرعة|\blotterie\b|\bloterie\b",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceListAnswer(Answer):
    """A choice in each row; the value of a row is its chance in percent, and the rows rise."""

    options: tuple[AnswerOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """What an answer says: how often it switches, and between which chances it does where it does so once.

    ``lower`` and ``upper`` are shares; 0 and 1 where one is chosen in all rows. Both are None where the answer switches
    more than once, or from the gamble to what is sure.
    """

    switches: int
    lower: float | None = None
    upper: float | None = None


class ChoiceListWidget(Widget[ChoiceListAnswer]):
    """Two round buttons in each row."""

    key = "choice_list"
    answer = ChoiceListAnswer
    collected = ("choice_list.css",)
    late_texts = ("page.gap_choice_list", "page.sure", "page.chance", "page.of_output", "form.prompt_choice_list")

    def offers(self, answer: ChoiceListAnswer) -> tuple[OfferedText, ...]:
        """Return the gambles."""
        return offered_options(answer.options)

    def wanted(self, answer: ChoiceListAnswer, say: Say, names: str, separator: str) -> str:
        """Return that a choice is wanted for each chance."""
        return say("form.prompt_choice_list", questions=names, values=listed(_chances(answer), separator))

    def schema(self, answer: ChoiceListAnswer) -> dict[str, Any]:
        """Return the schema of an object with a choice for each chance."""
        return object_schema({chance: {"type": "string", "enum": [*BOTH]} for chance in _chances(answer)})

    def gap(self, answer: ChoiceListAnswer, say: Say) -> str:
        """Return that a choice is wanted in each row."""
        return say("page.gap_choice_list")

    def parts(self, answer: ChoiceListAnswer) -> tuple[str, ...]:
        """Return the chances: a page sends a choice for each."""
        return _chances(answer)

    def controls(self, answer: ChoiceListAnswer, name: str) -> dict[str, list[str] | None]:
        """Return the two choices, for all fields."""
        return {field: [*BOTH] for field in self.fields(answer, name).values()}

    def longest(self, answer: ChoiceListAnswer) -> int:
        """Return the bytes of a choice in each row."""
        return len(CHANCE) * len(answer.options)

    def sent(self, answer: ChoiceListAnswer, name: str, payload: Mapping[str, object]) -> object:
        """Return what arrived under the question's own name, else the choices by their chances."""
        raw = payload.get(name)
        if raw is not None:
            return raw
        return {part: payload[field] for part, field in self.fields(answer, name).items() if field in payload} or None

    def sends(self, answer: ChoiceListAnswer, name: str, value: str) -> dict[str, str]:
        """Return a choice for each row; "" sends nothing."""
        fields = self.fields(answer, name)
        return {fields[chance]: choice for chance, choice in _rows(value)}

    def value(self, answer: ChoiceListAnswer, raw: object) -> str:
        """Read the choices of an object, or of a text as answers are written; nothing is filled in."""
        chances = _chances(answer)
        if isinstance(raw, str):
            found = [tuple(part.split()) for part in bare(raw).split(BETWEEN.strip())]
            pairs = [part for part in found if len(part) == 2]
            raw = dict(pairs) if len(pairs) == len(found) == len(dict(pairs)) else {"": raw}
        if not isinstance(raw, dict) or not set(raw) <= set(chances):
            expected = f"an object with {', '.join(chances)}, each one of {', '.join(BOTH)}"
            raise UnreadableAnswer(f"expected {expected}, got {quoted(raw)}")
        if all(isinstance(one, str) and not bare(one) for one in raw.values()):
            raise UnreadableAnswer(NO_ANSWER)
        made = []
        for chance in chances:
            one = raw.get(chance)
            choice = bare(one) if isinstance(one, str) else None
            if choice not in BOTH:
                got = quoted(one) if chance in raw else "none"
                raise UnreadableAnswer(f"expected {SURE} or {CHANCE} at a chance of {chance}%, got {got}")
            made.append(f"{chance} {choice}")
        return BETWEEN.join(made)

    def read_text(self, answer: ChoiceListAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the choices that a text gives, whatever the rule: a part of them would be no answer."""
        from spa.widgets.free_text.whole_answers import read_whole_answer

        return read_whole_answer(
            text,
            question.question_id,
            value=partial(self.value, answer),
            named=partial(_named, answer),
            incomplete=NOT_ALL,
        )

    def careless(self, answer: ChoiceListAnswer, rng: np.random.Generator | None) -> str:
        """Return anything in each row, or what is sure in all."""
        taken = [0] * len(answer.options) if rng is None else rng.integers(2, size=len(answer.options)).tolist()
        return BETWEEN.join(f"{chance} {BOTH[one]}" for chance, one in zip(_chances(answer), taken, strict=True))

    def as_json(self, answer: ChoiceListAnswer, value: str) -> object:
        """Return the object of all choices."""
        return dict(_rows(value))

    def in_words(self, answer: ChoiceListAnswer, value: Any) -> str:
        """Return the choice at each chance."""
        words = {SURE: "for sure", CHANCE: "the gamble"}
        return f"At {', at '.join(f'{chance}% {words[choice]}' for chance, choice in value.items())}."


def switch_of(value: str) -> Switch:
    """Return what an answer says.

    >>> switch_of("5 sure, 50 sure, 95 chance")
    Switch(switches=1, lower=0.5, upper=0.95)
    >>> switch_of("5 chance, 50 chance, 95 chance").upper
    0.05
    >>> switch_of("5 sure, 50 chance, 95 sure")
    Switch(switches=2, lower=None, upper=None)
    """
    rows = _rows(value)
    choices = [choice for _, choice in rows]
    switches = sum(one != other for one, other in pairwise(choices))
    n_sure = choices.count(SURE)
    if choices != [SURE] * n_sure + [CHANCE] * (len(choices) - n_sure):
        return Switch(switches=switches)
    ends = [0.0, *(int(chance) / 100 for chance, _ in rows), 1.0]
    return Switch(switches=switches, lower=ends[n_sure], upper=ends[n_sure + 1])


def list_switching_at(answer: ChoiceListAnswer, share: float) -> str:
    """Return the answer of somebody to whom what is sure is worth as much as a gamble with this chance."""
    choices = [SURE if share >= int(chance) / 100 else CHANCE for chance in _chances(answer)]
    return BETWEEN.join(f"{chance} {choice}" for chance, choice in zip(_chances(answer), choices, strict=True))


def _rows(value: str) -> list[tuple[str, str]]:
    parts = (part.partition(" ") for part in value.split(BETWEEN)) if value else ()
    return [(chance, choice) for chance, _, choice in parts]


def _chances(answer: ChoiceListAnswer) -> tuple[str, ...]:
    return tuple(option.value for option in answer.options)


def _named(answer: ChoiceListAnswer, text: str) -> tuple[str, str] | None:
    """Return the answer of a text that names each chance once, with a choice after it; beside it the text up to there.

    Else nothing.
    """
    chances = _chances(answer)
    words = rf"(?P<sure>(?i:{CALLED[SURE]}))|(?P<chance>(?i:{CALLED[CHANCE]}))|(?<![\d.])(?P<number>\d+)(?!\.?\d)"
    matches = [match for match in re.finditer(words, text) if match.lastgroup != "number" or match[0] in chances]
    named, given = matches[::2], matches[1::2]
    if [match[0] for match in named] != [*chances] or len(given) != len(chances):
        return None
    if any(match.lastgroup not in BOTH for match in given):
        return None
    made = [f"{one[0]} {other.lastgroup}" for one, other in zip(named, given, strict=True)]
    return BETWEEN.join(made), text[: matches[-1].end()]
