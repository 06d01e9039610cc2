"""Texts: an output is what stands in its cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from markupsafe import Markup

from spa.media.direction import direction_of, isolated
from spa.media.medium import Content, Medium
from spa.media.words import count_words

if TYPE_CHECKING:
    from spa.records.form import Exhibit


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
    seconds=_no_seconds,
    least_seconds=_least_seconds,
)
