"""Conversations: an output is a list of turns, shown as a dialogue; system prompts and tools are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from spa.media.direction import direction_of
from spa.media.markdown_html import rendered
from spa.media.markup_signs import CHAT, markup_of
from spa.media.medium import Doubt, Medium
from spa.media.turns import Turn, canonical, turns_of
from spa.media.written import no_seconds, seconds_to_read

if TYPE_CHECKING:
    from spa.records.form import Exhibit

NAMES = ("role_system", "role_user", "role_assistant", "role_tool", "role_call")  # words of the form for them
FOLDED = ("system", "tool")


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    direction = direction_of(_read(exhibit.text))
    inside = "".join(_turn(turn, exhibit) for turn in turns_of(exhibit.text))
    return Markup(f'<div class="body conversation" dir="{direction}">{inside}</div>')


def _turn(turn: Turn, exhibit: Exhibit) -> str:
    name = escape(_name(turn, exhibit))
    if turn.call is not None:
        return (
            f'<details class="turn tool"><summary>{name}</summary><pre dir="ltr">{escape(turn.text)}</pre></details>\n'
        )
    made = rendered(turn.text)
    text = f'<div class="markdown" dir="{made.direction}">{made.html}</div>'
    if turn.role in FOLDED:
        return f'<details class="turn {turn.role}"><summary>{name}</summary>{text}</details>\n'
    return f'<div class="turn {turn.role}"><p class="role">{name}</p>{text}</div>\n'


def _name(turn: Turn, exhibit: Exhibit) -> str:
    """Return what a turn is called in the form's language; of a call the tool, too."""
    key = f"role_{'call' if turn.call is not None else turn.role}"
    named = dict(exhibit.names).get(key, turn.role)
    return named if turn.call is None else f"{named}: {turn.call}"


def _said(exhibit: Exhibit) -> str:
    return "\n\n".join(f"{_name(turn, exhibit)}:\n{turn.text}" for turn in turns_of(exhibit.text))


def _read(source: str) -> str:
    """Return what both sides say; what is folded may stay so."""
    spoken = [turn for turn in turns_of(source) if turn.role not in FOLDED and turn.call is None]
    return "\n".join(rendered(turn.text).text for turn in spoken)


def _claims(text: str) -> bool:
    return markup_of(text) == CHAT


def _doubts(source: str) -> Iterator[Doubt]:
    for turn in turns_of(source):
        made = rendered(turn.text)
        if turn.call is None and made.pictures:
            what = "have pictures of which people see the words alone"
            yield Doubt(what=what, do="leave these items out where pictures matter, as no filter does")
            return


CONVERSATION = Medium(
    key="conversation",
    one="a conversation",
    many="conversations",
    read="read",
    titles={"en": "Comparing conversations", "zh": "对话比较", "ar": "مقارنة محادثات"},
    suffixes=(),
    has_words=True,
    one_text=False,
    takes=canonical,
    nested=True,
    names=NAMES,
    shown=_shown,
    collected=tuple(Path(__file__).with_name(name) for name in ("markdown.css", "conversation.css")),
    fonts=(Path(__file__).with_name("mathematics.woff2"),),
    said=_said,
    reads=_read,
    claims=_claims,
    doubts=_doubts,
    seconds=no_seconds,
    least_seconds=seconds_to_read(_read),
)
