"""A text that was taken out of a conversation, with the dialogue that it stood in."""

from __future__ import annotations


class Spoken(str):
    """A text, with the conversation from which it was taken as JSON.

    ``dialogue`` is all of it. ``before`` is what stands before the text; ``None`` where more than the text follows it.
    """

    __slots__ = ("before", "dialogue")
    before: str | None
    dialogue: str

    def __new__(cls, text: str, dialogue: str, before: str | None = None) -> Spoken:
        """Make a text."""
        made = super().__new__(cls, text)
        made.dialogue, made.before = dialogue, before
        return made
