"""An answer widget: a rating in stars, sent as so many signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer, Question
from spa.widgets.payload import UnreadableAnswer, bare, quoted
from spa.widgets.widget import OfferedText, Say, Widget

if TYPE_CHECKING:
    import numpy as np

    from spa.records.raters import Reading

STAR = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class StarsAnswer(Answer):
    """One star up to so many; what each of them says is its ordinal."""

    stars: int
    best: str


class StarRating(Widget[StarsAnswer]):
    """A list from which so many stars are chosen."""

    key = "star_rating"
    answer = StarsAnswer
    script = "star_rating.js"
    collected = ("star_rating.css",)

    def offers(self, answer: StarsAnswer) -> tuple[OfferedText, ...]:
        """Return the stars, and the words of the best."""
        return (
            *(OfferedText(role="option", text=value, value=value) for value in self.values(answer)),
            OfferedText(role="end", text=answer.best),
        )

    def wanted(self, answer: StarsAnswer, say: Say, names: str, separator: str) -> str:
        """Return that one of the values is wanted."""
        return say("form.prompt_one_of", questions=names, values=separator.join(map(repr, self.values(answer))))

    def schema(self, answer: StarsAnswer) -> dict[str, Any]:
        """Return the schema of so many stars."""
        return {"type": "string", "enum": list(self.values(answer))}

    def controls(self, answer: StarsAnswer, name: str) -> dict[str, list[str] | None]:
        """Return the entries of the list."""
        return {name: list(self.values(answer))}

    def value(self, answer: StarsAnswer, raw: object) -> float:
        """Return the number of stars."""
        if isinstance(raw, str) and bare(raw) in self.values(answer):
            return float(len(bare(raw)))
        raise UnreadableAnswer(f"expected 1 to {answer.stars} stars, got {quoted(raw)}")

    def read_text(self, answer: StarsAnswer, question: Question, text: str, *, reading: Reading) -> str:
        """Return the stars of the text."""
        from spa.widgets.free_text.phrases import UnreadableText

        if STAR not in text:
            raise UnreadableText("the reply holds no star")
        return STAR * text.count(STAR)

    def values(self, answer: StarsAnswer) -> tuple[str, ...]:
        """Return one star up to all."""
        return tuple(STAR * number for number in range(1, answer.stars + 1))

    def scores(self, answer: StarsAnswer) -> dict[str, float]:
        """Return the number of stars."""
        return {value: float(len(value)) for value in self.values(answer)}

    def careless(self, answer: StarsAnswer, rng: np.random.Generator | None) -> str:
        """Return any number of stars, or all."""
        return STAR * (answer.stars if rng is None else int(rng.integers(1, answer.stars + 1)))

    def at(self, answer: StarsAnswer, share: float) -> str:
        """Return the nearest number of stars."""
        return STAR * (1 + round(min(max(share, 0), 1) * (answer.stars - 1)))
