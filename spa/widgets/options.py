"""One of several options, each with a round button."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup, escape

from spa.records.form import Answer, AnswerOption, Question
from spa.widgets.payload import UnreadableAnswer, as_number, bare, quoted, verbatim
from spa.widgets.widget import ESCAPED, OfferedText, Say, Widget, listed, offered_options

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

HALF = Decimal("0.5")
SHORT_OPTION = 32  # characters; a Likert scale with longer words is a list, not a row
SHORT_ANSWER = 12  # characters; answers no longer than this stand beside one another, as many as there is room for
MOST_NAMED = 12  # options, in the reason of an answer that is none of them


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsAnswer(Answer):
    """One of the options. ``half_points`` is set for Likert scales only: what becomes of 4.5."""

    options: tuple[AnswerOption, ...]
    half_points: Literal["keep", "floor", "missing"] | None = None


class OptionsWidget(Widget[OptionsAnswer]):
    """Round buttons: a Likert scale in a row, short answers in a line, sentences in a list."""

    key = "options"
    answer = OptionsAnswer
    own_texts = ()
    collected = ("options.css",)

    def offers(self, answer: OptionsAnswer) -> tuple[OfferedText, ...]:
        """Return the options."""
        return offered_options(answer.options)

    def wanted(self, answer: OptionsAnswer, say: Say, names: str, separator: str) -> str:
        """Return that one of the values is wanted."""
        return say("form.prompt_one_of", questions=names, values=listed(self.values(answer), separator))

    def schema(self, answer: OptionsAnswer) -> dict[str, Any]:
        """Return the schema of a number of a Likert scale, or of a value."""
        numbers = [_numeric_value(option) for option in answer.options]
        whole = [int(number) for number in numbers if number is not None and number == int(number)]
        if answer.half_points is not None and len(whole) == len(answer.options):
            return {"type": "integer", "enum": whole}
        return {"type": "string", "enum": [option.value for option in answer.options]}

    def is_scale(self, answer: OptionsAnswer) -> bool:
        """Return whether they are a Likert scale."""
        return answer.half_points is not None

    def arrangement(self, answer: OptionsAnswer) -> str:
        """Return how options stand on a page."""
        longest = max(len(option.text) for option in answer.options)
        if answer.half_points is not None and longest <= SHORT_OPTION:
            return "row"
        return "line" if longest <= SHORT_ANSWER else "list"

    def words(self, option: AnswerOption) -> Markup:
        """Return an option's text for a page; the words after a number stand smaller below it."""
        words = option.text.removeprefix(option.value)
        if words == option.text or not words.startswith((" ", "（")):
            return escape(option.text)
        return Markup("{}{}<small>{}</small>").format(option.value, " " if words[0] == " " else "", words.lstrip(" "))

    def controls(self, answer: OptionsAnswer, name: str) -> dict[str, list[str] | None]:
        """Return the values of the buttons."""
        return {name: [option.value for option in answer.options]}

    def longest(self, answer: OptionsAnswer) -> int:
        """Return the bytes of the longest option."""
        return ESCAPED * max(len(option.value) + len(option.text) for option in answer.options)

    def read(self, answer: OptionsAnswer, raw: object) -> float | str:
        """Return the score of the option, else its value; most are sent as a page offers them."""
        for option in answer.options:
            if raw == option.value:
                return _value_of(option)
        return super().read(answer, raw)

    def value(self, answer: OptionsAnswer, raw: object) -> float | str:
        """Return the score of the option, else its value; an option may be called by its text."""
        if isinstance(raw, str) or (isinstance(raw, int) and not isinstance(raw, bool)):
            text = bare(verbatim(raw))
            for option in answer.options:
                if text == option.value:
                    return _value_of(option)
            for option in answer.options:
                if text == option.text.strip():
                    return _value_of(option)
        number = as_number(raw)
        if number is not None:
            by_number = {value: option for option in answer.options if (value := _numeric_value(option)) is not None}
            if number in by_number:
                return _value_of(by_number[number])
            if answer.half_points is not None and {number - HALF, number + HALF} <= by_number.keys():
                return _half_point(answer, by_number[number - HALF], by_number[number + HALF], raw)
        offered = ", ".join(f'"{option.value}"' for option in answer.options[:MOST_NAMED])
        more = ", ..." if len(answer.options) > MOST_NAMED else ""
        raise UnreadableAnswer(f"expected one of {offered}{more}, got {quoted(raw)}", number)

    def read_text(self, answer: OptionsAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the option that the text gives as its answer."""
        from spa.widgets.free_text.numbers import AnswerScale
        from spa.widgets.free_text.reader import Spoken, read_words

        values = self.values(answer)
        counted = bool(values) and all(value.isdecimal() for value in values)
        scale = AnswerScale.of(question, min(map(Decimal, values)), max(map(Decimal, values))) if counted else None
        named = tuple((option.value, option.text) for option in answer.options)
        return read_words(Spoken(question=question, named=named, scale=scale, options=answer.options), text, reading)

    def values(self, answer: OptionsAnswer) -> tuple[str, ...]:
        """Return the values of the options."""
        return tuple(option.value for option in answer.options)

    def scores(self, answer: OptionsAnswer) -> dict[str, float]:
        """Return the scores of those options that have one."""
        return {option.value: option.score for option in answer.options if option.score is not None}

    def careless(self, answer: OptionsAnswer, rng: np.random.Generator | None) -> str:
        """Return any option, or the one in the middle."""
        place = len(answer.options) // 2 if rng is None else int(rng.integers(len(answer.options)))
        return answer.options[place].value

    def levels(self, answer: OptionsAnswer) -> tuple[str, ...]:
        """Return the values by their scores; in their own order without."""
        return tuple(option.value for option in sorted(answer.options, key=lambda option: option.score or 0.0))

    def at(self, answer: OptionsAnswer, share: float) -> str:
        """Return the option in whose part the share lies, where all options have parts of the same width."""
        levels = self.levels(answer)
        place = math.ceil(round(share * len(levels), 9)) - 1
        return levels[min(max(place, 0), len(levels) - 1)]

    def as_json(self, answer: OptionsAnswer, value: str) -> object:
        """Return the number of a Likert scale, or the value."""
        counted = answer.half_points is not None and all(option.value.isdecimal() for option in answer.options)
        return int(value) if counted else value

    def in_words(self, answer: OptionsAnswer, value: Any) -> str:
        """Return what is chosen in its own words; a number as one."""
        if isinstance(value, int):
            return super().in_words(answer, value)
        return next(option.text for option in answer.options if option.value == value)


def _half_point(answer: OptionsAnswer, below: AnswerOption, above: AnswerOption, raw: object) -> float | str:
    if answer.half_points == "floor":
        return _value_of(below)
    if answer.half_points == "keep" and below.score is not None and above.score is not None:
        return (below.score + above.score) / 2
    raise UnreadableAnswer(
        f'expected "{below.value}" or "{above.value}", got {quoted(raw)} (half points count as missing)',
        as_number(raw),
    )


def _value_of(option: AnswerOption) -> float | str:
    return option.value if option.score is None else float(option.score)


def _numeric_value(option: AnswerOption) -> Decimal | None:
    """Return the number that an option with a score is called by."""
    return None if option.score is None else as_number(option.value)
