"""A whole number, entered with a slider and a number box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, Question
from spa.widgets.payload import LONGEST_NUMBER, UnreadableAnswer, as_number, quoted
from spa.widgets.widget import OfferedText, Say, Widget

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAnswer(Answer):
    """A whole number from ``low`` to ``high``.

    ``scale`` is what the number is divided by to become the parsed value: 100 for a
    preference probability, 1 for a rating from 0 to 100.
    """

    low: int
    high: int
    scale: int
    low_text: str
    high_text: str
    unit: str = ""  # "%" for probabilities
    sides: tuple[str, str] | None = None  # labels x and y, where the number is the chance that x is the better one


class NumberWidget(Widget[NumberAnswer]):
    """A box for a whole number, beside it the script's slider."""

    key = "number"
    answer = NumberAnswer
    own_texts = ("page.untouched",)
    collected = ("number.css", "number.js")

    def offers(self, answer: NumberAnswer) -> tuple[OfferedText, ...]:
        """Return the two ends of the scale."""
        return OfferedText(role="end", text=answer.low_text), OfferedText(role="end", text=answer.high_text)

    def wanted(self, answer: NumberAnswer, say: Say, names: str, separator: str) -> str:
        """Return that a whole number is wanted, from which to which."""
        return say("form.prompt_whole_number", questions=names, low=str(answer.low), high=str(answer.high))

    def schema(self, answer: NumberAnswer) -> dict[str, Any]:
        """Return the schema of a whole number."""
        return {"type": "integer", "minimum": answer.low, "maximum": answer.high}

    def gap(self, answer: NumberAnswer, say: Say) -> str:
        """Return which numbers are taken."""
        return say("page.gap_number", low=str(answer.low), high=str(answer.high))

    def is_scale(self, answer: NumberAnswer) -> bool:
        """Return that its ends tell the scale."""
        return True

    def read(self, answer: NumberAnswer, raw: object) -> float | str:
        """Return the number, divided by its scale; most are plain digits."""
        if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) <= LONGEST_NUMBER:
            number = int(raw)
            if answer.low <= number <= answer.high:
                return number / answer.scale
        return super().read(answer, raw)

    def value(self, answer: NumberAnswer, raw: object) -> float:
        """Return the number in whatever form it was written, divided by its scale."""
        number = as_number(raw, unit=answer.unit)
        if number is None or number != int(number) or not answer.low <= number <= answer.high:
            hint = " (70 means 70%)" if answer.unit == "%" and number is not None and 0 < number < 1 else ""
            raise UnreadableAnswer(
                f"expected a whole number from {answer.low} to {answer.high}, got {quoted(raw)}{hint}", number
            )
        return int(number) / answer.scale  # whole by whole is rounded once, so 70/100 is the 0.7 that one would write

    def read_text(self, answer: NumberAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the number that the text gives as its answer."""
        from spa.widgets.free_text.numbers import AnswerScale
        from spa.widgets.free_text.reader import Spoken, read_words

        ends = (str(answer.low), answer.low_text), (str(answer.high), answer.high_text)
        scale = AnswerScale.of(question, answer.low, answer.high, percent=answer.unit == "%", sides=answer.sides)
        return read_words(Spoken(question=question, named=ends, scale=scale), text, reading)

    def said_between(self, answer: NumberAnswer, text: str) -> float | None:
        """Return a fraction from 1 on; below it "0.7" may mean 70.

        >>> scale = NumberAnswer(low=0, high=100, scale=100, low_text="", high_text="", unit="%")
        >>> NumberWidget().said_between(scale, "72.5"), NumberWidget().said_between(scale, "0.7")
        (0.725, None)
        """
        number = as_number(text, unit=answer.unit)
        if number is None or number == int(number) or not max(answer.low, 1) <= number <= answer.high:
            return None
        return float(number / answer.scale)

    def values(self, answer: NumberAnswer) -> tuple[str, ...]:
        """Return all numbers of the scale."""
        return tuple(str(number) for number in range(answer.low, answer.high + 1))

    def scores(self, answer: NumberAnswer) -> dict[str, float]:
        """Return each number as itself."""
        return {str(number): float(number) for number in range(answer.low, answer.high + 1)}

    def scale(self, answer: NumberAnswer) -> int:
        """Return what numbers are divided by."""
        return answer.scale

    def careless(self, answer: NumberAnswer, rng: np.random.Generator | None) -> str:
        """Return any number, or the middle."""
        middle = (answer.low + answer.high) // 2
        return str(middle if rng is None else int(rng.integers(answer.low, answer.high + 1)))

    def at(self, answer: NumberAnswer, share: float) -> str:
        """Return the nearest whole number.

        >>> NumberWidget().at(NumberAnswer(low=0, high=100, scale=100, low_text="", high_text=""), 1.042)
        '100'
        """
        return str(min(max(round(answer.low + share * (answer.high - answer.low)), answer.low), answer.high))

    def as_json(self, answer: NumberAnswer, value: str) -> object:
        """Return the number."""
        return int(value)
