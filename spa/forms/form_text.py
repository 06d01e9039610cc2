"""Everything a form says, in order. Web page, HIT and prompt say exactly this, or it is a bug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spa.media import medium_of
from spa.records.form import Answer, Audience, Exhibit, ExhibitsBlock, Form, Page, TextBlock
from spa.widgets import widget_of

Role = Literal["title", "markdown", "caption", "material", "question", "end", "option", "box"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextUnit:
    """One unit of text: what is said, as what, and by which exhibit."""

    role: Role
    text: str  # "markdown" is Markdown, everything else plain; "" where the material says nothing in words
    exhibit: Exhibit | None = None
    value: str | None = None  # of an option: what is sent


def pages_for(form: Form, audience: Audience) -> tuple[Page, ...]:
    """Return the pages for people (all) or for everybody (what an LLM gets too)."""
    return tuple([page for page in form.pages if audience == "people" or page.audience == "everybody"])


def page_text(page: Page) -> Iterator[TextUnit]:
    """Yield what one page says, in reading order."""
    yield TextUnit(role="title", text=page.title)
    for block in page.blocks:
        if isinstance(block, TextBlock):
            yield TextUnit(role="markdown", text=block.markdown)
        elif isinstance(block, ExhibitsBlock):
            for exhibit in exhibits_of(block):
                yield TextUnit(role="caption", text=exhibit.caption, exhibit=exhibit)
                yield TextUnit(role="material", text=medium_of(exhibit).said(exhibit), exhibit=exhibit)
        else:
            yield TextUnit(role="question", text=block.text)
            yield from answer_text(block.answer)


def exhibits_of(block: ExhibitsBlock) -> tuple[Exhibit, ...]:
    """Return the exhibits of a block in reading order."""
    return block.exhibits if block.heading is None else (block.heading, *block.exhibits)


def answer_text(answer: Answer) -> Iterator[TextUnit]:
    """Yield what is offered as an answer: the ends of a scale, options, a box."""
    for one in widget_of(answer).offers(answer):
        yield TextUnit(role=one.role, text=one.text, value=one.value)
