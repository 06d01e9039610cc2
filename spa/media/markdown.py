"""Markdown: an output is what stands in its cell, shown as a chat shows it; a model is sent the source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape, unescape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from spa.errors import shortened
from spa.media.markdown_html import rendered
from spa.media.markup_signs import LATEX, markup_of
from spa.media.markup_signs import MARKDOWN as MARKS
from spa.media.medium import Doubt, Medium
from spa.media.pictures import doubts_about, files_of, with_files, with_pictures
from spa.media.written import doubts_of_tools, no_seconds, said_with_marks, seconds_to_read
from spa.records.rendered_text import in_text

if TYPE_CHECKING:
    from spa.records.form import Exhibit

SIGNS = (MARKS, LATEX)
_PIECE = re.compile(r"<[^>]*>|[^<]+")


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    made = rendered(exhibit.text)
    html: str = made.html
    if any(segment.marked for segment in exhibit.segments):
        html = "".join(_marked(html, list(_marks(exhibit, made.text))))
    html = with_pictures(html, made.pictures, exhibit.inner, address)
    return Markup(f'<div class="body markdown" dir="{made.direction}">{html}</div>')


def _marks(exhibit: Exhibit, text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of the text that are marked, from the segments of its source."""
    source, place = exhibit.text, 0
    for segment in exhibit.segments:
        if segment.marked and (found := in_text(source, text, place, place + len(segment.text))) is not None:
            yield found
        place += len(segment.text)


def _marked(html: str, marks: list[tuple[int, int]]) -> Iterator[str]:
    """Yield HTML whose text is marked at places, within brackets, however elements part it."""
    place = begun = 0
    for piece in _PIECE.findall(html):
        if piece.startswith("<"):
            yield piece
            continue
        text = unescape(piece)
        if not text.strip():  # between rows of a table no other element may stand
            yield piece
            place += len(text)
            continue
        at = 0
        while begun < len(marks) and marks[begun][1] <= place:
            begun += 1
        for start, end in islice(marks, begun, None):
            if start >= place + len(text):
                break
            first, last = max(start - place, at), min(end - place, len(text))
            if first < last:
                yield escape(text[at:first], quote=False)
                yield f"<mark>[{escape(text[first:last], quote=False)}]</mark>"
                at = last
        yield escape(text[at:], quote=False)
        place += len(text)


def _sent(exhibit: Exhibit) -> tuple[str | Exhibit, ...]:
    pictures = rendered(exhibit.text).pictures if exhibit.within else ()
    return with_files(said_with_marks(exhibit), pictures, exhibit.inner)


def _names_within(source: str) -> Iterable[tuple[str, str]]:
    return files_of(rendered(source).pictures) if "![" in source else ()


def _read(source: str) -> str:
    return rendered(source).text


def _claims(text: str) -> bool:
    return markup_of(text) in SIGNS


def _doubts(source: str) -> Iterator[Doubt]:
    """Say what of the source people do not see, and which formulas they see as source."""
    yield from doubts_of_tools(source)
    made = rendered(source)
    if lost := made.lost(source):
        yield Doubt(does="hold words that are not shown", do=f"look at {shortened(', '.join(lost), 120)}")
    if made.formulas:
        what = "have formulas that are shown as their source"
        yield Doubt(does=what, do=f"look at {shortened(made.formulas[0], 160)}")
    yield from doubts_about(made.pictures)


MARKDOWN = Medium(
    key="markdown",
    one="a text",
    many="texts",
    read="read",
    titles={"en": "Comparing texts", "zh": "文本比较", "ar": "مقارنة نصوص"},
    suffixes=(),  # by its signs: a file of any name may hold it
    holds="image",
    names_within=_names_within,
    shown=_shown,
    collected=(Path(__file__).with_name("markdown.css"),),
    sent=_sent,
    reads=_read,
    claims=_claims,
    doubts=_doubts,
    seconds=no_seconds,
    least_seconds=seconds_to_read(_read),
)
