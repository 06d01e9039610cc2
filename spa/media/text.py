"""Texts: an output is what stands in its cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from spa.media.direction import direction_of, isolated
from spa.media.markup_signs import CHAT, HTML, LATEX, MARKDOWN, markup_of
from spa.media.medium import Content, Doubt, Medium
from spa.media.words import count_words

if TYPE_CHECKING:
    from spa.records.form import Exhibit

AS_MARKDOWN = 'set kind = "markdown" (item_kind for what systems were given) in [outputs]'
REMEDIES = {
    MARKDOWN: AS_MARKDOWN,
    LATEX: AS_MARKDOWN,
    HTML: "take the elements out",
    CHAT: 'set [outputs] kind = "conversation" (item_kind for what systems were given)',
}


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    marked = Markup("<mark>[{}]</mark>")
    words = "".join(marked.format(one.text) if one.marked else isolated(one.text) for one in exhibit.segments)
    return Markup(f'<div class="body" dir="{direction_of(exhibit.text)}">{words}</div>')


def _said(exhibit: Exhibit) -> str:
    return "".join([f"[{segment.text}]" if segment.marked else segment.text for segment in exhibit.segments])


def _no_seconds(content: Content) -> float:
    return 0.0


def _least_seconds(content: Content, per_100_words: float) -> float:
    return round(count_words(content.text or "") * per_100_words / 100, 2)


def _doubts(text: str) -> Iterator[Doubt]:
    """Say what a text is the source of: people would read its marks."""
    found = markup_of(text)
    if found is not None:
        yield Doubt(what=f"hold {found}, which people would read as it is written", do=REMEDIES[found], many=True)


TEXT = Medium(
    key="text",
    one="a text",
    many="texts",
    read="read",
    titles={"en": "Comparing texts", "zh": "文本比较", "ar": "مقارنة نصوص"},
    suffixes=(".txt", ".md", ".text"),
    has_words=True,
    shown=_shown,
    said=_said,
    doubts=_doubts,
    seconds=_no_seconds,
    least_seconds=_least_seconds,
)
