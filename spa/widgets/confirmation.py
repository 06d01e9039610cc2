"""A box to tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spa.records.form import Answer
from spa.widgets.payload import UnreadableAnswer, bare, quoted
from spa.widgets.widget import OfferedText, Say, Widget, listed

if TYPE_CHECKING:
    import numpy as np

CONFIRMED = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmAnswer(Answer):
    """A box to tick; the only accepted answer is "yes"."""

    text: str


class ConfirmationWidget(Widget[ConfirmAnswer]):
    """A box to tick, beside its words."""

    key = "confirmation"
    answer = ConfirmAnswer
    is_list = False

    def offers(self, answer: ConfirmAnswer) -> tuple[OfferedText, ...]:
        """Return what the box says."""
        return (OfferedText(role="box", text=answer.text),)

    def wanted(self, answer: ConfirmAnswer, say: Say, names: str, separator: str) -> str:
        """Return that "yes" is wanted."""
        return say("form.prompt_one_of", questions=names, values=listed([CONFIRMED], separator))

    def schema(self, answer: ConfirmAnswer) -> dict[str, Any]:
        """Return the schema of true."""
        return {"type": "boolean", "const": True}

    def controls(self, answer: ConfirmAnswer, name: str) -> dict[str, list[str] | None]:
        """Return the box."""
        return {name: [CONFIRMED]}

    def value(self, answer: ConfirmAnswer, raw: object) -> str:
        """Return "yes" where the box was ticked."""
        if raw is True or (isinstance(raw, str) and bare(raw) == CONFIRMED):
            return CONFIRMED
        raise UnreadableAnswer(f'expected "{CONFIRMED}", got {quoted(raw)}')

    def careless(self, answer: ConfirmAnswer, rng: np.random.Generator | None) -> str:
        """Return "yes"."""
        return CONFIRMED

    def as_json(self, answer: ConfirmAnswer, value: str) -> object:
        """Return true."""
        return True
