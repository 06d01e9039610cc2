"""Texts: an output is what stands in its cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from spa.media.direction import direction_of, isolated
from spa.media.markup_signs import CHAT, HTML, LATEX, MARKDOWN, is_code, markup_of
from spa.media.medium import Doubt, Medium
from spa.media.written import doubts_of_tools, no_seconds, said_with_marks, seconds_to_read

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
    kind, direction = ("body code", "ltr") if is_code(exhibit.text) else ("body", direction_of(exhibit.text))
    return Markup(f'<div class="{kind}" dir="{direction}">{words}</div>')


def _sent(exhibit: Exhibit) -> tuple[str, ...]:
    return (said_with_marks(exhibit),)


def _doubts(text: str) -> Iterator[Doubt]:
    """Say what a text is the source of: people would read its marks."""
    yield from doubts_of_tools(text)
    found = markup_of(text)
    if found is not None:
        yield Doubt(does=f"hold {found}, which people would read as it is written", do=REMEDIES[found], many=True)


TEXT = Medium(
    key="text",
    one="a text",
    many="texts",
    read="read",
    titles={"en": "Comparing texts", "zh": "文本比较", "ar": "مقارنة نصوص"},
    suffixes=(".txt", ".md", ".text"),
    shown=_shown,
    sent=_sent,
    doubts=_doubts,
    seconds=no_seconds,
    least_seconds=seconds_to_read(str),
)
