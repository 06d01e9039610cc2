"""Free text, kept as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, Question
from spa.widgets.payload import NO_ANSWER, UnreadableAnswer, quoted
from spa.widgets.widget import ESCAPED, OfferedText, Say, Widget

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

SIMULATED = "A simulated explanation."  # says what it is


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAnswer(Answer):
    """Free text, kept as it is. Without ``required`` an empty one is an answer too."""

    longest: int = 5000  # characters
    required: bool = True


class TextWidget(Widget[TextAnswer]):
    """A box for several lines."""

    key = "text"
    answer = TextAnswer
    collected = ("text.css",)
    is_list = False
    is_free = True

    def offers(self, answer: TextAnswer) -> tuple[OfferedText, ...]:
        """Return that nothing is offered."""
        return ()

    def wanted(self, answer: TextAnswer, say: Say, names: str, separator: str) -> str:
        """Return that a text is wanted."""
        return say("form.prompt_text", questions=names)

    def schema(self, answer: TextAnswer) -> dict[str, Any]:
        """Return the schema of a text."""
        return {"type": "string"}

    def longest(self, answer: TextAnswer) -> int:
        """Return the bytes of the longest text."""
        return ESCAPED * answer.longest

    def read(self, answer: TextAnswer, raw: object) -> float | str:
        """Return the text; a blank one where none is required."""
        return self.value(answer, raw)

    def value(self, answer: TextAnswer, raw: object) -> str:
        """Return the text as it is; "" for white space."""
        if not isinstance(raw, str):
            raise UnreadableAnswer(f"expected a text, got {quoted(raw)}")
        if not raw.strip():
            if answer.required:
                raise UnreadableAnswer(NO_ANSWER)
            return ""
        if len(raw) > answer.longest:
            raise UnreadableAnswer(f"expected at most {answer.longest} characters, got {len(raw)}")
        return raw

    def read_text(self, answer: TextAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the text itself."""
        return text

    def careless(self, answer: TextAnswer, rng: np.random.Generator | None) -> str:
        """Return a text that says that it is simulated."""
        return SIMULATED

    def in_words(self, answer: TextAnswer, value: Any) -> str:
        """Return the text itself."""
        return str(value)
