"""Emphasis beside characters of scripts that write no space there; what multiplies or stands for "to" is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spa.media.words import CJK

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"  # Korean writes a particle right after what it belongs to
_CHARACTER = re.compile(f"[{CJK}{HANGUL}]")


def between_characters(reader: MarkdownIt) -> MarkdownIt:
    """Let emphasis begin after and end before a Chinese, Japanese or Korean character.

    CommonMark wants a space there where the emphasis begins or ends with punctuation; these scripts write none.
    Signs that stand for "times", "to the power of" or "to" begin none: ``2*3*4``, ``x**2 + y**2``, ``5~10 km, 3~5 h``.
    """
    reader.inline.ruler.at("emphasis", _mark_emphasis)
    if "strikethrough" in reader.get_active_rules()["inline"]:
        reader.inline.ruler.at("strikethrough", _mark_struck)
    return reader


def _mark_emphasis(state: StateInline, silent: bool) -> bool:
    from markdown_it.rules_inline import emphasis

    start = state.pos
    if not emphasis.tokenize(state, silent):
        return False
    before, after = state.src[:start][-1:], state.src[state.pos :][:1]
    if state.src[start] == "*":
        for delimiter in state.delimiters[start - state.pos :]:
            delimiter.open = delimiter.open or (_CHARACTER.match(before) is not None and bool(after.strip()))
            delimiter.close = delimiter.close or (_CHARACTER.match(after) is not None and bool(before.strip()))
            if _is_latin(before) and _is_latin(after) and (before.isdigit() or after.isdigit()):
                delimiter.open = False
                delimiter.close = delimiter.close and not (before.isdigit() and after.isdigit())
    return True


def _mark_struck(state: StateInline, silent: bool) -> bool:
    from markdown_it.rules_inline import strikethrough

    start = state.pos
    if not strikethrough.tokenize(state, silent):
        return False
    before, after = state.src[:start][-1:], state.src[state.pos :][:1]
    if state.pos - start == 1 and before.isalnum():
        state.delimiters[-1].open = False
        state.delimiters[-1].close = state.delimiters[-1].close and not after.isalnum()
    return True


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()
