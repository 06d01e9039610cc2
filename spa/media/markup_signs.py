"""Signs that a text is the source of something else, which people would see as it is written."""

from __future__ import annotations

import json
import re

_MARKDOWN = (
    re.compile(r"^#{1,6} \S", re.MULTILINE),
    re.compile(r"(?<![*\w])\*\*(?=\S)[^*\n]+\*\*(?!\*)"),
    re.compile(r"^(?:```|~~~)", re.MULTILINE),
    re.compile(r"^\|?[ :]*-{3,}[ :]*\|[-| :]*$", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]+\]\(https?://[^)\s]+\)"),
    re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    re.compile(r"^[-*+] +\S.*\n+[-*+] +\S", re.MULTILINE),
)
_LATEX = re.compile(
    r"\\\[|\\\(|\$\$|\\(?:frac|sqrt|begin|text|mathbb|mathrm|boxed|cdot|times|le|ge)\b"
    r"|(?<![\\$\w])\$(?=\S)(?=[^$\n]*[\\^_=])[^$\n]+(?<=\S)\$(?![\w$])"
)
_HTML = re.compile(
    r"</(?:p|div|b|i|em|strong|span|a|ul|ol|li|table|tr|td|h[1-6]|code|pre)>|<(?:br|hr|img)\b[^<>]*>", re.I
)
CHAT_KEYS = ({"role", "content"}, {"from", "value"}, {"role", "parts"})

MARKDOWN, LATEX, HTML, CHAT = "Markdown", "formulas in LaTeX", "HTML", "conversations in JSON"


def markup_of(text: str) -> str | None:
    """Return what a text is the source of; ``None`` where it shows no signs.

    >>> markup_of("It is **5**."), markup_of("It is 5 * 3."), markup_of('[{"role": "user", "content": "Hi"}]')
    ('Markdown', None, 'conversations in JSON')
    """
    if _is_chat(text):
        return CHAT
    if any(sign.search(text) for sign in _MARKDOWN):
        return MARKDOWN
    if _LATEX.search(text):
        return LATEX
    return HTML if _HTML.search(text) else None


def _is_chat(text: str) -> bool:
    start = text.lstrip()[:1]
    if start not in ("[", "{") or '"' not in text[:200]:
        return False
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return False
    turns = read.get("messages") or read.get("conversations") if isinstance(read, dict) else read
    return (
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(turn, dict) and any(keys <= set(turn) for keys in CHAT_KEYS) for turn in turns)
    )
