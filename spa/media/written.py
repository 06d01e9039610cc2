"""What media of written words share: how they are said to a model with the files within, and how long they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from spa.media.markup_signs import left_by_tools
from spa.media.medium import Content, Doubt
from spa.media.words import count_words

if TYPE_CHECKING:
    from spa.records.form import Exhibit


def said_with_marks(exhibit: Exhibit) -> str:
    """Return a text with its marked words in [square brackets]."""
    return "".join([f"[{segment.text}]" if segment.marked else segment.text for segment in exhibit.segments])


def no_seconds(content: Content) -> float:
    """Return that nothing is looked at beside the reading of words."""
    return 0.0


def seconds_to_read(reads: Callable[[str], str]) -> Callable[[Content, float], float]:
    """Return for how long a text must be on screen, where people read of it what ``reads`` returns."""

    def least_seconds(content: Content, per_100_words: float) -> float:
        return round(count_words(reads(content.text or "")) * per_100_words / 100, 2)

    return least_seconds


def doubts_of_tools(text: str) -> Iterator[Doubt]:
    """Say what a model or a tool left in a text, whatever its medium."""
    if (found := left_by_tools(text)) is not None:
        do = "take it out of the table, unless people are to judge it"
        yield Doubt(does=f"hold {found}, which people would read", do=do)
