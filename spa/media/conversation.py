"""Conversations: an output is a list of turns, shown as a dialogue; system prompts and tools are folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from spa.media.direction import direction_of
from spa.media.markdown_html import rendered
from spa.media.markup_signs import CHAT, markup_of
from spa.media.medium import Doubt, Medium, Turns
from spa.media.pictures import Picture, doubts_about, files_of, with_files, with_pictures
from spa.media.turn_parts import Turn
from spa.media.turns import canonical, turns_of, written
from spa.media.written import no_seconds, seconds_to_read

if TYPE_CHECKING:
    from spa.records.form import Exhibit

NAMES = ("role_system", "role_user", "role_assistant", "role_tool", "role_call")  # words of the form for them
FOLDED = ("system", "tool")
_JOINED = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")  # between the words of an identifier
_ESCAPED = re.compile(r"\\[nrt]")  # white space in the JSON of arguments


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    direction = direction_of(_read(exhibit.text))
    inner = exhibit.inner
    inside = "".join(_turn(turn, exhibit, inner, address) for turn in turns_of(exhibit.text))
    return Markup(f'<div class="body conversation" dir="{direction}">{inside}</div>')


def _turn(turn: Turn, exhibit: Exhibit, inner: Mapping[str, Exhibit], address: Callable[[Exhibit], str]) -> str:
    name = escape(f"{_name(turn, exhibit)}:")  # as it is said
    if turn.call is not None:
        return (
            f'<details class="turn tool"><summary>{name}</summary><pre dir="ltr">{escape(turn.text)}</pre></details>\n'
        )
    made = rendered(turn.text)
    html = with_pictures(made.html, made.pictures, inner, address)
    text = f'<div class="markdown" dir="{made.direction}">{html}</div>'
    if turn.role in FOLDED:
        return f'<details class="turn {turn.role}"><summary>{name}</summary>{text}</details>\n'
    return f'<div class="turn {turn.role}"><p class="role">{name}</p>{text}</div>\n'


def _name(turn: Turn, exhibit: Exhibit) -> str:
    """Return what a turn is called in the form's language, and who speaks where that is said; of a call the tool."""
    key = f"role_{'call' if turn.call is not None else turn.role}"
    named = dict(exhibit.names).get(key, turn.role)
    named = named if turn.name is None else f"{named} ({turn.name})"
    return named if turn.call is None else f"{named}: {turn.call}"


def _sent(exhibit: Exhibit) -> tuple[str | Exhibit, ...]:
    said = "\n\n".join(f"{_name(turn, exhibit)}:\n{turn.text}" for turn in turns_of(exhibit.text))
    return with_files(said, _pictures(exhibit.text) if exhibit.within else (), exhibit.inner)


def _names_within(source: str) -> Iterable[tuple[str, str]]:
    return files_of(_pictures(source)) if "![" in source else ()


def _pictures(source: str) -> list[Picture]:
    written = [turn.text for turn in turns_of(source) if turn.call is None]
    return [picture for text in written for picture in rendered(text).pictures]


def _read(source: str) -> str:
    """Return what both sides say; what is folded may stay so."""
    spoken = [turn for turn in turns_of(source) if turn.role not in FOLDED and turn.call is None]
    return "\n".join(rendered(turn.text).text for turn in spoken)


def _told(source: str) -> str:
    """Return what all turns say, the names of tools also word by word: of ``look_up``, ``lookUp``, ``look.up``."""
    said: list[str] = []
    for turn in turns_of(source):
        said += [] if turn.name is None else [turn.name, _JOINED.sub(" ", turn.name)]
        if turn.call is None:
            said.append(turn.text)
        else:
            said += (turn.call, _JOINED.sub(" ", turn.call), _ESCAPED.sub(" ", turn.text))
    return "\n".join(said)


@lru_cache(1024)
def _cut(source: str) -> Turns:
    """Cut a dialogue after each turn of the assistant, with its calls of tools and what these returned."""
    each: list[str] = []
    since: list[Turn] = []
    answered = False
    for turn in turns_of(source):
        if answered and turn.role in ("user", "system"):
            each.append(written(since))
            since, answered = [], False
        since.append(turn)
        answered = answered or turn.role == "assistant"
    return Turns(each=(*each, written(since)) if answered else tuple(each), rest=bool(each) and not answered)


def _claims(text: str) -> bool:
    return markup_of(text) == CHAT


def _doubts(source: str) -> Iterator[Doubt]:
    yield from doubts_about(_pictures(source))


CONVERSATION = Medium(
    key="conversation",
    one="a conversation",
    many="conversations",
    read="read",
    titles={"en": "Comparing conversations", "zh": "对话比较", "ar": "مقارنة محادثات"},
    suffixes=(),
    takes=canonical,
    nested=True,
    names=NAMES,
    holds="image",
    names_within=_names_within,
    shown=_shown,
    collected=tuple(Path(__file__).with_name(name) for name in ("markdown.css", "conversation.css")),
    sent=_sent,
    reads=_read,
    told=_told,
    turns=_cut,
    claims=_claims,
    doubts=_doubts,
    seconds=no_seconds,
    least_seconds=seconds_to_read(_read),
)
